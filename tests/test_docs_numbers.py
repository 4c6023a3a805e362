"""What the pages report was measured.

Each number stands in a committed file of results that is linked beside it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]*benchmarks/results/[\w./-]+\.(?:md|jsonl?))\)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(text: str) -> list[str]:
    return [found.rstrip(",") for found in NUMBER.findall(text)]


def rounds_to(written: str, measured: float) -> bool:
    decimals = len(written.partition(".")[2])
    return abs(round(measured, decimals) - float(written.replace(",", ""))) < 1e-9


def reports(page: str) -> list[str]:
    """Returns the parts of a page that report results.

    These are its measured section, and elsewhere each paragraph with a link to results.
    """
    before, heading, measured = (ROOT / page).read_text("utf-8").partition("## Measured here")
    linked = [paragraph for paragraph in before.split("\n\n") if LINK.search(paragraph)]
    return [*linked, heading + measured] if heading else linked


def without_code_and_links(text: str) -> str:
    text = re.sub(r"\b(?:Section|Table|Eq\.|appendix) [\w.]+", "", text)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))


def unfounded(page: str, part: str) -> list[str]:
    """Returns the numbers of a part that no linked file of results holds, rounded as written."""
    files = {(ROOT / page).parent / link for link in LINK.findall(part)}
    held = [float(n.replace(",", "")) for file in files for n in numbers(file.read_text("utf-8"))]
    written = dict.fromkeys(numbers(without_code_and_links(part)))
    return [n for n in written if "e" not in n and not any(rounds_to(n, m) for m in held)]


@pytest.mark.parametrize("page", [page for page in PAGES if reports(page)])
def test_every_reported_number_is_in_a_linked_file_of_results(page: str) -> None:
    assert {page: [unfounded(page, part) for part in reports(page)]} == {
        page: [[] for _ in reports(page)]
    }


def test_a_number_that_was_not_measured_is_found() -> None:
    part = "It takes 4,683 MiB, not 4,684 ([x](../../benchmarks/results/step_memory_cpu.md))."
    assert unfounded("docs/guides/training.md", part) == ["4,684"]
