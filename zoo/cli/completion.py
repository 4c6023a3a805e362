"""`zoo --print_completion SHELL`: the script by which a shell completes commands and flags."""

import argparse
import importlib

import shtab

from zoo.cli.commands import COMMANDS, LIGHTNING
from zoo.cli.flags import FLAGS
from zoo.cli.recipes import shipped_recipes
from zoo.mistakes import settings
from zoo.support.names import import_all, paths

CLASSES = {"objective": "objectives", "head": "heads", "benchmarks": "benchmarks"}
PATHS = ("data_root", "ckpt_path", "out")
# bash offers the shipped recipes beside files, zsh files alone
RECIPES = {"bash": "_zoo_recipes", "zsh": "_files"}
FUNCTION = "_zoo_recipes() {{ compgen -W '{}' -- $1; compgen -f -- $1; }}"


def script(shell: str) -> str:
    """Returns the script of a shell.

    Args:
        shell: `bash` or `zsh`.
    """
    import_all()
    parser = argparse.ArgumentParser("zoo", add_help=False)
    parser.add_argument("--help", action="store_true", help="list the commands")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    for name, says in LIGHTNING.items():
        _declare(commands.add_parser(name, help=says, description=says), name)
    for name, (where, says) in COMMANDS.items():
        declared = importlib.import_module(where.partition(":")[0]).parser()
        commands.add_parser(name, help=says, description=says, parents=[declared], add_help=False)
    preamble = FUNCTION.format(" ".join(shipped_recipes())) if shell == "bash" else ""
    text: str = shtab.complete(parser, shell, preamble=preamble)
    return text


def _declare(parser: argparse.ArgumentParser, command: str) -> None:
    """Declares the flags of `fit` or `validate`, and the settings that are flags too."""
    for flag in (flag for flag in FLAGS if command in flag.commands):
        action = parser.add_argument(f"--{flag.name}", help=flag.says)
        if flag.name in CLASSES:
            action.choices = sorted(paths(CLASSES[flag.name]))
        elif flag.name in PATHS:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif flag.name == "config":
            action.complete = RECIPES  # type: ignore[attr-defined]
    for setting in settings():
        parser.add_argument(f"--{setting}", help="a setting")
