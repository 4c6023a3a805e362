"""The figure of the architecture is that of its script."""

from pathlib import Path
from runpy import run_path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_figure_is_what_its_script_draws() -> None:
    drawn = run_path(str(DOCS / "engine.py"))["draw"]()
    assert (DOCS / "engine.svg").read_text("utf-8") == drawn, "run `python docs/engine.py`"
