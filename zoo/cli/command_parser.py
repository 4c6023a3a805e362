"""The parser of all commands but `zoo fit` and `zoo validate`.

Its arguments may name classes and set their arguments, such as --reader CsvTable.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from jsonargparse import ArgumentParser, Namespace

from zoo.cli.library_internals import (
    BriefHelpFormatter,
    actions_by_option,
    parser_actions,
    subcommand_parsers,
)
from zoo.error_translation import shorten_message, to_user_error
from zoo.errors import ZooError, suggest_names


class CommandParser(ArgumentParser):  # type: ignore[misc]
    """jsonargparse's parser, without abbreviated options and with one-line errors.

    Args:
        **given: The arguments of jsonargparse's parser.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": BriefHelpFormatter, **given})

    def parse_args(self, args: Any = None, *more: Any, **named: Any) -> Any:
        """Parses, and rejects an empty value and a repeated list flag."""
        words = sys.argv[1:] if args is None else args
        commands = subcommand_parsers(self)
        for parser in (self, *(commands[word] for word in words[:1] if word in commands)):
            message = _repeated_list_flag_message(parser, words) or empty_value_message(words)
            if message is not None:
                print(f"zoo: {message}", file=sys.stderr)
                sys.exit(2)
        return super().parse_args(args, *more, **named)

    def split_words(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """Splits a command line into the flags of this parser, and all others.

        Args:
            words: Flags, each with its values.

        Returns:
            The flags of this parser, and the others, each with their values.
        """
        own_words, other_words = list[str](), list[str]()
        current = other_words
        for word in words:
            is_own = word.partition("=")[0] in actions_by_option(self)
            if is_own or word.startswith("--"):
                current = own_words if is_own else other_words
            current.append(word)
        return own_words, other_words

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints an error in one line with suggestions, and exits with status 2.

        If `exit_on_error` is false, it raises as jsonargparse does.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        flags = self._flag_by_key()
        for key in (r"\w+\.\w+", r'(?<=\AParser key ")\w+(?=")'):
            message = re.sub(key, lambda match: flags.get(match[0], match[0]), message)
        missing_command = re.search(r'"command" to be one of \{(.*)\}, but it was not', message)
        if missing_command is not None:
            names = missing_command[1].split(",")
            message = (
                f"`{self.prog}` needs one of the commands {', '.join(names)}, as in "
                f"`{self.prog} {names[0]}`"
            )
        unknown = re.search(r"nrecognized arguments: (-[^\s=]+)", message)
        advice = suggest_names(unknown[1], actions_by_option(self)) if unknown else ""
        required = re.search(r"^the following arguments are required: (.*)", message)
        if required is not None:
            names = ", ".join(flags.get(key, key) for key in required[1].split(", "))
            message = f"the following arguments are required: {names}"
        if missing_command or required or (unknown and not advice):
            advice = (
                f": `{self.prog} --help` lists the {'commands' if missing_command else 'flags'}"
            )
        print(
            f"zoo: {message}{advice}" if advice else f"zoo: {shorten_message(message)}",
            file=sys.stderr,
        )
        sys.exit(2)

    def _flag_by_key(self) -> dict[str, str]:
        """Returns the flags of the commands' arguments, by the keys of jsonargparse."""
        commands = {f"{name}.": parser for name, parser in subcommand_parsers(self).items()}
        return {
            f"{prefix}{action.dest}": (
                action.option_strings or [str(action.metavar or action.dest)]
            )[0]
            for prefix, parser in {"": self, **commands}.items()
            for action in parser_actions(parser)
        }

    def instantiate_subcommand(self, given: Namespace) -> Namespace:
        """Returns the arguments of the chosen command, with its classes instantiated.

        Args:
            given: The parsed arguments.

        Raises:
            ZooError: A class rejects its arguments.
        """
        try:
            return self.instantiate(given)[given.command]
        except Exception as error:
            user_error = to_user_error(error)
            if user_error is None or user_error is error:
                raise
            raise user_error from error


def pass_arguments(class_settings: Namespace, flag: str, **own: Any) -> None:
    """Passes the values of a command's own flags to a class that was named.

    Args:
        class_settings: The parsed class and its arguments.
        flag: The flag that named the class.
        **own: The values by argument; None for a flag that was not given.

    Raises:
        ZooError: The class takes no such argument.
    """
    for name, value in own.items():
        if value is None:
            continue
        if name not in class_settings.get("init_args", ()):
            raise ZooError(
                f"{flag} {class_settings.class_path.rpartition('.')[2]} takes no {name}: remove "
                f"--{name}"
            )
        class_settings.init_args[name] = value


def empty_value_message(words: Sequence[object]) -> str | None:
    """Returns a message about a flag with an empty value, as from an unset shell variable.

    An empty path would mean the working directory. Dotted flags are settings, which may be empty.

    Args:
        words: The words of a command line.
    """
    for word, next_word in pairwise([*map(str, words), "-"]):
        flag, joint, value = word.partition("=")
        if flag.startswith("--") and "." not in flag and not (value if joint else next_word):
            return f"{flag} has an empty value: give a value, or remove the flag"
    return None


def _repeated_list_flag_message(parser: CommandParser, words: Sequence[object]) -> str | None:
    """Returns a message about a repeated list flag, of which argparse would keep only the last."""
    options = [str(word).partition("=")[0] for word in words]
    for action in parser_actions(parser):
        times = sum(map(options.count, action.option_strings))
        if action.nargs in ("+", "*") and times > 1:
            return f"{action.option_strings[0]} is given {times} times: put all values after one"
    return None


def format_pairs(described: Iterable[tuple[str, object]]) -> str:
    """Formats names and values in one line."""
    return ", ".join(f"{key} {value}" for key, value in described)
