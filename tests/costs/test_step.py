"""The cost of a step on paper is what torch counts of one that is taken."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from zoo.backbones import Backbone
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import Batch, TextBank
from zoo.costs.devices import Device, device_of
from zoo.costs.step import Step
from zoo.costs.towers import ForwardPass, TowerCost, towers_of
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.objectives.cs_clip import CSCLIP

CLOSE = 0.15
ROWS, SENTENCES, UNITS = 8, 2, 2
LONG, SHORT = 16, 8  # tokens that sentences and units are cut to
ARCHITECTURE = {
    "embed_dim": 128,
    "vision_cfg": {"image_size": 64, "layers": 2, "width": 192, "patch_size": 16},
    "text_cfg": {"context_length": 32, "vocab_size": 512, "width": 128, "heads": 4, "layers": 2},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where architectures lie."""
    return tmp_path_factory.mktemp("architectures")


@pytest.fixture(scope="module")
def vit_b_32() -> tuple[TowerCost, TowerCost]:
    return towers_of("ViT-B-32-quickgelu", checkpoints=True)


count_towers = cache(towers_of)


def architecture_file(folder: Path, quickgelu: bool) -> str:
    file = folder / f"plain_{quickgelu}.json"
    file.write_text(json.dumps(ARCHITECTURE | {"quick_gelu": quickgelu}))
    return str(file)


def backbone(folder: Path, quickgelu: bool, chunk: int | None, towers: str) -> Backbone:
    torch.manual_seed(0)
    name = architecture_file(folder, quickgelu)
    return Backbone(name, compute=Compute(chunk), tuning=Tuning(towers=towers))


def batch() -> Batch:
    """Rows of a caption and a negative of 16 tokens, two units and two foils of 8, all distinct."""
    lengths = torch.tensor([LONG] * ROWS * SENTENCES + [SHORT] * ROWS * 2 * UNITS)
    ids = torch.randint(1, 500, (len(lengths), 32))
    ids[torch.arange(32) >= lengths[:, None]] = 0
    ids[torch.arange(len(ids)), lengths - 1] = 511
    rows = torch.arange(len(lengths))
    sentences = rows[: ROWS * SENTENCES].view(SENTENCES, ROWS)
    units = rows[ROWS * SENTENCES :].view(2, ROWS, UNITS)
    hashes = rows.clone()
    return Batch(
        images=torch.randn(ROWS, 3, 64, 64),
        texts=TextBank(ids, lengths, hashes, len(ids)),
        captions=sentences[0],
        negatives=sentences[1][:, None],
        positives=torch.full((ROWS, 0), -1),
        negative_images=torch.full((ROWS,), -1),
        units=units[0],
        foils=units[1],
        image_ids=torch.arange(ROWS),
        hashes=hashes,
        samples=torch.arange(ROWS),
        primary=ROWS,
    )


def on_paper(folder: Path, quickgelu: bool, chunk: int | None, towers: frozenset[str]) -> Step:
    image, text = count_towers(architecture_file(folder, quickgelu))
    return Step(
        image,
        text,
        trains=towers,
        rows=ROWS,
        sentences=SENTENCES,
        units=2 * UNITS,
        sentence_tokens=LONG,
        unit_tokens=SHORT,
        arithmetic="fp32",
        chunk=chunk,
    )


@pytest.mark.parametrize(("chunk", "towers"), [(None, "both"), (4, "both"), (None, "text")])
def test_operations_are_those_that_torch_counts(
    chunk: int | None, towers: str, folder: Path
) -> None:
    module = ZooModule(backbone(folder, True, chunk, towers), CSCLIP())
    with FlopCounterMode(display=False) as counted, sdpa_kernel(SDPBackend.MATH):
        encoded, scores = module.score(batch())
        module.objective(encoded, scores).total.backward()
    trains = frozenset({"image", "text"} if towers == "both" else {towers})
    expected = sum(on_paper(folder, True, chunk, trains).flops.values())
    assert expected == pytest.approx(counted.get_total_flops(), rel=CLOSE)


@pytest.mark.parametrize("quickgelu", [True, False])
def test_activations_are_those_that_autograd_keeps(quickgelu: bool, folder: Path) -> None:
    module = ZooModule(backbone(folder, quickgelu, None, "both"), CSCLIP())
    weights = {p.untyped_storage().data_ptr() for p in module.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        module.score(batch())
    found = sum(t.untyped_storage().nbytes() for place, t in kept.items() if place not in weights)
    memory = on_paper(folder, quickgelu, None, frozenset({"image", "text"})).memory
    wanted = sum(memory[f"activations of {what}"] for what in ("images", "texts"))
    assert wanted + memory["images"] == pytest.approx(found, rel=CLOSE)


def test_whole_steps_take_the_memory_that_was_measured(
    vit_b_32: tuple[TowerCost, TowerCost],
) -> None:
    """What `benchmarks/speed/step_memory.py` measured of ViT-B/32 above weights and moments."""
    image, text = vit_b_32
    file = Path(__file__).parents[2] / "benchmarks" / "results" / "step_memory_cpu.json"
    whole = [s for s in json.loads(file.read_text())["steps"] if not s["chunk"] and s["batch"] > 8]
    assert len(whole) == 3
    for step in whole:
        planned = Step(
            image,
            text,
            trains=frozenset({"image", "text"}),
            rows=step["batch"],
            sentences=2,
            units=4,
            arithmetic="fp32",
        )
        parts = ("activations of images", "activations of texts", "images", "scores")
        memory = sum(planned.memory[part] for part in parts)
        assert memory / (1 << 20) == pytest.approx(step["peak"], rel=CLOSE)


def test_memory_of_weights_gradients_and_moments_is_that_of_fp32(folder: Path) -> None:
    step = on_paper(folder, True, None, frozenset({"text"}))
    memory, n = step.memory, step.text.parameters
    assert (memory["gradients"], memory["optimizer"]) == (4 * n, 8 * n)
    assert memory["weights"] == 4 * (n + step.image.parameters)
    assert memory["activations of images"] == 0


def test_a_chunk_keeps_its_own_activations_alone(folder: Path) -> None:
    both = frozenset({"image", "text"})
    whole, chunked = (on_paper(folder, True, chunk, both).memory for chunk in (None, 2))
    assert chunked["activations of images"] == whole["activations of images"] / 4
    text = on_paper(folder, True, 2, both).text
    # two images have 2 x 16 patches: as many tokens as two sentences, or as four units
    kept = max(2 * text.activation_bytes(LONG), 4 * text.activation_bytes(SHORT))
    assert chunked["activations of texts"] == kept


def test_seconds_are_by_hand() -> None:
    tower = TowerCost(lambda tokens: ForwardPass(1_000 * tokens, 0, 0), 50, out=128, tokens=77)
    step = Step(tower, tower, frozenset({"image", "text"}), rows=8, devices=2)
    device = Device("made", 1, {"bf16": 2.0}, 4.0, ())
    seconds = step.seconds(device, 0.5, workers=2, image_ms=3.0, texts_ms=1.0)
    assert seconds["towers"] == pytest.approx(sum(step.flops.values()) / 1e12)
    # half of 2 x 4 bytes of 100 gradients, and of 8 rows' image and text vectors, twice
    assert seconds["communication"] == pytest.approx((400 + 4 * 16 * 128) / 4e9)
    assert seconds["loading"] == pytest.approx(4 * 4e-3 / 2)


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(ZooError, match=r"--device a1000 .*did you mean a100.*choose one of a100"):
        device_of("a1000")
    assert device_of("A100").tflops["bf16"] == 312


def test_recomputed_blocks_keep_their_inputs_and_one_block(
    vit_b_32: tuple[TowerCost, TowerCost],
) -> None:
    """ViT-B/32 stores 12 inputs of blocks, and what one of 12 blocks stores besides its input."""
    (image, _), width, tokens = vit_b_32, 768, 50
    # the input of the first norm, of all blocks, and of the last norm
    inputs = 4 * 14 * width * tokens
    # the outputs of both norms, of the three projections, of attention and of c_fc before and after
    # its activation (quickgelu keeps the sigmoid too), and the sum between attention and perceptron
    block = 4 * width * tokens * (2 + 3 + 1 + 3 * 4 + 1)
    assert image.checkpointed_bytes() == pytest.approx(inputs + block, rel=0.05)
    assert image.activation_bytes() == pytest.approx(inputs + 12 * block, rel=0.05)


def test_recomputed_blocks_run_once_more(folder: Path) -> None:
    torch.manual_seed(0)
    file = architecture_file(folder, True)
    module = ZooModule(Backbone(file, compute=Compute(checkpoint_blocks=True)), CSCLIP())
    with FlopCounterMode(display=False) as counted, sdpa_kernel(SDPBackend.MATH):
        encoded, scores = module.score(batch())
        module.objective(encoded, scores).total.backward()
    plain = on_paper(folder, True, None, frozenset({"image", "text"}))
    assert sum(replace(plain, checkpoint_blocks=True).flops.values()) == pytest.approx(
        counted.get_total_flops(), rel=CLOSE
    )
