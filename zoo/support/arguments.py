"""Arguments of the command line, and one sentence for what is not understood."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from zoo.errors import ZooError, suggest_names


class Parser(argparse.ArgumentParser):
    """argparse's parser, without abbreviated options.

    Args:
        *args: argparse's.
        **kwargs: argparse's.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses, and refuses an empty value and a list that is given twice."""
        words = sys.argv[1:] if args is None else args
        if (message := twice(self._actions, words) or empty(words)) is not None:
            self.error(message)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Prints a mistake in one line with near names, and ends with status 2."""
        unknown = re.search(r"unrecognized arguments: (-[^\s=]+)", message)
        mend = suggest_names(unknown[1], _options(self)) if unknown else ""
        if not mend and (unknown or "required" in message):
            mend = f": `{self.prog} --help` lists what can be given"
        print(f"zoo: {message}{mend}", file=sys.stderr)
        sys.exit(2)


def twice(actions: Iterable[argparse.Action], given: Sequence[object]) -> str | None:
    """Says which list is given more than once, where the last alone would count.

    Args:
        actions: What can be given.
        given: The words of a command line.
    """
    words = [str(word).partition("=")[0] for word in given]
    for action in actions:
        times = sum(map(words.count, action.option_strings))
        if action.nargs in ("+", "*") and times > 1:
            return f"{action.option_strings[0]} is given {times} times: name all after one"
    return None


def empty(given: Sequence[object]) -> str | None:
    """Says which flag is given an empty text, as an unset variable of a shell gives it.

    As a path it would be the working folder. Dotted flags are settings, which may be empty.

    Args:
        given: The words of a command line.
    """
    words = [str(word) for word in given]
    for word, after in pairwise([*words, "-"]):
        flag, joint, value = word.partition("=")
        if flag.startswith("--") and "." not in flag and not (value if joint else after):
            return f"{flag} is given an empty text: give it a value, or leave it out"
    return None


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _options(command)


def whole_number(least: int) -> Callable[[str], int]:
    """Returns a type for argparse: a whole number that is not under `least`."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
        return value

    return number


def split_list(text: str, flag: str) -> list[str]:
    """Splits a flag's value at its commas.

    Args:
        text: The value.
        flag: The flag.

    Returns:
        The names, without the space around them.

    Raises:
        ZooError: A name is empty, or given more than once.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ZooError(
            f"{flag} {text!r} has an empty name: write one name between two commas, as in "
            f"{flag} a,b"
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ZooError(f"{flag} {text!r}: {repeated} is asked for twice, name it once")
    return names
