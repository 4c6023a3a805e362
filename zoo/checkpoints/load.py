"""Loading modules from checkpoints, exported folders and published models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError, ArgumentParser

from zoo import __version__
from zoo.backbones.fingerprint import weights_hash
from zoo.backbones.weights import refuse_not_finite
from zoo.checkpoints.files import find_checkpoint, read_checkpoint, recipe_of
from zoo.error_translation import shorten_message
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.renames import translate_recipe


def load_checkpoint(path: str | Path, recipe: Mapping[str, Any] | None = None) -> ZooModule:
    """Loads the module of a checkpoint or of an exported folder.

    Args:
        path: A checkpoint of `zoo fit` or `zoo merge`, a folder of `zoo export`, `last`, `best` or
            a run's folder. It provides all weights.
        recipe: The module's parts in plain data, None for those in the checkpoint.

    Returns:
        The module.

    Raises:
        ZooError: The checkpoint cannot be read, its classes are not trusted or cannot be built, or
            its weights are NaN or infinite.
    """
    path = find_checkpoint(path)
    checkpoint = read_checkpoint(Path(path))
    recipe = recipe or recipe_of(checkpoint)
    reject_untrusted_classes(recipe, ZooModule, str(path))
    refuse_not_finite(
        Path(path),
        {
            name: tensor
            for name, tensor in checkpoint["state_dict"].items()
            if name.startswith(("backbone.", "head."))  # an objective may have any tensors
        },
        "training diverged, use an earlier checkpoint or a lower learning rate",
    )
    version = checkpoint.get("zoo", {}).get("version", __version__)
    versions = (
        "" if version == __version__ else f" (written by zoo {version}, this is {__version__})"
    )
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ZooModule, "module", fail_untyped=False)
    try:
        parsed = parser.parse_object({"module": recipe})
        module: ZooModule = parser.instantiate(parsed).module
        module.teacher = None  # used only in training
        checkpoint["state_dict"] = {
            name: tensor
            for name, tensor in checkpoint["state_dict"].items()
            if not name.startswith("teacher.")
        }
        module.on_load_checkpoint(checkpoint)
    except ArgumentError as error:
        raise ZooError(
            f"the model in {path} cannot be built{versions} ({shorten_message(str(error))}): use "
            "the "
            "versions that wrote it, and check that the classes of its recipe can be imported"
        ) from error
    except ZooError as error:
        raise ZooError(f"{path} cannot be loaded{versions}: {error}") from error
    module.load_state_dict(checkpoint["state_dict"])
    module.checkpoint = str(path)
    return module


def load_model_of_results(model: Mapping[str, Any]) -> ZooModule:
    """Loads the module that produced given results.

    Args:
        model: The description of the model in the results.

    Returns:
        The module, in evaluation mode.

    Raises:
        ZooError: It is missing, cannot be built, or its weights are not those that were measured.
    """
    checkpoint, recipe = model.get("checkpoint"), translate_recipe(model.get("recipe"))
    if checkpoint is not None:
        module = load_checkpoint(checkpoint, recipe)
    elif recipe is not None:
        reject_untrusted_classes(recipe, ZooModule, "the recipe of the model in these results")
        module = build_module(recipe, "the model that was measured")
    else:
        raise ZooError(f"{model.get('model')} is not a zoo model, so it cannot be loaded")
    if weights_hash(module.backbone, module.head) != model.get("weights_sha256"):
        raise ZooError(
            f"the weights of {checkpoint or 'the recipe in these results'} have changed since they "
            "were measured: measure them again, from a checkpoint"
        )
    return module.eval()


def build_module(recipe: Mapping[str, Any], name: str) -> ZooModule:
    """Builds a module from its parts in plain data.

    Args:
        recipe: The parts.
        name: The name of the module in errors.

    Raises:
        ZooError: It cannot be built.
    """
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ZooModule, "module", fail_untyped=False)
    try:
        module: ZooModule = parser.instantiate(parser.parse_object({"module": recipe})).module
    except ArgumentError as error:
        raise ZooError(f"{name} cannot be built: {shorten_message(str(error))}") from error
    return module
