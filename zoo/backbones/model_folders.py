"""Folders of models: those of open_clip and Hugging Face, on disk or on the hub."""

from pathlib import Path
from typing import Any

from zoo.backbones.factory import find_architecture, known_architectures, read_architecture
from zoo.backbones.hub import WEIGHTS, fetch_model_folder
from zoo.backbones.hugging_face import (
    open_clip_architecture,
    read_config,
    read_model_type,
    read_preprocessing,
    siglip_architecture,
)
from zoo.errors import ZooError
from zoo.support.class_paths import reject_remote_code

HUB, LOCAL = "hf-hub:", "local-dir:"
OPEN_CLIP_CONFIG = "open_clip_config.json"
OPEN_CLIP_WEIGHTS, HUGGING_FACE_WEIGHTS = WEIGHTS[:2], WEIGHTS[2:]
PUBLICATIONS = {
    "clip": "zoo.backbones.published.HuggingFaceCLIP",
    "siglip": "zoo.backbones.published.HuggingFaceSigLIP",
}
CLIP_VOCABULARY = 49408


def find_model_folder(name: str) -> Path | None:
    """Returns the folder of a model, and downloads that of the hub.

    Args:
        name: `hf-hub:USER/NAME`, `local-dir:FOLDER`, a folder, or any other text.

    Returns:
        The folder, None for any other text.

    Raises:
        ZooError: The folder does not exist, or cannot be downloaded.
    """
    if name.startswith(HUB):
        return fetch_model_folder(name.removeprefix(HUB))
    folder = Path(name.removeprefix(LOCAL))
    if folder.is_dir():
        return folder
    if name.startswith(LOCAL):
        raise ZooError(f"{name}: {folder} is not a folder: give local-dir: the folder of a model")
    return None


def is_model_folder(folder: Path) -> bool:
    """Returns whether a folder has the configuration of a model of open_clip or Hugging Face."""
    return (folder / OPEN_CLIP_CONFIG).is_file() or read_model_type(folder) is not None


def folder_settings(folder: Path) -> dict[str, Any]:
    """Returns the arguments of the Backbone for a folder of open_clip or Hugging Face.

    Args:
        folder: A folder with `open_clip_config.json`, or with the `config.json` of a CLIPModel or
            a SiglipModel.

    Raises:
        ZooError: The folder has no such model, its weights are missing, or its configuration lets
            a tokenizer or model run code.
    """
    if (folder / OPEN_CLIP_CONFIG).is_file():
        file = folder / OPEN_CLIP_CONFIG
        architecture = read_architecture(file)
        reject_remote_code(architecture, str(file))
        _find_weights(folder, OPEN_CLIP_WEIGHTS)
        name = find_architecture(architecture) or str(file)
        has_own_tokenizer = bool(architecture["text_cfg"].get("hf_tokenizer_name"))
        settings = {"name": name, "pretrained": str(folder)}
        return settings | _tokenizer_settings(folder, has_own_tokenizer)
    config, model_type = read_config(folder), read_model_type(folder)
    if model_type is None:
        raise ZooError(
            f"{folder} is not the folder of a model: it has no checkpoint of `zoo fit`, "
            f"{OPEN_CLIP_CONFIG}, or config.json of a Hugging Face model"
        )
    if model_type not in PUBLICATIONS:
        raise ZooError(
            f"{folder} is a Hugging Face model of type {model_type}, and only types "
            f"{' and '.join(PUBLICATIONS)} can be loaded: give it as an object to zoo.evaluate in "
            "Python"
        )
    weights = _find_weights(folder, HUGGING_FACE_WEIGHTS)
    if model_type == "clip":
        architecture = open_clip_architecture(config)
        name = find_architecture(architecture) or str(folder / "config.json")
        activation = "quickgelu" if architecture["quick_gelu"] else "gelu"
        has_own_tokenizer = architecture["text_cfg"]["vocab_size"] != CLIP_VOCABULARY
    else:
        found = siglip_architecture(config, known_architectures())
        if found is None:
            raise ZooError(
                f"{folder} is a SiglipModel of a size that open_clip does not have: give it as an "
                "object to zoo.evaluate in Python"
            )
        name, activation, has_own_tokenizer = found, "gelu", True
    return {
        "name": name,
        "pretrained": {"class_path": PUBLICATIONS[model_type], "init_args": {"path": str(weights)}},
        "activation": activation,
        "preprocess": read_preprocessing(folder) or None,
        **_tokenizer_settings(folder, has_own_tokenizer),
    }


def _find_weights(folder: Path, names: tuple[str, ...]) -> Path:
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        raise ZooError(f"{folder} has no weights: it needs {' or '.join(names)}")
    return file


def _tokenizer_settings(folder: Path, has_own_tokenizer: bool) -> dict[str, Any]:
    """Returns the setting of the tokenizer in a folder, empty if CLIP's own is used."""
    is_there = any(
        (folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json")
    )
    return {"text": {"tokenizer": str(folder)}} if has_own_tokenizer and is_there else {}
