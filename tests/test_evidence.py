"""The page of evidence is that of its rows, and lists every file of results."""

import re
from pathlib import Path
from runpy import run_path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "evidence.md"
RESULTS = ROOT / "benchmarks" / "results"


def test_the_page_is_what_its_script_writes() -> None:
    kinds = yaml.safe_load(PAGE.with_suffix(".yaml").read_text("utf-8"))
    written = run_path(str(PAGE.with_suffix(".py")))["render"](kinds)
    assert PAGE.read_text("utf-8") == written, "run `python docs/evidence.py`"


def test_every_file_of_results_is_listed() -> None:
    files = {
        str(path.relative_to(RESULTS))
        for path in RESULTS.rglob("*")
        if path.suffix in (".md", ".json", ".jsonl")
    }
    assert set(re.findall(r"benchmarks/results/([^)]+)\)", PAGE.read_text("utf-8"))) == files
