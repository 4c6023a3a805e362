"""Exported folders: whole, equal after reloading by others and by zoo, or not there."""

import contextlib
import io
import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from transformers import CLIPModel, CLIPProcessor

import zoo
import zoo.publishing.export
from tests.backbones.test_towers import TWISTS, hugging_face, small
from tests.support.made import draw
from tests.support.mistakes import full_after
from tests.support.runs import last_checkpoint, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Tuning
from zoo.cli import main
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.publishing.export import TOLERANCE, Format, export

CAPTIONS = ["a red square above a blue circle", "it's  a GREEN triangle, really!", "x"]


def save(module: ZooModule, file: Path) -> Path:
    """Writes what a run would have left of a module, with adapters and head that say something."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in (p for p in module.parameters() if p.requires_grad and p.ndim > 1):
            parameter.add_(0.1 * torch.randn_like(parameter))
        module.head.log_scale.fill_(3.0)
    held: dict[str, Any] = {"state_dict": module.state_dict(), "pytorch-lightning_version": "2.6.0"}
    module.on_save_checkpoint(held)
    torch.save(held, file)
    return file


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    module = ZooModule(
        Backbone(
            "zoo-tiny",
            activation="quickgelu",
            tuning=Tuning(lora=LoRA()),
            preprocess={"mean": (0.5, 0.4, 0.3)},
        ),
        head=Linear(),
    )
    return save(module, tmp_path_factory.mktemp("run") / "last.ckpt")


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What was printed during each export of `exported`, by format."""
    return {}


@pytest.fixture(scope="module")
def exported(checkpoint: Path, printed: dict[str, str]) -> dict[str, Path]:
    """The checkpoint as exported in each format."""
    folders = {form: checkpoint.parent / form for form in ("open_clip", "hf")}
    for form, folder in folders.items():
        with contextlib.redirect_stderr(io.StringIO()) as stream:
            export(checkpoint, folder, form)
        printed[form] = stream.getvalue()
    return folders


@pytest.fixture(scope="module")
def ours(checkpoint: Path) -> zoo.Model:
    return zoo.load(checkpoint)


def embeddings(model: zoo.Model) -> list[np.ndarray]:
    return [
        model.encode_images([draw("red", "square", "blue", "circle")]),
        model.encode_texts(CAPTIONS),
    ]


@pytest.mark.parametrize("form", ["open_clip", "hf"])
def test_zoo_reloads_it_head_and_all(form: str, exported: dict[str, Path], ours: zoo.Model) -> None:
    again = zoo.load(exported[form])
    assert again.module.backbone.tuning.lora is None
    assert isinstance(again.module.head, Linear)
    picture = [draw("red", "square", "blue", "circle")]
    np.testing.assert_allclose(
        again.score(picture, CAPTIONS), ours.score(picture, CAPTIONS), atol=1e-4
    )
    for a, b in zip(embeddings(again), embeddings(ours), strict=True):
        np.testing.assert_allclose(a, b, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("head", "scale"), [(Cosine(), 3.0), (CrossModal(width=8, ffn=8, layers=1), math.log(1 / 0.07))]
)
def test_the_scale_of_cosines_is_the_towers_and_no_other(
    head: Head, scale: float, tmp_path: Path
) -> None:
    kept = save(ZooModule(Backbone("zoo-tiny"), head=head), tmp_path / "last.ckpt")
    export(kept, tmp_path / "out")
    assert open_clip.create_model(
        f"local-dir:{tmp_path / 'out'}"
    ).logit_scale.item() == pytest.approx(scale)
    assert math.log(Backbone("zoo-tiny", pretrained=str(kept)).shapes.scale) == pytest.approx(scale)


def test_training_goes_on_from_its_weights_with_images_prepared_as_they_were(
    exported: dict[str, Path], ours: zoo.Model
) -> None:
    weights = exported["open_clip"] / "open_clip_model.safetensors"
    again, backbone = Backbone("zoo-tiny", pretrained=str(weights)), ours.module.backbone
    assert again.activation == backbone.activation == "quickgelu"
    picture = draw("red", "square", "blue", "circle")
    assert torch.equal(again.eval_transform(picture), backbone.eval_transform(picture))


def test_open_clip_reloads_it_with_the_towers_scale(
    exported: dict[str, Path], ours: zoo.Model
) -> None:
    name = f"local-dir:{exported['open_clip']}"
    model, _, transform = open_clip.create_model_and_transforms(name)
    picture = draw("red", "square", "blue", "circle")
    with torch.no_grad():
        image = model.encode_image(transform(picture)[None], normalize=True).numpy()
        text = model.encode_text(open_clip.get_tokenizer(name)(CAPTIONS), normalize=True).numpy()
    for a, b in zip((image, text), embeddings(ours), strict=True):
        np.testing.assert_allclose(a, b, atol=TOLERANCE)
    assert model.logit_scale.item() == pytest.approx(math.log(1 / 0.07)), (
        "a mapped text's scale is no temperature of the towers"
    )
    assert not any("lora" in name for name in model.state_dict())


def test_open_clip_reads_texts_with_the_part_of_its_vocabulary_that_a_model_has(
    tmp_path: Path,
) -> None:
    kept = save(ZooModule(Backbone("zoo-world")), tmp_path / "last.ckpt")
    export(kept, tmp_path / "out")
    model = open_clip.create_model(f"local-dir:{tmp_path / 'out'}")
    texts = ["two women in red dresses holding a big striped ball", "a horse on a farm"]
    ids = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'out'}")(texts)
    assert int(ids.max()) < model.vocab_size < 2000
    with torch.no_grad():
        vectors = model.encode_text(ids, normalize=True).numpy()
    np.testing.assert_allclose(vectors, zoo.load(kept).encode_texts(texts), atol=TOLERANCE)


def test_hugging_face_reloads_it_with_its_images_and_texts_prepared_alike(
    exported: dict[str, Path], ours: zoo.Model
) -> None:
    model, processor = (
        CLIPModel.from_pretrained(exported["hf"]),
        CLIPProcessor.from_pretrained(exported["hf"]),
    )
    picture = draw("red", "square", "blue", "circle").resize((64, 64))
    given = processor(text=CAPTIONS, images=[picture], return_tensors="pt", padding="max_length")
    with torch.no_grad():
        image = model.get_image_features(given["pixel_values"]).pooler_output
        text = model.get_text_features(given["input_ids"]).pooler_output
    for a, b in zip(
        (image, text), (ours.encode_images([picture]), ours.encode_texts(CAPTIONS)), strict=True
    ):
        np.testing.assert_allclose(
            torch.nn.functional.normalize(a, dim=-1).numpy(), b, atol=TOLERANCE
        )
    assert model.logit_scale.item() == pytest.approx(math.log(1 / 0.07))


@pytest.mark.parametrize("twist", [*TWISTS, "resnet", "a Hugging Face tower"])
def test_every_kind_of_tower_is_exported_for_open_clip(twist: str, tmp_path: Path) -> None:
    if twist == "a Hugging Face tower":
        backbone = hugging_face(tmp_path, "mean_pooler")
    else:
        image, text, rest = TWISTS.get(
            twist, ({"layers": [1, 1, 1, 1], "patch_size": None}, {}, {})
        )
        backbone = Backbone(small(tmp_path, twist, image, text, rest))
    saved = save(ZooModule(backbone), tmp_path / "last.ckpt")
    export(saved, tmp_path / "out")
    for file in tmp_path.glob("*.json"):
        file.unlink()  # the folder does not lean on what lies elsewhere
    assert zoo.load(tmp_path / "out").module.backbone.architecture == backbone.architecture


@pytest.mark.parametrize(
    ("image", "text", "rest", "named"),
    [
        (*TWISTS["normed queries and keys"], "text_cfg.qk_norm=True"),
        (
            *TWISTS["mean over patches"],
            "vision_cfg.pool_type=avg, vision_cfg.final_ln_after_pool=True",
        ),
        ({"layers": [1, 1, 1, 1], "patch_size": None}, {}, {}, "a ResNet as image tower"),
        ({}, {}, {"init_logit_bias": -10}, "init_logit_bias"),
    ],
)
def test_what_clipmodel_cannot_hold_is_refused_with_the_reason(
    image: dict, text: dict, rest: dict, named: str, tmp_path: Path
) -> None:
    saved = save(
        ZooModule(Backbone(small(tmp_path, f"odd {named[-9:]}", image, text, rest))),
        tmp_path / "last.ckpt",
    )
    with pytest.raises(ZooError, match=named):
        export(saved, tmp_path / "out", "hf")
    assert not (tmp_path / "out").exists()


def test_a_separate_text_tower_goes_to_hugging_face_and_back(tmp_path: Path) -> None:
    saved = save(
        ZooModule(Backbone(small(tmp_path, "separate", *TWISTS["separate text tower"]))),
        tmp_path / "last.ckpt",
    )
    export(saved, tmp_path / "out", "hf")
    assert (
        "text.token_embedding.weight"
        in zoo.load(tmp_path / "out").module.backbone.model.state_dict()
    )


def test_a_difference_after_reloading_leaves_no_folder(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        zoo.publishing.export,
        "hugging_face_config",
        wrong_activation(zoo.publishing.export.hugging_face_config),
    )
    with pytest.raises(ZooError, match="embeddings of images differ by"):
        export(checkpoint, tmp_path / "out", "hf")
    assert list(tmp_path.iterdir()) == []


def wrong_activation(make: Any) -> Any:
    def changed(*arguments: Any) -> dict[str, Any]:
        config = make(*arguments)
        config["vision_config"]["hidden_act"] = "gelu"
        return config

    return changed


def test_a_full_disk_leaves_no_folder(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zoo.publishing.export, "save_file", full)
    with pytest.raises(ZooError, match="No space left"):
        export(checkpoint, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "room"), [("open_clip", 0), ("hf", 5_000), ("open_clip", 10_000_000)]
)
def test_a_disk_that_is_full_later_leaves_no_folder(
    form: Format, room: int, checkpoint: Path, tmp_path: Path
) -> None:
    with (
        full_after(room),
        pytest.raises(ZooError, match=r"out could not be written \(File too large\): free disk"),
    ):
        export(checkpoint, tmp_path / "out", form)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_holds_no_folder_is_told_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ZooError, match=r"file/out could not be written \(Not a directory\): "):
        export(tmp_path / "no.ckpt", tmp_path / "file" / "out")
    with pytest.raises(ZooError, match="link exists"):
        export(tmp_path / "no.ckpt", tmp_path / "link")
    with pytest.raises(ZooError, match="'tflite' is not an export format: choose open_clip or hf"):
        export(tmp_path / "no.ckpt", tmp_path / "out", "tflite")  # type: ignore[arg-type]


def changed(checkpoint: Path, file: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    held = torch.load(checkpoint, weights_only=True)
    change(held)
    torch.save(held, file)
    return file


UNLOADABLE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a class that neither zoo nor an installed package offers": (
        lambda c: c["hyper_parameters"]["objective"].update(class_path="absent_lab.Loss"),
        r"uses the class absent_lab\.Loss, which is not part of zoo or an installed package",
    ),
    "an argument of a newer zoo": (
        lambda c: (
            c["hyper_parameters"]["objective"]["init_args"].update(curriculum=3),
            c["zoo"].update(version="9.9"),
        ),
        r"cannot be built \(written by zoo 9\.9, this is .*'curriculum'",
    ),
    "a setting of a newer zoo": (
        lambda c: c["hyper_parameters"].update(teacher=3),
        "cannot be built .*teacher",
    ),
    "an architecture that is not known": (
        lambda c: c["hyper_parameters"]["backbone"]["init_args"].update(name="zoo-tinny"),
        "cannot be loaded: .*'zoo-tinny' is not a known architecture",
    ),
    "a head of another shape": (
        lambda c: c["state_dict"].update({"head.text_map.weight": torch.eye(2)}),
        "cannot be loaded: .*head.text_map.weight is",
    ),
    "a part that is no part": (
        lambda c: c["hyper_parameters"].update(head="linear"),
        "is not a checkpoint of `zoo fit`",
    ),
    "weights that are no tensors": (
        lambda c: c["state_dict"].update({"head.log_scale": 3}),
        "is not a checkpoint of `zoo fit`",
    ),
    "an origin that says nothing": (
        lambda c: c.update(zoo="1.0"),
        "is not a checkpoint of `zoo fit`",
    ),
    "weights that are no numbers": (
        lambda c: c["state_dict"]["head.log_scale"].fill_(float("nan")),
        r"holds NaN or infinite weights in 1 of \d+ tensors \(head\.log_scale\): "
        r"training diverged",
    ),
}


@pytest.mark.parametrize("fault", UNLOADABLE)
def test_a_checkpoint_that_cannot_be_loaded_is_named_with_the_reason(
    fault: str, checkpoint: Path, tmp_path: Path
) -> None:
    change, says = UNLOADABLE[fault]
    file = changed(checkpoint, tmp_path / "x.ckpt", change)
    with pytest.raises(ZooError, match=rf"x\.ckpt.* {says}"):
        export(file, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "described",
    [
        "{}",
        "[]",
        "null",
        '{"recipe": {}, "origin": {}, "separate_text": false}',
        '{"recipe": {"backbone": {"class_path": "zoo.backbones.backbone.Backbone"}}, '
        '"origin": {}, "separate_text": false}',
        '{"recipe": RECIPE, "origin": [], "separate_text": false}',
        '{"recipe": RECIPE, "origin": {}}',
    ],
)
def test_a_description_that_says_too_little_is_named(
    described: str, exported: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(exported["open_clip"], tmp_path / "out")
    held = json.loads((tmp_path / "out" / "zoo.json").read_text())
    (tmp_path / "out" / "zoo.json").write_text(
        described.replace("RECIPE", json.dumps(held["recipe"]))
    )
    with pytest.raises(ZooError, match=r"zoo\.json does not describe the exported model"):
        zoo.load(tmp_path / "out")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"interpolation": "random"}, "random interpolation"),
        ({"resize_mode": "longest"}, "longest"),
    ],
)
def test_images_that_hugging_face_cannot_prepare_are_refused(
    settings: dict[str, str], says: str, tmp_path: Path
) -> None:
    saved = save(ZooModule(Backbone("zoo-tiny", preprocess=settings)), tmp_path / "last.ckpt")
    with pytest.raises(ZooError, match=f"{says}.* export with --format open_clip"):
        export(saved, tmp_path / "out", "hf")
    assert list(tmp_path.iterdir()) == [saved]


@pytest.mark.parametrize("form", ["open_clip", "hf"])
def test_others_may_read_what_is_exported(
    form: str, exported: dict[str, Path], printed: dict[str, str]
) -> None:
    assert {file.stat().st_mode & 0o777 for file in exported[form].iterdir()} == {0o644}
    assert "%|" not in printed[form], "no bar over what takes a moment"


def test_what_hugging_face_reads_is_nothing_to_start_anew_from(
    exported: dict[str, Path], made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = ["--config", str(made_root / "recipe.yaml")]
    assert main(["fit", *recipe, "--ckpt_path", str(exported["hf"])]) == 1
    assert (
        "has no optimizer state to resume from: export the run for open_clip"
        in capsys.readouterr().err
    )


def test_a_folder_that_exists_is_left_alone(
    checkpoint: Path, exported: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match="exists and was not written by `zoo export`"):
        export(checkpoint, tmp_path, overwrite=True)
    message = "open_clip exists: name another folder, or add --overwrite if"
    with pytest.raises(ZooError, match=message):
        export(checkpoint, exported["open_clip"])


def test_an_export_is_written_over_where_that_is_said_by_an_export_of_itself_too(
    checkpoint: Path, exported: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(exported["hf"], out)
    assert main(["export", str(checkpoint), str(out), "--overwrite"]) == 0
    assert not (out / "model.safetensors").exists()
    before = embeddings(zoo.load(out))
    assert main(["export", str(out), str(out), "--overwrite", "--licence", "mit"]) == 0
    assert "license: mit" in (out / "README.md").read_text()
    for ours, theirs in zip(embeddings(zoo.load(out)), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert [*tmp_path.iterdir()] == [out]


def test_graphs_say_what_is_to_be_installed_for_them(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ZooError, match=r"onnx is not installed: pip install 'clip-zoo\[export\]'"):
        export(checkpoint, tmp_path / "out", "onnx")
    assert list(tmp_path.iterdir()) == []


def test_graphs_are_told_as_what_zoo_does_not_load(tmp_path: Path) -> None:
    for name in ("head.onnx", "zoo.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(ZooError, match="has graphs for onnxruntime, which zoo cannot load"):
        zoo.load(tmp_path)


@pytest.mark.slow
def test_a_run_is_exported_and_measured_by_the_command_line(
    tmp_path: Path,
    made_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(["fit", "--config", str(variant(tmp_path, made_root)), "--trainer.max_epochs", "1"])
        == 0
    )
    kept = str(last_checkpoint(tmp_path))
    assert main(["export", kept, "out"]) == 0
    measure = [
        "validate",
        "--benchmarks",
        f"pairs:{made_root / 'pairs.csv'}",
        "--data_root",
        str(made_root),
    ]
    for source, out in ((kept, "before"), ("out", "after")):
        assert main([*measure, "--ckpt_path", source, "--out", out]) == 0
    before, after = (
        json.loads((tmp_path / out / "results.json").read_text()) for out in ("before", "after")
    )
    assert before["presets"] == after["presets"]
    assert main(["fit", "--config", str(made_root / "recipe.yaml"), "--ckpt_path", "out"]) == 1
    assert (
        f"--model.backbone.pretrained {Path('out') / 'open_clip_model.safetensors'}"
        in capsys.readouterr().err
    )
    assert main(["validate", "--ckpt_path", str(made_root), *measure[1:]]) == 1
    assert "zoo.json" in capsys.readouterr().err
