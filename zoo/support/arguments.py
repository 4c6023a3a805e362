"""Parsing of command-line arguments, with one-line error messages."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from zoo.errors import ZooError, suggest_names


class Parser(argparse.ArgumentParser):
    """An argument parser without abbreviated options.

    Args:
        *args: As for argparse.
        **kwargs: As for argparse.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses arguments, and rejects empty values and list flags that are repeated."""
        words = sys.argv[1:] if args is None else args
        if (message := repeated_flag(self._actions, words) or empty_flag(words)) is not None:
            self.error(message)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Prints an error in one line, with similar names, and exits with status 2."""
        unknown = re.search(r"unrecognized arguments: (-[^\s=]+)", message)
        advice = suggest_names(unknown[1], _options(self)) if unknown else ""
        if not advice and (unknown or "required" in message):
            advice = f": see `{self.prog} --help`"
        print(f"zoo: {message}{advice}", file=sys.stderr)
        sys.exit(2)


def repeated_flag(actions: Iterable[argparse.Action], command_line: Sequence[object]) -> str | None:
    """Returns a message about a list flag that is repeated; argparse would ignore all but the last.

    Args:
        actions: The actions of the parser.
        command_line: The words of a command line.
    """
    words = [str(word).partition("=")[0] for word in command_line]
    for action in actions:
        times = sum(map(words.count, action.option_strings))
        if action.nargs in ("+", "*") and times > 1:
            return f"{action.option_strings[0]} is given {times} times: put all values after one"
    return None


def empty_flag(command_line: Sequence[object]) -> str | None:
    """Returns a message about a flag with an empty value, as from an unset shell variable.

    An empty path would mean the working directory. Dotted flags are settings, which may be empty.

    Args:
        command_line: The words of a command line.
    """
    words = [str(word) for word in command_line]
    for word, next_word in pairwise([*words, "-"]):
        flag, joint, value = word.partition("=")
        if flag.startswith("--") and "." not in flag and not (value if joint else next_word):
            return f"{flag} has an empty value: give a value, or remove the flag"
    return None


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _options(command)


def whole_number(least: int) -> Callable[[str], int]:
    """Returns an argparse type for integers of at least `least`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least {least}")
        return value

    return number


def split_list(text: str, flag: str) -> list[str]:
    """Splits the value of a flag at commas.

    Args:
        text: The value.
        flag: The flag.

    Returns:
        The names, without surrounding whitespace.

    Raises:
        ZooError: A name is empty or repeated.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ZooError(
            f"{flag} {text!r} has an empty name: separate names by single commas, as in {flag} a,b"
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ZooError(f"{flag} {text!r}: {repeated} is repeated: name it once")
    return names
