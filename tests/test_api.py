"""What a notebook does: load a model, encode, score, measure."""

from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from lightning import Trainer
from numpy.typing import NDArray
from PIL import ExifTags, Image

import zoo
from tests.support.made import draw
from zoo.api import Model, evaluate, load
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import TextInput, Tuning
from zoo.benchmarks.pairs import Pairs
from zoo.errors import ZooError
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.objectives.cs_clip import CSCLIP
from zoo.results import Strict
from zoo.sources.rgb_conversion import Decoding

TEXTS = [
    "a red square above a green circle",
    "a circle",
    "a red square above a green circle",
    "two blue triangles and a very long story",
]


@pytest.fixture(scope="module")
def module() -> ZooModule:
    torch.manual_seed(3)
    return ZooModule(Backbone("zoo-tiny"), CSCLIP(lambda_u=0.25), Linear())


@pytest.fixture(scope="module")
def model(module: ZooModule) -> Model:
    return Model(module, batch_size=2)


@pytest.fixture(scope="module")
def checkpoint(module: ZooModule, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "last.ckpt"
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
    )
    trainer.strategy.connect(module)
    trainer.save_checkpoint(path)
    return path


@pytest.fixture
def pictures(made_root: Path) -> list[Path]:
    return sorted((made_root / "pictures").glob("*.png"))[:3]


def test_a_checkpoint_is_loaded_whole(
    module: ZooModule, model: Model, checkpoint: Path, pictures: list[Path]
) -> None:
    loaded = zoo.load(checkpoint)
    assert loaded.module.constructor_config() == module.constructor_config()
    np.testing.assert_array_equal(
        loaded.score(pictures, TEXTS), Model(module).score(pictures, TEXTS)
    )


def test_an_architecture_takes_weights_from_a_file(
    checkpoint: Path, pictures: list[Path], model: Model
) -> None:
    loaded = load("zoo-tiny", pretrained=checkpoint)
    np.testing.assert_allclose(
        loaded.encode_images(pictures), model.encode_images(pictures), atol=1e-6
    )
    assert load("zoo-tiny", tuning={"towers": "image"}).module.backbone.tuning == Tuning("image")


def test_vectors_have_the_shared_width_and_length_one(model: Model, pictures: list[Path]) -> None:
    width = model.module.backbone.shapes.width
    images, texts = model.encode_images(pictures), model.encode_texts(TEXTS)
    assert (images.shape, texts.shape) == ((3, width), (4, width))
    assert images.dtype == texts.dtype == np.float32
    for vectors in (images, texts):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(texts[0], texts[2])


def test_pictures_are_paths_strings_or_images_of_any_mode(
    model: Model, pictures: list[Path]
) -> None:
    by_path = model.encode_images(pictures)
    np.testing.assert_array_equal(model.encode_images([str(path) for path in pictures]), by_path)
    np.testing.assert_array_equal(
        model.encode_images([Image.open(path).convert("RGBA") for path in pictures]), by_path
    )


def test_how_many_are_encoded_at_once_changes_nothing(
    module: ZooModule, model: Model, pictures: list[Path]
) -> None:
    at_once = Model(module, batch_size=64)
    np.testing.assert_allclose(
        model.encode_images(pictures), at_once.encode_images(pictures), atol=1e-5
    )
    np.testing.assert_allclose(model.encode_texts(TEXTS), at_once.encode_texts(TEXTS), atol=1e-5)


def test_scores_are_the_cosine_formula(pictures: list[Path]) -> None:
    model = load("zoo-tiny")
    images, texts = model.encode_images(pictures), model.encode_texts(TEXTS)
    scale = float(model.module.head.scale.detach())
    by_hand = [[scale * float(np.dot(image, text)) for text in texts] for image in images]
    np.testing.assert_allclose(model.score(pictures, TEXTS), by_hand, rtol=1e-4, atol=1e-4)


class Wrapped:
    """An object of another project: nothing but `score`."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def score(self, images: list[Image.Image], texts: list[str]) -> NDArray[np.float32]:
        return self.model.score(images, texts)


def test_any_object_with_score_is_measured_like_a_model(
    model: Model, made_root: Path, tmp_path: Path
) -> None:
    pairs = [f"pairs:{made_root / 'pairs.csv'}"]
    ours = evaluate(model, pairs, made_root)
    theirs = evaluate(
        Wrapped(model), pairs, str(made_root), out=tmp_path / "out", presets=["official", "strict"]
    )
    assert theirs.header["model"]["model"] == f"{__name__}.Wrapped"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "cases.parquet",
        "results.json",
    ]
    rows = [line.split(",") for line in (made_root / "pairs.csv").read_text().splitlines()[1:]]
    by_hand = np.array(
        [model.score([image], [caption, foil])[0] for image, caption, foil, _ in rows]
    )
    for results in (ours, theirs):
        assert results.metrics[0].n == len(rows) == 12
        # towers that were never trained tell a caption from its foil by less than rounding: scores
        # are compared, and not outcomes
        np.testing.assert_allclose(results.cases["scores"].to_pylist(), by_hand, atol=1e-4)


class Misshapen:
    def score(self, images: list[Image.Image], texts: list[str]) -> NDArray[np.float32]:
        return np.zeros(len(texts), dtype=np.float32)


def test_scores_of_another_shape_are_refused(made_root: Path) -> None:
    with pytest.raises(ZooError, match=r"Misshapen returned scores of shape \(2,\)"):
        evaluate(Misshapen(), [f"pairs:{made_root / 'pairs.csv'}"], made_root)


def test_names_are_given_in_a_list_or_by_commas_and_objects_alone_or_in_a_list(
    model: Model, made_root: Path
) -> None:
    file = made_root / "pairs.csv"
    for given, ways in (
        (f"pairs:{file}", Strict()),
        ([f"pairs:{file}"], [Strict()]),
        (Pairs(str(file)), ["strict"]),
        ((Pairs(str(file)),), "strict,official"),
    ):
        results = evaluate(model, given, made_root, presets=ways)
        assert len(results.metrics) == 1
        assert results.by_preset[0].description == Strict().description
    with pytest.raises(ZooError, match=r"winogrand' \(did you mean winoground"):
        evaluate(model, f"pairs:{file}, winogrand", made_root)
    for wrong in (None, 3, [None]):
        with pytest.raises(
            ZooError, match=r"benchmarks has .*: give names, in a list or separated by commas"
        ):
            evaluate(model, wrong, made_root)  # type: ignore[arg-type]
    with pytest.raises(ZooError, match="no benchmark is given"):
        evaluate(model, [], made_root)
    with pytest.raises(ZooError, match="data root None is not a folder"):
        evaluate(model, f"pairs:{file}", None)  # type: ignore[arg-type]


def test_one_image_and_one_text_are_a_table_of_one(model: Model, pictures: list[Path]) -> None:
    expected = model.score(pictures, ["a dog", "a cat"])
    np.testing.assert_allclose(model.score(pictures, "a dog"), expected[:, :1], atol=1e-5)
    pixels = np.array(Image.open(pictures[0]).convert("RGB"))
    for one in (pictures[0], str(pictures[0]), Image.open(pictures[0]), pixels):
        np.testing.assert_allclose(model.score(one, "a dog"), expected[:1, :1], atol=1e-5)
    channels_first = torch.from_numpy(pixels.transpose(2, 0, 1) / np.float32(255))
    np.testing.assert_allclose(
        model.score(torch.stack([channels_first] * 2), "a dog"), expected[[0, 0], :1], atol=1e-5
    )
    assert model.encode_images(pixels).shape == model.encode_texts("a dog").shape


def test_a_model_honours_orientation_where_asked(checkpoint: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    picture = draw("red", "square", "blue", "circle")
    picture.save(tmp_path / "turned.png", exif=exif)
    model = load(checkpoint, decoding=Decoding(upright=True))
    by_hand = picture.transpose(Image.Transpose.ROTATE_270)
    np.testing.assert_array_equal(
        model.encode_images(tmp_path / "turned.png"), model.encode_images(by_hand)
    )


def test_nothing_scores_nothing(model: Model, pictures: list[Path]) -> None:
    assert model.score([], ["a", "b"]).shape == (0, 2)
    assert model.score(pictures, []).shape == (3, 0)
    assert model.score([], []).shape == (0, 0)
    width = model.module.backbone.shapes.width
    assert model.encode_images([]).shape == model.encode_texts([]).shape == (0, width)


def test_a_model_says_what_it_is(model: Model, checkpoint: Path) -> None:
    said = repr(load(checkpoint))
    assert said.startswith(f"Model(zoo-tiny, gelu, from {checkpoint}, ")
    assert "head Linear" in said
    assert "images of 64 x 64 pixels" in said
    assert said.endswith("on cpu)") or "cuda" in said
    assert "random weights: " in repr(load("zoo-tiny"))


def test_a_wrong_source_is_named(checkpoint: Path, made_root: Path) -> None:
    with pytest.raises(ZooError, match="is a model with its own weights and settings"):
        load(checkpoint, pretrained="openai")
    with pytest.raises(ZooError, match=r"'zoo-tinny' is not a known model.*zoo-tiny"):
        load("zoo-tinny")
    with pytest.raises(ZooError, match=r"'neg_clip' is not a known .*\(did you mean negclip"):
        load("neg_clip")
    with pytest.raises(ZooError, match=r"pairs\.csv cannot be read as a checkpoint"):
        load(made_root / "pairs.csv")
    with pytest.raises(ZooError, match="neither a file nor weights of zoo-tiny"):
        load("zoo-tiny", pretrained="opnai")
    for absent in ("runs/last.ckpt", "weights.safetensors"):
        with pytest.raises(ZooError, match=f"{absent} does not exist"):
            load(absent)
    with pytest.raises(ZooError, match=r"zoo\.load has no argument tunin \(did you mean tuning"):
        load("zoo-tiny", tunin={})
    for wrong in (None, 3, ""):
        with pytest.raises(ZooError, match="give the name of a model, such as"):
            load(wrong)  # type: ignore[arg-type]


def test_arguments_of_a_backbone_are_read_as_those_of_a_recipe() -> None:
    for lora in ({"rank": 2}, LoRA(rank=2)):
        loaded = load("zoo-tiny", tuning={"lora": lora})
        assert loaded.module.backbone.tuning == Tuning(lora=LoRA(rank=2))
    assert load("zoo-tiny", text=TextInput(lengths=[])).module.backbone.text_lengths == [77]
    for wrong, named in (
        ({"text": {"lengths": 8}}, "text.lengths"),
        ({"preprocess": 3}, "preprocess"),
        ({"tuning": {"lora": 3}}, "tuning.lora"),
        ({"augmentation": 3}, "augmentation"),
    ):
        with pytest.raises(ZooError, match=rf"zoo\.load: backbone\.{named}: "):
            load("zoo-tiny", **wrong)


def test_loading_calls_nothing_that_the_parser_deprecates(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("JSONARGPARSE_DEPRECATION_WARNINGS", "all")
    load(checkpoint, device="cpu")
    load("zoo-tiny", device="cpu")
    assert not [str(w.message) for w in recwarn if "deprecated in v4" in str(w.message)]


def test_a_device_that_cannot_be_had_is_named() -> None:
    for absent in ("gpu", "cuda:77"):
        with pytest.raises(ZooError, match=f"device '{absent}' cannot be used"):
            load("zoo-tiny", device=absent)
    with pytest.raises(ZooError, match="batch_size is 0"):
        Model(ZooModule(Backbone("zoo-tiny")), batch_size=0)


def test_a_picture_that_is_none_is_named(model: Model, made_root: Path) -> None:
    with pytest.raises(ZooError, match=r"nowhere\.jpg cannot be read as an image"):
        model.encode_images([made_root / "nowhere.jpg"])
    with pytest.raises(ZooError, match=r"pairs\.csv cannot be read as an image"):
        model.score([made_root / "pairs.csv"], ["a dog"])


def test_open_clips_names_encode_prepared_images_and_token_ids(model: Model) -> None:
    images = [draw("red", "square", "green", "circle"), draw("blue", "circle", "red", "square")]
    pixels = torch.stack([model.preprocess(image) for image in images])
    ids = model.tokenizer(TEXTS[:2])
    assert torch.equal(model.tokenizer(TEXTS[0]), ids[:1])
    clip = model.module.backbone.model
    assert torch.equal(model.encode_image(pixels), clip.encode_image(pixels))
    assert torch.equal(model.encode_text(ids), clip.encode_text(ids))
    np.testing.assert_allclose(
        model.encode_image(pixels, normalize=True).detach(), model.encode_images(images), atol=1e-6
    )
    np.testing.assert_allclose(
        model.encode_text(ids, normalize=True).detach(), model.encode_texts(TEXTS[:2]), atol=1e-6
    )


def test_vectors_and_scores_come_as_tensors_on_request(model: Model) -> None:
    image = draw("red", "square", "green", "circle")
    for method, given in (
        (model.encode_images, (image,)),
        (model.encode_texts, (TEXTS,)),
        (model.score, (image, TEXTS)),
        (model.score, ([], TEXTS)),
    ):
        tensor = method(*given, as_tensor=True)
        assert isinstance(tensor, torch.Tensor)
        assert not tensor.requires_grad
        np.testing.assert_array_equal(tensor.numpy(), method(*given))


@pytest.mark.parametrize("library", ["zoo", "open_clip"])
def test_a_model_is_evaluated_within_a_training_loop_and_trains_on(
    library: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    model = (
        ZooModule(Backbone("zoo-tiny")).train()
        if library == "zoo"
        else open_clip.create_model("ViT-S-32", force_image_size=64).train()
    )
    draw("red", "square", "green", "circle").save(tmp_path / "a.png")
    (tmp_path / "pairs.csv").write_text(f"image,caption,foil\na.png,{TEXTS[0]},{TEXTS[1]}\n")
    state = torch.get_rng_state()
    evaluate(model, Pairs(tmp_path / "pairs.csv"), data_root=tmp_path, quiet=True)
    assert not capsys.readouterr().out
    assert all(part.training for part in model.modules())
    assert torch.equal(torch.get_rng_state(), state)
