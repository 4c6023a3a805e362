"""A plain CLIP of open_clip as Hugging Face's CLIPModel: names, configuration and preprocessing."""

import dataclasses
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from zoo.backbones.published import open_clip_names
from zoo.backbones.weights import TEXT_TOWER
from zoo.errors import ZooError

State = dict[str, Tensor]
# Settings that CLIPModel has too, that matter in training alone, or that say nothing of weights.
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
NAMES = (
    (r"^visual\.class_embedding$", "vision_model.embeddings.class_embedding"),
    (r"^visual\.conv1\.", "vision_model.embeddings.patch_embedding."),
    (r"^visual\.positional_embedding$", "vision_model.embeddings.position_embedding.weight"),
    (r"^visual\.ln_pre\.", "vision_model.pre_layrnorm."),
    (r"^visual\.ln_post\.", "vision_model.post_layernorm."),
    (r"^visual\.transformer\.resblocks\.", "vision_model.encoder.layers."),
    (r"^token_embedding\.", "text_model.embeddings.token_embedding."),
    (r"^positional_embedding$", "text_model.embeddings.position_embedding.weight"),
    (r"^ln_final\.", "text_model.final_layer_norm."),
    (r"^transformer\.resblocks\.", "text_model.encoder.layers."),
    (r"\.ln_([12])\.", r".layer_norm\1."),
    (r"\.mlp\.c_fc\.", ".mlp.fc1."),
    (r"\.mlp\.c_proj\.", ".mlp.fc2."),
    (r"\.attn\.out_proj\.", ".self_attn.out_proj."),
)
PROJECTIONS = {
    "visual.proj": "visual_projection.weight",
    "text_projection": "text_projection.weight",
}
IN_PROJECTION = re.compile(r"(.*)\.attn\.in_proj_(weight|bias)$")


def refuse_what_it_cannot_hold(name: str, architecture: dict[str, Any]) -> None:
    """Checks that an architecture is the plain CLIP that CLIPModel is.

    Args:
        name: The architecture, as errors name it.
        architecture: Its towers in open_clip's format.

    Raises:
        ZooError: The architecture departs from plain CLIP; the message says in what.
    """
    from open_clip.model import CLIPTextCfg, CLIPVisionCfg

    departures = [key for key in architecture if key not in TOP]
    for part, usual in (("vision_cfg", CLIPVisionCfg()), ("text_cfg", CLIPTextCfg())):
        plain = dataclasses.asdict(usual)
        given = architecture[part]
        departures += [
            f"{part}.{k}={v}"
            for k, v in given.items()
            if k not in HELD[part] and (k not in plain or plain[k] != v)
        ]
    if isinstance(architecture["vision_cfg"].get("layers", 12), list | tuple):
        departures.append("a ResNet as image tower")
    if not isinstance(architecture["vision_cfg"].get("image_size", 224), int):
        departures.append("images that are not square")
    if departures:
        raise ZooError(
            f"{name} is no plain CLIP ({', '.join(departures)}), which is all that Hugging Face's "
            "CLIPModel can hold: export it with --format open_clip"
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


def hugging_face_state(state: State) -> State:
    """Returns a state under Hugging Face's names.

    Queries, keys and values come apart, and projections are transposed.

    Args:
        state: The state of a plain CLIP under open_clip's names.
    """
    out: State = {}
    for key, tensor in ((key.removeprefix("text."), tensor) for key, tensor in state.items()):
        fused = IN_PROJECTION.match(key)
        if fused is not None:
            block, kind = _renamed(fused[1]), fused[2]
            out |= {
                f"{block}.self_attn.{part}_proj.{kind}": t.clone()
                for part, t in zip("qkv", tensor.chunk(3), strict=True)
            }
        elif key in PROJECTIONS:
            out[PROJECTIONS[key]] = tensor.T.contiguous()
        else:
            out[_renamed(key)] = tensor
    return out


def open_clip_state(file: Path, state: State, separate_text: bool) -> State:
    """Returns the state that `hugging_face_state` was given.

    Args:
        file: The file of the state, as errors name it.
        state: A state under Hugging Face's names.
        separate_text: Whether open_clip has the text tower under `text.`.
    """
    plain = open_clip_names(file, state)
    return {
        f"text.{key}" if separate_text and key.startswith(TEXT_TOWER) else key: tensor
        for key, tensor in plain.items()
    }


def _renamed(key: str) -> str:
    for pattern, name in NAMES:
        key = re.sub(pattern, name, key)
    return key


def preparation(settings: dict[str, Any], size: int) -> dict[str, Any]:
    """Returns the arguments of CLIPImageProcessor.

    Args:
        settings: open_clip's settings of how images are prepared.
        size: Height and width of the images, in pixels.

    Raises:
        ZooError: CLIPImageProcessor cannot resize images so.
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


def vocabulary() -> tuple[dict[str, int], Any]:
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
def without_bars() -> Iterator[None]:
    """Keeps transformers from drawing progress bars over files that are read in a moment."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def features(out: Any) -> Tensor:
    """Returns the embeddings of what a tower gives.

    Args:
        out: A tensor, or Hugging Face's output around it.
    """
    found: Tensor = out if isinstance(out, Tensor) else out.pooler_output
    return found
