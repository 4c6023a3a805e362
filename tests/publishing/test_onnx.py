"""ONNX: what onnxruntime makes of the exported graphs is what the model makes."""

from pathlib import Path

import numpy as np
import pytest

import zoo
from tests.publishing.test_export import save
from tests.support.made import draw
from zoo.backbones.backbone import Backbone
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.publishing.card import CARD
from zoo.publishing.export import export

onnxruntime = pytest.importorskip(
    "onnxruntime", reason="graphs are run by onnxruntime: pip install 'clip-zoo[export]'"
)
pytest.importorskip("onnxscript", reason="torch writes graphs by onnxscript: 'clip-zoo[export]'")


@pytest.mark.slow
@pytest.mark.parametrize("head", [Linear()], ids=["pooled vectors"])
def test_the_card_scores_images_in_onnxruntime_as_the_model_does(
    head: Head, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = save(ZooModule(Backbone("zoo-tiny"), head=head), tmp_path / "last.ckpt")
    export(checkpoint, tmp_path / "out", "onnx")
    picture = draw("red", "square", "blue", "circle").resize((64, 64))
    monkeypatch.chdir(tmp_path)
    picture.save("horse.jpg")
    code = (tmp_path / "out" / CARD).read_text().split("```python\n")[1].partition("```")[0]
    exec(code.replace("FOLDER", str(tmp_path / "out")), scope := {})
    ours = zoo.load(checkpoint).score("horse.jpg", scope["texts"])
    assert ours.shape == (1, 2)
    np.testing.assert_allclose(scope["scores"], ours, atol=1e-4)


@pytest.mark.parametrize("head", [CrossModal(width=8, ffn=8, layers=1), MaxSim()])
def test_a_head_that_no_graph_holds_is_refused_before_anything_is_written(
    head: Head, tmp_path: Path
) -> None:
    checkpoint = save(ZooModule(Backbone("zoo-tiny"), head=head), tmp_path / "last.ckpt")
    with pytest.raises(
        ZooError, match=r"reads tokens or processes pairs .*export with --format open_c"
    ):
        export(checkpoint, tmp_path / "out", "onnx")
    assert list(tmp_path.iterdir()) == [checkpoint]
