"""Arguments that name classes and set their arguments, such as --reader CsvTable."""

import re
import sys
from argparse import SUPPRESS, Action
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from jsonargparse import ArgumentParser, DefaultHelpFormatter, Namespace

from zoo.error_translation import shorten_message, to_user_error
from zoo.errors import ZooError, suggest_names
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.remote_files import is_url
from zoo.sources.sample import Sample
from zoo.support.arguments import empty_flag, repeated_flag


class _HelpFormatter(DefaultHelpFormatter):  # type: ignore[misc]
    """Formats help without types: the help text of an argument, and its default."""

    def _get_help_string(self, action: Action) -> str:
        text = action.help or ""
        if action.required:
            return f"{text} (required)" if action.option_strings else text
        default = action.default
        if isinstance(default, Namespace):
            default = default.class_path.rpartition(".")[2]
        hides_default = any(default is value for value in (None, False, SUPPRESS))
        return text if hides_default else f"{text} (default: {default})"


class NamingParser(ArgumentParser):  # type: ignore[misc]
    """jsonargparse's parser, without abbreviated options and with one-line errors.

    Args:
        **given: The arguments of jsonargparse's parser.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": _HelpFormatter, **given})

    def parse_args(self, args: Any = None, *more: Any, **named: Any) -> Any:
        """Parses, and rejects an empty value and a repeated list flag."""
        words = sys.argv[1:] if args is None else args
        commands = self._subcommands_action.choices if self._subcommands_action else {}
        subparsers = [commands[word] for word in words[:1] if word in commands]
        for parser in (self, *subparsers):
            if (message := repeated_flag(parser._actions, words) or empty_flag(words)) is not None:
                print(f"zoo: {message}", file=sys.stderr)
                sys.exit(2)
        return super().parse_args(args, *more, **named)

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints an error in one line with suggestions, and exits with status 2.

        If `exit_on_error` is false, it raises as jsonargparse does.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        for wrong in (r"\w+\.\w+", r'(?<=\AParser key ")\w+(?=")'):
            message = re.sub(
                wrong, lambda found: self._flag_by_key().get(found[0], found[0]), message
            )
        missing_command = re.search(r'"command" to be one of \{(.*)\}, but it was not', message)
        if missing_command is not None:
            message = (
                f"`{self.prog}` requires a command: {' or '.join(missing_command[1].split(','))}"
            )
        unknown = re.search(r"nrecognized arguments: (-[^\s=]+)", message)
        advice = suggest_names(unknown[1], self._option_string_actions) if unknown else ""
        if missing_command or message.startswith("the following arguments are required"):
            advice = f": `{self.prog} --help` lists the arguments"
        print(
            f"zoo: {message}{advice}" if advice else f"zoo: {shorten_message(message)}",
            file=sys.stderr,
        )
        sys.exit(2)

    def _flag_by_key(self) -> dict[str, str]:
        """Returns the flags of the commands' arguments, by the keys of jsonargparse."""
        commands = self._subcommands_action.choices if self._subcommands_action else {}
        return {
            f"{prefix}{action.dest}": (action.option_strings or [action.dest])[0]
            for prefix, command in [("", self), *((f"{name}.", c) for name, c in commands.items())]
            for action in command._actions
        }

    def add_captions(self, others: str = "") -> None:
        """Adds the arguments for a file of captions and its reader.

        Args:
            others: The end of the help text: what else the command accepts.
        """
        self.add_argument(
            "captions",
            type=str,
            help="a text file, Flickr token file, CSV or TSV, COCO's or Karpathy's JSON, JSON "
            f"lines, Parquet, WebDataset tars (files or URLs) or a folder of scenes{others}",
        )
        self.add_argument(
            "--reader",
            type=Callable[[Path], Reader],
            metavar="CLASS",
            help="the class that reads the captions, from `zoo ls readers` or a custom class; by "
            "default it is inferred from the file",
        )

    def build_classes(self, given: Namespace) -> Namespace:
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


def pass_arguments(maker: Namespace, flag: str, **own: Any) -> None:
    """Passes the values of a command's own flags to a class that was named.

    Args:
        maker: The parsed class and its arguments.
        flag: The flag that named the class.
        **own: The values by argument; None for a flag that was not given.

    Raises:
        ZooError: The class takes no such argument.
    """
    for name, value in own.items():
        if value is None:
            continue
        if name not in maker.get("init_args", ()):
            raise ZooError(
                f"{flag} {maker.class_path.rpartition('.')[2]} takes no {name}: remove --{name}"
            )
        maker.init_args[name] = value


def read_samples(captions: str, reader: Callable[[Path], Reader] | None) -> list[Sample]:
    """Returns the samples of a file.

    Args:
        captions: The file or folder.
        reader: Makes the reader; None infers it from the file.

    Raises:
        ZooError: The file has no captions, or is invalid.
    """
    # Path would collapse the two slashes of a URL
    place: Any = captions if is_url(captions) else Path(captions)
    samples = (reader or guess_reader)(place).read()
    if not samples:
        raise ZooError(f"{captions} has no captions: give a file with captions")
    return samples


def format_pairs(described: Iterable[tuple[str, object]]) -> str:
    """Formats names and values in one line."""
    return ", ".join(f"{key} {value}" for key, value in described)
