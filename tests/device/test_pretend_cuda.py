"""What runs on a GPU, on tensors that pretend to be on one.

No operation mixes devices, no reduction runs in half precision, losses are in fp32 on the device,
and the host waits for the device only where a table says why.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import zoo.heads
import zoo.objectives
from tests.evaluation.fakes import cases, drawn_images, evaluation
from tests.support.parallel import SMALL, VARIANTS, shipped
from tests.support.pretend_cuda import (
    CUDA,
    TO_DEVICE,
    TO_HOST,
    PretendedCuda,
    PretendedTensor,
    Record,
    leaves_of_graph,
)
from tests.test_chunks import batch as batch_of
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, TextInput, Tuning
from zoo.batch import Batch
from zoo.benchmarks.base import Case
from zoo.caption_data import BenchmarkedData
from zoo.heads.base import Head
from zoo.heads.com_clip import ComCLIP
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.heads.structure_guided import StructureGuided
from zoo.module import ZooModule
from zoo.module.step_numbers import compute_step_metrics
from zoo.objectives.base import Loss, Objective, loss_of
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.degla import DeGLA
from zoo.optim import Optimization
from zoo.regions_and_phrases.crops import Grid
from zoo.results.report import Results
from zoo.training.averaging import EMA

pytestmark = pytest.mark.skipif(
    not torch.backends.cuda.is_built(), reason="needs torch with CUDA's dispatch, but no GPU"
)
TEXTS = [
    *("a red square above a circle", "a dot", "a blue circle", "a green square"),
    "a blue square to the left of a green circle and a red dot",
    "a green circle to the right of a red square and a blue dot",
]
CROSS_MODAL: dict[str, Any] = {
    **SMALL["CrossModal"],
    "chunk": 64,
}  # one chunk holds all pairs of a block
SETTINGS = SMALL | {"CrossModal": CROSS_MODAL}
Places = Counter[tuple[str, str]]
NONE: Places = Counter()


def pairs(calls: int) -> Places:
    """Why the host waits while CrossModal scores pairs.

    It reads the longest text of each chunk, to which the chunk is cut.
    """
    return Counter({(TO_HOST, "heads/cross_modal.py:CrossModal.pairs"): calls})


# how often an objective scores a block of pairs, by CrossModal in one chunk each
BLOCKS = {
    "CECLIP": 4,
    "CLIC": 6,
    "CLIP": 1,
    "CSCLIP": 6,
    "CoNCLIP": 5,
    "DAC": 8,
    "DeGLA": 4,
    "FLAIR": 2,
    "FSCCLIP": 3,
    "NegCLIP": 2,
    "READCLIP": 2,
    "SigLIP": 1,
    "SuperCLIP": 1,
    "TIC": 1,
    "TSVLC": 4,
    "TripletCLIP": 4,
}


@dataclass(frozen=True)
class Step:
    """The forward pass and the loss of a batch on the device."""

    loss: Loss
    record: Record
    unreached: list[str]


@cache
def uint8_batch() -> Batch:
    """Three rows with everything that an objective may ask for; some is missing."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, 64, 64), dtype=torch.uint8, generator=generator)
    return replace(batch_of(Backbone("zoo-tiny"), TEXTS), images=images)


def loss_on_cpu(module: ZooModule) -> float:
    with torch.no_grad():
        encoded, scores = module.score(uint8_batch())
        return loss_of(module.objective, encoded, scores).total.item()


def steps_on_device(device: PretendedCuda, module: ZooModule) -> list[Step]:
    """Moves the module, and takes a step under the autocast of bf16-mixed and of 16-mixed."""
    module.to("cuda")
    batch = uint8_batch().to("cuda")
    steps = []
    for dtype in (torch.bfloat16, torch.float16):
        device.take_record()
        with torch.autocast("cuda", dtype, cache_enabled=False):
            encoded, scores = module.score(batch)
            loss = loss_of(module.objective, encoded, scores)
        record = device.take_record()
        reached = leaves_of_graph(loss.total)
        unreached = [
            name
            for name, parameter in module.named_parameters()
            if parameter.requires_grad and id(parameter) not in reached
        ]
        steps.append(Step(loss, record, unreached))
        compute_step_metrics("train", batch, scores, loss)
        assert device.record == Record()
    return steps


def build(objective: type[Objective], head: Callable[[], Head], **backbone: Any) -> ZooModule:
    torch.manual_seed(0)
    return ZooModule(Backbone("zoo-tiny", **backbone), objective(), head()).eval()  # no dropout


def assert_fit_for_a_gpu(module: ZooModule, waits: Places) -> None:
    """Takes steps and checks them.

    Args:
        module: The module.
        waits: How often the host may wait in a step, and where.
    """
    expected = loss_on_cpu(module)
    with PretendedCuda() as device:
        for step in steps_on_device(device, module):
            assert step.record.mixes == Counter()
            assert step.record.half_precision == Counter()
            assert step.record.synchronisations - waits == Counter()
            assert step.unreached == []
            for part in (step.loss.total, *step.loss.parts.values()):
                assert (part.device, part.dtype) == (CUDA, torch.float32)
            assert step.loss.total.cpu().item() == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(
    ("objective", "head"),
    [
        pytest.param(
            objective,
            partial(cls, bias=-1.0, **SETTINGS.get(cls.__name__, {}), **variant),
            id=f"{objective.__name__}-{cls.__name__}{i}",
            # every head in a quick run, and a second objective
            marks=()
            if objective is CSCLIP or (objective, cls) == (CLIP, Cosine)
            else pytest.mark.slow,
        )
        for objective in shipped(zoo.objectives, Objective)
        for cls in shipped(zoo.heads, Head)
        for i, variant in enumerate(VARIANTS.get(cls.__name__, [{}]))
    ],
)
def test_every_pair_runs_on_the_device_in_full_precision(
    objective: type[Objective], head: Callable[[], Head]
) -> None:
    module = build(objective, head)
    is_cross_modal = isinstance(module.head, CrossModal)
    assert_fit_for_a_gpu(module, pairs(BLOCKS[objective.__name__]) if is_cross_modal else NONE)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"compute": Compute(chunk=2)}, id="chunk"),
        pytest.param({"compute": Compute(channels_last=True)}, id="channels_last"),
        pytest.param({"compute": Compute(packed=True)}, id="packed"),
        pytest.param({"text": TextInput(lengths=())}, id="whole_texts"),
        pytest.param({"tuning": Tuning(lora=LoRA(rank=2))}, id="lora"),
        pytest.param({"tuning": Tuning("image")}, id="image_tower"),
    ],
)
def test_every_way_to_run_the_towers_stays_on_the_device(settings: dict[str, Any]) -> None:
    assert_fit_for_a_gpu(build(CSCLIP, Cosine, **settings), NONE)


def test_tokens_of_packed_texts_stay_on_the_device() -> None:
    module = build(CSCLIP, MaxSim, compute=Compute(packed=True))
    assert_fit_for_a_gpu(module, NONE)


def test_pairs_in_several_chunks_stay_on_the_device() -> None:
    head = partial(CrossModal, **{**CROSS_MODAL, "chunk": 5})
    # 9 pairs of images and captions
    assert_fit_for_a_gpu(build(CLIP, head), pairs(calls=1))


def test_the_teacher_and_the_scale_follow_without_waiting() -> None:
    module = build(DeGLA, Cosine)
    with PretendedCuda() as device:
        module.to("cuda")
        assert module.teacher is not None
        with torch.no_grad():
            for parameter in module.backbone.parameters():
                parameter.add_(1)
            before = module.teacher.backbone.model.positional_embedding.cpu()
            device.take_record()
            module.teacher.follow(module.backbone)
            module.head.clamp_scale()
        assert device.record.synchronisations == device.record.mixes == Counter()
        after = module.teacher.backbone.model.positional_embedding.cpu()
    torch.testing.assert_close(after, before + (1 - module.teacher.decay))


def test_a_batch_is_copied_to_the_device_without_waiting() -> None:
    batch = uint8_batch()
    with PretendedCuda() as device:
        moved = BenchmarkedData().transfer_batch_to_device(batch, CUDA, 0)
        assert device.record == Record()
        assert moved.captions.device == moved.images.device == moved.texts.ids.device == CUDA


def test_adamw_is_fused_for_parameters_that_are_split_over_gpus() -> None:
    """A method that only split parameters have stands for the split."""
    with PretendedCuda():
        module = build(CLIP, Cosine).to("cuda")
        for is_split in (False, True):
            if is_split:
                for parameter in module.parameters():
                    parameter.to_local = parameter.detach  # type: ignore[attr-defined]
            parameters = module.named_parameters()
            built = Optimization().build(parameters, module.learning_rate_part, 10, 1.0)
            assert built["optimizer"].defaults["fused"] is (True if is_split else None)


def test_an_average_of_the_weights_stays_on_the_device() -> None:
    module, average = build(CLIP, Cosine), EMA(decay=0.5)
    trainer: Any = SimpleNamespace(strategy=SimpleNamespace(root_device=CUDA), global_step=1)
    with PretendedCuda() as device:
        average.setup(trainer, module, "fit")
        average.on_train_batch_end(trainer, module, None, None, 0)
        first = module.head.log_scale.cpu()
        with torch.no_grad():
            module.head.log_scale.add_(1)
        trainer.global_step = 2
        device.take_record()
        average.on_train_batch_end(trainer, module, None, None, 1)
        record = device.take_record()
        assert record.mixes == Counter()
        assert record.synchronisations == Counter()
        averaged: Any = average._average_model
        averaged = averaged.module.head.log_scale
        assert averaged.device == CUDA
        assert averaged.item() == pytest.approx(first.item() + 0.5)


def run_evaluation(
    folder: Path, module: ZooModule, device: str, dtype: torch.dtype | None
) -> Results:
    """Runs cases of every protocol, as Lightning would."""
    images = drawn_images(folder, 4)
    match = np.eye(4, 3, dtype=bool)
    match[3, 2] = True
    names = ("cup", "car", "dog")
    prompts = tuple((f"a {name}", f"a photo of a {name}") for name in names)
    asked = np.array([[True, False]] * 2)
    text_vectors = [
        Case(tuple(images), names, match, "classify", "labels", "all", prompts=prompts),
        Case((), ("b", "c"), asked, "text_only", "texts", "1", query_texts=("a", "b d")),
    ]
    engine = evaluation(folder, cases(images) + ([] if module.head.needs.tokens else text_vectors))
    module.to(device)
    loaders = engine.build_loaders(module.backbone, module.head)
    engine.start(module.backbone, module.head, {})
    with torch.autocast(device, dtype or torch.bfloat16, dtype is not None, cache_enabled=False):
        for loader in loaders:
            for batch in loader:
                engine.step(module.backbone, module.head, batch.to(device))
        return engine.finish(module.backbone, module.head, {"name": "tiny"})


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(Cosine, id="pooled"),
        pytest.param(partial(CrossModal, **CROSS_MODAL, granularity="global"), id="short_lists"),
        pytest.param(MaxSim, id="tokens"),
        pytest.param(partial(CrossModal, **CROSS_MODAL), id="tokens_by_transformer"),
        pytest.param(partial(StructureGuided, Grid([(112, 112)])), id="views"),
        pytest.param(partial(ComCLIP, Grid([(224, 224)])), id="sub_images"),
    ],
)
def test_every_way_to_score_benchmarks_stays_on_the_device(
    tmp_path: Path, head: Callable[[], Head]
) -> None:
    expected = run_evaluation(tmp_path, build(CLIP, head), "cpu", None)
    with PretendedCuda() as device:
        results = run_evaluation(tmp_path, build(CLIP, head), "cuda", None)
        run_evaluation(tmp_path, build(CLIP, head), "cuda", torch.bfloat16)
        assert device.record.mixes == Counter()
        assert device.record.half_precision == Counter()
    assert [(m.metric, m.value, m.n) for m in results.metrics] == [
        (m.metric, m.value, m.n) for m in expected.metrics
    ]


class OnWrongDevice(CLIP):
    """CLIP's loss with weights that stay on the CPU."""

    def __call__(self, batch: Batch, scores: Any) -> Loss:
        loss: Loss = super().__call__(batch, scores)
        weights = torch.ones(len(batch))
        return replace(loss, total=loss.total + (weights * scores.image_vectors()[:, 0]).sum())


class InHalfPrecision(CLIP):
    """CLIP's loss with a softmax of numbers in half precision."""

    def __call__(self, batch: Batch, scores: Any) -> Loss:
        loss: Loss = super().__call__(batch, scores)
        logits = scores.images_against(batch.captions).logits
        with torch.autocast("cuda", enabled=False):
            return replace(loss, total=loss.total + logits.bfloat16().softmax(1)[0, 0])


class WithItem(CLIP):
    """CLIP's loss with a branch on a number of the device."""

    def __call__(self, batch: Batch, scores: Any) -> Loss:
        loss: Loss = super().__call__(batch, scores)
        return loss if loss.total > 0 else replace(loss, total=-loss.total)


class Detached(CLIP):
    """CLIP's loss without the gradient of the scale."""

    def __call__(self, batch: Batch, scores: Any) -> Loss:
        scores.head.log_scale.requires_grad_(False)
        loss: Loss = super().__call__(batch, scores)
        scores.head.log_scale.requires_grad_(True)
        return loss


@pytest.mark.parametrize(
    ("objective", "fault"),
    [
        (OnWrongDevice, "mul.Tensor.*OnWrongDevice.__call__"),
        (InHalfPrecision, "_softmax.*InHalfPrecision.__call__"),
        (WithItem, "item.*WithItem.__call__"),
        (Detached, "head.log_scale"),
    ],
)
def test_a_fault_is_found(objective: type[Objective], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        assert_fit_for_a_gpu(build(objective, Cosine), NONE)


@pytest.mark.parametrize(
    ("reason", "wait"),
    [
        ("item", lambda x: x[0].item()),
        ("item", lambda x: bool(x[0] > 0)),
        (TO_HOST, lambda x: x.tolist()),
        (TO_HOST, lambda x: x.cpu()),
        ("nonzero", lambda x: x.nonzero()),
        ("boolean index", lambda x: x[x > 0]),
        ("masked_select", lambda x: x.masked_select(x > 0)),
        ("unique", lambda x: x.unique()),
        (TO_DEVICE, lambda x: torch.tensor([1.0, 2.0], device=x.device)),
        (TO_DEVICE, lambda x: torch.ones(2).to(x.device)),
        (TO_DEVICE, lambda x: x[torch.tensor([0])]),
    ],
)
def test_each_wait_of_the_host_is_counted_once(reason: str, wait: Any) -> None:
    with PretendedCuda() as device:
        x = torch.arange(3.0, device="cuda")
        wait(x)
        x[1:].mul_(2)
        x.to("cuda", torch.float64).masked_fill(x > 1, 0)
        torch.ones(2).to(x.device, non_blocking=True)
        ((found, place), count), *more = device.record.synchronisations.items()
    assert (found, count, more) == (reason, 1, [])
    assert place.endswith("test_pretend_cuda.py:<lambda>")


def test_nothing_is_left_of_the_device() -> None:
    supported = torch.cuda.is_bf16_supported
    with PretendedCuda():
        assert torch.cuda.is_bf16_supported is not supported
        x = torch.ones(2, device="cuda")
        assert isinstance(x + 1, PretendedTensor)
    assert torch.cuda.is_bf16_supported is supported
    assert not torch._C._only_lift_cpu_tensors()
    assert not torch.__future__.get_overwrite_module_params_on_conversion()
    assert torch.cuda.is_initialized() is torch.cuda.is_available()
    with pytest.raises(RuntimeError, match="outside of PretendedCuda"):
        x.add(1)
    weight = torch.ones(1, requires_grad=True)
    weight.exp().sum().backward()
    assert weight.grad is not None
