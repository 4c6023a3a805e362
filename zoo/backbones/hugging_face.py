"""Configurations of Hugging Face's CLIPModel and SiglipModel in open_clip's format."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from zoo.errors import ZooError
from zoo.support.text_files import parse_json

CONFIG = "config.json"
# Settings that CLIPModel has too, that only matter in training, or that do not affect weights.
HELD = {
    "vision_cfg": {
        "layers",
        "width",
        "head_width",
        "mlp_ratio",
        "patch_size",
        "image_size",
        "patch_dropout",
        "output_tokens",
    },
    "text_cfg": {
        "layers",
        "width",
        "heads",
        "mlp_ratio",
        "context_length",
        "vocab_size",
        "output_tokens",
        "eos_id",
        "pad_id",
    }
    | {"hf_tokenizer_name", "tokenizer_mode", "tokenizer_kwargs"},
}
# Hugging Face's defaults, which a `config.json` may leave out.
CLIP_VISION = {
    "hidden_act": "quick_gelu",
    "hidden_size": 768,
    "image_size": 224,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "patch_size": 32,
    "projection_dim": 512,
}
CLIP_TEXT = {
    "hidden_size": 512,
    "intermediate_size": 2048,
    "max_position_embeddings": 77,
    "num_attention_heads": 8,
    "num_hidden_layers": 12,
    "vocab_size": 49408,
}
SIGLIP_VISION = {"hidden_size": 768, "image_size": 224, "patch_size": 16}
SIGLIP_TEXT = {
    "hidden_size": 768,
    "max_position_embeddings": 64,
    "num_hidden_layers": 12,
    "vocab_size": 32000,
}
# timm's names of SigLIP's image towers, by their width
SIGLIP_SIZES = {768: "base", 1024: "large", 1152: "so400m", 1536: "giantopt"}
OPENAI_MEAN = (0.48145466, 0.4578275, 0.40821073)
OPENAI_STD = (0.26862954, 0.26130258, 0.27577711)
TOP = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu", "custom_text", "init_logit_scale"}


def check_exportable(name: str, architecture: dict[str, Any]) -> None:
    """Checks that an architecture is a plain CLIP, which CLIPModel supports.

    Args:
        name: The architecture in messages.
        architecture: Its towers in open_clip's format.

    Raises:
        ZooError: The architecture differs from plain CLIP; the message lists the differences.
    """
    from open_clip.model import CLIPTextCfg, CLIPVisionCfg

    departures = [key for key in architecture if key not in TOP]
    for part, usual in (("vision_cfg", CLIPVisionCfg()), ("text_cfg", CLIPTextCfg())):
        defaults = dataclasses.asdict(usual)
        config = architecture[part]
        departures += [
            f"{part}.{k}={v}"
            for k, v in config.items()
            if k not in HELD[part] and (k not in defaults or defaults[k] != v)
        ]
    if isinstance(architecture["vision_cfg"].get("layers", 12), list | tuple):
        departures.append("a ResNet as image tower")
    if not isinstance(architecture["vision_cfg"].get("image_size", 224), int):
        departures.append("images that are not square")
    if departures:
        raise ZooError(
            f"{name} is not a plain CLIP ({', '.join(departures)}), and Hugging Face's CLIPModel "
            "supports no other: export it with --format open_clip"
        )


def hugging_face_config(architecture: dict[str, Any], scale: float) -> dict[str, Any]:
    """Returns the arguments of CLIPConfig.

    Args:
        architecture: The towers in open_clip's format.
        scale: The logarithm of the scale.
    """
    vision, text = architecture["vision_cfg"], architecture["text_cfg"]
    shared = {
        "hidden_act": "quick_gelu" if architecture["quick_gelu"] else "gelu",
        "projection_dim": architecture["embed_dim"],
    }
    width, heads = (
        vision.get("width", 768),
        vision.get("width", 768) // vision.get("head_width", 64),
    )
    vocabulary, text_width = text.get("vocab_size", 49408), text.get("width", 512)
    return {
        "projection_dim": architecture["embed_dim"],
        "logit_scale_init_value": scale,
        "vision_config": {
            **shared,
            "hidden_size": width,
            "intermediate_size": int(width * vision.get("mlp_ratio", 4.0)),
            "num_hidden_layers": vision.get("layers", 12),
            "num_attention_heads": heads,
            "image_size": vision.get("image_size", 224),
            "patch_size": vision.get("patch_size", 16),
        },
        "text_config": {
            **shared,
            "vocab_size": vocabulary,
            "hidden_size": text_width,
            "intermediate_size": int(text_width * text.get("mlp_ratio", 4.0)),
            "num_hidden_layers": text.get("layers", 12),
            "num_attention_heads": text.get("heads", 8),
            "max_position_embeddings": text["context_length"],
            "bos_token_id": vocabulary - 2,
            "eos_token_id": vocabulary - 1,  # open_clip pools at the largest id
            "pad_token_id": vocabulary - 1,
        },
    }


def open_clip_architecture(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the towers of a CLIPModel in open_clip's format, the inverse of the function above.

    Args:
        config: The content of its `config.json`; settings that it leaves out have Hugging Face's
            defaults.
    """
    vision = CLIP_VISION | (config.get("vision_config") or {})
    text = CLIP_TEXT | (config.get("text_config") or {})
    return {
        "embed_dim": config.get("projection_dim", vision["projection_dim"]),
        "quick_gelu": vision["hidden_act"] == "quick_gelu",
        "vision_cfg": {
            "image_size": vision["image_size"],
            "layers": vision["num_hidden_layers"],
            "width": vision["hidden_size"],
            "head_width": vision["hidden_size"] // vision["num_attention_heads"],
            "mlp_ratio": vision["intermediate_size"] / vision["hidden_size"],
            "patch_size": vision["patch_size"],
        },
        "text_cfg": {
            "context_length": text["max_position_embeddings"],
            "vocab_size": text["vocab_size"],
            "width": text["hidden_size"],
            "heads": text["num_attention_heads"],
            "layers": text["num_hidden_layers"],
            "mlp_ratio": text["intermediate_size"] / text["hidden_size"],
        },
    }


def siglip_architecture(config: dict[str, Any], architectures: Mapping[str, Any]) -> str | None:
    """Returns the name of the open_clip architecture with the towers of a SiglipModel.

    Args:
        config: The content of its `config.json`.
        architectures: open_clip's architectures by name.

    Returns:
        The name, None if there is no such architecture.
    """
    vision = SIGLIP_VISION | (config.get("vision_config") or {})
    text = SIGLIP_TEXT | (config.get("text_config") or {})
    size = SIGLIP_SIZES.get(vision["hidden_size"])
    tower = f"vit_{size}_patch{vision['patch_size']}_siglip_{vision['image_size']}"
    for name, architecture in architectures.items():
        own_text = architecture["text_cfg"]
        if (
            architecture["vision_cfg"].get("timm_model_name") == tower
            and own_text.get("vocab_size") == text["vocab_size"]
            and own_text.get("context_length") == text["max_position_embeddings"]
            and own_text.get("width") == text["hidden_size"]
            and own_text.get("layers") == text["num_hidden_layers"]
        ):
            return name
    return None


def image_processor_config(settings: dict[str, Any], size: int) -> dict[str, Any]:
    """Returns the arguments of CLIPImageProcessor.

    Args:
        settings: open_clip's preprocessing settings.
        size: Height and width of the images, in pixels.

    Raises:
        ZooError: CLIPImageProcessor does not support this resizing.
    """
    if settings["resize_mode"] not in ("shortest", "squash"):
        raise ZooError(
            f"images are resized by {settings['resize_mode']}, which CLIPImageProcessor cannot: "
            "export with --format open_clip"
        )
    resample = {"bicubic": 3, "bilinear": 2}.get(settings["interpolation"])
    if resample is None:
        raise ZooError(
            f"images are resized by {settings['interpolation']} interpolation, which "
            "CLIPImageProcessor cannot: export with --format open_clip"
        )
    squashed = settings["resize_mode"] == "squash"
    return {
        "size": {"height": size, "width": size} if squashed else {"shortest_edge": size},
        "crop_size": {"height": size, "width": size},
        "do_center_crop": not squashed,
        "resample": resample,
        "image_mean": list(settings["mean"]),
        "image_std": list(settings["std"]),
    }


def read_preprocessing(folder: Path) -> dict[str, Any]:
    """Returns how a folder's image processor prepares images, in open_clip's settings.

    Args:
        folder: The folder of a CLIPModel or SiglipModel.

    Returns:
        The settings, empty if the folder has no image processor.

    Raises:
        ZooError: Images are resized in a way that open_clip does not support.
    """
    processor = read_json(folder / "preprocessor_config.json")
    processor = processor or read_json(folder / "processor_config.json").get("image_processor", {})
    if not processor:
        return {}
    interpolation = {3: "bicubic", 2: "bilinear"}.get(processor.get("resample", 3))
    size = processor.get("size", {})
    is_shortest = isinstance(size, int) or "shortest_edge" in size
    if interpolation is None or not (is_shortest or {"height", "width"} <= set(size)):
        raise ZooError(
            f"{folder} resizes images by size={size}, resample={processor.get('resample')}, which "
            "open_clip does not do: set backbone.pretrained to its file of weights, and "
            "backbone.preprocess"
        )
    return {
        "mean": list(processor.get("image_mean", OPENAI_MEAN)),
        "std": list(processor.get("image_std", OPENAI_STD)),
        "interpolation": interpolation,
        "resize_mode": "shortest" if is_shortest else "squash",
    }


def hugging_face_tokenizer(inner: Any, **settings: Any) -> Any:
    """Returns a CLIPTokenizer that splits texts as a tokenizer of open_clip does.

    It pads with the end token, open_clip's with 0; a text ends at the first end token.

    Args:
        inner: open_clip's SimpleTokenizer, with CLIP's vocabulary or a part of it.
        settings: Further arguments of CLIPTokenizer.
    """
    from transformers import CLIPTokenizer

    special = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
    ids = {special.get(token, token): i for token, i in inner.encoder.items()}
    return CLIPTokenizer(vocab=ids, merges=list(inner.bpe_ranks), **settings)


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Turns off the progress bars of transformers for small files."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Turns off the progress bars and warnings of transformers while it loads a model."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with without_progress_bars():
            yield
    finally:
        logging.set_verbosity(verbosity)


def unwrap_embeddings(out: Any) -> Tensor:
    """Returns the embeddings in a tower's output.

    Args:
        out: A tensor, or Hugging Face's output around it.
    """
    embeddings: Tensor = out if isinstance(out, Tensor) else out.pooler_output
    return embeddings


def read_model_type(folder: Path) -> str | None:
    """Returns the type of a Hugging Face model, such as `clip`; None for other folders.

    Args:
        folder: A folder, or any other path.
    """
    model_type = read_config(folder).get("model_type")
    return model_type if isinstance(model_type, str) else None


def loading_hint(file: Path) -> str:
    """Returns how to load a file of weights of Hugging Face's CLIPModel.

    Args:
        file: The file.
    """
    if read_model_type(file.parent) is not None:
        return f"a Hugging Face model: give its folder, {file.parent}, instead of the file"
    flag = "--model.backbone"
    return (
        f"a Hugging Face CLIPModel: load it with `{flag}.name ARCHITECTURE {flag}.pretrained "
        f"HuggingFaceCLIP {flag}.pretrained.path {file} {flag}.activation quickgelu`, where "
        "ARCHITECTURE is open_clip's name, such as ViT-B-32. In Python: zoo.load(ARCHITECTURE, "
        f"zoo.backbones.published.HuggingFaceCLIP('{file}'), activation='quickgelu')"
    )


def read_config(folder: Path) -> dict[str, Any]:
    """Returns the configuration of a Hugging Face model; empty if there is none.

    Args:
        folder: The folder of the model, or any other path.
    """
    return read_json(folder / CONFIG)


def read_json(file: Path) -> dict[str, Any]:
    """Returns the object in a JSON file; empty if there is none."""
    try:
        content = parse_json(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
