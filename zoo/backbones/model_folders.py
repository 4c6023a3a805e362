"""Folders of models: those of open_clip and Hugging Face, on disk or on the hub."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.backbones.factory import find_architecture, known_architectures, read_architecture
from zoo.backbones.hub import WEIGHTS, fetch_model_folder
from zoo.backbones.hugging_face import (
    open_clip_architecture,
    read_config,
    read_json,
    read_model_type,
    read_preprocessing,
    siglip_architecture,
)
from zoo.errors import ZooError
from zoo.support.class_paths import reject_remote_code

HUB, LOCAL = "hf-hub:", "local-dir:"
OPEN_CLIP_CONFIG = "open_clip_config.json"
OPEN_CLIP_WEIGHTS, HUGGING_FACE_WEIGHTS = WEIGHTS[:2], WEIGHTS[2:]
SAFETENSORS = "*.safetensors"
PUBLICATIONS = {
    "clip": "zoo.backbones.published.HuggingFaceCLIP",
    "siglip": "zoo.backbones.published.HuggingFaceSigLIP",
}
# classes of zoo.evaluation.pair_scorers
PAIR_SCORERS = {
    "blip": "BlipITM",
    "instructblip": "VQAScore",
    "llava": "VQAScore",
    "qwen2_5_vl": "VQAScore",
    "qwen3_vl": "VQAScore",
}
EMBEDDER, EMBEDDER_MARK = "MultimodalEmbedder", "modules.json"  # of sentence-transformers
CLIP_VOCABULARY = 49408


@dataclass(frozen=True)
class PairScorerSource:
    """Where a model that scores pairs of image and text comes from.

    Attributes:
        name: The name that was given.
        scorer: The class in `zoo.evaluation.pair_scorers`.
        folder: The folder of its files.
        arguments: Further arguments of the class.
        revision: The commit of its files on the hub, None if they are not from there.
    """

    name: str
    scorer: str
    folder: Path
    arguments: Mapping[str, Any] = field(default_factory=dict)
    revision: str | None = None


def pair_scorer_source(
    name: str, folder: Path, scorer: str | None = None, arguments: Mapping[str, Any] | None = None
) -> PairScorerSource | None:
    """Returns the scorer of a folder.

    Args:
        name: The name that was given.
        folder: The folder.
        scorer: The class of the scorer; None takes it from the type in `config.json`.
        arguments: Further arguments of the class.

    Returns:
        The scorer, None if models of this type do not score pairs.
    """
    if scorer is None:
        scorer = PAIR_SCORERS.get(read_model_type(folder) or "")
        if scorer == "VQAScore" and (folder / EMBEDDER_MARK).is_file():
            scorer = EMBEDDER
    if scorer is None:
        return None
    revision = folder.name if folder.parent.name == "snapshots" else None
    return PairScorerSource(name, scorer, folder, arguments or {}, revision)


def check_pair_scorer_folder(folder: Path) -> None:
    """Checks that transformers loads a folder without running code or reading another folder.

    Raises:
        ZooError: It has no configuration or no weights, asks for remote code, or has adapters,
            whose configuration names another model.
    """
    if read_model_type(folder) is None:
        raise ZooError(
            f"{folder} is not the folder of a model of transformers: it has no config.json"
        )
    for file in sorted(folder.glob("*config.json")):
        reject_remote_code(read_json(file), str(file))
    if (folder / "adapter_config.json").exists():
        raise ZooError(f"{folder} has adapters of another model: merge them into its weights")
    if not (any(folder.glob(SAFETENSORS)) or (folder / HUGGING_FACE_WEIGHTS[-1]).is_file()):
        raise ZooError(
            f"{folder} has no weights: it needs safetensors or {HUGGING_FACE_WEIGHTS[-1]}"
        )


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
            f"{', '.join([*PUBLICATIONS, *PAIR_SCORERS])} can be loaded: give it as an object to "
            "zoo.evaluate in Python"
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
