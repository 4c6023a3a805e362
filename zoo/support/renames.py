"""Names of version 0.1.0 that have changed since.

Checkpoints, exported models, recipes, catalogue entries and results of that version hold the old
names. The readers of these files translate them here, and all other code knows only current names.
"""

from collections.abc import Mapping
from typing import Any

# modules of classes that files name
MODULES = {
    "zoo.pieces": "zoo.regions_and_phrases",
    "zoo.pieces.segments": "zoo.regions_and_phrases",
    "zoo.pieces.views": "zoo.regions_and_phrases",
    "zoo.evaluation.store": "zoo.evaluation",
    "zoo.sources.own_images": "zoo.sources",
    "zoo.backbones.published.clove": "zoo.backbones.published",
    "zoo.backbones.published.cs_clip": "zoo.backbones.published",
    "zoo.backbones.published.dac": "zoo.backbones.published",
    "zoo.backbones.published.fsc_clip": "zoo.backbones.published",
    "zoo.backbones.published.hugging_face": "zoo.backbones.published",
    "zoo.backbones.published.negclip": "zoo.backbones.published",
    "zoo.backbones.published.tripletclip": "zoo.backbones.published",
    "zoo.backbones.published.tsvlc": "zoo.backbones.published",
}
# arguments by class name
ARGUMENTS = {
    "CaptionDataModule": {
        "expect_n": "expected_images",
        "overlong": "truncation",
        "redraw": "resample",
    },
    "Evaluation": {"beside": "reference_models"},
    "EvaluationDataModule": {"beside": "reference_models"},
}
VALUES = {"overlong": {"cut": True, "error": False}}
# keys of the data's description in checkpoints
DATA = {"overlong": "truncation", "redraw": "resample", "cut": "truncated"}
# settings that were added, with the values that version 0.1.0 had
ADDED_ARGUMENTS: dict[str, dict[str, Any]] = {
    "CSCLIP": {"pairs": "softmax"},
    "CsvTable": {"negative_column": None},
    "FSCCLIP": {"pairs": "softmax"},
    "NegCLIPSwap": {"skip_equivalent": False},
    "READCLIP": {
        "lambda_recon": 0.0,
        "decoder": "google/t5-v1_1-large",
        "decoder_tokenizer": None,
        "decoder_width": None,
    },
}
ADDED_TO_OPTIMIZER = {
    "weight_decay_on": "matrices",
    "initial_share": None,
    "algorithm": "AdamW",
    "arguments": None,
}
ADDED_TO_BACKBONE: dict[str, dict[str, Any]] = {
    "tuning": {"image_groups": None, "text_groups": None},
    "augmentation": {"patch_dropout": 0.0},
    "compute": {"checkpoint_blocks": False},
    "text": {"kept_positions": None},
}
# arguments that were added to CaptionDataModule; a recipe may leave them to another recipe
ADDED_TO_DATA: dict[str, Any] = {"train_weights": None}
# fields of a catalogue entry
ENTRY = {"says": "description", "rule": "weights_class", "refused": "unsupported"}


def translate_checkpoint(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Returns a checkpoint whose recipe and data description have current names.

    Args:
        checkpoint: The content of a checkpoint or of an exported folder.
    """
    translated = dict(checkpoint)
    if "hyper_parameters" in checkpoint:
        translated["hyper_parameters"] = translate_recipe(checkpoint["hyper_parameters"])
    origin = checkpoint.get("zoo")
    if isinstance(origin, dict) and isinstance(origin.get("data"), dict):
        data = translate_keys(origin["data"], DATA)
        if isinstance(data.get("truncation"), dict):
            data["truncation"] = translate_keys(data["truncation"], DATA)
        translated["zoo"] = {**origin, "data": translate_classes(data)}
    return translated


def translate_recipe(recipe: Any) -> Any:
    """Returns the recipe of a model with current names and the values of added settings.

    Args:
        recipe: The recipe, as checkpoints, run.json and results hold it.
    """
    translated = translate_classes(recipe)
    if isinstance(translated, dict) and isinstance(translated.get("optimizer"), dict):
        translated["optimizer"] = {**ADDED_TO_OPTIMIZER, **translated["optimizer"]}
    backbone = translated.get("backbone") if isinstance(translated, dict) else None
    arguments = backbone.get("init_args") if isinstance(backbone, dict) else None
    if isinstance(arguments, dict):
        for group, added in ADDED_TO_BACKBONE.items():
            if isinstance(arguments.get(group), dict):
                arguments[group] = {**added, **arguments[group]}
    return translated


def translate_data(data: Any) -> Any:
    """Returns the settings of a run's data with current names and the values of added settings.

    Args:
        data: The settings, as run.json holds them.
    """
    translated = translate_classes(data)
    path = translated.get("class_path") if isinstance(translated, dict) else None
    if isinstance(path, str) and path.endswith(".CaptionDataModule"):
        translated["init_args"] = {**ADDED_TO_DATA, **translated.get("init_args", {})}
    return translated


def translate_classes(value: Any, with_added: bool = True) -> Any:
    """Returns plain data in which all class paths and their arguments have current names.

    Args:
        value: A recipe, a part of one, or any other plain data.
        with_added: Whether arguments that were added later get the value that the classes had
            before. An overlay must not get them: it would replace those of the recipe below it.
    """
    if isinstance(value, list | tuple):
        return type(value)(translate_classes(inner, with_added) for inner in value)
    if not isinstance(value, dict):
        return value
    translated = {name: translate_classes(inner, with_added) for name, inner in value.items()}
    path, arguments = value.get("class_path"), translated.get("init_args")
    if isinstance(path, str):
        module, _, name = path.rpartition(".")
        if module in MODULES:
            translated["class_path"] = f"{MODULES[module]}.{name}"
        if isinstance(arguments, dict):
            renamed = translate_keys(arguments, ARGUMENTS.get(name, {}))
            added = ADDED_ARGUMENTS.get(name, {}) if with_added else {}
            translated["init_args"] = {**added, **renamed}
    return translated


def translate_keys(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns a record with current names.

    Args:
        record: The record.
        names: The current names by their old names.
    """
    return {
        names.get(name, name): VALUES[name].get(value, value)
        if name in VALUES and name in names and isinstance(value, str)
        else value
        for name, value in record.items()
    }
