"""From Python: load a model, encode, score images against texts, evaluate on benchmarks.

model = zoo.load("runs/version_0/checkpoints/last.ckpt")
model.score(["horse.jpg"], ["a person on the horse", "a horse on the person"])
zoo.evaluate(model, ["sugarcrepe"], data_root="DATA_ROOT")
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jsonargparse import ArgumentError
from lightning import Trainer
from numpy.typing import NDArray
from PIL import Image

from zoo import __version__
from zoo.backbone import Backbone
from zoo.batch import Encoded, TextBank, concatenate, text_bank
from zoo.checkpointing import read_checkpoint, recipe_of
from zoo.datamodules.pictures import rgb
from zoo.errors import ZooError
from zoo.mistakes import sentence
from zoo.module import ZooModule
from zoo.provenance import random_weights
from zoo.quiet import quieten
from zoo.weights import refuse_not_finite

log = logging.getLogger(__name__)

Picture = Image.Image | str | Path


class Model:
    """A loaded model on one device, in evaluation mode.

    module: backbone, head and objective. batch_size: how many images or texts are encoded at once.
    """

    def __init__(
        self, module: ZooModule, device: str | torch.device | None = None, batch_size: int = 64
    ) -> None:
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.module = module.eval().to(chosen)
        self.device, self.batch_size = torch.device(chosen), batch_size

    def encode_images(self, images: Sequence[Picture]) -> NDArray[np.float32]:
        """images: pictures or paths. Returns L2-normalised vectors [n, D]."""
        return _normalised(self._images(images))

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns L2-normalised vectors [m, D]."""
        return _normalised(self._texts(texts))

    @torch.no_grad()
    def score(self, images: Sequence[Picture], texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns the head's score of every image against every text, [n, m]; higher is a better match."""
        head = self.module.head
        scores = head.block(
            head.prepare_images(self._images(images)), head.prepare_texts(self._texts(texts))
        )
        return np.asarray(scores.float().cpu())

    @torch.no_grad()
    def _images(self, images: Sequence[Picture]) -> Encoded:
        backbone, parts = self.module.backbone, []
        for start in range(0, len(images), self.batch_size):
            pixels = torch.stack(
                [
                    backbone.eval_transform(_opened(i))
                    for i in images[start : start + self.batch_size]
                ]
            )
            parts.append(backbone.encode_images(pixels.to(self.device), self.module.image_keys))
        return concatenate(parts)

    @torch.no_grad()
    def _texts(self, texts: Sequence[str]) -> Encoded:
        bank, rows = text_bank(*self.module.backbone.tokenizer(list(texts)))
        parts = []
        for start in range(0, len(bank), self.batch_size):
            rows_of = slice(start, start + self.batch_size)
            some = TextBank(bank.ids[rows_of], bank.lengths[rows_of], bank.hashes[rows_of]).map(
                lambda t: t.to(self.device)
            )
            parts.append(self.module.backbone.encode_texts(some, self.module.text_keys))
        return concatenate(parts).rows(rows.to(self.device))


def load(
    source: str | Path, pretrained: str | None = None, device: str | None = None, **backbone: Any
) -> Model:
    """Returns a model ready to encode and score.

    source: a checkpoint that `zoo fit` wrote, a folder that `zoo export` wrote, or the name of an architecture. pretrained: a tag or a
    file of weights for an architecture. backbone: further arguments of Backbone. Raises ZooError where neither is found.
    """
    if Path(source).exists():
        if pretrained is not None or backbone:
            raise ZooError(
                f"{source} is a checkpoint and brings its own weights and settings: leave pretrained and the rest out"
            )
        return Model(load_checkpoint(source), device)
    module = ZooModule(Backbone(name=str(source), pretrained=pretrained, **backbone))
    if (said := random_weights(module.weights)) is not None:
        log.warning("%s; give pretrained a tag or a file of weights", said)
    return Model(module, device)


def load_checkpoint(path: str | Path) -> ZooModule:
    """Returns the module of a checkpoint of `zoo fit` or `zoo merge`, or of a folder of `zoo export`; weights come from it alone."""
    from lightning.pytorch.cli import instantiate_module

    checkpoint = read_checkpoint(Path(path))
    refuse_not_finite(
        Path(path),
        {
            name: tensor
            for name, tensor in checkpoint["state_dict"].items()
            if name.startswith(("backbone.", "head."))  # an objective may keep what it likes
        },
        "training came apart, take a checkpoint from before or train with a lower learning rate",
    )
    wrote = checkpoint.get("zoo", {}).get("version", __version__)
    by = "" if wrote == __version__ else f" (zoo {wrote} wrote it, this is {__version__})"
    try:
        module: ZooModule = instantiate_module(ZooModule, recipe_of(checkpoint))
        module.on_load_checkpoint(checkpoint)
    except ArgumentError as error:
        raise ZooError(
            f"the model in {path} cannot be built{by} ({sentence(str(error))}): run this where the classes of its recipe can be "
            "imported, with the versions that wrote it"
        ) from error
    except ZooError as error:
        raise ZooError(f"{path} cannot be loaded{by}: {error}") from error
    module.load_state_dict(checkpoint["state_dict"])
    module.checkpoint = str(path)
    return module


def evaluate(
    model: Any,
    benchmarks: Sequence[Any],
    data_root: str | Path | Sequence[str | Path] = ".",
    out: str | Path | None = None,
    presets: Sequence[str] = ("official",),
    overwrite: bool = False,
) -> Any:
    """Measures a model and returns the Results; writes results.json and cases.parquet into `out` where given.

    model: a Model, a ZooModule, or any object with score(images: list of PIL images, texts: list of str) -> [n, m]. benchmarks: names
    or Benchmark objects. overwrite: whether results that `out` holds may be lost; raises ZooError for them otherwise.
    """
    from zoo.evaluation.datamodule import EvaluationDataModule

    for name, given in (("benchmarks", benchmarks), ("presets", presets)):
        if isinstance(given, str):
            raise ZooError(
                f"evaluate({name}={given!r}) is one text, where a list of names is wanted: write {name}=[{given!r}]"
            )

    roots = [str(r) for r in data_root] if isinstance(data_root, list | tuple) else str(data_root)
    data = EvaluationDataModule(
        list(benchmarks),
        roots,
        out=None if out is None else str(out),
        presets=list(presets),
        overwrite=overwrite,
    )
    if not isinstance(model, Model | ZooModule):
        return data.evaluation.run(model)
    module, device = (
        (model.module, model.device) if isinstance(model, Model) else (model, model.device)
    )
    quieten()
    trainer = Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    )
    trainer.validate(module, datamodule=data, verbose=False)
    module.to(device)
    return data.evaluation.results


def _opened(picture: Picture) -> Image.Image:
    if isinstance(picture, Image.Image):
        return rgb(picture)
    try:
        return rgb(Image.open(picture))
    except (OSError, ValueError) as error:
        raise ZooError(
            f"{picture} cannot be read as an image ({error}): give a path of a whole JPEG or PNG"
        ) from error


def _normalised(items: Encoded) -> NDArray[np.float32]:
    return np.asarray(torch.nn.functional.normalize(items.pooled.float(), dim=-1).cpu())
