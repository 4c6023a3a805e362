"""The page of published values has one table per source and protocol."""

from pathlib import Path
from runpy import run_path

DOCS = Path(__file__).parents[1] / "docs"
SCRIPT = run_path(str(DOCS / "published_values.py"))


def test_the_page_is_what_its_script_writes() -> None:
    written = (DOCS / "published_values.md").read_text("utf-8")
    assert written == SCRIPT["render"](), "run `python docs/published_values.py`"


def test_no_table_mixes_protocols() -> None:
    values = [
        v for model in SCRIPT["published_models"]() for v in SCRIPT["published_values"](model)
    ]
    groups = SCRIPT["group_by_source"](values)
    assert sum(map(len, groups)) == len(values)
    assert all(len({(v.source, v.protocol) for v in group}) == 1 for group in groups)
    assert len({(group[0].source, group[0].protocol) for group in groups}) == len(groups)
