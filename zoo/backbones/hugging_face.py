"""A plain CLIP of open_clip as Hugging Face's CLIPModel: configuration and preprocessing."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from zoo.errors import ZooError
from zoo.support.text_files import parse_json

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
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


def clip_vocabulary_and_merges() -> tuple[dict[str, int], Any]:
    """Returns CLIP's token ids and its merges.

    Returns:
        The ids by token, with special tokens under Hugging Face's names, and the merges in order.
    """
    from open_clip import SimpleTokenizer

    inner = SimpleTokenizer()
    special = {"<start_of_text>": "<|startoftext|>", "<end_of_text>": "<|endoftext|>"}
    return {special.get(token, token): i for token, i in inner.encoder.items()}, list(
        inner.bpe_ranks
    )


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


def unwrap_embeddings(out: Any) -> Tensor:
    """Returns the embeddings in a tower's output.

    Args:
        out: A tensor, or Hugging Face's output around it.
    """
    embeddings: Tensor = out if isinstance(out, Tensor) else out.pooler_output
    return embeddings


def describe_hugging_face_folder(folder: Path) -> str | None:
    """Returns what a folder of a Hugging Face model is and how to load it; None for other folders.

    Args:
        folder: A folder, or any other path.
    """
    file = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    model_type = _read_config(folder).get("model_type")
    if model_type is None:
        return None
    if model_type != "clip" or file is None:
        return (
            f"{folder} is a Hugging Face model of type {model_type}, and only the weights of a "
            f"CLIPModel in {' or '.join(WEIGHTS)} can be loaded: give it as an object to "
            "zoo.evaluate in Python"
        )
    return f"{folder} is {loading_hint(file)}"


def loading_hint(file: Path) -> str:
    """Returns how to load a file of weights of Hugging Face's CLIPModel.

    Args:
        file: The file.
    """
    vision = _read_config(file.parent).get("vision_config") or {}
    activation = "quickgelu" if vision.get("hidden_act", "quick_gelu") == "quick_gelu" else "gelu"
    flag = "--model.backbone"
    return (
        f"a Hugging Face CLIPModel: load it with `{flag}.name ARCHITECTURE {flag}.pretrained "
        f"HuggingFaceCLIP {flag}.pretrained.path {file} {flag}.activation {activation}`, where "
        "ARCHITECTURE is open_clip's name, such as ViT-B-32. In Python: zoo.load(ARCHITECTURE, "
        f"zoo.backbones.published.HuggingFaceCLIP('{file}'), activation='{activation}')"
    )


def _read_config(folder: Path) -> dict[str, Any]:
    """Returns the configuration of a Hugging Face model; empty if there is none."""
    try:
        config = parse_json((folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}
