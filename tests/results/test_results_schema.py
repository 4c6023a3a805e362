"""The shipped JSON Schema is that of the code, and results follow it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import zoo
from tests.support.made import make_root
from zoo.results.schema import FILE, build_results_schema

SCHEMA = json.loads(FILE.read_text("utf-8"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = make_root(tmp_path_factory.mktemp("schema"))
    zoo.evaluate(
        "zoo-tiny",
        [f"pairs:{root / 'pairs.csv'}", "sugarcrepe"],
        data_root=root,
        out=root / "out",
        presets=["official", "strict"],
        reference_models=["negclip"],
        quiet=True,
    )
    content: dict[str, Any] = json.loads((root / "out" / "results.json").read_text("utf-8"))
    return content


def test_the_shipped_schema_is_that_of_the_types() -> None:
    assert build_results_schema() == SCHEMA


def test_results_follow_the_schema(results: dict[str, Any]) -> None:
    jsonschema.validate(results, SCHEMA)
    assert [preset["preset"] for preset in results["presets"]] == ["official", "strict"]
    assert results["absent"]


@pytest.mark.parametrize(
    "change",
    [
        lambda results: results.pop("scoring"),
        lambda results: results["presets"][0]["metrics"][0].update(n="12"),
        lambda results: results["benchmarks"]["pairs"].pop("version"),
    ],
)
def test_a_file_of_another_form_does_not(change: Any, results: dict[str, Any]) -> None:
    wrong = json.loads(json.dumps(results))
    change(wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_the_schema_is_beside_the_code_that_is_installed() -> None:
    assert Path(zoo.__file__).parent / "results" / "results.schema.json" == FILE
