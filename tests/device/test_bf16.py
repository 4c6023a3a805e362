"""Under bf16-mixed, towers run in bf16.

Similarities, losses, gradients and weights stay in fp32.
"""

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import zoo.objectives
from tests.support.parallel import shipped
from tests.support.pretend_cuda import OperationCount
from tests.support.runs import last_checkpoint, losses
from tests.test_chunks import HEADS
from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded, TextBank
from zoo.cli import main
from zoo.heads import max_sim
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.objectives.base import Objective, loss_of
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP

SCALE = 100.0  # where CLIP's temperature ends, and rounding shows most
ROWS, WIDTH, CONTEXT, VOCABULARY = 12, 256, 16, 256

# the largest relative difference of the loss, and the smallest cosine of the gradients
BOUNDS = (5e-3, 0.999)
OTHER_BOUNDS: dict[type[Head], tuple[float, float]] = {
    # 1 to 2 % of the words are most similar to another patch in bf16, which gets their gradient:
    # 0.985 was seen, and over 0.999 with the patches of fp32 (below). Its logits differ less than
    # those of pooled vectors, so that the same errors are a larger share of the loss: 6.6e-3.
    MaxSim: (1e-2, 0.98),
    # its score is no cosine: times 100 it spreads over 20 to 40, and the towers' and its own
    # transformer's errors in bf16 are 1 % of that, as much from each: 1.6e-2 and 0.998 were seen
    CrossModal: (2.5e-2, 0.997),
}


@pytest.fixture(scope="module")
def architecture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Small towers of a width at which the rounding of single numbers averages out."""
    tower = {"width": WIDTH, "layers": 2}
    path = tmp_path_factory.mktemp("architecture") / "wide.json"
    text = {"context_length": CONTEXT, "vocab_size": VOCABULARY, "heads": 4, **tower}
    vision = {"image_size": 64, "patch_size": 16, "head_width": 64, **tower}
    path.write_text(json.dumps({"embed_dim": WIDTH, "vision_cfg": vision, "text_cfg": text}))
    return str(path)


def varied_batch() -> Batch:
    """Rows of smooth images and random texts, some of which are missing."""
    generator = torch.Generator().manual_seed(0)
    texts, images = 4 * ROWS, ROWS * 3 // 2

    def draw(*shape: int) -> Tensor:
        is_missing = torch.rand(shape, generator=generator) < 0.2
        rows = torch.randint(0, texts, shape, generator=generator)
        return torch.where(is_missing, -1, rows)

    lengths = torch.randint(5, CONTEXT + 1, (texts,), generator=generator)
    ids = torch.randint(1, VOCABULARY - 2, (texts, CONTEXT), generator=generator)
    ids[torch.arange(CONTEXT) >= lengths[:, None]] = 0
    ids[:, 0] = VOCABULARY - 2
    ids[torch.arange(texts), lengths - 1] = VOCABULARY - 1
    colors = torch.rand(images, 3, 3, 3, generator=generator)
    rows = torch.arange(ROWS)
    return Batch(
        images=(F.interpolate(colors, (64, 64), mode="bilinear") * 255).to(torch.uint8),
        texts=TextBank(ids, lengths, torch.arange(texts), texts),
        captions=torch.randperm(texts, generator=generator)[:ROWS],
        negatives=draw(ROWS, 2),
        positives=draw(ROWS, 1),
        negative_images=torch.where(rows < images - ROWS, rows + ROWS, -1),
        units=draw(ROWS, 2),
        foils=draw(ROWS, 2),
        image_ids=rows,
        hashes=torch.arange(texts),
        samples=rows,
        primary=ROWS,
    )


def build(architecture: str, objective: type[Objective], head: Callable[[], Head]) -> ZooModule:
    torch.manual_seed(0)
    backbone = Backbone(architecture, activation="gelu")
    module = ZooModule(backbone, objective(), head()).eval()  # without dropout
    with torch.no_grad():
        module.head.log_scale.fill_(math.log(SCALE))
    return module


def step(
    bf16: bool, architecture: str, objective: type[Objective], head: Callable[[], Head]
) -> tuple[Tensor, Tensor]:
    """Returns the loss and the gradient of all trained parameters, as one vector."""
    module = build(architecture, objective, head)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16, cache_enabled=False):
        encoded, scores = module.score(varied_batch())
        loss = loss_of(module.objective, encoded, scores).total
    with OperationCount() as count:
        loss.backward()
    assert count.kernels.total() > 100
    assert count.waits.total() == 0  # of the host for a GPU
    gradients = {n: p.grad for n, p in module.named_parameters() if p.requires_grad}
    assert [name for name, gradient in gradients.items() if gradient is None] == []
    return loss, torch.cat([g.flatten() for g in gradients.values() if g is not None])


# the scores of other heads are computed as those of these are, and MaxSim has its own test
QUICK = (Cosine, CrossModal)


@pytest.mark.parametrize(
    ("objective", "head", "settings"),
    [
        pytest.param(
            objective,
            *head,
            id=f"{objective.__name__}-{head[0].__name__}{i}",
            marks=() if objective is CLIP and head[0] in QUICK else pytest.mark.slow,
        )
        for objective in shipped(zoo.objectives, Objective)
        for i, head in enumerate(HEADS)
    ],
)
def test_every_pair_learns_in_bf16_what_it_learns_in_fp32(
    architecture: str, objective: type[Objective], head: type[Head], settings: dict[str, Any]
) -> None:
    if "chunk" in settings:
        settings = {**settings, "chunk": 1024}  # all pairs at once
    (expected, whole), (loss, half) = (
        step(bf16, architecture, objective, partial(head, bias=-1.0, **settings))
        for bf16 in (False, True)
    )
    assert loss.dtype == half.dtype == torch.float32
    assert not torch.equal(half, whole)
    largest, least = OTHER_BOUNDS.get(head, BOUNDS)
    assert loss.item() == pytest.approx(expected.item(), rel=largest)
    assert torch.cosine_similarity(half.double(), whole.double(), dim=0) > least


@pytest.mark.parametrize("objective", [CLIP, pytest.param(CSCLIP, marks=pytest.mark.slow)])
def test_max_sim_meets_the_bound_with_the_patches_that_fp32_chooses(
    architecture: str, objective: type[Objective], monkeypatch: pytest.MonkeyPatch
) -> None:
    choices: list[Tensor] = []
    changed: list[Tensor] = []

    def amax_of_choice(self: Tensor, dim: int) -> Tensor:
        choice = self.argmax(dim, keepdim=True)
        if bf16:
            before = choices.pop(0)
            changed.append((choice != before).flatten())
            choice = before
        else:
            choices.append(choice)
        return self.gather(dim, choice).squeeze(dim)

    # without recomputation, which would choose once more
    monkeypatch.setattr(max_sim, "checkpoint", lambda run, *items, use_reentrant: run(*items))
    monkeypatch.setattr(Tensor, "amax", amax_of_choice)
    bf16 = False
    expected, whole = step(bf16, architecture, objective, MaxSim)
    bf16 = True
    loss, half = step(bf16, architecture, objective, MaxSim)
    assert loss.dtype == half.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=OTHER_BOUNDS[MaxSim][0])
    assert 0 < torch.cat(changed).double().mean() < 0.05
    assert torch.cosine_similarity(half.double(), whole.double(), dim=0) > BOUNDS[1]


@pytest.mark.parametrize("head", [Cosine, MaxSim])
@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(objective, marks=() if objective is CSCLIP else pytest.mark.slow)
        for objective in shipped(zoo.objectives, Objective)
    ],
)
def test_only_towers_run_in_bf16(
    architecture: str, objective: type[Objective], head: type[Head]
) -> None:
    module = build(architecture, objective, partial(head, bias=-1.0))
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            encoded = module.encode(varied_batch())
            assert isinstance(encoded.images, Encoded)
            assert encoded.images.pooled.dtype == torch.bfloat16
            loss = loss_of(module.objective, *module.score(encoded)).total
        expected = loss_of(module.objective, *module.score(encoded)).total
    assert torch.equal(loss, expected)


@pytest.mark.slow
def test_a_run_in_bf16_keeps_weights_in_fp32(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, flags in (("whole", []), ("half", ["--trainer.precision", "bf16-mixed"])):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert (
            main(
                [
                    "fit",
                    "--config",
                    str(made_root / "recipe.yaml"),
                    "--trainer.max_epochs",
                    "1",
                    *flags,
                ]
            )
            == 0
        )
    whole, half = (losses(tmp_path / folder) for folder in ("whole", "half"))
    assert half == pytest.approx(whole, rel=0.05)
    assert half != whole
    state = torch.load(last_checkpoint(tmp_path / "half"), weights_only=True)["state_dict"]
    assert {tensor.dtype for tensor in state.values() if tensor.is_floating_point()} == {
        torch.float32
    }
