"""Models of other libraries: vectors of two towers for the engine, or scores of pairs."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from PIL import Image
from torch import Tensor, nn

from zoo.backbones.fingerprint import module_dependencies
from zoo.backbones.hugging_face import unwrap_embeddings
from zoo.backbones.tokenizer import TextEnd, Tokenize, Tokenizer
from zoo.batch import Encoded, TextBank, TokenKey, TowerShapes
from zoo.errors import ZooError, import_optional
from zoo.heads.cosine import Cosine

logger = logging.getLogger(__name__)

CLIP_VOCABULARY = 49408
LOAD = "load it by zoo.load(NAME, PRETRAINED), or set its {}"


class Scorer(Protocol):
    """A model that scores images against texts directly."""

    def score(self, images: list[Image.Image], texts: list[str]) -> Any:
        """Returns the scores of n images against m texts, `[n, m]`; higher is a better match."""


def adapt_model(model: Any) -> "tuple[TwoTowers | Scorer, str]":
    """Adapts a model of another library to the engine.

    Args:
        model: An object with `score(images, texts)`, a Hugging Face CLIP, a model of open_clip,
            another object with `encode_image` and `encode_text`, or a function of images and texts.

    Returns:
        Its two towers if it has any, else a scorer of pairs; and the model's name.

    Raises:
        ZooError: It is none of these, or its preprocessing is unknown.
    """
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if isinstance(model, type):
        raise ZooError(f"{model.__qualname__} is a class: give an instance of it")
    if callable(getattr(model, "score", None)):
        return model, kind
    if isinstance(model, nn.Module) and _has(model, "get_image_features", "get_text_features"):
        return _hugging_face(model), kind
    if _has(model, "encode_image", "encode_text"):
        return _two_encoders(model), kind
    if callable(model) and not isinstance(model, nn.Module):
        return FunctionScorer(model), _name_of(model, kind)
    raise ZooError(
        f"a {type(model).__qualname__} cannot be evaluated: give a path, a model of zoo, open_clip "
        "or Hugging Face, an object with encode_image and encode_text or with "
        "score(images, texts), or a function of images and texts"
    )


@dataclass(frozen=True)
class FunctionScorer:
    """Wraps a function of images and texts as a scorer.

    Args:
        function: From n images and m texts to their scores, `[n, m]`.
    """

    function: Callable[[list[Image.Image], list[str]], Any]

    def score(self, images: list[Image.Image], texts: list[str]) -> Any:
        """Returns the scores of the function."""
        return self.function(images, texts)


class TwoTowers(nn.Module):
    """A model with one tower per side, which replaces the backbone of zoo in an evaluation.

    Args:
        model: The model.
        transform: From an image to the tensor `[3, H, W]` that the image tower reads.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.
        images: From tensors `[n, 3, H, W]` to vectors `[n, D]`.
        texts: From ids `[n, L]` to vectors `[n, D]`.
        preprocessing: A description of the transform; None if it is unknown.
    """

    def __init__(
        self,
        model: Any,
        transform: Callable[[Image.Image], Tensor],
        tokenizer: Tokenize,
        image_encoder: Callable[[Tensor], Any],
        text_encoder: Callable[[Tensor], Any],
        preprocessing: str | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.eval_transform, self.tokenizer = transform, tokenizer
        self._image_encoder, self._text_encoder, self._preprocessing = (
            image_encoder,
            text_encoder,
            preprocessing,
        )

    @property
    def device(self) -> torch.device:
        """The device of the weights, the CPU if the model has no parameters."""
        return next((weight.device for weight in self.parameters()), torch.device("cpu"))

    @property
    def head(self) -> Cosine:
        """The cosine of vectors, with the scale and the bias of the model if it has them."""
        scale, bias = (getattr(self.model, n, None) for n in ("logit_scale", "logit_bias"))
        head = Cosine(scale=1, learn_scale=False, bias=None if bias is None else _number(bias))
        head.attach(TowerShapes(0, 0, 0, None, 0, 0, 1.0))
        if scale is not None:
            head.set_initial_log_scale(_number(scale))
        return head.to(self.device)

    def describe_computation(self) -> dict[str, Any] | None:
        """Returns all that a vector depends on besides its input, None if that is unknown."""
        if self._preprocessing is None or not isinstance(self.model, nn.Module):
            return None
        return module_dependencies(self.model, self._preprocessing, type(self))

    def encode_images(self, pixels: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes prepared images, without tokens.

        Raises:
            ZooError: The model does not return one vector per image.
        """
        weight = next(self.parameters(), None)
        inputs = pixels if weight is None else pixels.to(weight)
        return Encoded(self._convert_vectors(self._image_encoder(inputs), len(pixels), "images"))

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes tokenized texts, without tokens.

        Raises:
            ZooError: The model does not return one vector per text.
        """
        return Encoded(self._convert_vectors(self._text_encoder(bank.ids), len(bank), "texts"))

    def _convert_vectors(self, returned: Any, n: int, items: str) -> Tensor:
        try:
            vectors = torch.as_tensor(returned)
        except (TypeError, ValueError, RuntimeError):
            vectors = torch.zeros(())
        if vectors.ndim != 2 or len(vectors) != n:
            shape = getattr(returned, "shape", None)
            described = type(returned).__name__ if shape is None else f"shape {tuple(shape)}"
            raise ZooError(
                f"{type(self.model).__name__} returned {described} for {n} {items}: it must return "
                f"one vector for each, ({n}, width)"
            )
        return vectors.to(self.device)

    @contextmanager
    def evaluation_mode(self) -> Iterator[None]:
        """Puts the model in evaluation mode, and restores the mode of every part afterwards."""
        training = [part for part in self.modules() if part.training]
        self.eval()
        try:
            yield
        finally:
            for part in training:
                part.training = True


def _two_encoders(model: Any) -> TwoTowers:
    """Returns the towers of a model of open_clip, or of an object with the same two methods.

    The attributes `preprocess` and `tokenizer` take precedence, since the user set them.
    """
    transform, tokenizer = getattr(model, "preprocess", None), getattr(model, "tokenizer", None)
    preprocessing = None
    if transform is None:
        preprocessing, transform = _open_clip_transform(model)
    if tokenizer is None:
        tokenize: Tokenize = _clip_tokenizer(model)
    else:
        tokenize = _CustomTokenizer(tokenizer, type(model).__name__)
    return TwoTowers(
        model,
        transform,
        tokenize,
        lambda x: model.encode_image(x),
        lambda x: model.encode_text(x),
        preprocessing,
    )


def _open_clip_transform(model: Any) -> tuple[str, Callable[[Image.Image], Tensor]]:
    from open_clip.transform import PreprocessCfg, image_transform_v2

    settings = getattr(getattr(model, "visual", None), "preprocess_cfg", None)
    if settings is None:
        raise ZooError(
            f"the preprocessing of a {type(model).__name__} is unknown (models of "
            "open_clip.create_model have it): "
            + LOAD.format("attribute preprocess to a function from a PIL image to [3, H, W]")
        )
    transform: Any = image_transform_v2(PreprocessCfg(**settings), is_train=False)
    return repr(sorted(settings.items())), transform


def _clip_tokenizer(model: Any) -> Tokenizer:
    from open_clip import SimpleTokenizer
    from open_clip.hf_model import HFTextEncoder

    text = getattr(model, "text", model)
    vocabulary = getattr(text, "vocab_size", getattr(model, "vocab_size", None))
    if vocabulary != CLIP_VOCABULARY or isinstance(text, HFTextEncoder):
        raise ZooError(
            f"the tokenizer of a {type(model).__name__} is unknown; with {vocabulary} token ids it "
            "is not CLIP's: "
            + LOAD.format("attribute tokenizer to a function from texts to ids [n, L]")
        )
    context = getattr(text, "context_length", None) or model.context_length
    return Tokenizer(SimpleTokenizer(context_length=context), context, TextEnd())


@dataclass(frozen=True)
class _CustomTokenizer:
    """A custom tokenizer. The lengths of its texts are unknown, so none counts as too long."""

    tokenizer: Callable[[list[str]], Any]
    model: str

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        ids = self.tokenizer(list(texts)) if texts else torch.zeros(0, 1, dtype=torch.long)
        if not isinstance(ids, Tensor) or ids.ndim != 2 or len(ids) != len(texts):
            raise ZooError(
                f"the tokenizer of a {self.model} returned a {type(ids).__name__} for "
                f"{len(texts)} texts: it must return a tensor of ids, ({len(texts)}, length)"
            )
        return ids.cpu(), torch.zeros(len(ids), dtype=torch.long), torch.arange(len(ids))


@dataclass(frozen=True)
class _HuggingFaceTokenizer:
    """A Hugging Face tokenizer; padding ids are stored as -1 - id, which preserves the mask."""

    tokenizer: Any
    longest: int

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        if not texts:
            return torch.zeros(0, self.longest, dtype=torch.long), *torch.zeros(2, 0).long()
        tokens = self.tokenizer(
            list(texts),
            padding="max_length",
            truncation=True,
            max_length=self.longest,
            return_tensors="pt",
        )
        ids, mask = tokens["input_ids"], tokens.get("attention_mask")
        if mask is None:
            return ids, torch.zeros(len(ids), dtype=torch.long), torch.arange(len(ids))
        return torch.where(mask.bool(), ids, -1 - ids), mask.sum(1), torch.arange(len(ids))

    def inputs(self, ids: Tensor) -> dict[str, Tensor]:
        """Returns the text tower's inputs for ids `[n, L]`."""
        if "attention_mask" not in self.tokenizer.model_input_names:
            return {"input_ids": ids}
        return {
            "input_ids": torch.where(ids < 0, -1 - ids, ids),
            "attention_mask": (ids >= 0).long(),
        }


def _hugging_face(model: Any) -> TwoTowers:
    import_optional("transformers", "hf")
    processor: Any = _processor(model)
    prepare = processor.image_processor
    tokens = _HuggingFaceTokenizer(
        processor.tokenizer, model.config.text_config.max_position_embeddings
    )

    def transform(image: Image.Image) -> Tensor:
        pixels: Tensor = prepare(images=[image], return_tensors="pt")["pixel_values"][0]
        return pixels

    return TwoTowers(
        model,
        transform,
        tokens,
        lambda pixels: unwrap_embeddings(model.get_image_features(pixel_values=pixels)),
        lambda ids: unwrap_embeddings(model.get_text_features(**tokens.inputs(ids))),
        prepare.to_json_string() + model.config.to_json_string(),
    )


def _processor(model: Any) -> Any:
    """Returns the processor that prepares images and texts for the model.

    It is loaded from the source of the weights. A model without a source gets CLIP's.
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
            f"a {type(model).__name__} with {text.vocab_size} token ids was not loaded from a "
            "file, so its processor is unknown: save both and load the model with "
            "from_pretrained, or give an object with score(images, texts)"
        )
    logger.warning(
        "the %s was not loaded from a file: using the image preprocessing and the tokenizer of "
        "OpenAI's CLIP",
        type(model).__name__,
    )
    return _clip_processor(model.config.vision_config.image_size)


def _clip_processor(size: int) -> Any:
    import transformers
    from open_clip import SimpleTokenizer

    from zoo.backbones.hugging_face import hugging_face_tokenizer

    processors: Any = transformers.CLIPProcessor
    images = transformers.CLIPImageProcessor(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    )
    return processors(image_processor=images, tokenizer=hugging_face_tokenizer(SimpleTokenizer()))


def _has(model: Any, *names: str) -> bool:
    return all(hasattr(model, name) for name in names)


def _number(value: Any) -> float:
    """Converts a parameter of one element, or a number, to a float."""
    return float(torch.as_tensor(value).float().item())


def _name_of(function: Any, default: str) -> str:
    module, name = (getattr(function, n, None) for n in ("__module__", "__qualname__"))
    return f"{module}.{name}" if isinstance(name, str) else default
