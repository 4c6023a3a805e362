"""The folder that `zoo export` writes: a model for other libraries, and two files for zoo.

`zoo.json` has the recipe and the training data, `zoo.safetensors` the tensors of head and
objective. The towers are read from the model file of the other library.
"""

import json
from pathlib import Path
from typing import Any

import lightning
from msgspec import Struct
from safetensors.torch import save_file
from torch import Tensor

from zoo.backbones.factory import architecture_file_name, read_architecture
from zoo.backbones.hugging_face_names import open_clip_state
from zoo.backbones.model_folders import is_model_folder
from zoo.backbones.weights import DESCRIPTION
from zoo.errors import ZooError
from zoo.support.renames import translate_checkpoint
from zoo.support.schema import validate_record
from zoo.support.tensors import read_tensors
from zoo.support.text_files import parse_json

GRAPH = "head.onnx"
REST = "zoo.safetensors"
OPEN_CLIP, HUGGING_FACE = "open_clip_model.safetensors", "model.safetensors"
TOWERS = "backbone.model."


class _PartFields(Struct):
    class_path: str
    init_args: dict[str, Any] = {}


class _BackboneArguments(Struct):
    name: str


class _BackboneFields(Struct):
    class_path: str
    init_args: _BackboneArguments


class _RecipeFields(Struct):
    backbone: _BackboneFields
    head: _PartFields | None = None
    objective: _PartFields | None = None


class _Description(Struct):
    """The required fields of `zoo.json`."""

    recipe: _RecipeFields
    origin: dict[str, Any]
    separate_text: bool


def write_zoo_files(
    folder: Path, recipe: dict[str, Any], origin: dict[str, Any], state: dict[str, Tensor]
) -> None:
    """Writes zoo's two files into an exported folder, with the JSON file of an architecture.

    Args:
        folder: The exported folder.
        recipe: The recipe of the module.
        origin: What the module was trained on.
        state: The state of the module.
    """
    name = Path(recipe["backbone"]["init_args"]["name"])
    if name.suffix == ".json":
        file = folder / f"{architecture_file_name(name)}.json"
        file.write_text(json.dumps(read_architecture(name), indent=1), "utf-8")
        init_args = {**recipe["backbone"]["init_args"], "name": file.name}
        recipe = {**recipe, "backbone": {**recipe["backbone"], "init_args": init_args}}
    description = {
        "recipe": recipe,
        "origin": origin,
        "separate_text": any(name.startswith(f"{TOWERS}text.") for name in state),
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1), "utf-8")
    save_file(
        {
            name: tensor.contiguous()
            for name, tensor in state.items()
            if not name.startswith(TOWERS)
        },
        folder / REST,
    )


def read_export(folder: Path) -> dict[str, Any]:
    """Reads an exported folder as the checkpoint that it was exported from.

    Args:
        folder: The exported folder.

    Returns:
        The content of the checkpoint, without the optimizer.

    Raises:
        ZooError: Files are missing or broken.
    """
    if (folder / GRAPH).is_file():
        raise ZooError(
            f"{folder} has graphs for onnxruntime, which zoo cannot load: export the "
            "checkpoint with --format open_clip or hf"
        )
    towers = folder / OPEN_CLIP if (folder / OPEN_CLIP).is_file() else folder / HUGGING_FACE
    try:
        description = parse_json((folder / DESCRIPTION).read_text("utf-8"))
    except (OSError, ValueError) as error:
        if not (folder / DESCRIPTION).exists() and is_model_folder(folder):
            raise ZooError(
                f"{folder} is a model of open_clip or Hugging Face and not a checkpoint: give it "
                "with --model, or to zoo.load"
            ) from error
        raise ZooError(
            f"{folder} was not written by `zoo export` ({' '.join(str(error).split())}): give a "
            f"folder with {DESCRIPTION}, {REST} and {OPEN_CLIP} or {HUGGING_FACE}"
        ) from error
    weights, rest = (
        read_tensors(file, advice="export the checkpoint again") for file in (towers, folder / REST)
    )
    message = f"{folder / DESCRIPTION} does not describe the exported model"
    validate_record(description, _Description, message, "export the checkpoint again")
    settings = description["recipe"]["backbone"]["init_args"]
    if settings["name"].endswith(".json"):
        settings["name"] = str(folder / settings["name"])
    if towers.name == HUGGING_FACE:
        weights = open_clip_state(towers, weights, description["separate_text"])
    state = {TOWERS + name: tensor for name, tensor in weights.items()} | rest
    checkpoint = {
        "state_dict": state,
        "hyper_parameters": description["recipe"],
        "zoo": description["origin"],
        "pytorch-lightning_version": lightning.__version__,
    }
    return translate_checkpoint(checkpoint)
