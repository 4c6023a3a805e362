"""Patch-word maps: the similarity of the words of a text to the patches of an image."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import build_text_bank
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.results.site.patches import PatchMapper, PatchWords


def patch_word_function(module: ZooModule) -> PatchMapper | None:
    """Returns a function that computes patch-word maps, None if the head's score has none.

    Args:
        module: Backbone and head, in evaluation mode.

    Raises:
        ZooError: The patches do not form a grid.
    """
    sample = _patch_words(module, Image.new("RGB", (8, 8)), ["a word"])
    return None if sample is None else partial(patch_words, module)


def patch_words(module: ZooModule, image: Image.Image, texts: Sequence[str]) -> list[PatchWords]:
    """Returns the similarity of the words of each text to each patch of an image.

    Args:
        module: Backbone and head, in evaluation mode.
        image: The image, in RGB.
        texts: The texts.

    Raises:
        ZooError: The head does not score words against patches, or the patches do not form a grid.
    """
    maps = _patch_words(module, image, texts)
    if maps is None:
        raise ZooError(
            f"{type(module.head).__name__} does not score words against patches: use a head that "
            "does, such as MaxSim or CrossModal"
        )
    return maps


@torch.no_grad()
def _patch_words(
    module: ZooModule, image: Image.Image, texts: Sequence[str]
) -> list[PatchWords] | None:
    backbone, head = module.backbone, module.head
    device = next(module.parameters()).device
    pixels = backbone.eval_transform(image)
    bank, rows = build_text_bank(*backbone.tokenizer(texts))
    encoded = backbone.encode_texts(bank.map(lambda t: t.to(device)), module.text_keys)
    words = head.prepare_texts(encoded.rows(rows.to(device)))
    patches = head.prepare_images(
        backbone.encode_images(pixels[None].to(device), module.image_keys)
    )
    j = torch.arange(len(texts), device=device)
    similarity = head.word_patch_scores(patches, words, torch.zeros_like(j), j)
    if similarity is None:
        return None
    height, width = _grid(backbone, similarity.shape[2])
    (mask,) = words.masks.values()
    model_image = _pixels_to_image(backbone, pixels)
    maps = []
    for text, is_token in enumerate(mask):
        ids = bank.ids[rows[text]][: len(is_token)][is_token.cpu()].tolist()
        text_similarity = similarity[text][is_token].float().cpu().numpy()
        parts = tuple(backbone.tokenizer.decode_tokens(ids))
        maps.append(
            PatchWords(
                model_image, parts, text_similarity.reshape(-1, height, width), head.patch_measure
            )
        )
    return maps


def _grid(backbone: Backbone, patches: int) -> tuple[int, int]:
    """Returns the numbers of rows and columns of patches of an image.

    Raises:
        ZooError: They do not form a grid.
    """
    height, width = backbone.image_size
    rows = round((patches * height / width) ** 0.5)
    if rows == 0 or patches % rows or rows * width != patches // rows * height:
        raise ZooError(
            f"the {patches} patches of {backbone.name} do not form a grid over images of {width} x "
            f"{height} pixels: use another backbone"
        )
    return rows, patches // rows


def _pixels_to_image(backbone: Backbone, pixels: Tensor) -> Image.Image:
    """Converts prepared pixels back to an image."""
    mean, std = (torch.tensor(backbone.preprocess[name])[:, None, None] for name in ("mean", "std"))
    values = ((pixels * std + mean) * 255).round().clamp(0, 255).to(torch.uint8)
    return Image.fromarray(np.ascontiguousarray(values.permute(1, 2, 0).numpy()))
