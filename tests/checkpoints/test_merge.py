"""WiSE-FT: checkpoints between the weights that training started from and those it came to."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import zoo
from tests.publishing.test_export import save
from tests.support.runs import last_checkpoint, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.published import NegCLIP
from zoo.backbones.settings import Tuning
from zoo.checkpoints.merge import write_interpolated_checkpoints
from zoo.cli import main
from zoo.cli.merge import parse_alphas
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.module import ZooModule


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """Weights that training starts from, other than random ones of any seed here."""
    torch.manual_seed(11)
    torch.save(Backbone("zoo-tiny").model.state_dict(), tmp_path / "start.pt")
    return tmp_path / "start.pt"


def tuned(
    start: Path, lora: LoRA | None = None, head: Head | None = None, pretrained: bool = True
) -> Path:
    backbone = Backbone(
        "zoo-tiny", pretrained=str(start) if pretrained else None, tuning=Tuning(lora=lora)
    )
    return save(ZooModule(backbone, head=head or Cosine()), start.with_name("last.ckpt"))


def state(file: Path) -> dict[str, Tensor]:
    weights: dict[str, Tensor] = torch.load(file, weights_only=True)["state_dict"]
    return weights


@pytest.mark.parametrize("lora", [None, LoRA()])
def test_alpha_0_is_the_start_alpha_1_the_tuned_model_and_between_them_is_a_straight_line(
    start: Path, lora: LoRA | None
) -> None:
    file = tuned(start, lora)
    states = [
        state(f)
        for f in write_interpolated_checkpoints(file, [0.0, 0.25, 1.0], start.with_name("merged"))
    ]
    whole = zoo.load(file).module
    ends = (Backbone("zoo-tiny", pretrained=str(start)), whole.backbone.with_merged_adapters())
    for found, backbone in ((states[0], ends[0]), (states[2], ends[1])):
        assert all(
            torch.equal(found[f"backbone.{name}"], tensor)
            for name, tensor in backbone.state_dict().items()
        )
    for name, tensor in states[1].items():
        torch.testing.assert_close(tensor, 0.75 * states[0][name] + 0.25 * states[2][name])
    scale = math.log(1 / 0.07)
    assert [float(s["head.log_scale"]) for s in states] == pytest.approx(
        [scale, 0.75 * scale + 0.25 * 3, 3.0]
    )
    moved = "backbone.model.visual.transformer.resblocks.0.mlp.c_fc.weight"
    assert not torch.equal(states[0][moved], states[2][moved])


def test_a_base_that_is_given_wins_over_the_recipe(start: Path) -> None:
    other = start.with_name("other.pt")
    torch.manual_seed(12)
    torch.save(Backbone("zoo-tiny").model.state_dict(), other)
    (file,) = write_interpolated_checkpoints(
        tuned(start), [0.0], start.with_name("merged"), str(other)
    )
    assert torch.equal(state(file)["backbone.model.visual.proj"], torch.load(other)["visual.proj"])


def test_published_weights_are_the_start_of_a_run_that_named_them(start: Path) -> None:
    backbone = Backbone("zoo-tiny", NegCLIP(str(start)), activation="gelu")
    file = save(ZooModule(backbone), start.with_name("last.ckpt"))
    (none,) = write_interpolated_checkpoints(file, [0.0], start.with_name("merged"))
    assert torch.equal(state(none)["backbone.model.visual.proj"], torch.load(start)["visual.proj"])


@pytest.mark.parametrize("lora", [None, LoRA()])
def test_a_base_that_frozen_weights_belie_is_refused(start: Path, lora: LoRA | None) -> None:
    other = start.with_name("other.pt")
    torch.manual_seed(12)
    torch.save(Backbone("zoo-tiny").model.state_dict(), other)
    backbone = Backbone(
        "zoo-tiny", pretrained=str(start), tuning=Tuning("both" if lora else "image", lora)
    )
    file = save(ZooModule(backbone), start.with_name("last.ckpt"))
    with pytest.raises(
        ZooError,
        match=(
            r"last\.ckpt was not trained from .*other\.pt \(backbone\.model\..* was frozen "
            r"but differs\)"
        ),
    ):
        write_interpolated_checkpoints(file, [0.0], start.with_name("merged"), str(other))
    assert not start.with_name("merged").exists()


def test_what_lies_under_adapters_is_the_start_of_a_run_from_nothing(start: Path) -> None:
    torch.manual_seed(13)
    module = ZooModule(Backbone("zoo-tiny", tuning=Tuning(lora=LoRA())))
    plain = module.backbone.with_merged_adapters().model.state_dict()  # adapters begin as nothing
    (none,) = write_interpolated_checkpoints(
        save(module, start.with_name("last.ckpt")), [0.0], start.with_name("merged")
    )
    found = state(none)
    assert all(torch.equal(found[f"backbone.model.{name}"], plain[name]) for name in plain)


@pytest.mark.parametrize(
    ("benchmarks", "says"),
    [("sugarcrap", "there is no benchmark 'sugarcrap'"), ("sugarcrepe", "nothing can be scored")],
)
def test_a_benchmark_that_cannot_be_asked_is_told_before_anything_is_written(
    start: Path, benchmarks: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "merge",
        "--ckpt_path",
        str(tuned(start)),
        "--alphas",
        "0,1",
        "--benchmarks",
        benchmarks,
        "--data_root",
        str(start.parent),
    ]
    assert main(command) == 1
    assert says in capsys.readouterr().err
    assert not start.with_name("merged").exists()


def test_a_linear_head_starts_at_the_identity(start: Path) -> None:
    none, whole = (
        state(f)
        for f in write_interpolated_checkpoints(
            tuned(start, head=Linear()), [0.0, 1.0], start.with_name("merged")
        )
    )
    assert torch.equal(none["head.text_map.weight"], torch.eye(128))
    assert not torch.equal(whole["head.text_map.weight"], torch.eye(128))


def test_a_head_with_a_random_start_is_refused(start: Path) -> None:
    head = CrossModal(width=16, ffn=32, attention_heads=2, layers=1)
    with pytest.raises(ZooError, match="CrossModal starts from random weights"):
        write_interpolated_checkpoints(tuned(start, head=head), [0.5], start.with_name("merged"))
    assert not start.with_name("merged").exists()


def test_without_a_start_a_base_is_asked_for(start: Path) -> None:
    with pytest.raises(ZooError, match="set --base"):
        write_interpolated_checkpoints(
            tuned(start, pretrained=False), [0.5], start.with_name("merged")
        )


def test_a_start_that_is_gone_is_asked_for(start: Path) -> None:
    file = tuned(start)
    start.unlink()
    with pytest.raises(
        ZooError,
        match=r"the weights that .*last\.ckpt started from cannot be loaded .*start\.pt.*--base",
    ):
        write_interpolated_checkpoints(file, [0.5], start.with_name("merged"))


@pytest.mark.parametrize("alphas", [[], [2.0], [-0.1], [math.nan], [0.5, 0.5], [0.1, 0.1 + 1e-12]])
def test_alphas_that_are_no_shares_or_come_twice_are_refused_before_anything_is_read(
    alphas: list[float], tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match=r"alphas are \[.*numbers from 0 to 1, without duplicates"):
        write_interpolated_checkpoints(tmp_path / "no.ckpt", alphas, tmp_path / "merged")


def test_alphas_that_are_near_have_files_of_their_own(start: Path) -> None:
    near = [0.1234567, 0.1234568]
    files = write_interpolated_checkpoints(str(tuned(start)), near, str(start.with_name("merged")))
    assert [file.name for file in files] == ["alpha_0.1234567.ckpt", "alpha_0.1234568.ckpt"]
    assert [torch.load(file, weights_only=True)["zoo"]["alpha"] for file in files] == near


def test_a_place_that_holds_no_checkpoints_is_told_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ZooError, match=r"file/alpha_1\.ckpt could not be written \(Not a directory"
    ):
        write_interpolated_checkpoints(tmp_path / "no.ckpt", [1.0], tmp_path / "file")


def test_the_start_was_trained_on_no_images(start: Path) -> None:
    file = tuned(start)
    content = torch.load(file, weights_only=True)
    torch.save({**content, "zoo": {"trained_images": ["a", "b"]}}, file)
    none, some = write_interpolated_checkpoints(file, [0.0, 0.1], start.with_name("merged"))
    for merged, images in ((none, []), (some, ["a", "b"])):
        assert torch.load(merged, weights_only=True)["zoo"]["trained_images"] == images


@pytest.mark.parametrize(
    ("text", "alphas"),
    [
        ("0.5", [0.5]),
        ("1, 0", [0.0, 1.0]),
        ("0,0.1,...,1", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("1,0.75,...,0.25,0", [0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_alphas_are_read(text: str, alphas: list[float]) -> None:
    assert parse_alphas(text) == alphas


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5", r"1.5 is outside \[0, 1\]"),
        ("-0.1,1", r"-0.1 is outside \[0, 1\]"),
        ("half", "'half' is not a number"),
        ("nan", "'nan' is not a number"),
        ("0,,1", "empty"),
        ("0,...,1", "must follow two numbers"),
        ("0,0.3,...,1", "does not reach 1"),
        ("0,0,...,1", "0 is repeated"),
        ("0,1e-9,...,1", r"would write 1e\+09 checkpoints: give at most 1,000 steps"),
        ("0,1e-320,...,1", "would write .* checkpoints"),
    ],
)
def test_other_alphas_are_refused(text: str, message: str) -> None:
    with pytest.raises(ZooError, match=message):
        parse_alphas(text)


@pytest.mark.slow
def test_the_command_measures_the_line_and_draws_it(
    start: Path,
    made_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = start.parent
    monkeypatch.chdir(folder)
    init_args = {"name": "zoo-tiny", "pretrained": str(start), "tuning": {"lora": {"rank": 2}}}
    recipe = variant(
        folder,
        made_root,
        {"backbone": {"class_path": "zoo.backbones.backbone.Backbone", "init_args": init_args}},
    )
    assert (
        main(
            [
                "fit",
                "--config",
                str(recipe),
                "--trainer.max_epochs",
                "1",
                "--model.optimizer.lr",
                "1e-2",
            ]
        )
        == 0
    )
    pairs = f"pairs:{made_root / 'pairs.csv'}"
    arguments = [
        "merge",
        "--ckpt_path",
        str(last_checkpoint(folder)),
        "--alphas",
        "0,0.5,1",
        "--out",
        "line",
    ]
    measured = [*arguments, "--benchmarks", pairs, "--data_root", str(made_root)]
    assert main([*measured, "--presets", "fsc_clip,no_such"]) == 1
    assert "no_such" in capsys.readouterr().err
    assert not (folder / "line").exists()
    assert main([*measured, "--presets", "official,strict"]) == 0
    assert "alpha_0.5.ckpt" in capsys.readouterr().out
    held = json.loads((folder / "line" / "trajectory.json").read_text())
    assert [row["alpha"] for row in held] == [0.0, 0.5, 1.0]
    assert (folder / "line" / "trajectory.png").read_bytes()[:4] == b"\x89PNG"
    assert (folder / "line" / "trajectory.pdf").read_bytes()[:4] == b"%PDF"
    tuned_alone = zoo.evaluate(zoo.load(last_checkpoint(folder)), [pairs], data_root=str(made_root))
    for row in (*tuned_alone.metrics, *tuned_alone.averages):
        name = getattr(row, "name", str(row))
        assert held[2]["scores"][name] == pytest.approx(row.value), name
    trained = zoo.load(folder / "line" / "alpha_1.ckpt").encode_texts(["a red square"])
    np.testing.assert_allclose(
        trained, zoo.load(last_checkpoint(folder)).encode_texts(["a red square"]), atol=1e-5
    )
    assert main(["fit", "--config", str(recipe), "--ckpt_path", "line/alpha_1.ckpt"]) == 1
    assert "has no optimizer state" in capsys.readouterr().err
