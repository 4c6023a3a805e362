"""Writes README.md's table of published models: what was measured, and how close it is.

    python benchmarks/studies/published_status.py [STUDY_FOLDER ...]

A folder is that of `zoo study published` or `zoo study trained_as_published`. Its published.json is
copied to benchmarks/results under the study's name. Rows without a file say "not run".
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.cli.recipes import find_study
from zoo.cli.studies.file import read_study

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
BEGIN, END = "<!-- rows of published_status.py -->\n", "<!-- end of the rows -->\n"
STUDIES = ("published", "trained_as_published")


def main(argv: Sequence[str] | None = None) -> None:
    """Copies results and writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="*", help="folders of studies")
    for folder in parser.parse_args(argv).folders:
        name = json.loads((folder / "published.json").read_text("utf-8"))["study"]
        if name not in STUDIES:
            parser.error(f"{folder} is of the study {name}: give one of {', '.join(STUDIES)}")
        shutil.copyfile(folder / "published.json", RESULTS / f"{name}.json")
    README.write_text(with_table(README.read_text("utf-8"), RESULTS), "utf-8")


def with_table(text: str, results: Path) -> str:
    """Returns the text of a page with its table made again.

    Args:
        text: The page.
        results: The folder of results.
    """
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{status_table(results)}{END}{after}"


def status_table(results: Path) -> str:
    """Returns the table: a row for each model of the studies.

    Args:
        results: The folder of results.
    """
    lines = ["|model|weights|device|published values reproduced|", "|---|---|---|---|"]
    for name in STUDIES:
        file = results / f"{name}.json"
        found = json.loads(file.read_text("utf-8")) if file.is_file() else None
        study = read_study([str(find_study(name))])
        for row, model in study.published_models.items():
            trained = row not in study.models
            if name == STUDIES[1] and not trained:
                continue
            weights = f"trained by `zoo study {name}`" if trained else f"`{model}`"
            lines.append(f"|{row}|{weights}|{'|'.join(outcome(found, row))}|")
    return "\n".join(lines) + "\n"


def outcome(found: dict[str, Any] | None, row: str) -> tuple[str, str]:
    """Returns the cells of the device and of the values.

    Args:
        found: The content of published.json, None if there is none.
        row: The row of the study.
    """
    values = [] if found is None else [each for each in found["values"] if each["run"] == row]
    if found is None or not values:
        return "", "not run"
    within = sum(each["within"] for each in values)
    device = found["devices"].get(row) or "not known"
    return device, f"{within} of {len(values)} within {found['tolerance']:g} points"


if __name__ == "__main__":
    main()
