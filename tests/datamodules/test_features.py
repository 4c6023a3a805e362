"""Frozen features have the losses of encoding anew.

Nothing is encoded twice, nothing half-written is read, and nothing random is let in.
"""

import json
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from PIL import Image
from torch import Tensor

from tests.embeddings.test_shards import open_full
from tests.support.made import make_root
from tests.support.parallel import group, on_ranks
from tests.support.runs import in_process, losses, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Augmentation, Tuning
from zoo.cli import main
from zoo.datamodules import feature_encoder, features
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.features import Features, FeatureStore
from zoo.embeddings.store import GIB
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.sources.images import ImageFinder
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.sample import ImageRef
from zoo.support import files
from zoo.units.sampler import UnitSampler

SMALL: dict[str, Any] = {"width": 16, "ffn": 32, "attention_heads": 2, "layers": 1}


class Kept(Callback):
    """Keeps the losses of all steps."""

    def __init__(self) -> None:
        self.train: list[float] = []
        self.val: list[float] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.train.append(float(outputs["loss"]))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.val.append(float(trainer.callback_metrics["val/loss"]))


def frozen(seed: int = 0, **arguments: Any) -> Backbone:
    torch.manual_seed(seed)
    return Backbone("zoo-tiny", **{"tuning": Tuning("none"), "augmentation": None, **arguments})


def module_of(
    head: Callable[[], Head] = Linear,
    objective: Callable[[], Objective] = NegCLIP,
    backbone: Backbone | None = None,
) -> ZooModule:
    backbone = backbone or frozen()
    torch.manual_seed(1)
    return ZooModule(backbone, objective(), head(), Optimization(lr=1e-2))


def data_of(root: Path, features: Features | None = None, **options: Any) -> CaptionDataModule:
    given = {
        "negatives": NegCLIPSwap(),
        "resample": False,
        "val_images": 4,
        "batch_size": 3,
        "workers": 0,
        **options,
    }
    return CaptionDataModule(
        CsvTable(str(root / "captions.tsv")), [str(root)], features=features, **given
    )


def fit(module: ZooModule, data: CaptionDataModule, epochs: int = 2) -> Kept:
    kept = Kept()
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = Trainer(
        accelerator="cpu", max_epochs=epochs, num_sanity_val_steps=0, callbacks=[kept], **quiet
    )  # type: ignore[arg-type]
    trainer.fit(module, datamodule=data)
    return kept


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def stored(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kept]:
    """The features of the made images and captions for pooled vectors, and their losses."""
    folder = tmp_path_factory.mktemp("features")
    return folder, fit(module_of(), data_of(made_root, Features(str(folder))))


@pytest.fixture
def filled(stored: tuple[Path, Kept], tmp_path: Path) -> Path:
    """A copy of the folder of these features."""
    return Path(shutil.copytree(stored[0], tmp_path / "filled"))


LOCAL, GLOBAL = partial(CrossModal, **SMALL), partial(CrossModal, "global", **SMALL)


@pytest.mark.parametrize("head", [Linear, LOCAL, GLOBAL])
def test_losses_are_those_of_encoding_anew(
    head: Any, made_root: Path, tmp_path: Path, stored: tuple[Path, Kept]
) -> None:
    anew = fit(module_of(head), data_of(made_root))
    kept = stored[1]
    if head is not Linear:
        kept = fit(module_of(head), data_of(made_root, Features(str(tmp_path))))
    assert len(kept.train) == 6
    assert kept.train == pytest.approx(anew.train, rel=2e-5)
    assert kept.val == pytest.approx(anew.val, rel=2e-5)
    assert len(set(kept.train)) == 6


def test_units_hard_images_and_one_caption_a_image_are_stored_as_well(
    made_root: Path, tmp_path: Path
) -> None:
    def options() -> dict[str, Any]:
        return {"units": UnitSampler(str(made_root / "units.jsonl")), "captions_per_image": "one"}

    anew, kept = (
        fit(module_of(Cosine, CSCLIP), data_of(made_root, features, **options()), epochs=1)
        for features in (None, Features(str(tmp_path)))
    )
    assert kept.train == pytest.approx(anew.train, rel=2e-5)


def test_a_second_run_encodes_nothing(
    made_root: Path, stored: tuple[Path, Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = stored
    settings = Features(str(folder))
    for name in ("encode_images", "encode_texts"):
        monkeypatch.delattr(Backbone, name)
    assert fit(module_of(), data_of(made_root, settings)).train == first.train
    shared = fit(module_of(GLOBAL), data_of(made_root, settings), epochs=1)
    assert len(shared.train) == 3


def test_workers_and_precision(made_root: Path, tmp_path: Path, stored: tuple[Path, Kept]) -> None:
    settings, whole = Features(str(tmp_path), precision="fp16"), stored[1]
    half = fit(module_of(), data_of(made_root, settings, workers=2))
    assert half.train != whole.train
    assert half.train == pytest.approx(whole.train, rel=1e-2)


def test_features_of_other_weights_are_refused(made_root: Path, filled: Path) -> None:
    settings = Features(str(filled))
    before = contents(filled)
    with pytest.raises(
        ZooError,
        match=(
            r"holds features of other weights \(\w{12}\.\.\., and this run has \w{12}\.\.\.\): "
            r"set another"
        ),
    ):
        fit(module_of(backbone=frozen(seed=5)), data_of(made_root, settings))
    with pytest.raises(ZooError, match="holds features of other image_keys"):
        fit(module_of(LOCAL), data_of(made_root, settings))
    with pytest.raises(
        ZooError, match=r"holds features of other precision \(fp32, and this run has fp16\)"
    ):
        fit(module_of(), data_of(made_root, Features(str(filled), precision="fp16")))
    assert contents(filled) == before


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "holds features without manifest.json"),
        ("[1]", "cannot be read"),
        ("{", "cannot be read"),
    ],
)
def test_features_that_do_not_say_of_what_they_are_are_refused(
    made_root: Path, filled: Path, content: str | None, says: str
) -> None:
    manifest = filled / "manifest.json"
    manifest.unlink() if content is None else manifest.write_text(content)
    before = contents(filled)
    with pytest.raises(ZooError, match=f"{says}.*delete the folder"):
        fit(module_of(), data_of(made_root, Features(str(filled))))
    assert contents(filled) == before


@pytest.mark.parametrize(
    ("backbone", "options", "says"),
    [
        ({"tuning": Tuning("text")}, {}, "model.backbone.tuning.towers is text: set it to none"),
        (
            {"augmentation": Augmentation()},
            {},
            "model.backbone.augmentation crops training images at random: set it to null",
        ),
        (
            {},
            {"resample": True},
            "data.resample draws negatives and units again in every epoch: set it to false",
        ),
    ],
)
def test_what_is_random_is_refused_at_the_start(
    backbone: dict[str, Any], options: dict[str, Any], says: str, made_root: Path, tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match=says):
        fit(
            module_of(backbone=frozen(**backbone)),
            data_of(made_root, Features(str(tmp_path)), **options),
        )
    assert not list(tmp_path.iterdir())


def test_captions_alone_need_no_redraw(made_root: Path, tmp_path: Path) -> None:
    assert fit(
        module_of(objective=CLIP),
        data_of(made_root, Features(str(tmp_path)), negatives=None, resample=True),
        epochs=1,
    ).train


def test_a_store_over_its_limit_is_refused_before_anything_is_encoded(
    made_root: Path, tmp_path: Path, stored: tuple[Path, Kept]
) -> None:
    size = sum(
        len(data) for name, data in contents(stored[0]).items() if name.endswith("safetensors")
    )
    low = Features(str(tmp_path / "low"), limit_gib=0.8 * size / GIB)
    with pytest.raises(
        ZooError,
        match=(
            r"low would need \S+ GiB with 12 more images and \d+ more texts, and "
            r"data.features.limit_gib is"
        ),
    ):
        fit(module_of(), data_of(made_root, low))
    assert list(contents(tmp_path / "low")) == ["manifest.json"]
    assert fit(
        module_of(),
        data_of(made_root, Features(low.folder, 1.2 * size / GIB)),
        epochs=1,
    ).train


def test_encoding_goes_on_after_a_full_disk(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_encoder, "IMAGE_BATCH", 2)
    monkeypatch.setattr(features, "IMAGES_A_FILE", 2)
    settings, opened = Features(str(tmp_path)), []

    def full_after_three(path: Path, mode: str) -> Any:
        opened.append(path)
        return open_full(100 if len(opened) > 3 else 1 << 30, path, mode)

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", full_after_three, raising=False)
        with pytest.raises(
            ZooError, match=r"images/.*could not be written \(No space left on device\)"
        ):
            fit(module_of(), data_of(made_root, settings))
    left = contents(tmp_path)
    assert len(left) == 3  # the manifest and two files of two images
    encoded, encode = [], Backbone.encode_images

    def counted(backbone: Backbone, images: torch.Tensor, *rest: Any) -> Any:
        encoded.append(len(images))
        return encode(backbone, images, *rest)

    monkeypatch.setattr(Backbone, "encode_images", counted)
    fit(module_of(), data_of(made_root, settings), epochs=1)
    assert encoded == [1, 2, 2, 2, 2]  # a blank one for its shape, then those that were missing
    assert left.items() <= contents(tmp_path).items()


def test_a_image_of_another_size_is_encoded_anew(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    settings = Features(str(tmp_path / "features"))
    first = fit(module_of(), data_of(root, settings), epochs=1)
    for path in (root / "pictures").iterdir():
        with Image.open(path) as picture:
            picture.transpose(Image.Transpose.ROTATE_90).resize((60, 60)).save(path)
    second = fit(module_of(), data_of(root, settings), epochs=1)
    assert second.train != first.train
    assert second.train == pytest.approx(fit(module_of(), data_of(root), epochs=1).train, rel=2e-5)


def test_a_broken_image_is_named_or_leaves_an_empty_row(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    (root / "pictures" / "003.png").write_bytes(b"no picture")
    with pytest.raises(ZooError, match=r"003\.png .* is damaged or not an image"):
        fit(module_of(), data_of(root, Features(str(tmp_path / "features"))))
    tolerant = data_of(root, Features(str(tmp_path / "features")), tolerate_broken=True)
    kept = fit(module_of(), tolerant, epochs=1)
    assert len(tolerant.broken.names) == 1
    anew = fit(module_of(), data_of(root, tolerate_broken=True), epochs=1)
    assert kept.train == pytest.approx(anew.train, rel=2e-5)


def encoded(
    root: Path, folder: Path
) -> tuple[FeatureStore, list[torch.Tensor], Callable[[list[str]], object]]:
    """Returns a store of the made images and eleven texts.

    Its contents, and what encodes further texts, are returned with it.
    """
    backbone, finder = frozen(), ImageFinder([root])
    texts = [f"text {'and more ' * (i % 7)}{i}" for i in range(11)]
    refs = [ImageRef("file", f"pictures/{i:03}.png") for i in range(12)]
    store = FeatureStore(Features(str(folder)), backbone, frozenset(), frozenset())
    stored = store.fill(refs, texts, backbone, finder)
    images, _ = store.images.read_rows([int(stored(ref, "")) for ref in refs])
    words, hashes = store.texts.read_rows([store.texts.row(text) for text in texts])
    return (
        store,
        [images.pooled, words.pooled, hashes],
        lambda more: store.fill(refs, more, backbone, finder),
    )


def on_a_rank(rank: int, root: Path, folder: Path) -> None:
    with group(rank, 2, folder):
        torch.save(found_on_a_rank(rank, root, folder), folder / f"rank{rank}.pt")


def found_on_a_rank(rank: int, root: Path, folder: Path) -> tuple[list[Tensor], str | None]:
    _, found, encode = encoded(root, folder / "features")
    message = None
    with pytest.MonkeyPatch.context() as patch:
        if rank == 1:
            patch.setattr(files, "open", partial(open_full, 0), raising=False)
        try:
            encode(["another", "and one more"])
        except ZooError as error:
            message = str(error)
    return found, message


@pytest.mark.slow
def test_two_processes_encode_a_share_each_and_fail_together(
    made_root: Path, tmp_path: Path
) -> None:
    on_ranks(2, on_a_rank, made_root, tmp_path)
    _, alone, _ = encoded(made_root, tmp_path / "alone")
    for rank in range(2):
        found, message = torch.load(tmp_path / f"rank{rank}.pt")
        for ours, expected in zip(found, alone, strict=True):
            torch.testing.assert_close(ours, expected)
        assert "No space left on device" in message
    assert len(list((tmp_path / "features" / "images").iterdir())) == 2


@pytest.mark.slow
def test_a_killed_run_goes_on_from_its_features_as_if_nothing_had_been(
    made_root: Path, tmp_path: Path
) -> None:
    model = {
        "backbone": {
            "class_path": "zoo.backbones.backbone.Backbone",
            "init_args": {"name": "zoo-tiny", "tuning": {"towers": "none"}, "augmentation": None},
        },
        "head": {"class_path": "zoo.heads.linear.Linear"},
    }
    data = {"batch_size": 2, "resample": False, "features": {"folder": str(tmp_path / "features")}}
    arguments = ["fit", "--config", str(variant(tmp_path, made_root, model, data))]
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    in_process(tmp_path / "whole", arguments).join()
    kill = [
        "--trainer.callbacks+=tests.support.runs.Killed",
        "--trainer.callbacks.steps",
        "6",
        "--last_checkpoint.every_n_steps",
        "5",
    ]
    killed = in_process(tmp_path / "broken", [*arguments, *kill])
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    in_process(tmp_path / "broken", [*arguments, "--ckpt_path", "last"]).join()
    whole = losses(tmp_path / "whole")
    assert losses(tmp_path / "broken", version=1) == {
        step: loss for step, loss in whole.items() if step >= 5
    }


def test_the_command_line_takes_the_folder_as_a_flag(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = [
        "--model.backbone.tuning.towers",
        "none",
        "--model.backbone.augmentation",
        "null",
        "--model.head",
        "zoo.heads.linear.Linear",
    ]
    store = [
        "--data.resample",
        "false",
        "--data.features.folder",
        "features",
        "--trainer.max_steps",
        "1",
    ]
    assert main(["fit", "--config", str(made_root / "recipe.yaml"), *flags, *store]) == 0
    assert (
        json.loads((tmp_path / "features" / "manifest.json").read_text())["architecture"]
        == "zoo-tiny"
    )
    checkpoint = torch.load(tmp_path / "runs/version_0/checkpoints/last.ckpt", weights_only=True)
    assert checkpoint["zoo"]["data"]["features"] == "fp32"
