"""Encodes images and texts once, batch by batch, for the feature store."""

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
    """Images, prepared for the tower.

    Errors are values, since a worker's exception would print its traceback.
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
    """Encodes in the precision and on the device of the weights.

    Args:
        backbone: The backbone.
        finder: Finds and opens images.
        workers: Number of processes that load images.
        tolerate_broken: Whether images that cannot be decoded are left out.
        decoder: The decoder of images.
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
    def encode_images(
        self, refs: Sequence[ImageRef], names: dict[ImageRef, str], keys: frozenset[TokenKey]
    ) -> Iterator[NamedItems]:
        """Yields encoded images.

        Args:
            refs: The images.
            names: Their names.
            keys: The tokens to store.

        Raises:
            ZooError: An image is missing or cannot be decoded.
        """
        backbone = self.backbone
        transform = (
            backbone.eval_transform if self.decoder == "pil" else backbone.eval_uint8_transform
        )
        images = _Decoded(refs, self.finder, transform, self.decoder)
        loader = DataLoader(images, IMAGE_BATCH, num_workers=self.workers, collate_fn=list)
        for batch in track(loader, "encoding images", len(loader), rank() == 0):
            named_pixels = []
            for ref, pixels, error in batch:
                if pixels is not None:
                    named_pixels.append((names[ref], pixels))
                elif not (self.tolerate_broken and isinstance(error, BrokenImage)):
                    raise error
            if named_pixels:
                encoded = self._images(torch.stack([pixels for _, pixels in named_pixels]), keys)
                no_hashes = torch.zeros(len(named_pixels), dtype=torch.long)
                yield NamedItems([name for name, _ in named_pixels], encoded.to("cpu"), no_hashes)

    @torch.no_grad()
    def encode_texts(self, texts: Sequence[str], keys: frozenset[TokenKey]) -> Iterator[NamedItems]:
        """Yields encoded texts, each named by itself.

        Args:
            texts: The texts.
            keys: The tokens to store.
        """
        text_batches = list(slice_batches(texts, TEXT_BATCH))
        for batch in track(text_batches, "encoding texts", len(text_batches), rank() == 0):
            bank = self.tokenize(batch)
            yield NamedItems(list(batch), self._texts(bank, keys).to("cpu"), bank.hashes)

    def tokenize(self, texts: Sequence[str]) -> TextBank:
        """Tokenizes texts without removing duplicates."""
        return TextBank(*self.backbone.tokenizer(list(texts)))

    @torch.no_grad()
    def blank_image(self, keys: frozenset[TokenKey]) -> Encoded:
        """Encodes a black image, to measure its size."""
        return self._images(self.backbone.eval_transform(Image.new("RGB", (64, 64)))[None], keys)

    @torch.no_grad()
    def blank_text(self, keys: frozenset[TokenKey]) -> Encoded:
        """Encodes an empty text, to measure its size."""
        return self._texts(self.tokenize([""]), keys)

    def _images(self, pixels: Tensor, keys: frozenset[TokenKey]) -> Encoded:
        inputs = pixels.to(self.device)
        return self.backbone.encode_images(
            inputs.to(self.dtype) if inputs.is_floating_point() else inputs, keys
        )

    def _texts(self, bank: TextBank, keys: frozenset[TokenKey]) -> Encoded:
        return self.backbone.encode_texts(bank.map(lambda t: t.to(self.device)), keys)


def slice_batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yields the items in order, in batches of `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))
