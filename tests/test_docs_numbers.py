"""The numbers of the pages are those of the files that they link.

A measured number is in a linked file of results. On the pages of studies, the gallery and the page
of evidence every number is checked, also in prose: it is in a file of results, a config or a script
that the same section links; on the page of evidence, the same row or item.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
EVIDENCE = "docs/evidence.md"
WHOLE = [page for page in PAGES if page.startswith("docs/studies/")] + ["docs/gallery.md", EVIDENCE]
LINK = re.compile(r"\]\(([^)\s]*benchmarks/results/[\w./-]+\.(?:md|jsonl?))\)")
SETTINGS = re.compile(r"\]\(([^)\s]*(?:benchmarks|configs|zoo)/[\w./-]+\.(?:py|yaml|csv))\)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def numbers(text: str) -> list[str]:
    return [found.rstrip(",") for found in NUMBER.findall(text)]


def rounds_to(written: str, measured: float) -> bool:
    decimals = len(written.partition(".")[2])
    return abs(round(measured, decimals) - float(written.replace(",", ""))) < 1e-9


def reports(page: str) -> list[str]:
    """Returns the parts of a page that report results.

    These are all sections of a page that is checked as a whole, and all rows and items of the page
    of evidence. Elsewhere they are the measured section and each paragraph with a link to results.
    """
    text = (ROOT / page).read_text("utf-8")
    if page == EVIDENCE:
        return re.split(r"\n(?=[|\n-])", text)
    if page in WHOLE:
        return re.split(r"^(?=## )", text, flags=re.MULTILINE)
    before, heading, measured = text.partition("## Measured here")
    linked = [paragraph for paragraph in before.split("\n\n") if LINK.search(paragraph)]
    return [*linked, heading + measured] if heading else linked


def without_code_and_links(text: str) -> str:
    """Returns a text without code, targets of links, and numbers that are labels or names."""
    text = re.sub(r"^```.*?^```|^ *\d+\. ", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\b[A-Za-z]\w*(?:[-/@]\w+)+", "", text)
    text = re.sub(r"\b(?:Section|Table|Eq\.|appendix) [\w.]+", "", text)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", text))


def unfounded(page: str, part: str) -> list[str]:
    """Returns the numbers of a part that no linked file holds, rounded as written."""
    links = LINK.findall(part) + (SETTINGS.findall(part) if page in WHOLE else [])
    files = {(ROOT / page).parent / link for link in links}
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


def test_a_number_in_the_prose_of_a_study_is_found_and_a_setting_is_read_from_its_config() -> None:
    page = "docs/studies/objectives.md"
    assert unfounded(page, "## Tuning\n\nAll are tuned for 100 steps.") == ["100"]
    config = "[config](../../configs/studies/world_objectives.yaml)"
    part = f"## Tuning\n\n1. ViT-B/32 is tuned for 100 steps, not 101 ({config}).\n"
    assert unfounded(page, part) == ["101"]
