"""Tiny sources and a stand-in for a backbone, for tests of the data alone."""

import hashlib
import re
from pathlib import Path
from random import Random

import torch
from lightning import LightningModule
from PIL import Image
from torch import Tensor
from torchvision.transforms.functional import to_pil_image

from zoo.batch import Batch
from zoo.negatives.base import NegativeGenerator
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.units.record import UnitRecord

CONTEXT = 12


class WordTokenizer:
    """A word a token, [CONTEXT] ids: 1, the words, 2, then zeros; cut as CLIP's is."""

    def __call__(self, texts: list[str]) -> tuple[Tensor, Tensor, Tensor]:
        ids = torch.zeros(len(texts), CONTEXT, dtype=torch.long)
        lengths = torch.zeros(len(texts), dtype=torch.long)
        for i, text in enumerate(texts):
            words = [number(word) for word in text.lower().split()][: CONTEXT - 2]
            ids[i, : len(words) + 2] = torch.tensor([1, *words, 2])
            lengths[i] = len(words) + 2
        return ids, lengths, (ids * torch.arange(1, CONTEXT + 1)).sum(1)


def number(word: str) -> int:
    return 3 + int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")


def noisy(picture: Image.Image | Tensor) -> Tensor:
    """A [3, 2, 2] image of the mean colour plus noise from torch's global generator."""
    return still(picture) + torch.rand(3, 2, 2)


def still(picture: Image.Image | Tensor) -> Tensor:
    image = to_pil_image(picture) if isinstance(picture, Tensor) else picture
    red, green, blue = image.resize((1, 1)).getpixel((0, 0))
    return (torch.tensor([red, green, blue]).view(3, 1, 1) / 255).expand(3, 2, 2).clone()


class Appended(NegativeGenerator):
    """Appends a random number, or finds nothing for captions with an odd first number."""

    name = "appended"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        first = int(re.findall(r"\d+", caption)[0])
        return None if first % 2 else f"{caption} not{rng.randrange(10_000)}"


class Made(Reader):
    """n images in a folder, captions_each captions of each.

    Image i has images i + 1 and i + 2 as companions.
    """

    def __init__(
        self, folder: Path, n: int = 10, captions_each: int = 2, companions: bool = False
    ) -> None:
        self.folder, self.n, self.captions_each, self.companions = (
            folder,
            n,
            captions_each,
            companions,
        )

    def samples(self) -> list[Sample]:
        samples = []
        total = self.n * self.captions_each
        for i in range(self.n):
            path = self.folder / f"{i}.png"
            if not path.exists():
                Image.new("RGB", (8, 8), (i * 20 % 256, i % 256, 128)).save(path)
            for k in range(self.captions_each):
                at = len(samples)
                companions = ((at + 1) % total, (at + 2) % total) if self.companions else ()
                ref = ImageRef("file", str(path))
                samples.append(
                    Sample(
                        ref,
                        f"{i} is caption {k}",
                        f"image{i}",
                        f"{i}#{k}",
                        companions=companions,
                        origin=f"made:{at + 1}",
                    )
                )
        return samples


class FakeBackbone(torch.nn.Module):
    """What a datamodule asks of a backbone."""

    def __init__(self) -> None:
        super().__init__()
        self.tokenizer, self.train_transform, self.eval_transform = WordTokenizer(), noisy, still
        self.train_uint8_transform, self.eval_uint8_transform, self.min_side_for_crops = (
            noisy,
            still,
            4,
        )


class Watcher(LightningModule):
    """A module that learns next to nothing and remembers every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone, self.head = FakeBackbone(), None
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen: list[tuple[int, str]] = []
        self.validated: list[Batch] = []

    def training_step(self, batch: Batch, index: int) -> Tensor:
        self.seen.append((self.trainer.current_epoch, fingerprint(batch)))
        return self.weight * batch.images.mean()

    def validation_step(self, batch: Batch, index: int, dataloader_idx: int = 0) -> None:
        self.validated.append(batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fingerprint(batch: Batch) -> str:
    """Equal for batches with equal samples, pixels and texts in equal roles."""
    content = hashlib.sha256(batch.images.numpy().tobytes())
    for rows in (
        batch.samples,
        batch.image_ids,
        batch.captions,
        batch.negatives,
        batch.units,
        batch.foils,
        batch.texts.ids,
    ):
        content.update(rows.contiguous().numpy().tobytes())
    return content.hexdigest()
