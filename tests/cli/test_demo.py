"""The demo, at a size of seconds."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image

from zoo.cli import main
from zoo.cli.demo import (
    BEFORE,
    HALF_TRUTHS,
    Difference,
    MeasuredModel,
    compared_metrics,
    find_changes,
    select_cards,
    shorter_text_accuracies,
    shown_verdict,
    typical_case,
    verdicts,
)
from zoo.results.half_truths import ScoredCase
from zoo.results.report import Results

NO_RESULTS = Results({}, (), pa.table({}))
CASES = [
    ScoredCase("+Obj", str(number), "1.png", ("a", "a and b", "a and c"), scores)
    for number, scores in enumerate([(0.1, 0.4, 0.2), (0.3, 0.2, 0.2), (0.2, 0.3, 0.1)])
]


def model_of(cases: list[ScoredCase]) -> MeasuredModel:
    return MeasuredModel(NO_RESULTS, {}, {(c.condition, c.id, c.texts): c for c in cases})


def test_changes_are_half_truths_that_cross_the_true_text_the_largest_first() -> None:
    after = [
        replace(c, scores=s)
        for c, s in zip(CASES, [(0.3, 0.2, 0), (0.1, 0.2, 0), (0.4, 0.3, 0)], strict=True)
    ]
    [change] = find_changes({BEFORE: model_of(CASES), "CS-CLIP": model_of(after)})
    assert change.name == "CS-CLIP"
    assert [old.id for old, _ in change.corrected] == ["0", "2"]  # by 0.4 and by 0.2
    assert [new.id for _, new in change.broken] == ["1"]


def test_only_what_was_measured_is_compared() -> None:
    assert compared_metrics([HALF_TRUTHS, "swapped objects"]) == {
        HALF_TRUTHS: "half_truth, by cases",
        "swapped objects": "pairs/swap_obj/i2t",
    }


def test_a_verdict_names_the_measures_whose_interval_excludes_zero() -> None:
    found = {
        "NegCLIP": {"swaps": Difference(4, -1, 9), "R@1": Difference(-10, -14.5, -6)},
        "CS-CLIP": {"swaps": Difference(0, -2, 2)},
    }
    assert verdicts(found) == [
        "NegCLIP compared with CLIP, both after tuning: "
        "R@1 -10.0 points (95 % interval -14.5 to -6.0); "
        "no significant difference in the other rows.",
        "CS-CLIP compared with CLIP, both after tuning: no significant difference in any row.",
    ]


def test_cards_show_each_scene_once_and_no_person_as_the_wrong_detail() -> None:
    sofa, again, girl = (
        ScoredCase(
            "+Obj", word, image, ("a sofa", f"a sofa and a {word}", "a sofa and a cat"), (0, 1, 0)
        )
        for word, image in (("boat", "1.png"), ("sheep", "1.png"), ("girl", "2.png"))
    )
    assert select_cards([(sofa, sofa), (again, again), (girl, girl)]) == [(sofa, sofa)]


def test_the_models_that_prefer_the_shown_half_truth_are_named() -> None:
    models = {BEFORE: model_of(CASES), "CS-CLIP": model_of([replace(CASES[0], scores=(1, 0, 0))])}
    assert shown_verdict(models, CASES[0]) == (f"Models that prefer the half-truth here: {BEFORE}.")


def test_the_scene_that_is_shown_is_the_median_of_those_where_the_half_truth_is_preferred() -> None:
    assert typical_case(model_of(CASES)).id == "2"
    assert typical_case(model_of(CASES[1:2])).id == "1"


def test_equal_lengths_count_half_for_the_guess_that_the_shorter_text_is_true(
    tmp_path: Path,
) -> None:
    (tmp_path / "foils.csv").write_text(
        "image,caption,foil,subset\n1.png,a cat,a dog,swap\n1.png,a cat,a horse,swap\n"
        "1.png,a horse,a cat,add\n",
        "utf-8",
    )
    assert shorter_text_accuracies(tmp_path / "foils.csv") == {"swap": 75.0, "add": 0.0}


@pytest.mark.slow
def test_the_readme_shows_what_the_demo_and_its_evaluation_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    shown = [block.partition("```")[0] for block in readme.split("```text\n")[1:]]
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    table, sentence = shown[0].strip().split("\n\n")
    printed = capsys.readouterr().out
    assert table in printed
    assert " ".join(sentence.split()) in " ".join(printed.split())
    page = (out / "demo.html").read_text("utf-8")
    assert page.count("<figure>") == 2
    assert "data:image/jpeg" in page
    for name in ("half_truth.png", "before_after.png"):
        with Image.open(out / name) as picture:
            assert picture.width > 600
    words = ["--model", "scenes", "--benchmarks", "pairs:test/foils.csv", "--data_root", str(out)]
    assert main(["validate", *words, "--out", str(tmp_path / "measured")]) == 0
    assert shown[1].strip() in capsys.readouterr().out


@pytest.mark.slow
def test_the_demo_runs_on_scenes_of_which_none_has_swapped_attributes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    size = ["--scenes", "8", "--steps", "1", "--workers", "0"]
    assert main(["demo", "--out", str(tmp_path), *size]) == 0
    printed = capsys.readouterr().out
    assert "swapped attributes" not in printed
    assert "CS-CLIP against CLIP" in printed
