"""torch.compile as a switch: the same vectors and gradients, same names, few shapes."""

from pathlib import Path

import pytest
import torch
import torch._dynamo

from tests.backbones.test_backbone import NONE, PENULTIMATE, bank, gradients, tiny
from tests.backbones.test_lora import moved
from tests.backbones.test_towers import hugging_face
from tests.support.runs import last_checkpoint, losses, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, Tuning
from zoo.cli import main
from zoo.errors import ZooError


@pytest.fixture(autouse=True)
def afresh() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def equal(compiled: Backbone, plain: Backbone, tolerance: float) -> None:
    ours, theirs = (gradients(backbone, PENULTIMATE) for backbone in (compiled, plain))
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        torch.testing.assert_close(mine.pooled, other.pooled, rtol=tolerance, atol=tolerance)
    assert ours[2].keys() == theirs[2].keys()
    for name, gradient in ours[2].items():
        torch.testing.assert_close(
            gradient, theirs[2][name], rtol=10 * tolerance, atol=10 * tolerance
        )


@pytest.mark.parametrize(
    ("chunk", "lora"),
    [
        (None, None),
        pytest.param(2, None, marks=pytest.mark.slow),
        pytest.param(None, LoRA(), marks=pytest.mark.slow),
    ],
)
def test_it_changes_neither_vectors_nor_gradients_nor_names(
    chunk: int | None, lora: LoRA | None
) -> None:
    compiled, plain = (
        moved(tiny(tuning=Tuning(lora=lora), compute=Compute(chunk, backend)))
        for backend in ("eager", None)
    )
    assert list(compiled.state_dict()) == list(plain.state_dict())
    with torch._dynamo.config.patch(error_on_recompile=False):
        equal(compiled, plain, 1e-5)
    frames = torch._dynamo.utils.counters["frames"]
    assert frames["ok"] == frames["total"] > 0
    assert not torch._dynamo.utils.counters["graph_break"]


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, LoRA()])
def test_inductor_changes_nothing_either(lora: LoRA | None) -> None:
    compiled, plain = (
        moved(tiny(tuning=Tuning(lora=lora), compute=Compute(compile=backend)))
        for backend in ("inductor", None)
    )
    equal(compiled, plain, 1e-4)


def test_texts_of_any_number_and_length_need_few_graphs() -> None:
    backbone, graphs = tiny(compute=Compute(compile="eager")), []
    texts = bank(backbone)
    for rows in ([0, 1, 2, 3, 4], [2], [0, 3], [1, 2, 4], [4, 2, 0, 1]):
        backbone.encode_texts(texts.map(lambda t, rows=rows: t[rows]), NONE)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    assert graphs[-1] <= 6
    assert graphs[-1] == graphs[-2]


@pytest.mark.slow
def test_a_tower_without_open_clips_blocks_is_compiled_whole(tmp_path: Path) -> None:
    plain = hugging_face(tmp_path, "mean_pooler").eval()
    settings = {**plain.recorded_arguments, "compute": Compute(compile="eager")}
    compiled = Backbone(**settings).eval()
    compiled.load_state_dict(plain.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(
            compiled.encode_texts(bank(plain)).pooled, plain.encode_texts(bank(plain)).pooled
        )
    assert torch._dynamo.utils.counters["frames"]["ok"] > 0


def test_an_unknown_backend_is_refused_with_the_near_one() -> None:
    with pytest.raises(ZooError, match=r"'inductr' is not a backend .*did you mean inductor"):
        tiny(compute=Compute(compile="inductr"))


@pytest.mark.slow
def test_a_compiled_run_resumes_and_reloads_without_it(
    tmp_path: Path, made_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = [
        "fit",
        "--config",
        str(variant(tmp_path, made_root)),
        "--model.optimizer.decay",
        "none",
    ]
    assert (
        main([*recipe, "--trainer.max_epochs", "2", "--model.backbone.compute.compile", "eager"])
        == 0
    )
    assert main([*recipe, "--trainer.max_epochs", "1"]) == 0
    kept = str(last_checkpoint(tmp_path, version=1))
    resumed = [
        "--trainer.max_epochs",
        "2",
        "--ckpt_path",
        kept,
        "--model.backbone.compute.compile",
        "eager",
    ]
    assert main([*recipe, *resumed]) == 0
    whole, second = losses(tmp_path), losses(tmp_path, version=2)
    assert second == pytest.approx(
        {step: value for step, value in whole.items() if step >= 2}, rel=1e-3
    )
    assert not any(
        "_orig_mod" in name
        for name in torch.load(last_checkpoint(tmp_path), weights_only=True)["state_dict"]
    )
