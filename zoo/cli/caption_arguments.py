"""The arguments of commands that read captions: a file, and the class that reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.cli.command_parser import CommandParser
from zoo.errors import ZooError
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.remote_files import is_url
from zoo.sources.sample import Sample


def add_caption_arguments(parser: CommandParser, others: str = "") -> None:
    """Adds the arguments for a file of captions and its reader.

    Args:
        parser: The parser of the command.
        others: What else the command accepts: the end of a list, which begins with a comma.
    """
    parser.add_argument(
        "captions",
        type=str,
        help="the captions: a file (text, CSV, TSV, JSON lines, Parquet, a token file of Flickr8k "
        "or Flickr30k, or JSON in the format of COCO or of Karpathy's splits), WebDataset tars "
        f"(files or URLs){others}, or a folder that `zoo scenes` wrote",
    )
    parser.add_argument(
        "--reader",
        type=Callable[[Path], Reader],
        metavar="CLASS",
        help="the class that reads the captions: a name of `zoo ls readers` or a custom class. By "
        "default, it is inferred from the file",
    )


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
