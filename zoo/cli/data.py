"""`zoo data`: fetches data sets, and packs captions and their images into tar shards."""

import logging
import shutil
from pathlib import Path

from jsonargparse import Namespace

from zoo.cli.caption_arguments import add_caption_arguments
from zoo.cli.command_parser import CommandParser
from zoo.cli.data_get import (
    DownloadSettings,
    get_data_sets,
    get_parser,
    list_data_sets,
    parse_names,
)
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.packing import PackingSettings, check_output_folder, pack_samples
from zoo.sources.readers.guess import guess_reader
from zoo.sources.remote_files import is_url
from zoo.sources.source import Source, drop_missing_images, read_source
from zoo.support.class_names import import_all
from zoo.support.files import check_writable
from zoo.support.log import enable_log_output
from zoo.support.progress import show_progress
from zoo.support.ranges import JpegQuality, NonNegativeInt, PositiveInt
from zoo.units.reader import read_units

log = logging.getLogger(__name__)
GIB = 1 << 30
MIB = 1 << 20


def main(argv: list[str]) -> int:
    """Runs `get`, `ls` or `pack`, and returns the exit status."""
    import_all(("readers",))
    enable_log_output()
    declared = parser()
    args = declared.parse_args(argv)
    if args.command == "ls":
        list_data_sets()
    elif args.command == "get":
        values = vars(args["get"])
        names, root = values.pop("names"), Path(values.pop("data_root"))
        get_data_sets(parse_names(names), DownloadSettings(root, **values))
    else:
        _pack(declared, args)
    return 0


def _pack(declared: CommandParser, args: Namespace) -> None:
    """Packs captions and their images."""
    out_folder = Path(args.pack.out)
    check_output_folder(out_folder, args.pack.overwrite)
    check_writable(out_folder / "00000.tar", overwrite=True)
    built_args = declared.instantiate_subcommand(args)
    captions_path = (
        built_args.captions if is_url(built_args.captions) else Path(built_args.captions)
    )
    finder = ImageFinder(built_args.data_root)
    reader = (built_args.reader or guess_reader)(captions_path)
    source = drop_missing_images(read_source(reader), finder, built_args.tolerate_missing)
    row_indices = source.kept.tolist()
    extra_files = {
        **_units_file_to_copy(built_args.units, source),
        **_negatives_file_to_copy(built_args.negatives, source),
    }
    if (
        built_args.quality
        and built_args.side is None
        and all(image.crop is None for image in source.images)
    ):
        raise ZooError(
            f"--quality {built_args.quality} has no effect without --side, since images are copied "
            "unchanged: remove it, or add --side"
        )
    packing = PackingSettings(
        finder,
        built_args.side,
        built_args.quality or 95,
        built_args.per_shard,
        built_args.workers,
        built_args.tolerate_broken,
    )
    n = len(source.images)
    _check_and_log_size(
        out_folder, packing.estimate_bytes(source.images), n, -(-n // built_args.per_shard)
    )
    with show_progress("images", n) as advance:
        packed = pack_samples(
            source.samples, row_indices, out_folder, packing, extra_files, lambda: advance(1)
        )
    print(
        f"{out_folder}: {packed.images:,} images and {packed.captions:,} captions in "
        f"{_format_size(packed.bytes)}"
        + "".join(f"; with {name}" for name in extra_files)
        + (f"; {source.missing:,} images were missing" if source.missing else "")
        + (
            f"; {len(packed.broken):,} could not be decoded, such as {packed.broken[0]}"
            if packed.broken
            else ""
        )
    )


def _check_and_log_size(out: Path, size: int, images: int, shards: int) -> None:
    """Logs the estimated size of the tars before they are written.

    Raises:
        ZooError: The disk has not enough free space.
    """
    existing_folder = next(folder for folder in out.absolute().parents if folder.exists())
    free = shutil.disk_usage(existing_folder).free
    tars = "tar" if shards == 1 else "tars"
    message = (
        f"{images:,} images are packed into {shards:,} {tars} of about "
        f"{_format_size(size)} in total"
    )
    if size > free:
        raise ZooError(
            f"{message}, but only {_format_size(free)} are free at {existing_folder}: "
            "free some space, or resize the images with --side"
        )
    log.info("%s, in %s", message, out)


def _format_size(n: int) -> str:
    return f"{n / GIB:,.1f} GiB" if n >= GIB else f"{n / MIB:,.1f} MiB"


def _units_file_to_copy(file: str | None, source: Source) -> dict[str, Path]:
    """Returns the units file by the name that it gets in the folder of tars.

    Raises:
        ZooError: It has no units of these captions.
    """
    if file is None:
        return {}
    records = read_units(file)
    ids = source.column("caption_id")
    if not any(name.as_py() in records for name in ids):
        raise ZooError(f"{file} has no units of these captions: extract units from them")
    return {f"units{Path(file).suffix}": Path(file)}


def _negatives_file_to_copy(file: str | None, source: Source) -> dict[str, Path]:
    """Returns the file of negatives by the name that it gets in the folder of tars.

    Raises:
        ZooError: It has no entry for some of the captions.
    """
    if file is None:
        return {}
    from zoo.negatives.replay import Replay

    Replay(Path(file)).check(source.captions)
    return {f"negatives{Path(file).suffix}": Path(file)}


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo data",
        description="Download data sets, and pack captions and their images into tar files.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    commands.add_subcommand("get", get_parser(), help="fetch benchmarks, captions and images")
    commands.add_subcommand(
        "ls",
        CommandParser(description="List the data sets that `zoo data get` can download."),
        help="list the data sets that `get` fetches",
    )
    packing = CommandParser(
        description="Write captions and their images into tar files in WebDataset format."
    )
    add_caption_arguments(packing)
    packing.add_argument(
        "--out", type=str, required=True, help="the folder to which the tars are written"
    )
    packing.add_argument(
        "--data_root",
        type=str,
        nargs="+",
        default=["."],
        help="one or several folders of images",
    )
    packing.add_argument(
        "--side",
        type=PositiveInt | None,
        help="resize larger images so that their shorter side has this number of pixels. By "
        "default, images are copied unchanged",
    )
    packing.add_argument(
        "--quality",
        type=JpegQuality | None,
        help="JPEG quality, from 1 to 95 (default: 95), of images that are resized (--side) or "
        "cropped. An image is cropped if its captions describe only a region of it",
    )
    packing.add_argument(
        "--per_shard", type=PositiveInt, default=10_000, help="number of images per tar"
    )
    packing.add_argument(
        "--units",
        type=str,
        help="a units file (see `zoo units extract`) to copy into the folder",
    )
    packing.add_argument(
        "--negatives",
        type=str,
        help="a file of negatives (see `zoo negatives export`) to copy into the folder",
    )
    packing.add_argument(
        "--workers",
        type=NonNegativeInt,
        default=2,
        help="number of processes that read and resize images",
    )
    packing.add_argument("--overwrite", action="store_true", help="overwrite existing tars")
    packing.add_argument(
        "--tolerate_missing", action="store_true", help="skip images that are not found"
    )
    packing.add_argument(
        "--tolerate_broken", action="store_true", help="skip images that cannot be decoded"
    )
    commands.add_subcommand("pack", packing, help="write captions and their images into tar shards")
    return parser
