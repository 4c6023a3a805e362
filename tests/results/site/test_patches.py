"""Words and patches beside the cases of a report."""

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.results.site.conftest import PRESET, only
from tests.results.site.test_write import script
from zoo.cli import main
from zoo.results.report import Results
from zoo.results.site.patches import PatchMapOptions, PatchWords
from zoo.results.site.write import write_report


def made(image: Image.Image, texts: Sequence[str]) -> list[PatchWords]:
    """Words of letters' numbers: the k-th patch of a word is like it by k times its length."""
    found = []
    for text in texts:
        words = tuple(text.split())
        similarity = [np.arange(6).reshape(2, 3) * len(word) / 100 for word in words]
        found.append(PatchWords(image.resize((30, 20)), words, np.array(similarity, np.float32)))
    return found


@pytest.fixture(scope="module")
def site(
    results: Mapping[str, Results], root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A report with words and patches of the second run alone."""
    out = tmp_path_factory.mktemp("patches") / "report"
    few = {name: only(run, "sugarcrepe", subsets=("swap_att",)) for name, run in results.items()}
    mapped = PatchMapOptions({"second": made}, 2)
    write_report(few, PRESET[:1], out, roots=[root], patch_map_options=mapped)
    return out


def test_a_run_has_those_of_the_cases_that_it_has_most_wrong(site: Path) -> None:
    (index,) = script(site / "data" / "index.js")
    first, second = index["patches"]
    assert first == []
    for number, (*_, start, n, _) in enumerate(index["parts"]):
        own = sorted(i for i in second if start <= i < start + n)
        wrong = [i for i in range(start, start + n) if index["right"][1][i] == "0"]
        assert len(own) == min(2, len(wrong))
        margins = index["margin"][1]
        worst = sorted(margins[i] for i in wrong if margins[i] is not None)[: len(own)]
        assert sorted(margins[i] for i in own) == worst
        assert (site / "data" / f"patches_1_{number}.js").exists() == bool(own)


def test_words_and_patches_are_those_of_the_model(site: Path) -> None:
    (index,) = script(site / "data" / "index.js")
    run, part, maps = script(site / "data" / "patches_1_0.js")
    assert (run, part) == (1, 0)
    number = int(next(iter(maps)))
    case = script(site / "data" / f"cases_{number // index['size']}.js")[1][number % index["size"]]
    found = maps[str(number)]
    assert found["by"] == "cosine"
    assert found["grid"] == [2, 3]
    with Image.open(site / found["images"][0]) as seen:
        assert seen.size == (30, 20)
    assert [(image, text) for image, text, _ in found["pairs"]] == [(0, 0), (0, 1)]
    for (_, _, words), text in zip(found["pairs"], case[2], strict=True):
        assert [word for word, *_ in words] == text.split()
        for word, low, high, coded in words:
            assert (low, high) == (0, pytest.approx(5 * len(word) / 100, rel=1e-3))
            assert list(base64.b64decode(coded)) == [0, 51, 102, 153, 204, 255]


def test_images_that_may_not_be_copied_have_none(
    results: Mapping[str, Results], root: Path, tmp_path: Path
) -> None:
    mapped = PatchMapOptions({"first": made}, 2)
    both = {"first": only(results["first"], "sugarcrepe", "half_truth")}
    write_report(
        both,
        PRESET[:1],
        tmp_path / "out",
        roots=[root],
        publish=True,
        patch_map_options=mapped,
    )
    (index,) = script(tmp_path / "out" / "data" / "index.js")
    images = index["images"]
    assert index["patches"][0] != []  # of one's own images
    for i in index["patches"][0]:
        case = script(tmp_path / "out" / "data" / f"cases_{i // index['size']}.js")[1]
        assert all(images[number][1] for number in case[i % index["size"]][1])


@pytest.mark.slow
def test_they_are_left_out_where_the_report_is_full(
    results: Mapping[str, Results], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.results.site.write.MB", 150_000)
    mapped = PatchMapOptions({"first": made}, 9)
    write_report(
        dict(results),
        PRESET,
        tmp_path / "out",
        roots=[root],
        max_size_mb=1,
        patch_map_options=mapped,
    )
    (index,) = script(tmp_path / "out" / "data" / "index.js")
    room = sum(
        len((tmp_path / "out" / "data" / f"cases_{page}.js").read_bytes())
        for page in range(-(-len(index["right"][0]) // index["size"]))
    )
    size = sum(path.stat().st_size for path in (tmp_path / "out").rglob("patches_*.js"))
    assert size < 150_000 - room + 20_000
    assert len(index["patches"][0]) < index["right"][0].count("0")


def test_runs_without_such_a_head_are_refused_in_a_sentence(
    runs: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["report", str(runs["first"]), "--out", str(tmp_path / "out"), "--patch_words", "3"]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert said.startswith("zoo: ")
    assert "is not a zoo model, so it cannot be loaded" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_word_shows_the_patches_that_it_is_like(tab: Any, site: Path) -> None:
    tab.goto(f"{(site / 'cases.html').as_uri()}#a=1&b=1&show=wrong&benchmark=sugarcrepe&sort=low")
    tab.wait_for_selector("details.patches")
    assert tab.locator("details.patches").count() > 1
    opened = tab.locator("details.patches").first
    assert opened.locator("summary").inner_text() == "Words and patches of second"
    opened.locator("summary").focus()
    tab.keyboard.press("Enter")
    button = opened.get_by_role("button", name="square,").first
    button.focus()
    said = opened.locator(".word-status").inner_text()
    assert re.match(r"square,: cosine 0\.350 at row 2, column 3; lowest 0\.000\.", said)
    # the least patch is dark, and the best has nothing over it but its frame
    shade = """canvas => { const pen = canvas.getContext("2d");
        const { data, width } = pen.getImageData(0, 0, canvas.width, canvas.height);
        return [[8, 8], [40, 24]].map(([x, y]) => data[4 * (y * width + x) + 3]); }"""
    dark, bright = opened.locator("canvas").evaluate(shade)
    assert dark > 150
    assert bright == 0
    marks = opened.locator(".words b").all_inner_texts()
    assert sorted(marks) == ["✓", "✗"]


@pytest.mark.slow
def test_the_page_says_where_its_file_is_gone(
    browser: SimpleNamespace, results: Mapping[str, Results], root: Path, tmp_path: Path
) -> None:
    mapped = PatchMapOptions({"first": made}, 1)
    write_report(dict(results), PRESET, tmp_path / "out", roots=[root], patch_map_options=mapped)
    for file in (tmp_path / "out" / "data").glob("patches_*.js"):
        file.unlink()
    view = browser.new_page()
    view.goto(f"{(tmp_path / 'out' / 'cases.html').as_uri()}#a=0&b=1&show=wrong&sort=low")
    view.wait_for_selector("details.patches")
    view.locator("details.patches summary").first.click()
    view.wait_for_selector("details.patches p")
    assert "Write the report again" in view.locator("details.patches p").first.inner_text()
