"""The page's adapter of t2v_metrics, with a stub of it."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo

PAGE = Path(__file__).parents[2] / "docs/guides/any_scorer.md"


@pytest.fixture(scope="module")
def scorers() -> dict[str, Any]:
    """What scorers.py of the page defines."""
    found = re.search(r"```python\n(# scorers.py\n.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {}
    exec(compile(found[1], str(PAGE), "exec"), names)
    return names


@pytest.fixture
def images() -> list[Image.Image]:
    pixels = np.random.default_rng(0).integers(0, 255, (2, 16, 16, 3), dtype=np.uint8)
    return [Image.fromarray(array) for array in pixels]


class Stub:
    """Takes what t2v_metrics' scorers take, paths and texts, and gives images by texts."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def __call__(self, images: list[str], texts: list[str]) -> torch.Tensor:
        self.paths += images
        means = [float(np.array(Image.open(path)).mean()) for path in images]
        return torch.tensor([[mean - len(text) for text in texts] for mean in means])


def test_t2v_metrics_reads_the_very_pixels_and_leaves_no_file(
    scorers: dict[str, Any], images: list[Image.Image]
) -> None:
    stub = Stub()
    scorer = scorers["T2VMetrics"](stub)
    found = scorer.score(images, ["a", "bcd"])
    expected = [[float(np.array(i).mean()) - n for n in (1, 3)] for i in images]
    torch.testing.assert_close(found, torch.tensor(expected))
    assert not any(Path(path).exists() for path in stub.paths)


def test_an_adapter_is_measured_on_a_benchmark(
    scorers: dict[str, Any], images: list[Image.Image], tmp_path: Path
) -> None:
    images[0].save(tmp_path / "a.png")
    (tmp_path / "pairs.csv").write_text("image,caption,foil\na.png,short,a longer one\n")
    scorer = scorers["T2VMetrics"](Stub())
    results = zoo.evaluate(scorer, f"pairs:{tmp_path / 'pairs.csv'}", data_root=tmp_path)
    assert [metric.value for metric in results.metrics] == [100.0]
