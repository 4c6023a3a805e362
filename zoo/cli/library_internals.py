"""Private names of argparse, jsonargparse and Lightning, on which the command line relies.

No public name lists the arguments of a parser or changes how a help text is built. Other modules of
`zoo.cli` use public names only, except that `ZooCLI` in `fit.py` overrides two private methods of
LightningCLI. `pyproject.toml` limits the versions of jsonargparse and Lightning accordingly.
"""

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

from jsonargparse import DefaultHelpFormatter, Namespace


class BriefHelpFormatter(DefaultHelpFormatter):  # type: ignore[misc]
    """Formats help without types: the help text of an argument, and its default."""

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if action.required:
            return f"{text} (required)" if action.option_strings else text
        default = action.default
        if isinstance(default, Namespace):
            default = default.class_path.rpartition(".")[2]
        if default in (None, False, SUPPRESS, []) or "(default: " in text:
            return text
        return f"{text} (default: {default})"


def parser_actions(parser: ArgumentParser) -> Sequence[Action]:
    """Returns the actions of a parser, in the order in which they were added."""
    return parser._actions


def actions_by_option(parser: ArgumentParser) -> dict[str, Action]:
    """Returns the actions of a parser by option, such as `--out`; additions to it take effect."""
    return parser._option_string_actions


def subcommand_parsers(parser: Any) -> Mapping[str, Any]:
    """Returns the parsers of the subcommands of a jsonargparse parser, by their names."""
    action = parser._subcommands_action
    return action.choices if action else {}
