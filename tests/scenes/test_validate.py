"""A model is measured on rendered scenes."""

import pytest

from zoo.cli.commands import main
from zoo.results.reader import read_results
from zoo.scenes.cache import render_collection
from zoo.scenes.grid import BindingGrid
from zoo.scenes.pairs import ExchangedPairs


@pytest.mark.usefixtures("renderer")
def test_grid_and_pairs_are_measured_by_subset(tmp_path):
    render_collection(tmp_path / "scene_grid", 25, BindingGrid(size=16), samples=1, workers=0)
    render_collection(tmp_path / "scene_pairs", 8, ExchangedPairs(size=16), samples=1, workers=0)
    command = "validate --model.backbone.name zoo-tiny --benchmarks scene_grid,scene_pairs --out"
    root = ["--data_root", str(tmp_path), "--trainer.accelerator", "cpu", "--data.workers", "0"]
    assert main([*command.split(), str(tmp_path / "out"), *root]) == 0
    found = {(m.subset, m.metric): m for m in read_results(tmp_path / "out").metrics}
    for subset in ("seen", "partial", "unseen"):
        assert found[subset, "i2t"].n == 6
        assert found[subset, "i2t_r@1"].n == 3
        assert round(found[subset, "i2t_r@1"].chance, 4) == round(100 * 2 / 3_136, 4)
    for subset in ("color", "size", "material", "quantity"):
        assert found[subset, "group"].n == 2
