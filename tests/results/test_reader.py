"""Results whose cells or header are damaged are refused before anything is counted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.compared import outcomes, results
from tests.support.mistakes import said
from zoo.results.outcomes import SCHEMA
from zoo.results.report import CASES, HEADER, RESULTS, write_results


def replaced(column: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Returns what puts a value into each cell of a column."""

    def replace(cases: pa.Table) -> pa.Table:
        field = SCHEMA.field(column)
        cells = pa.array([value] * len(cases), field.type)
        return cases.set_column(SCHEMA.get_field_index(column), field, cells)

    return replace


def with_text_as_model(cases: pa.Table) -> pa.Table:
    header = json.loads(cases.schema.metadata[HEADER])
    return cases.replace_schema_metadata({HEADER: json.dumps({**header, "model": "CLIP"})})


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (replaced("images", None), "column images of cases.parquet has empty cells"),
        (replaced("images", [None]), "column images of cases.parquet has empty cells"),
        (replaced("protocol", "{"), "protocol '{' does not name a class_path"),
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
