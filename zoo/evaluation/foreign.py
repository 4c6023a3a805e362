"""Models of other libraries, as objects that score images against texts."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from zoo.backbones.hugging_face import features
from zoo.errors import ZooError, need

logger = logging.getLogger(__name__)

TEXTS_AT_ONCE = 256
CLIP_VOCABULARY = 49408
LOAD = "load it by zoo.load(NAME, PRETRAINED), or give an object with score(images, texts)"


class Scorer(Protocol):
    """What is measured."""

    def score(self, images: list[Image.Image], texts: list[str]) -> Any:
        """Returns the scores of n images against m texts, `[n, m]`; higher is a better match."""


def scorer(model: Any) -> tuple[Scorer, str]:
    """Makes of a model what can be measured.

    Args:
        model: An object with `score(images, texts)`, a model of open_clip, a CLIP of Hugging Face,
            or a function of images and texts.

    Returns:
        What scores, and the model's name.

    Raises:
        ZooError: It is none of these, or does not bring what images and texts are prepared by.
    """
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if isinstance(model, type):
        raise ZooError(f"{model.__qualname__} is a class: give one of its objects")
    if callable(getattr(model, "score", None)):
        return model, kind
    if isinstance(model, nn.Module) and _has(model, "get_image_features", "get_text_features"):
        return _hugging_face(model), kind
    if isinstance(model, nn.Module) and _has(model, "encode_image", "encode_text", "visual"):
        return _open_clip(model), kind
    if callable(model) and not isinstance(model, nn.Module):
        return Function(model), _name_of(model, kind)
    raise ZooError(
        f"a {type(model).__qualname__} cannot be measured: give a path, a model of zoo, open_clip "
        "or Hugging Face, a function of images and texts, or an object with score(images, texts)"
    )


@dataclass(frozen=True)
class Function:
    """A function of images and texts, as an object.

    Args:
        function: From n images and m texts to their scores, `[n, m]`.
    """

    function: Callable[[list[Image.Image], list[str]], Any]

    def score(self, images: list[Image.Image], texts: list[str]) -> Any:
        """Returns what the function gives."""
        return self.function(images, texts)


class TwoTowers:
    """A model of two towers, by the cosine of what they give, scaled as the model scales it.

    Args:
        model: The model, whose mode is left as it was.
        images: From images to what the image tower gives, `[n, D]`.
        texts: From texts to what the text tower gives, `[m, D]`.
    """

    def __init__(
        self,
        model: nn.Module,
        images: Callable[[list[Image.Image]], Tensor],
        texts: Callable[[list[str]], Tensor],
    ) -> None:
        self.model, self.images, self.texts = model, images, texts
        # the texts of a gallery, whose images come in parts
        self._last: tuple[list[str], Tensor] | None = None

    @torch.no_grad()
    def score(self, images: list[Image.Image], texts: list[str]) -> NDArray[np.float32]:
        """Returns the scores, `[n, m]`."""
        with _evaluating(self.model):
            if self._last is None or self._last[0] != texts:
                parts = [
                    F.normalize(self.texts(texts[i : i + TEXTS_AT_ONCE]).float(), dim=-1)
                    for i in range(0, len(texts), TEXTS_AT_ONCE)
                ]
                self._last = texts, torch.cat(parts)
            cosines = F.normalize(self.images(images).float(), dim=-1) @ self._last[1].T
        scale, bias = (getattr(self.model, name, None) for name in ("logit_scale", "logit_bias"))
        if scale is not None:
            cosines = cosines * scale.float().exp()
        if bias is not None:
            cosines = cosines + bias.float()
        return np.asarray(cosines.cpu())


def _open_clip(model: Any) -> TwoTowers:
    from open_clip import SimpleTokenizer
    from open_clip.hf_model import HFTextEncoder
    from open_clip.transform import PreprocessCfg, image_transform_v2

    settings = getattr(model.visual, "preprocess_cfg", None)
    if settings is None:
        raise ZooError(
            f"a {type(model).__name__} does not say how its images are prepared, "
            f"as models of open_clip.create_model do: {LOAD}"
        )
    text = getattr(model, "text", model)
    vocabulary = getattr(text, "vocab_size", getattr(model, "vocab_size", None))
    if vocabulary != CLIP_VOCABULARY or isinstance(text, HFTextEncoder):
        raise ZooError(
            f"a {type(model).__name__} does not bring its tokenizer, "
            f"and with {vocabulary} ids it is not CLIP's own: {LOAD}"
        )
    transform: Any = image_transform_v2(PreprocessCfg(**settings), is_train=False)
    tokenize = SimpleTokenizer(context_length=getattr(text, "context_length", model.context_length))
    weight = next(model.parameters())
    return TwoTowers(
        model,
        lambda images: model.encode_image(torch.stack([transform(i) for i in images]).to(weight)),
        lambda texts: model.encode_text(tokenize(texts).to(weight.device)),
    )


def _hugging_face(model: Any) -> TwoTowers:
    need("transformers", "hf")
    processor: Any = _processor(model)
    weight = next(model.parameters())
    longest = model.config.text_config.max_position_embeddings

    def images(given: list[Image.Image]) -> Tensor:
        pixels = processor.image_processor(images=given, return_tensors="pt")["pixel_values"]
        return features(model.get_image_features(pixel_values=pixels.to(weight)))

    def texts(given: list[str]) -> Tensor:
        tokens = processor.tokenizer(
            given,
            padding="max_length",
            truncation=True,
            max_length=longest,
            return_tensors="pt",
        )
        return features(model.get_text_features(**tokens.to(weight.device)))

    return TwoTowers(model, images, texts)


def _processor(model: Any) -> Any:
    """Returns what prepares images and texts for the model.

    It lies where the weights came from. Where they came from nowhere, it is CLIP's own.
    """
    import transformers

    processors: Any = transformers.AutoProcessor
    source = model.name_or_path
    if source:
        try:
            return processors.from_pretrained(source)
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ZooError(
                f"the processor of {source}, which prepares images and texts for the model, "
                f"cannot be loaded ({reason}): save it there, or give an object with "
                "score(images, texts)"
            ) from error
    text = model.config.text_config
    if text.model_type != "clip_text_model" or text.vocab_size != CLIP_VOCABULARY:
        raise ZooError(
            f"a {type(model).__name__} of {text.vocab_size} token ids that was not loaded from a "
            "file does not bring its processor: save both and load the model by from_pretrained, "
            "or give an object with score(images, texts)"
        )
    logger.warning(
        "the %s was not loaded from a file: its images are prepared as for OpenAI's CLIP, "
        "its texts by CLIP's tokenizer",
        type(model).__name__,
    )
    return _clip_processor(model.config.vision_config.image_size)


def _clip_processor(size: int) -> Any:
    import transformers

    from zoo.backbones.hugging_face import vocabulary

    made: Any = transformers.CLIPProcessor
    ids, merges = vocabulary()
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    )
    return made(
        image_processor=images, tokenizer=transformers.CLIPTokenizer(vocab=ids, merges=merges)
    )


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Puts a model in evaluation mode, and every part of it back into its own."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _has(model: Any, *names: str) -> bool:
    return all(hasattr(model, name) for name in names)


def _name_of(function: Any, otherwise: str) -> str:
    module, name = (getattr(function, n, None) for n in ("__module__", "__qualname__"))
    return f"{module}.{name}" if isinstance(name, str) else otherwise
