"""Parsing of the values of command-line arguments."""

import argparse
from collections.abc import Callable

from zoo.errors import ZooError


def integer_at_least(least: int) -> Callable[[str], int]:
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
