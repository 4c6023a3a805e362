"""A model is found by every name that users give it, in every command."""

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from huggingface_hub import constants
from transformers import CLIPConfig, CLIPModel, SiglipConfig, SiglipModel

import zoo
from tests.support.hub_server import COMMIT, HubServer, serve_hub
from tests.support.made import draw
from zoo.backbones.backbone import Backbone
from zoo.backbones.model_folders import folder_settings
from zoo.checkpoints.model_sources import resolve_model
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.publishing.export import export
from zoo.support.configurable import from_config

TEXTS = ["a red square above a blue circle", "a green triangle"]
ZOO_FILES = ("zoo.json", "zoo.safetensors", "README.md")
# kinds of names; each is filled with the folder of the fixture
NAMES = (
    *("{0}/run", "{0}/run/checkpoints/last.ckpt", "{0}/export", "{0}/open_clip"),
    *("local-dir:{0}/open_clip", "{0}/hugging_face", "local-dir:{0}/hugging_face"),
    *("hf-hub:lab/open_clip", f"hf-hub:lab/open_clip@{COMMIT}", "lab/hugging_face", "lab/export"),
)


def without_zoo_files(export_folder: Path, folder: Path) -> None:
    shutil.copytree(export_folder, folder, ignore=shutil.ignore_patterns(*ZOO_FILES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model as a run, an export, and a folder of open_clip and of Hugging Face."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("models")
    module = ZooModule(Backbone("zoo-tiny", preprocess={"mean": (0.5, 0.4, 0.3)}))
    held = {"state_dict": module.state_dict(), "pytorch-lightning_version": "2.6.0"}
    module.on_save_checkpoint(held)
    checkpoint = root / "run" / "checkpoints" / "last.ckpt"
    checkpoint.parent.mkdir(parents=True)
    torch.save(held, checkpoint)
    export(root / "run", root / "export")
    without_zoo_files(root / "export", root / "open_clip")
    export(root / "run", root / "hf_export", "hf")
    without_zoo_files(root / "hf_export", root / "hugging_face")
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[HubServer]:
    repositories = {
        f"lab/{name}": {file.name: file.read_bytes() for file in (folder / name).iterdir()}
        for name in ("export", "open_clip", "hugging_face")
    }
    repositories["lab/open_clip"]["training_code.py"] = b"raise SystemExit"
    repositories["lab/empty"] = {"README.md": b"nothing"}
    with serve_hub(repositories) as server:
        yield server


@pytest.fixture
def hub(server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    server.downloads.clear()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return server


@pytest.fixture(scope="module")
def run(folder: Path) -> zoo.Model:
    """The model of the run, to compare with."""
    return zoo.load(folder / "run")


def vectors(model: zoo.Model) -> tuple[np.ndarray, np.ndarray]:
    image = draw("red", "square", "blue", "circle")
    return model.encode_images(image), model.encode_texts(TEXTS)


def check_towers(backbone: Backbone, run: zoo.Model) -> None:
    found = backbone.state_dict()
    expected = run.module.backbone.state_dict()
    assert all(torch.equal(found[key], tensor) for key, tensor in expected.items())


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", NAMES)
def test_every_name_loads_the_same_model_and_is_a_start_of_training(
    name: str, folder: Path, run: zoo.Model
) -> None:
    name = name.format(folder)
    for given, wanted in zip(vectors(zoo.load(name)), vectors(run), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-5)
    pretrained = f"hf-hub:{name}" if name.startswith("lab/") else name
    check_towers(Backbone("zoo-tiny", pretrained), run)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", ["fit", "validate"])
def test_a_name_is_the_model_of_a_command(
    command: str,
    name: str,
    folder: Path,
    run: zoo.Model,
    made_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(made_root)
    words = ["--config", "clip.yaml"] if command == "fit" else ["--benchmarks", "pairs:pairs.csv"]
    model = ["--model", name.format(folder)]
    settings = parse_settings([command, *words, *model, "--data_root", "."])
    if checkpoint := settings.get("ckpt_path"):
        module = resolve_model(checkpoint).load()
    else:
        module = ZooModule(from_config(settings.model.backbone.as_dict(), Backbone))
    check_towers(module.backbone, run)


@pytest.mark.usefixtures("hub")
def test_a_model_of_the_hub_is_evaluated_and_exported(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(made_root)
    name = "hf-hub:lab/open_clip"
    words = ["--benchmarks", "pairs:pairs.csv", "--data_root", ".", "--out", str(tmp_path / "out")]
    assert main(["validate", "--model", name, *words]) == 0
    assert "pairs" in capsys.readouterr().out
    assert main(["export", name, str(tmp_path / "exported")]) == 0
    model = open_clip.create_model(f"local-dir:{tmp_path / 'exported'}").eval()
    ids = open_clip.get_tokenizer("ViT-B-32")(TEXTS)
    expected = zoo.load(name).module.backbone.model.eval().encode_text(ids)
    torch.testing.assert_close(model.encode_text(ids), expected)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_exported(name: str, folder: Path, run: zoo.Model, tmp_path: Path) -> None:
    assert main(["export", name.format(folder), str(tmp_path / "exported")]) == 0
    exported = zoo.load(tmp_path / "exported")
    for given, wanted in zip(vectors(exported), vectors(run), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-5)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_evaluated(name: str, folder: Path, run: zoo.Model, made_root: Path) -> None:
    benchmark = f"pairs:{made_root / 'pairs.csv'}"
    found, expected = (
        zoo.evaluate(model, benchmark, made_root, quiet=True).metrics
        for model in (name.format(folder), run)
    )
    assert [metric.value for metric in found] == [metric.value for metric in expected]


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_the_base_of_a_merge(
    name: str, folder: Path, run: zoo.Model, tmp_path: Path
) -> None:
    base = f"hf-hub:{name}" if name.startswith("lab/") else name.format(folder)
    words = ["--base", base, "--alphas", "0.5", "--out", str(tmp_path / "merged")]
    assert main(["merge", "--ckpt_path", "hf-hub:lab/export", *words]) == 0
    merged = zoo.load(tmp_path / "merged" / "alpha_0.5.ckpt")
    for given, wanted in zip(vectors(merged), vectors(run), strict=True):
        np.testing.assert_allclose(given, wanted, atol=1e-5)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", ["{0}/run", "{0}/export", "hf-hub:lab/export", "lab/export"])
def test_every_name_of_a_tuned_model_is_merged(name: str, folder: Path, tmp_path: Path) -> None:
    words = ["--base", f"{folder}/open_clip", "--alphas", "1", "--out", str(tmp_path / "merged")]
    assert main(["merge", "--ckpt_path", name.format(folder), *words]) == 0
    check_towers(
        zoo.load(tmp_path / "merged" / "alpha_1.ckpt").module.backbone, zoo.load(folder / "run")
    )


def test_random_weights_are_the_same_each_time_and_leave_the_generator_as_it_is() -> None:
    state = torch.get_rng_state()
    first, second = zoo.load("zoo-tiny"), zoo.load("zoo-tiny")
    check_towers(first.module.backbone, second)
    assert torch.equal(torch.get_rng_state(), state)


def test_only_settings_and_one_file_of_weights_are_downloaded(
    hub: HubServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "zoo"):
        resolve_model("hf-hub:lab/open_clip")
    files = {file for file, _ in hub.downloads}
    assert "open_clip_model.safetensors" in files
    assert not any(file.endswith(".py") for file in files)
    assert f"hf-hub:lab/open_clip: revision {COMMIT}" in caplog.text


def test_a_downloaded_model_is_found_without_a_network(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = resolve_model("lab/hugging_face")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.downloads.clear()
    assert resolve_model("lab/hugging_face") == first
    assert hub.downloads == []


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lab/absent", r"'lab/absent' is not a known model: .*, and \S*/lab/absent does not exist"),
        ("hf-hub:lab/empty", "has none of the files open_clip_model.safetensors"),
        ("hf-hub:empty", r"is not a model of the Hugging Face hub: give hf-hub:USER/NAME"),
        ("openai/ViT-B-23", "did you mean openai/ViT-B-32"),
        ("local-dir:absent", "absent is not a folder"),
        ("absent.ckpt", r"absent\.ckpt does not exist"),
        ("zoo-tinny", "did you mean zoo-tiny"),
    ],
)
def test_an_unknown_name_is_refused_with_what_was_tried(name: str, message: str) -> None:
    with pytest.raises(ZooError, match=message) as caught:
        resolve_model(name)
    assert str(caught.value).count(". ") <= 1  # at most two sentences


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model_type": "bert"},
            "of type bert, and only types clip, siglip, blip, .* can be",
        ),
        ({"model_type": "clip"}, r"has no weights: it needs model\.safetensors or pytorch_model"),
        ({}, "is not the folder of a model"),
    ],
)
def test_another_folder_is_refused(config: dict[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ZooError, match=message):
        zoo.load(tmp_path)


def test_a_folder_that_asks_for_remote_code_is_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "open_clip", tmp_path / "model")
    file = tmp_path / "model" / "open_clip_config.json"
    content = json.loads(file.read_text())
    content["model_cfg"]["text_cfg"]["tokenizer_kwargs"] = {"trust_remote_code": True}
    file.write_text(json.dumps(content))
    with pytest.raises(ZooError, match="lets a tokenizer or model run custom code"):
        zoo.load(tmp_path / "model")


def test_towers_of_a_size_that_open_clip_does_not_have_are_built_from_the_folder(
    tmp_path: Path,
) -> None:
    towers = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    towers |= {"num_attention_heads": 2}
    torch.manual_seed(0)
    model = CLIPModel(
        CLIPConfig(
            vision_config={**towers, "image_size": 32, "patch_size": 16},
            text_config={**towers, "bos_token_id": 49406, "eos_token_id": 49407},
            projection_dim=24,
        )
    ).eval()
    model.save_pretrained(tmp_path / "small_clip")
    loaded = zoo.load(tmp_path / "small_clip")
    pixels, (ids, _, _) = torch.rand(2, 3, 32, 32), loaded.module.backbone.tokenizer(TEXTS)
    torch.testing.assert_close(
        loaded.encode_image(pixels), model.get_image_features(pixels).pooler_output
    )
    torch.testing.assert_close(loaded.encode_text(ids), model.get_text_features(ids).pooler_output)
    export(tmp_path / "small_clip", tmp_path / "exported")
    for given, wanted in zip(
        vectors(zoo.load(tmp_path / "exported")), vectors(loaded), strict=True
    ):
        np.testing.assert_allclose(given, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (CLIPConfig(), "ViT-B-32-quickgelu"),
        (CLIPConfig(vision_config={"patch_size": 16, "hidden_act": "gelu"}), "ViT-B-16"),
        (SiglipConfig(), "ViT-B-16-SigLIP"),
        (
            SiglipConfig(
                vision_config={"image_size": 256, "patch_size": 32},
                text_config={"vocab_size": 256000},
            ),
            "ViT-B-32-SigLIP2-256",
        ),
    ],
)
def test_a_hugging_face_folder_has_the_architecture_of_its_configuration(
    config: CLIPConfig | SiglipConfig, name: str, tmp_path: Path
) -> None:
    config.save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").touch()
    processor = {"size": {"height": 256, "width": 256}, "resample": 2, "image_mean": [0.5] * 3}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(processor))
    (tmp_path / "tokenizer.json").touch()
    settings = folder_settings(tmp_path)
    assert settings["name"] == name
    assert settings["preprocess"]["resize_mode"] == "squash"
    assert settings["preprocess"]["interpolation"] == "bilinear"
    assert ("text" in settings) == ("SigLIP" in name)


@pytest.mark.slow  # a SigLIP of the smallest size has 203 M parameters
def test_a_siglip_of_hugging_face_has_the_vectors_of_transformers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = SiglipModel(SiglipConfig(vision_config={"hidden_act": "gelu"})).eval()
    model.save_pretrained(tmp_path)
    settings = folder_settings(tmp_path)
    towers = open_clip.create_model(settings["name"]).eval()
    state = from_config(settings["pretrained"], zoo.backbones.published.PublishedWeights)
    towers.load_state_dict(
        {
            key: tensor.reshape(towers.state_dict()[key].shape)
            for key, tensor in state.state("").items()
        }
    )
    pixels, ids = torch.rand(2, 3, 224, 224), torch.randint(2, 32000, (2, 64))
    torch.testing.assert_close(
        towers.encode_image(pixels),
        model.get_image_features(pixels).pooler_output,
        rtol=1e-4,
        atol=1e-4,
    )
    ours, theirs = towers.encode_text(ids), model.get_text_features(ids).pooler_output
    assert torch.cosine_similarity(ours, theirs).min() > 0.9999  # the exact GELU, and that by tanh
