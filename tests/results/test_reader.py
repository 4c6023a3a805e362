"""Results whose cells or header are damaged are refused before anything is counted."""

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.compared import outcomes, results
from tests.support.mistakes import said
from zoo.cli import main
from zoo.results.header import references
from zoo.results.leaks import compute_leaks
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.report import CASES, HEADER, RESULTS, write_results
from zoo.results.splits import ALL_SUBSETS

OLD_RESULTS = Path(__file__).parents[1] / "fixtures" / "results_0_1_0"


def replaced(column: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Returns what puts a value into each cell of a column."""

    def replace_cells(cases: pa.Table) -> pa.Table:
        field = SCHEMA.field(column)
        cells = pa.array([value] * len(cases), field.type)
        return cases.set_column(SCHEMA.get_field_index(column), field, cells)

    return replace_cells


def with_text_as_model(cases: pa.Table) -> pa.Table:
    header = json.loads(cases.schema.metadata[HEADER])
    return cases.replace_schema_metadata({HEADER: json.dumps({**header, "model": "CLIP"})})


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (replaced("images", None), "column images of cases.parquet has empty cells"),
        (replaced("images", [None]), "column images of cases.parquet has empty cells"),
        (replaced("protocol", "{"), "protocol '{' has no class_path and init_args"),
        (replaced("scores", [0.5]), "more or fewer scores than answers in match"),
        (with_text_as_model, "the model is 'CLIP', not a mapping"),
    ],
)
def test_damaged_results_are_one_sentence_in_every_command(
    damage: Callable[[pa.Table], pa.Table], sentence: str, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        write_results(results(outcomes([i < 20 for i in range(40)])), tmp_path / name)
    damaged, second = tmp_path / "first", str(tmp_path / "second")
    (damaged / RESULTS).unlink()
    cases = pq.read_table(damaged / CASES)
    pq.write_table(damage(cases), damaged / CASES)
    for command in (
        ["compare", str(damaged), second],
        ["report", str(damaged), "--out", str(tmp_path / "pages")],
        ["rescore", str(damaged)],
    ):
        assert sentence in said(command).sentence


def renamed(content: str) -> str:
    """Returns results.json of schema 9 with the keys of this version."""
    for old_name, name in {
        "says": "description",
        "of": "n_total",
        "images_of": "images_total",
        "gallery_of": "gallery_size",
        "untold": "n_unknown",
    }.items():
        content = content.replace(f'"{old_name}":', f'"{name}":')
    return content


def numbers(metrics: Iterable[Metric]) -> list[tuple[object, ...]]:
    """Returns the fields of metrics, except those that version 0.1.0 did not count or word so."""
    return [astuple(replace(metric, ties_right=None, lower_is_better=None)) for metric in metrics]


def test_results_of_version_0_1_0_are_read_with_the_same_numbers() -> None:
    results = read_results(OLD_RESULTS)
    content = json.loads(renamed((OLD_RESULTS / RESULTS).read_text("utf-8")))
    written = json.loads(json.dumps(results.as_json()))
    for preset in written["presets"]:
        for metric in (*preset["metrics"], *preset["splits"]):
            assert metric.pop("ties_right") is None
            assert metric.pop("lower_is_better") is None
    assert written["presets"] == content["presets"]
    assert results.cases.schema.equals(SCHEMA)
    assert results.header["reference_models"] == content["beside"]
    assert results.header["excluded_images"] == content["excluded"]
    assert results.header["familiarity"]["training_captions"] == content["familiarity"]["with"]
    assert results.header["absent"][0]["instructions"] == content["absent"][0]["how"]


def test_results_of_version_0_1_0_are_recounted_with_the_same_numbers() -> None:
    results = read_results(OLD_RESULTS)
    recounted = results.recount([preset_of("strict"), preset_of("official")])
    for old, new in zip(results.by_preset, recounted.by_preset, strict=True):
        assert numbers(new.metrics) == numbers(old.metrics)
        by_subset = [metric for metric in new.splits if metric.subset != ALL_SUBSETS]
        assert numbers(by_subset) == numbers(old.splits)
        assert new.averages == old.averages
        assert new.by_benchmark == old.by_benchmark
        rules, reference_values = preset_of(new.preset).rules, references(results.header)
        assert tuple(compute_leaks(results.cases, rules, reference_values)) == old.leaks


def test_results_of_version_0_1_0_are_rescored_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rescored = tmp_path / "rescored"
    arguments = ["rescore", str(OLD_RESULTS), "--preset", "strict,official", "--out", str(rescored)]
    assert main(arguments) == 0
    assert "sugarcrepe/swap_att: 4 of 5 images found" in capsys.readouterr().out
    old, new = read_results(OLD_RESULTS), read_results(rescored)
    assert [numbers(preset.metrics) for preset in new.by_preset] == [
        numbers(preset.metrics) for preset in old.by_preset
    ]
    assert main(["report", str(OLD_RESULTS), str(rescored), "--out", str(tmp_path / "page")]) == 0
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    for metric in old.metrics:
        if metric.value is not None:
            assert f"{metric.value:.1f}" in page
