"""The page of the papers' tables and figures is that of its rows and of the study files."""

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import yaml

from zoo.cli.recipes import shipped_studies

DOCS = Path(__file__).parents[1] / "docs"
CONTENT = yaml.safe_load((DOCS / "papers.yaml").read_text("utf-8"))
SCRIPT = run_path(str(DOCS / "papers.py"))


def test_the_page_is_what_its_script_writes() -> None:
    written = SCRIPT["render"](CONTENT["papers"], CONTENT["runs"])
    assert (DOCS / "papers.md").read_text("utf-8") == written, "run `python docs/papers.py`"


@pytest.mark.parametrize("paper", CONTENT["papers"], ids=lambda paper: paper["paper"])
@pytest.mark.parametrize("kind", ["table", "figure"])
def test_every_table_and_figure_has_a_row(paper: dict[str, Any], kind: str) -> None:
    rows = [row["of"] for row in paper["rows"] if row["of"].startswith(kind.capitalize())]
    numbers = {int(n) for row in rows for n in re.findall(r"\b\d+\b", row.removesuffix("CC-3M"))}
    assert numbers == set(range(1, paper[f"{kind}s"] + 1))


def test_every_study_of_a_table_has_a_row_and_states_its_departures() -> None:
    heads = {Path(name).stem: SCRIPT["read_head"](Path(name).stem) for name in shipped_studies()}
    of_tables = {name for name, head in heads.items() if re.search(r"\bTables? \d", head[0])}
    rows = [row for paper in CONTENT["papers"] for row in paper["rows"]]
    assert of_tables == {row["study"] for row in rows if "study" in row} == set(CONTENT["runs"])
    for name in of_tables:
        assert SCRIPT["departures"](heads[name]) != "none stated", name
