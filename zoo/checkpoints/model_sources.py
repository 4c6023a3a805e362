"""Finds a model by any name that users give it: one resolver for every command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from zoo.backbones.catalogue.entry import entries, open_clip_model_names
from zoo.backbones.catalogue.model import (
    is_published,
    load_published_settings,
    published_pair_scorer,
)
from zoo.backbones.factory import architectures
from zoo.backbones.hub import REPOSITORY
from zoo.backbones.model_folders import (
    HUB,
    PairScorerSource,
    find_model_folder,
    folder_settings,
    pair_scorer_source,
)
from zoo.backbones.weights import DESCRIPTION, SUFFIXES
from zoo.checkpoints.exported import GRAPH
from zoo.checkpoints.files import CHECKPOINTS, LAST, NAMES, find_checkpoint
from zoo.checkpoints.load import build_module, load_checkpoint
from zoo.errors import ZooError, suggest_names
from zoo.module import ZooModule


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from: a checkpoint, settings, or a scorer of pairs.

    Args:
        name: The name that was given.
        checkpoint: A checkpoint of `zoo fit`, or a folder of `zoo export`.
        settings: Arguments of ZooModule in plain data: `backbone`, and `head` if it has one.
        pair_scorer: A model that scores pairs of image and text, without towers.
    """

    name: str
    checkpoint: Path | None = None
    settings: dict[str, Any] | None = None
    pair_scorer: PairScorerSource | None = None

    def load(self) -> ZooModule:
        """Builds the module, with its weights. Random weights are drawn with seed 0.

        Raises:
            ZooError: A file cannot be read, does not fit, or names a class that is not trusted, or
                the model scores pairs.
        """
        self.refuse_pair_scorer()
        if self.checkpoint is not None:
            return load_checkpoint(self.checkpoint)
        assert self.settings is not None, "a source has a checkpoint or settings"
        with torch.random.fork_rng(devices=()):
            # the generators of GPUs, which fork_rng() would not restore, are left as they are
            torch.default_generator.manual_seed(0)
            return build_module(self.settings, f"the model {self.name}")

    def refuse_pair_scorer(self) -> None:
        """Checks that the model has towers.

        Raises:
            ZooError: It scores pairs.
        """
        if self.pair_scorer is not None:
            raise ZooError(
                f"{self.name} scores pairs of image and text and has no towers: it can only be "
                "evaluated, by zoo validate, zoo.load and zoo.evaluate"
            )


def resolve_model(name: str | Path, flag: str = "") -> ModelSource:
    """Finds a model by its name, and downloads it if it is on the Hugging Face hub.

    These are tried in order: `last` or `best` of the newest run under `runs`; a published model
    (`zoo ls models`, or a custom YAML file), also with the file of its weights, `NAME:FILE`;
    `hf-hub:USER/NAME` and `local-dir:FOLDER`; a path: a checkpoint, the folder of a run, of an
    export, or of a model of open_clip or Hugging Face; an architecture (`zoo ls backbones`, or a
    JSON file); `USER/NAME` on the hub.

    Args:
        name: The name.
        flag: The command-line flag of the same settings; empty if there is none.

    Raises:
        ZooError: No model has this name, or its files cannot be read or downloaded.
    """
    text = str(name)
    if text in NAMES:
        return ModelSource(text, checkpoint=find_checkpoint(text))
    if is_published(text):
        if (pair_scorer := published_pair_scorer(text)) is not None:
            return ModelSource(text, pair_scorer=pair_scorer)
        return ModelSource(text, settings=load_published_settings(text, flag))
    if (folder := find_model_folder(text)) is not None:
        return _resolve_folder(text, folder)
    if Path(text).is_file() and Path(text).suffix != ".json":
        return ModelSource(text, checkpoint=Path(text))
    if _is_architecture(text):
        return ModelSource(text, settings={"backbone": {"name": text}})
    if Path(text).suffix in (".ckpt", *SUFFIXES):
        raise ZooError(f"{text} does not exist: give the path of a checkpoint, or another model")
    if not REPOSITORY.fullmatch(text.partition("@")[0]) or text.startswith("."):
        raise ZooError(_describe_unknown_name(text))
    try:
        return _resolve_folder(text, find_model_folder(f"{HUB}{text}") or Path(text))
    except ZooError as error:
        raise ZooError(f"{_describe_unknown_name(text)}, and {error}") from error


def _resolve_folder(name: str, folder: Path) -> ModelSource:
    marks = (DESCRIPTION, GRAPH, LAST, CHECKPOINTS)
    if any((folder / mark).exists() for mark in marks):
        return ModelSource(name, checkpoint=find_checkpoint(folder))
    if (pair_scorer := pair_scorer_source(name, folder)) is not None:
        return ModelSource(name, pair_scorer=pair_scorer)
    return ModelSource(name, settings={"backbone": folder_settings(folder)})


def _is_architecture(name: str) -> bool:
    return name.replace("/", "-") in architectures() or name.endswith(".json")


def _describe_unknown_name(name: str) -> str:
    names = [*entries(), *architectures(), *open_clip_model_names()]
    similar = [other for other in names if ("/" in other) == ("/" in name)]
    return (
        f"{name!r} is not a known model{suggest_names(name.partition(':')[0], similar)}: it is "
        "not a path or a name of `zoo ls models` or `zoo ls backbones`"
    )
