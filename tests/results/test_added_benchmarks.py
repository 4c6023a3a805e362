"""Results on further benchmarks are added to those that a model has."""

from dataclasses import replace
from pathlib import Path

import pytest

import zoo
from tests.support.made import make_root
from zoo.benchmarks import Pairs
from zoo.errors import ZooError
from zoo.results.added_benchmarks import join_results, missing_benchmarks
from zoo.results.presets.preset import preset_of
from zoo.results.report import Results


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    root = make_root(tmp_path_factory.mktemp("root"))
    table = (root / "pairs.csv").read_text()
    (root / "more.csv").write_text(table.replace("colours", "swaps"))
    names = {name: f"pairs:{root / name}.csv" for name in ("pairs", "more")}
    model = zoo.load("zoo-tiny")
    return {
        "pairs": zoo.evaluate(model, names["pairs"], data_root=str(root)),
        "more": zoo.evaluate(model, names["more"], data_root=str(root)),
        "both": zoo.evaluate(model, list(names.values()), data_root=str(root)),
    }


def test_joined_results_are_those_of_one_run(runs: dict[str, Results]) -> None:
    joined = join_results(runs["pairs"], runs["more"]).recount([preset_of("official")])
    assert joined.scalars() == pytest.approx(runs["both"].scalars())
    expected = runs["both"].header
    for part in ("benchmarks", "absent", "model", "data_root", "software"):
        assert joined.header[part] == expected[part]
    scoring = joined.header["scoring"]
    assert scoring.keys() == expected["scoring"].keys()
    assert scoring["image_batch"] == expected["scoring"]["image_batch"]
    assert scoring["images"] == 2 * expected["scoring"]["images"]  # those of both are counted twice
    names = ("benchmark", "run", "subset", "case", "right", "fingerprint")
    assert joined.cases.select(names) == runs["both"].cases.select(names)


def test_a_benchmark_is_missing_if_its_arguments_differ(runs: dict[str, Results]) -> None:
    measured = runs["pairs"].header["benchmarks"]["pairs"]["init_args"]["file"]
    same, other = Pairs(measured), Pairs(str(Path(measured).with_name("more.csv")))
    assert missing_benchmarks([same, other], runs["pairs"].header) == [other]
    assert missing_benchmarks([same, other], runs["both"].header) == []


def test_results_of_another_model_are_not_added(runs: dict[str, Results]) -> None:
    other = {**runs["more"].header, "model": {"model": "another"}}
    with pytest.raises(ZooError, match="the model has changed"):
        join_results(runs["pairs"], replace(runs["more"], header=other))
