"""The page's adapters: BLIP's matching head as transformers has it, t2v_metrics as a stub of it."""

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


class Inputs(dict[str, torch.Tensor]):
    def to(self, device: torch.device) -> "Inputs":
        return self


def processed(images: list[Image.Image], text: list[str], **settings: Any) -> Inputs:
    """Stands for BlipProcessor: pixels, and the letters of a text as ids."""
    assert settings == {"return_tensors": "pt", "padding": True, "truncation": True}
    pixels = [torch.tensor(np.array(image)).permute(2, 0, 1) / 255 for image in images]
    width = max(map(len, text))
    ids = torch.tensor([[ord(letter) for letter in one.ljust(width)] for one in text])
    return Inputs(pixel_values=torch.stack(pixels), input_ids=ids)


def test_blips_head_scores_each_pair_as_it_does_alone(
    scorers: dict[str, Any], images: list[Image.Image], capsys: pytest.CaptureFixture[str]
) -> None:
    transformers: Any = pytest.importorskip("transformers")
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    text = {**small, "num_attention_heads": 2, "vocab_size": 200, "encoder_hidden_size": 16}
    vision = {**small, "num_attention_heads": 2, "image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    config = transformers.BlipConfig(text_config=text, vision_config=vision)
    blip = transformers.BlipForImageTextRetrieval(config).eval()
    texts = ["a cat", "a dog", "cats!"]
    scorer = scorers["BlipITM"](blip, processed, batch_size=4)
    found = scorer.score(images, texts)
    settings = {"return_tensors": "pt", "padding": True, "truncation": True}
    for i, image in enumerate(images):
        for j, one in enumerate(texts):
            with torch.no_grad():
                logits = blip(**processed([image], [one], **settings)).itm_score
            match = logits.exp()[0, 1] / logits.exp().sum()
            torch.testing.assert_close(found[i, j], match)
    scorer.print_cost()
    assert re.fullmatch(r"6 pairs in [\d.]+ s, [\d.]+ ms a pair\n", capsys.readouterr().out)


class Stub:
    """Takes what t2v_metrics' scorers take, paths and texts, and gives images by texts."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def __call__(self, images: list[str], texts: list[str]) -> torch.Tensor:
        self.paths += images
        means = [float(np.array(Image.open(path)).mean()) for path in images]
        return torch.tensor([[mean - len(text) for text in texts] for mean in means])


def test_t2v_metrics_reads_the_very_pixels_and_leaves_no_file(
    scorers: dict[str, Any], images: list[Image.Image], capsys: pytest.CaptureFixture[str]
) -> None:
    stub = Stub()
    scorer = scorers["T2VMetrics"](stub)
    found = scorer.score(images, ["a", "bcd"])
    expected = [[float(np.array(i).mean()) - n for n in (1, 3)] for i in images]
    torch.testing.assert_close(found, torch.tensor(expected))
    assert not any(Path(path).exists() for path in stub.paths)
    scorer.print_cost()
    assert capsys.readouterr().out.startswith("4 pairs in ")


def test_an_adapter_is_measured_on_a_benchmark(
    scorers: dict[str, Any], images: list[Image.Image], tmp_path: Path
) -> None:
    images[0].save(tmp_path / "a.png")
    (tmp_path / "pairs.csv").write_text("image,caption,foil\na.png,short,a longer one\n")
    scorer = scorers["T2VMetrics"](Stub())
    results = zoo.evaluate(scorer, f"pairs:{tmp_path / 'pairs.csv'}", data_root=tmp_path)
    assert [metric.value for metric in results.metrics] == [100.0]
    assert scorer.pairs == 2
