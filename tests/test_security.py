"""What the page on safety and SECURITY.md state holds of the code."""

from pathlib import Path

from PIL import Image

from zoo.support.text_files import MAX_UNPACKED

ROOT = Path(__file__).parents[1]
PAGE = " ".join((ROOT / "docs" / "guides" / "safety.md").read_text("utf-8").split())


def test_the_bounds_on_the_page_are_those_of_the_code() -> None:
    assert Image.MAX_IMAGE_PIXELS is not None
    assert f"more than {2 * Image.MAX_IMAGE_PIXELS:,} pixels" in PAGE
    assert f"more than {MAX_UNPACKED >> 30} GiB" in PAGE


def test_security_has_versions_a_way_to_report_and_five_lines_of_threats() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "## Supported versions" in text
    assert "private\nvulnerability reporting" in text
    threats = text.partition("## Threat model")[2]
    assert [line[0] for line in threats.splitlines() if line[:1].isdigit()] == list("12345")
