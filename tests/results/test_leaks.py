"""Metrics without the cases whose images a model has seen, beside those of the others."""

from math import hypot
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.fakes import FakeBackbone, cases, cosine, drawn_images, evaluation, measured
from zoo.benchmarks import Case
from zoo.cli.rescore import main
from zoo.errors import ZooError
from zoo.familiarity.images import SeenImages
from zoo.results.leaks import (
    LeakMetric,
    add_leak_column,
    compute_leaks,
    format_unknown_counts,
    leaks_table,
    trained_images,
)
from zoo.results.metrics import MacroAverage, Rules
from zoo.results.outcomes import OutcomeRow, outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import wilson
from zoo.sources.sample import ImageRef

RULES = Rules(False, False, {("b", "*"): MacroAverage()})
SEEN = SeenImages("x", frozenset({"coco:1", "coco:2"}))


def outcome(image: str, right: bool, subset: str = "a", benchmark: str = "b") -> list[OutcomeRow]:
    match = np.array([[True, False]])
    case = Case((ImageRef(*image.split(":")),), ("x", "y"), match, "i2t", subset, image)
    judged = case.judge(np.array([[1.0, 0.0 if right else 2.0]], np.float32))
    return list(outcome_rows(BenchmarkRun(benchmark), case, judged, frozenset({"coco:1"})))


def made() -> list[OutcomeRow]:
    first = [outcome(f"coco:{n}", n != 1) for n in range(1, 6)]
    second = [outcome(f"coco:{n}", n == 2, "c") for n in (2, 7)]
    untold_ones = [
        outcome("visual_genome:9", True, "c"),
        outcome("published:a.png", True, "p", "q"),
    ]
    return [row for some in (*first, *second, *untold_ones) for row in some]


def test_both_parts_and_their_difference_are_those_of_the_cases_in_them() -> None:
    found = {
        (leak.benchmark, leak.subset): leak
        for leak in compute_leaks(add_leak_column(outcome_table(made()), SEEN), RULES, {})
    }
    assert list(found) == [("b", "all"), ("b", "a"), ("b", "c"), ("q", "p")]
    all_, part = found["b", "all"], found["b", "a"]
    assert (all_.n, all_.n_without, all_.n_seen, all_.n_unknown) == (8, 4, 3, 1)
    assert all_.full == pytest.approx(100 * 6 / 8)
    assert (part.n_without, part.without, part.n_seen, part.seen) == (3, 100.0, 2, 50.0)
    (low, high), (other_low, other_high) = wilson(3, 3), wilson(1, 2)
    assert part.difference == pytest.approx(50.0)
    assert part.low == pytest.approx(50 - 100 * hypot(1 - low, other_high - 0.5))
    assert part.high == pytest.approx(50 + 100 * hypot(high - 1, 0.5 - other_low))
    lone = found["q", "p"]
    assert (lone.n_unknown, lone.without, lone.seen, lone.difference) == (1, None, None, None)
    assert format_unknown_counts(found.values()) == "b 1 of 8, q 1 of 1"


def test_a_text_that_asks_is_about_no_image_and_left_out() -> None:
    match = np.array([[True, False]] * 2)
    case = Case((), ("b", "c"), match, "text_only", "t", "0", query_texts=("a", "b"))
    judged = case.judge(np.ones((2, 2), np.float32))
    asked = outcome_table(outcome_rows(BenchmarkRun("t"), case, judged, frozenset()))
    assert list(compute_leaks(add_leak_column(asked, SEEN), RULES, {})) == []


def test_a_row_a_benchmark_unless_at_length() -> None:
    found = list(compute_leaks(add_leak_column(outcome_table(made()), SEEN), RULES, {}))
    assert [row[:2] for row in leaks_table(found, long=False).rows] == [("b", "all")]
    assert [row[1] for row in leaks_table(found, long=True).rows] == ["all", "a", "c"]
    assert (
        leaks_table([LeakMetric("b", "", "a", "i2t", 1.0, 5, 1.0, 5, None, 0, 0)], True).rows == ()
    )


def test_a_run_says_what_it_is_without_its_own_images_and_is_counted_so_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = drawn_images(tmp_path, 6)
    out = tmp_path / "out"
    trained = ["file:pictures/0.png", "file:pictures/1.png"]
    settings = {"out": str(out), "trained_images": trained, "exclude_images": "trained"}
    results = measured(
        evaluation(tmp_path, cases(images), presets=["official", "strict"], **settings),
        FakeBackbone(),
        cosine(),
    )
    assert trained_images(results.cases) == set(trained)
    assert results.header["excluded_images"] == {"named": "trained", "images": 2}
    kept = read_results(out).by_preset
    assert [counted.leaks for counted in kept] == [counted.leaks for counted in results.by_preset]
    rows_of = read_results(out).cases.to_pylist()
    assert [r["leak"] == "seen" for r in rows_of] == [any(r["trained"]) for r in rows_of]
    for leak in kept[0].leaks:
        asked = [r for r in rows_of if r["metric"] == leak.metric and r["right"] is not None]
        asked = [r for r in asked if leak.subset in ("all", r["subset"])]
        assert leak.n_seen == sum(any(r["trained"]) for r in asked)
        assert leak.n_without == leak.n - leak.n_seen
    assert any(leak.n_seen and leak.n_without for leak in kept[0].leaks)
    assert main([str(out), "--exclude_images", "--out", str(tmp_path / "again")]) == 0
    assert read_results(tmp_path / "again").by_preset[0].leaks == kept[0].leaks
    said = " ".join(capsys.readouterr().out.split())
    assert "without cases of the 2 images of trained" in said
    assert "no case is about one of them" not in said
    assert main([str(out)]) == 0
    assert "without cases of" not in capsys.readouterr().out
    assert "excluded_images" not in results.recount([preset_of("strict")]).header
    (tmp_path / "ids.txt").write_text("5\n")
    assert main([str(out), "--exclude_images", str(tmp_path / "ids.txt")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ids.txt: no case is about one of them" in said
    assert "in neither part, because it is unknown whether the images were seen: in_memory" in said


def test_a_run_whose_training_images_no_case_is_about_is_counted_again_as_it_was(
    tmp_path: Path,
) -> None:
    images = drawn_images(tmp_path, 6)
    out = tmp_path / "out"
    trained = ["file:elsewhere/0.png", "coco:7"]
    settings = {"out": str(out), "trained_images": trained, "exclude_images": "trained"}
    results = measured(evaluation(tmp_path, cases(images), **settings), FakeBackbone(), cosine())
    assert results.header["model"]["trained_images"] == {"coco": 1, "file": 1}
    assert all(leak.n_without == leak.n for leak in results.by_preset[0].leaks)
    assert main([str(out), "--exclude_images", "--out", str(tmp_path / "again")]) == 0
    assert read_results(tmp_path / "again").by_preset[0].leaks == results.by_preset[0].leaks


def test_files_are_looked_for_where_the_run_did(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    images = drawn_images(root, 6)
    out = tmp_path / "out"
    measured(evaluation(root, cases(images), out=str(out)), FakeBackbone(), cosine())
    (tmp_path / "ids.txt").write_text(f"{root}/pictures/0.png\n")
    again = tmp_path / "again"
    asked = [str(out), "--exclude_images", str(tmp_path / "ids.txt"), "--out", str(again)]
    assert main(asked) == 0
    assert any(leak.n_seen for leak in read_results(again).by_preset[0].leaks)


def test_images_that_are_not_known_are_said_before_a_case_is_scored(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 6)
    unknown = evaluation(tmp_path, cases(images), exclude_images="trained")
    with pytest.raises(ZooError, match="the model does not state its training captions"):
        measured(unknown, FakeBackbone(), cosine())
    with pytest.raises(ZooError, match="Karpathy's splits were not found"):
        evaluation(tmp_path, cases(images), exclude_images="karpathy_train").prepare()
