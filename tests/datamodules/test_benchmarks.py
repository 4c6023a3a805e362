"""The engine under Lightning's validate, with a real backbone on real images."""

from pathlib import Path

import pytest

import zoo
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.errors import ZooError
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import outcome_differences


@pytest.mark.slow
def test_sugarcrepe_scores_481_of_7511_cases_as_the_model_does_by_itself(
    shared_data: Path, tmp_path: Path
) -> None:
    model = zoo.load("zoo-tiny", device="cpu")
    found = zoo.evaluate(model, ["sugarcrepe"], data_root=shared_data, out=tmp_path)
    assert (sum(f.n for f in found.metrics), sum(f.n_total for f in found.metrics)) == (481, 7511)
    assert found.header["scoring"]["towers"] == "float32"
    assert found.header["model"]["recipe"]["backbone"]["init_args"]["name"] == "zoo-tiny"

    class Plain:
        def score(self, images: list, texts: list[str]) -> object:  # type: ignore[type-arg]
            return model.score(images, texts)

    by_hand = zoo.evaluate(Plain(), ["sugarcrepe"], data_root=shared_data)
    tables = align_runs([found.cases, by_hand.cases]).tables
    assert largest_score_difference(*tables) < 1e-4
    assert all(abs(d.first_margin) < 1e-4 for d in outcome_differences(*tables))


def test_images_that_a_checkpoint_was_trained_on_are_counted(shared_data: Path) -> None:
    model = zoo.load("zoo-tiny", device="cpu")
    coco = [int(path.stem) for path in (shared_data / "coco" / "val2017").glob("*.jpg")]
    model.module.origin = {"trained_images": [f"coco:{number}" for number in coco]}
    found = zoo.evaluate(model, ["sugarcrepe"], data_root=shared_data, limit=20)
    assert [f.trained_on for f in found.metrics] == [f.images for f in found.metrics]


def test_an_unknown_benchmark_or_preset_is_refused_with_near_names() -> None:
    with pytest.raises(ZooError, match="did you mean sugarcrepe"):
        EvaluationDataModule(["sugarcrep"])
    with pytest.raises(ZooError, match="did you mean strict"):
        EvaluationDataModule(["sugarcrepe"], presets=["stric"])
