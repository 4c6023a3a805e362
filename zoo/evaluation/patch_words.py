"""Patch-words: which patches of an image the words of a text are like, where a head says it."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import text_bank
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.results.site.patches import Mapper, PatchWords


def mapper(module: ZooModule) -> Mapper | None:
    """Returns what gives words and patches of a model, None where its score is not made of them.

    Args:
        module: Backbone and head, in evaluation mode.

    Raises:
        ZooError: The patches are no grid.
    """
    some = _patch_words(module, Image.new("RGB", (8, 8)), ["a word"])
    return None if some is None else partial(patch_words, module)


def patch_words(module: ZooModule, image: Image.Image, texts: Sequence[str]) -> list[PatchWords]:
    """Returns how like the words of each text are to each patch of an image.

    Args:
        module: Backbone and head, in evaluation mode.
        image: The image, in RGB.
        texts: The texts.

    Raises:
        ZooError: The head's score is not made of words and patches, or the patches are no grid.
    """
    found = _patch_words(module, image, texts)
    if found is None:
        raise ZooError(
            f"the score of {type(module.head).__name__} is not made of words and patches: take a "
            "head whose score is, such as MaxSim or CrossModal"
        )
    return found


@torch.no_grad()
def _patch_words(
    module: ZooModule, image: Image.Image, texts: Sequence[str]
) -> list[PatchWords] | None:
    backbone, head = module.backbone, module.head
    device = next(module.parameters()).device
    pixels = backbone.eval_transform(image)
    bank, rows = text_bank(*backbone.tokenizer(texts))
    encoded = backbone.encode_texts(bank.map(lambda t: t.to(device)), module.text_keys)
    words = head.prepare_texts(encoded.rows(rows.to(device)))
    patches = head.prepare_images(
        backbone.encode_images(pixels[None].to(device), module.image_keys)
    )
    j = torch.arange(len(texts), device=device)
    similarity = head.patch_words(patches, words, torch.zeros_like(j), j)
    if similarity is None:
        return None
    height, width = _grid(backbone, similarity.shape[2])
    (mask,) = words.masks.values()
    seen = _pixels_to_image(backbone, pixels)
    found = []
    for text, real in enumerate(mask):
        ids = bank.ids[rows[text]][: len(real)][real.cpu()].tolist()
        own = similarity[text][real].float().cpu().numpy()
        parts = tuple(backbone.tokenizer.parts(ids))
        found.append(PatchWords(seen, parts, own.reshape(-1, height, width), head.words_by))
    return found


def _grid(backbone: Backbone, patches: int) -> tuple[int, int]:
    """Returns how many rows and columns of patches an image has.

    Raises:
        ZooError: They are no grid.
    """
    height, width = backbone.image_size
    rows = round((patches * height / width) ** 0.5)
    if rows == 0 or patches % rows or rows * width != patches // rows * height:
        raise ZooError(
            f"the {patches} patches of {backbone.name} are no grid over images of {width} x "
            f"{height} pixels: take another backbone"
        )
    return rows, patches // rows


def _pixels_to_image(backbone: Backbone, pixels: Tensor) -> Image.Image:
    """Returns prepared pixels as an image."""
    mean, std = (torch.tensor(backbone.preprocess[name])[:, None, None] for name in ("mean", "std"))
    drawn = ((pixels * std + mean) * 255).round().clamp(0, 255).to(torch.uint8)
    return Image.fromarray(np.ascontiguousarray(drawn.permute(1, 2, 0).numpy()))
