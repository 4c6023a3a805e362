"""The README's table of published models is made from files of results."""

import json
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "studies" / "published_status.py"))


def test_the_table_of_the_readme_is_that_of_the_results() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text == SCRIPT["with_table"](text, ROOT / "benchmarks" / "results")


def test_a_row_says_how_many_values_were_reproduced_on_which_device(tmp_path: Path) -> None:
    values = [{"run": "NegCLIP", "within": within} for within in (True, False, True)]
    found = {"tolerance": 2, "devices": {"NegCLIP": "NVIDIA H100"}, "values": values}
    (tmp_path / "trained_as_published.json").write_text(json.dumps(found))
    trained = "trained by `zoo study trained_as_published`"
    table = SCRIPT["status_table"](tmp_path)
    assert f"|NegCLIP|{trained}|NVIDIA H100|2 of 3 within 2 points|" in table
    assert f"|CS-CLIP|{trained}||not run|" in table
    assert "|NegCLIP|`negclip`||not run|" in table
