"""Encoder: encodes images and texts once, batch by batch, as features are kept."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.backbone import Backbone
from zoo.backbones.preparation import Decoder
from zoo.batch import Encoded, TextBank, TokenKey
from zoo.datamodules.dataset import Transform
from zoo.errors import ZooError
from zoo.pixels.decoding import decode_image
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import rank
from zoo.support.progress import track

IMAGE_BATCH, TEXT_BATCH = 64, 256

T = TypeVar("T")


class NamedItems(NamedTuple):
    """Encoded images or texts with their names.

    Attributes:
        names: Names, n of them.
        items: The items, n of them.
        hashes: Hashes of texts, zeros for images, `[n]`.
    """

    names: list[str]
    items: Encoded
    hashes: Tensor


class _Decoded(Dataset[tuple[ImageRef, Tensor | None, ZooError | None]]):
    """Images as the towers take them.

    Errors are values, since a worker's exception would come with its traceback.
    """

    def __init__(
        self, refs: Sequence[ImageRef], finder: ImageFinder, transform: Transform, decoder: Decoder
    ) -> None:
        self.refs, self.finder, self.transform = refs, finder, transform
        self.decoder: Decoder = decoder

    def __len__(self) -> int:
        return len(self.refs)

    def __getitem__(self, index: int) -> tuple[ImageRef, Tensor | None, ZooError | None]:
        ref = self.refs[index]
        try:
            return ref, self.transform(decode_image(self.finder, ref, self.decoder)), None
        except ZooError as error:
            return ref, None, error


class ItemEncoder:
    """Encodes in the precision of the weights, on the device that they are on.

    Args:
        backbone: Encodes.
        finder: Finds and opens images.
        workers: Number of processes that load images.
        tolerate_broken: Whether images that cannot be decoded are left out.
        decoder: What decodes images.
    """

    def __init__(
        self,
        backbone: Backbone,
        finder: ImageFinder,
        workers: int,
        tolerate_broken: bool,
        decoder: Decoder = "pil",
    ) -> None:
        self.backbone, self.finder = backbone, finder
        self.decoder: Decoder = decoder
        self.workers, self.tolerate_broken = workers, tolerate_broken
        weight = next(backbone.parameters())
        self.device, self.dtype = weight.device, weight.dtype

    @torch.no_grad()
    def images(
        self, refs: Sequence[ImageRef], names: dict[ImageRef, str], keys: frozenset[TokenKey]
    ) -> Iterator[NamedItems]:
        """Yields images, encoded.

        Args:
            refs: The images.
            names: Their names.
            keys: Tokens that are kept.

        Raises:
            ZooError: An image cannot be had.
        """
        backbone = self.backbone
        transform = backbone.eval_transform if self.decoder == "pil" else backbone.eval_pixels
        images = _Decoded(refs, self.finder, transform, self.decoder)
        loader = DataLoader(images, IMAGE_BATCH, num_workers=self.workers, collate_fn=list)
        for batch in track(loader, "encoding images", len(loader), rank() == 0):
            whole = []
            for ref, pixels, error in batch:
                if pixels is not None:
                    whole.append((names[ref], pixels))
                elif not (self.tolerate_broken and isinstance(error, BrokenImage)):
                    raise error
            if whole:
                encoded = self._images(torch.stack([pixels for _, pixels in whole]), keys)
                no_hashes = torch.zeros(len(whole), dtype=torch.long)
                yield NamedItems([name for name, _ in whole], encoded.to("cpu"), no_hashes)

    @torch.no_grad()
    def texts(self, texts: Sequence[str], keys: frozenset[TokenKey]) -> Iterator[NamedItems]:
        """Yields texts, encoded, each under its own words.

        Args:
            texts: The texts.
            keys: Tokens that are kept.
        """
        some = list(batches(texts, TEXT_BATCH))
        for batch in track(some, "encoding texts", len(some), rank() == 0):
            bank = self.bank(batch)
            yield NamedItems(list(batch), self._texts(bank, keys).to("cpu"), bank.hashes)

    def bank(self, texts: Sequence[str]) -> TextBank:
        """Returns the texts as they are, duplicates among their tokens included."""
        return TextBank(*self.backbone.tokenizer(list(texts)))

    @torch.no_grad()
    def blank_image(self, keys: frozenset[TokenKey]) -> Encoded:
        """Returns a black image, encoded, for its size."""
        return self._images(self.backbone.eval_transform(Image.new("RGB", (64, 64)))[None], keys)

    @torch.no_grad()
    def blank_text(self, keys: frozenset[TokenKey]) -> Encoded:
        """Returns an empty text, encoded, for its size."""
        return self._texts(self.bank([""]), keys)

    def _images(self, pixels: Tensor, keys: frozenset[TokenKey]) -> Encoded:
        there = pixels.to(self.device)
        return self.backbone.encode_images(
            there.to(self.dtype) if there.is_floating_point() else there, keys
        )

    def _texts(self, bank: TextBank, keys: frozenset[TokenKey]) -> Encoded:
        return self.backbone.encode_texts(bank.map(lambda t: t.to(self.device)), keys)


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yields the items in order, `size` at once."""
    return (items[start : start + size] for start in range(0, len(items), size))
