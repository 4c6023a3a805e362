"""Loading: the module that a checkpoint or an exported folder holds, or that was published."""

from pathlib import Path

from jsonargparse import ArgumentError, ArgumentParser

from zoo import __version__
from zoo.backbones.catalogue.model import settings
from zoo.backbones.weights import refuse_not_finite
from zoo.checkpoints.files import located, read_checkpoint, recipe_of
from zoo.errors import ZooError
from zoo.mistakes import sentence
from zoo.module import ZooModule


def load_checkpoint(path: str | Path) -> ZooModule:
    """Loads the module of a checkpoint or of an exported folder.

    Args:
        path: A checkpoint of `zoo fit` or `zoo merge`, a folder of `zoo export`, `last`, `best` or
            a run's folder. All weights come from it alone.

    Returns:
        The module.

    Raises:
        ZooError: The checkpoint cannot be read, its classes cannot be built, or its weights are NaN
            or infinite.
    """
    path = located(path)
    checkpoint = read_checkpoint(Path(path))
    refuse_not_finite(
        Path(path),
        {
            name: tensor
            for name, tensor in checkpoint["state_dict"].items()
            if name.startswith(("backbone.", "head."))  # an objective may keep any tensors
        },
        "training diverged, take an earlier checkpoint or train with a lower learning rate",
    )
    wrote = checkpoint.get("zoo", {}).get("version", __version__)
    by = "" if wrote == __version__ else f" (zoo {wrote} wrote it, this is {__version__})"
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ZooModule, "module", fail_untyped=False)
    try:
        recipe = parser.parse_object({"module": recipe_of(checkpoint)})
        module: ZooModule = parser.instantiate(recipe).module
        module.teacher = None  # training alone asks it
        checkpoint["state_dict"] = {
            name: tensor
            for name, tensor in checkpoint["state_dict"].items()
            if not name.startswith("teacher.")
        }
        module.on_load_checkpoint(checkpoint)
    except ArgumentError as error:
        raise ZooError(
            f"the model in {path} cannot be built{by} ({sentence(str(error))}): run this where the "
            "classes of its recipe can be imported, with the versions that wrote it"
        ) from error
    except ZooError as error:
        raise ZooError(f"{path} cannot be loaded{by}: {error}") from error
    module.load_state_dict(checkpoint["state_dict"])
    module.checkpoint = str(path)
    return module


def load_published(name: str) -> ZooModule:
    """Loads a published model.

    Args:
        name: A name of `zoo ls models`, as `zoo.backbones.catalogue.model.settings` takes it.

    Returns:
        The module.

    Raises:
        ZooError: There is no such model, or its weights cannot be had or do not fit.
    """
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(ZooModule, "module", fail_untyped=False)
    try:
        parsed = parser.parse_object({"module": settings(name)})
        module: ZooModule = parser.instantiate(parsed).module
    except ArgumentError as error:
        raise ZooError(f"the model {name} cannot be built: {sentence(str(error))}") from error
    return module
