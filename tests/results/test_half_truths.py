"""Half-truths in the terms of their paper, held to loops; their pictures and their page."""

import dataclasses
import re
import shutil
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from tests.support.pages import check_page
from zoo.benchmarks.half_truth.baselines import CORPUS, LONGER
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.pairs import Pairs
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.results.drawing import INK, png, svg
from zoo.results.half_truth_models import (
    check_drawable,
    check_same_cases,
    draw_model_accuracies,
    model_tables,
)
from zoo.results.half_truth_page import PAGE, render_half_truth_page, write_page_and_figures
from zoo.results.half_truth_pictures import draw_accuracy, draw_gaps
from zoo.results.half_truths import BEST_GUESS, Diagnostic, diagnostics
from zoo.results.presets.preset import Strict, preset_of
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.sources.images import ImageFinder

OFFICIAL = preset_of("official")
MODEL = {"model": "a model <of> its own"}


class Guess:
    """Scores by the bytes of a text and the colour of an image, with some ties."""

    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        return np.array(
            [
                [
                    (zlib.crc32(text.encode()) + sum(image.resize((1, 1)).getpixel((0, 0))))
                    % 11
                    / 7
                    for text in texts
                ]
                for image in images
            ],
            dtype=np.float32,
        )


def measured(root: Path, out: Path, *benchmarks: object) -> Results:
    made = Evaluation(list(benchmarks), str(root), out=str(out), workers=0)  # type: ignore[arg-type]
    made.run_plain_model(Guess())
    return read_results(out)


@pytest.fixture(scope="module")
def results(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    units = str(made_root / "units.jsonl")
    run = measured(made_root, tmp_path_factory.mktemp("run"), HalfTruth(units, "paper"))
    # conditions of one size would make all means alike
    few = [row["subset"] != "Swap" or int(row["case"]) < 5 for row in run.cases.to_pylist()]
    return Results(run.header, run.by_preset, run.cases.filter(few))


@pytest.fixture(scope="module")
def found(results: Results) -> Diagnostic:
    (diagnostic,) = diagnostics(results, OFFICIAL)
    return diagnostic


@pytest.fixture(scope="module")
def written(
    found: Diagnostic, made_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """The files of a page: two pictures, and the page."""
    out = tmp_path_factory.mktemp("page")
    return list(write_page_and_figures([found], MODEL, ImageFinder([made_root]), 2, out))


def scored(results: Results) -> dict[str, list[tuple[float, float, float]]]:
    """By condition the scores of anchor, half-truth and true completion, read row by row."""
    by_case: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in results.cases.to_pylist():
        by_case.setdefault((row["subset"], row["case"]), {})[row["metric"]] = row["scores"]
    of: dict[str, list[tuple[float, float, float]]] = {}
    for (condition, _), both in by_case.items():
        anchor, half_truth = both["half_truth"]
        assert half_truth == both["completion"][1]
        of.setdefault(condition, []).append((anchor, half_truth, both["completion"][0]))
    return of


def test_each_condition_has_its_accuracies_and_its_mean_gap(
    results: Results, found: Diagnostic
) -> None:
    cases = scored(results)
    assert (
        {line.name for line in found.conditions} == set(cases) == {"+Attr", "+Rand", "Ant", "Swap"}
    )
    for line in found.conditions:
        own = cases[line.name]
        assert line.anchor.value == pytest.approx(100 * sum(a > f for a, f, _ in own) / len(own))
        assert line.completion.value == pytest.approx(
            100 * sum(t > f for _, f, t in own) / len(own)
        )
        assert line.gap == pytest.approx(sum(a - f for a, f, _ in own) / len(own))
        assert line.ties == sum(a == f for a, f, _ in own)
        assert line.anchor.n == len(own)
        low, high = line.anchor.low, line.anchor.high
        assert low is not None
        assert high is not None
        assert low <= line.anchor.value <= high


def test_means_are_by_cases_and_over_conditions(results: Results, found: Diagnostic) -> None:
    cases = scored(results)
    names = ("entity", "relation", "all, by cases", "mean of 4")
    assert tuple(line.name for line in found.means) == names
    entity, relation, micro, macro = found.means
    groups = {
        "entity": ["+Attr", "+Rand"],
        "relation": ["Ant", "Swap"],
        "all, by cases": list(cases),
    }
    for line in (entity, relation, micro):
        own = [scores for name in groups[line.name] for scores in cases[name]]
        assert line.anchor.value == pytest.approx(100 * sum(a > f for a, f, _ in own) / len(own))
        assert line.gap == pytest.approx(sum(a - f for a, f, _ in own) / len(own))
        assert line.anchor.n == len(own)
    per = {name: [a - f for a, f, _ in own] for name, own in cases.items()}
    assert macro.gap == pytest.approx(sum(sum(own) / len(own) for own in per.values()) / 4)
    rates = [100 * sum(gap > 0 for gap in own) / len(own) for own in per.values()]
    assert macro.anchor.value == pytest.approx(sum(rates) / 4)
    assert {name: len(own) for name, own in per.items()} == {
        "+Attr": 12,
        "+Rand": 12,
        "Ant": 12,
        "Swap": 5,
    }


def test_guesses_stand_beside_and_are_averaged_alike(results: Results, found: Diagnostic) -> None:
    (described,) = results.header["benchmarks"].values()
    longer = described["baselines"][LONGER]
    for line in found.conditions:
        assert line.baselines[LONGER, "completion"] == longer[line.name]["completion"]
        assert line.baselines[LONGER, "half_truth"] == 0
        assert (CORPUS, "completion") not in line.baselines
    macro = found.means[-1]
    assert macro.baselines[LONGER, "completion"] == pytest.approx(
        sum(longer[line.name]["completion"] for line in found.conditions) / 4
    )


def test_the_gaps_of_a_model_with_a_scale_are_of_similarities(results: Results) -> None:
    scaled = {**results.header, "scoring": {**results.header["scoring"], "scale": 4.0}}
    (plain,) = diagnostics(results, OFFICIAL)
    (divided,) = diagnostics(Results(scaled, results.by_preset, results.cases), OFFICIAL)
    assert divided.means[-1].gap == pytest.approx(plain.means[-1].gap / 4)
    assert divided.means[-1].anchor == plain.means[-1].anchor
    assert "before the scale, 4" in divided.description


def test_the_worst_are_half_truths_that_win_by_most(found: Diagnostic) -> None:
    worst = found.worst_cases(2)
    for name, cases in worst.items():
        won = sorted(c.gap for c in found.cases if c.condition == name and c.gap < 0)
        assert [case.gap for case in cases] == won[:2]
    assert sum(map(len, worst.values())) > 2
    texts = [case.texts for cases in worst.values() for case in cases]
    assert all(half.startswith(f"{anchor} and ") for anchor, half, _ in texts)


def test_a_tie_counts_as_the_preset_has_it(made_root: Path, tmp_path: Path) -> None:
    units = str(made_root / "units.jsonl")
    run = measured(made_root, tmp_path, HalfTruth(units, "public_code"))
    (official,), (strict,) = diagnostics(run, OFFICIAL), diagnostics(run, Strict())
    micro, strict_micro = official.means[-2], strict.means[-2]
    assert micro.ties > 0
    gained = 100 * micro.ties / micro.anchor.n
    assert micro.anchor.value is not None
    assert micro.anchor.value - gained == pytest.approx(strict_micro.anchor.value)


def test_two_runs_of_half_truths_are_told_apart(made_root: Path, tmp_path: Path) -> None:
    units = str(made_root / "units.jsonl")
    both = HalfTruth(units, "paper"), HalfTruth(units, "public_code")
    found = diagnostics(measured(made_root, tmp_path / "run", *both), OFFICIAL)
    assert [d.run.run for d in found] == ["preset=paper", "preset=public_code"]
    paths = list(
        write_page_and_figures(found, MODEL, ImageFinder([made_root]), 1, tmp_path / "out")
    )
    names = ["accuracy.png", "gaps.png", "accuracy_2.png", "gaps_2.png", PAGE]
    assert [path.name for path in paths] == names


def test_results_without_half_truths_are_refused(made_root: Path, tmp_path: Path) -> None:
    run = measured(made_root, tmp_path, Pairs(str(made_root / "pairs.csv")))
    with pytest.raises(ZooError, match=r"have no scored half-truth\. Run `zoo validate"):
        diagnostics(run, OFFICIAL)


def test_pictures_are_drawn_with_what_they_show(found: Diagnostic) -> None:
    drawn = svg(draw_accuracy(found))
    for shown in ("+Attr", "mean of 4", "A &gt; A-: anchor above half-truth", "chance"):
        assert shown in drawn
    assert INK not in drawn
    assert "currentColor" in drawn
    relation = [case.gap for case in found.cases if case.condition in ("Ant", "Swap")]
    assert f"mean gap {np.mean(relation):+.4f}" in svg(draw_gaps(found))
    assert svg(draw_gaps(found)) == svg(draw_gaps(found))
    assert png(draw_gaps(found)).startswith(b"\x89PNG")


def test_several_models_stand_beside_each_other(results: Results, found: Diagnostic) -> None:
    wrong = [not row["right"] for row in results.cases.to_pylist()]
    columns = results.cases.column_names
    flipped = results.cases.set_column(columns.index("right"), "right", pa.array(wrong))
    (other,) = diagnostics(Results(results.header, results.by_preset, flipped), OFFICIAL)
    both = {"one <model>": found, "its opposite": other}
    check_same_cases(both)
    anchors, completions, gaps = model_tables(both)
    names = tuple(line.name for line in (*found.conditions, *found.means))
    assert anchors.header == ("A > A-, %", *names)
    assert completions.header == ("A+ > A-, %", *names)
    of = scored(results)
    for table, right in (
        (anchors, lambda scores: scores[0] > scores[1]),
        (completions, lambda scores: scores[2] > scores[1]),
    ):
        rows = {row[0]: row[1:] for row in table.rows}
        expected = [100 * sum(map(right, scores)) / len(scores) for scores in of.values()]
        shown = [float(cell) for cell in rows["one <model>"][: len(of)]]
        assert shown == pytest.approx(expected, abs=0.05)
        opposite = [float(cell) for cell in rows["its opposite"][: len(of)]]
        assert opposite == pytest.approx([100 - value for value in expected], abs=0.05)
        assert rows["n"][: len(of)] == tuple(str(len(scores)) for scores in of.values())
        assert list(rows)[2:] == [LONGER, BEST_GUESS, "n"]
    assert [row[0] for row in gaps.rows] == list(both)
    assert gaps.rows[0][1:] == tuple(
        f"{line.gap:+.4f}" for line in (*found.conditions, *found.means)
    )
    drawn = svg(draw_model_accuracies(both))
    for part in ("one &lt;model&gt;", "its opposite", "+Attr", "mean of 4", "chance"):
        assert part in drawn


def test_models_that_were_asked_other_half_truths_are_refused(found: Diagnostic) -> None:
    fewer = dataclasses.replace(found, cases=found.cases[:-3])
    with pytest.raises(ZooError, match=r"a and b were evaluated on different half-truths \(3 are"):
        check_same_cases({"a": found, "b": fewer})
    with pytest.raises(ZooError, match="at most 10 results, and 11 were given"):
        check_drawable({str(n): found for n in range(11)})


def test_the_best_guess_sees_no_image_and_prefers_the_shorter_text(found: Diagnostic) -> None:
    for line in found.conditions:
        assert line.baselines[BEST_GUESS, "half_truth"] == 100  # every half-truth is longer
        assert 50 <= line.baselines[BEST_GUESS, "completion"] <= 100


def test_gaps_that_are_all_alike_are_drawn(found: Diagnostic) -> None:
    alike = [SimpleNamespace(condition="Ant", gap=0.0)] * 3
    assert "0.0% of 3 cases" in svg(draw_gaps(SimpleNamespace(cases=alike)))  # type: ignore[arg-type]


def test_the_page_has_numbers_pictures_and_worst_cases(
    found: Diagnostic, written: list[Path]
) -> None:
    *pictures, path = written
    assert [picture.name for picture in pictures] == ["accuracy.png", "gaps.png"]
    text = path.read_text("utf-8")
    assert "a model &lt;of&gt; its own" in text
    assert text.count("<svg") == 2
    worst = [case for cases in found.worst_cases(2).values() for case in cases]
    assert text.count("data:image/jpeg;base64,") == len(worst)
    for case in worst:
        assert f"gap {case.gap:+.4f}" in text
    for cell in (cell for row in found.table().rows for cell in row if cell):
        assert f"<td>{cell}</td>" in text
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)


def test_a_missing_image_is_said_and_all_missing_are_refused(
    found: Diagnostic, made_root: Path, tmp_path: Path
) -> None:
    cases = [case for cases in found.worst_cases(9).values() for case in cases]
    first = Path(cases[0].image.removeprefix("file:"))
    shutil.copytree(made_root, tmp_path / "root")
    moved = [
        case.__class__(**{**vars(case), "image": f"file:{tmp_path / 'root' / 'pictures' / name}"})
        for case in cases
        if (name := Path(case.image).name)
    ]
    diagnostic = Diagnostic(**{**vars(found), "cases": tuple(moved)})
    (tmp_path / "root" / "pictures" / first.name).unlink()
    finder = ImageFinder([tmp_path / "root"])
    assert "image not found" in render_half_truth_page([diagnostic], MODEL, finder, 9)
    shutil.rmtree(tmp_path / "root" / "pictures")
    with pytest.raises(
        ZooError, match=r"no image of the \d+ worst cases was found under .*--data_root"
    ):
        render_half_truth_page([diagnostic], MODEL, ImageFinder([tmp_path / "root"]), 9)


def test_a_browser_shows_the_page_in_light_and_dark_without_a_fault(
    browser: SimpleNamespace, written: list[Path]
) -> None:
    check_page(browser, written[-1])
