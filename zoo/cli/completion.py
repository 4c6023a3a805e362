"""`zoo --print_completion SHELL`: the shell script that completes commands and flags."""

import argparse

import shtab

from zoo.cli.flags import FLAGS
from zoo.cli.help_pages import class_arguments
from zoo.cli.recipes import shipped_recipes
from zoo.cli.registry import COMMANDS, LIGHTNING, command_module
from zoo.support.class_names import class_paths, import_all, import_path

CLASSES = {
    "objective": "objectives",
    "head": "heads",
    "benchmarks": "benchmarks",
    "presets": "presets",
}
PATHS = ("data_root", "ckpt_path", "out")
# shipped recipes are offered as well as files
RECIPES = {"bash": "_zoo_recipes", "zsh": "_zoo_recipes"}
FUNCTION = {
    "bash": "_zoo_recipes() {{ compgen -W '{}' -- $1; compgen -f -- $1; }}",
    "zsh": "_zoo_recipes() {{ compadd -- {}; _files }}",
}
# classes whose arguments are flags, by the prefix of these flags
SETTINGS = {
    "model": "zoo.module.ZooModule",
    "model.backbone": "zoo.backbones.Backbone",
    "model.backbone.tuning": "zoo.backbones.Tuning",
    "model.backbone.text": "zoo.backbones.TextInput",
    "model.backbone.augmentation": "zoo.backbones.Augmentation",
    "model.backbone.compute": "zoo.backbones.Compute",
    "model.optimizer": "zoo.optim.Optimization",
    "trainer": "lightning.Trainer",
}
DATA = {
    "fit": "zoo.datamodules.CaptionDataModule",
    "validate": "zoo.datamodules.EvaluationDataModule",
}


def completion_script(shell: str) -> str:
    """Returns the completion script of a shell.

    Args:
        shell: `bash` or `zsh`.
    """
    import_all()
    parser = argparse.ArgumentParser("zoo", add_help=False)
    parser.add_argument("--help", action="store_true", help="list the commands")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    for name, command in COMMANDS.items():
        parents = [] if name in LIGHTNING else [command_module(name).parser()]
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary,
            parents=parents,
            add_help=name in LIGHTNING,
        )
        if name in LIGHTNING:
            _add_flags(subparser, name)
    preamble = FUNCTION[shell].format(" ".join(shipped_recipes()))
    text: str = shtab.complete(parser, shell, preamble=preamble)
    return text


def _add_flags(parser: argparse.ArgumentParser, command: str) -> None:
    """Declares the short flags of `fit` or `validate` and the flags of all settings."""
    for flag in (flag for flag in FLAGS if command in flag.commands):
        action = parser.add_argument(f"--{flag.name}", help=flag.help)
        if flag.name in CLASSES:
            action.choices = sorted(class_paths(CLASSES[flag.name]))
        elif flag.name in PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif flag.name == "config":
            action.complete = RECIPES  # type: ignore[attr-defined]
    for prefix, path in {**SETTINGS, "data": DATA[command]}.items():
        for name, _, help_text in class_arguments(import_path(path)):
            parser.add_argument(
                f"--{prefix}.{name}", help=help_text.replace("%", "%%") or "a setting"
            )
