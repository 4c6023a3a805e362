"""Arguments that name classes, which take arguments of their own: --reader CsvTable."""

import re
import sys
from argparse import SUPPRESS, Action
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from jsonargparse import ArgumentParser, DefaultHelpFormatter, Namespace

from zoo.errors import ZooError, suggest_names
from zoo.mistakes import mistake, sentence
from zoo.sources.places import is_url
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.sample import Sample
from zoo.support.arguments import empty, twice


class _Plain(DefaultHelpFormatter):  # type: ignore[misc]
    """Help without types: what an argument is for, and its default."""

    def _get_help_string(self, action: Action) -> str:
        said = action.help or ""
        if action.required:
            return f"{said} (needed)" if action.option_strings else said
        default = action.default
        if isinstance(default, Namespace):
            default = default.class_path.rpartition(".")[2]
        silent = any(default is nothing for nothing in (None, False, SUPPRESS))
        return said if silent else f"{said} ({default})"


class NamingParser(ArgumentParser):  # type: ignore[misc]
    """jsonargparse's parser, without abbreviated options and with errors of one line.

    Args:
        **given: jsonargparse's.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _Plain, **given})

    def parse_args(self, args: Any = None, *more: Any, **named: Any) -> Any:
        """Parses, and refuses an empty value and a list that is given twice."""
        words = sys.argv[1:] if args is None else args
        commands = self._subcommands_action.choices if self._subcommands_action else {}
        asked = [commands[word] for word in words[:1] if word in commands]
        for parser in (self, *asked):
            if (message := twice(parser._actions, words) or empty(words)) is not None:
                print(f"zoo: {message}", file=sys.stderr)
                sys.exit(2)
        return super().parse_args(args, *more, **named)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints a mistake in one line with near names, and ends with status 2.

        Where `exit_on_error` is false, it raises as jsonargparse does.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        for wrong in (r"\w+\.\w+", r'(?<=\AParser key ")\w+(?=")'):
            message = re.sub(wrong, lambda found: self._flags().get(found[0], found[0]), message)
        wanted = re.search(r'"command" to be one of \{(.*)\}, but it was not', message)
        if wanted is not None:
            message = f"`{self.prog}` wants a command, {' or '.join(wanted[1].split(','))}"
        unknown = re.search(r"nrecognized arguments: (-[^\s=]+)", message)
        mend = suggest_names(unknown[1], self._option_string_actions) if unknown else ""
        if wanted or message.startswith("the following arguments are required"):
            mend = f": `{self.prog} --help` lists what can be given"
        print(f"zoo: {message}{mend}" if mend else f"zoo: {sentence(message)}", file=sys.stderr)
        sys.exit(2)

    def _flags(self) -> dict[str, str]:
        """Returns how arguments of the commands are typed, by what jsonargparse calls them."""
        commands = self._subcommands_action.choices if self._subcommands_action else {}
        return {
            f"{prefix}{action.dest}": (action.option_strings or [action.dest])[0]
            for prefix, command in [("", self), *((f"{name}.", c) for name, c in commands.items())]
            for action in command._actions
        }

    def add_captions(self, others: str = "") -> None:
        """Adds the file of captions and the reader that reads it.

        Args:
            others: What the command takes besides, as its help says it.
        """
        self.add_argument(
            "captions",
            type=str,
            help="a text file, a Flickr token file, csv or tsv, COCO's or Karpathy's JSON, JSON "
            f"lines, Parquet, tars of webdataset (by URL too), a folder of scenes{others}",
        )
        self.add_argument(
            "--reader",
            type=Callable[[Path], Reader],
            metavar="CLASS",
            help="the class that reads the captions, one of `zoo ls readers` or of your own; "
            "guessed from the file where none is named",
        )

    def build_classes(self, given: Namespace) -> Namespace:
        """Returns the arguments of the command that was given, with its classes built.

        Args:
            given: What was parsed.

        Raises:
            ZooError: A class refuses its arguments.
        """
        try:
            return self.instantiate(given)[given.command]
        except Exception as error:
            found = mistake(error)
            if found is None or found is error:
                raise
            raise found from error


def lend(maker: Namespace, flag: str, **own: Any) -> None:
    """Gives a class that was named what the command was given by a flag of its own.

    Args:
        maker: The class and its arguments, as they were parsed.
        flag: The flag that named the class.
        **own: What the command was given, None where nothing.

    Raises:
        ZooError: The class takes no such argument.
    """
    for name, value in own.items():
        if value is None:
            continue
        if name not in maker.get("init_args", ()):
            raise ZooError(
                f"{flag} {maker.class_path.rpartition('.')[2]} takes no {name}: leave --{name} out"
            )
        maker.init_args[name] = value


def samples_of(captions: str, reader: Callable[[Path], Reader] | None) -> list[Sample]:
    """Returns the samples of a file.

    Args:
        captions: The file or folder.
        reader: Makes the reader of it, which is guessed where None.

    Raises:
        ZooError: There are none, or the file is wrong.
    """
    # a path would make one slash of the two of a URL
    place: Any = captions if is_url(captions) else Path(captions)
    samples = (reader or guess_reader)(place).read()
    if not samples:
        raise ZooError(f"{captions} has no captions: give a file that has some")
    return samples


def in_words(described: Iterable[tuple[str, object]]) -> str:
    """Returns names and values in a line."""
    return ", ".join(f"{key} {value}" for key, value in described)
