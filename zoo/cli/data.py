"""`zoo data`: packs captions and their images into shards."""

import logging
import shutil
from pathlib import Path

from zoo.cli.naming import NamingParser
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.packing import PackingSettings, pack, refuse_foreign
from zoo.sources.places import is_url
from zoo.sources.readers.guess import guess_reader
from zoo.sources.source import Source, read, with_images
from zoo.support.files import check_place
from zoo.support.log import speak
from zoo.support.names import import_all
from zoo.support.progress import counting
from zoo.support.ranges import JpegQuality, NonNegativeInt, PositiveInt
from zoo.units.reader import read_units

log = logging.getLogger(__name__)
GIB = 1 << 30
MIB = 1 << 20


def main(argv: list[str]) -> int:
    """Runs `pack`, and returns the exit status."""
    import_all(("readers",))
    speak()
    declared = parser()
    given = declared.parse_args(argv)
    out = Path(given.pack.out)
    refuse_foreign(out, given.pack.overwrite)
    check_place(out / "00000.tar", overwrite=True)
    made = declared.build_classes(given)
    place = made.captions if is_url(made.captions) else Path(made.captions)
    finder = ImageFinder(made.data_root)
    reader = (made.reader or guess_reader)(place)
    source = with_images(read(reader), finder, made.tolerate_missing)
    kept = source.kept.tolist()
    beside = {**_units(made.units, source), **_negatives(made.negatives, source)}
    if made.quality and made.side is None and all(image.crop is None for image in source.images):
        raise ZooError(
            f"--quality {made.quality} has no effect without --side, since images are copied as "
            "they are: leave it out, or give --side"
        )
    packing = PackingSettings(
        finder, made.side, made.quality or 95, made.per_shard, made.workers, made.tolerate_broken
    )
    n = len(source.images)
    _tell(out, packing.estimate_bytes(source.images), n, -(-n // made.per_shard))
    with counting("images", n) as done:
        found = pack(source.samples, kept, out, packing, beside, lambda: done(1))
    print(
        f"{out}: {found.images:,} images and {found.captions:,} captions in {_size(found.bytes)}"
        + "".join(f"; {name} beside them" for name in beside)
        + (f"; {source.missing:,} images were missing" if source.missing else "")
        + (f"; {len(found.broken):,} were broken, as {found.broken[0]}" if found.broken else "")
    )
    return 0


def _tell(out: Path, size: int, images: int, shards: int) -> None:
    """Says how large the tars will be, before they are made.

    Raises:
        ZooError: The disk has not that much room.
    """
    above = next(folder for folder in out.absolute().parents if folder.exists())
    free = shutil.disk_usage(above).free
    tars = "tar" if shards == 1 else "tars"
    said = f"{images:,} images are packed into {shards:,} {tars} of about {_size(size)} in all"
    if size > free:
        raise ZooError(
            f"{said}, and {above} has {_size(free)} left: "
            "make room, or pack smaller images by --side"
        )
    log.info("%s, in %s", said, out)


def _size(n: int) -> str:
    return f"{n / GIB:,.1f} GiB" if n >= GIB else f"{n / MIB:,.1f} MiB"


def _units(file: str | None, source: Source) -> dict[str, Path]:
    """Returns the units file by its name beside the tars.

    Raises:
        ZooError: It has units of none of the captions.
    """
    if file is None:
        return {}
    records = read_units(file)
    ids = source.column("caption_id")
    if not any(name.as_py() in records for name in ids):
        raise ZooError(f"{file} has units of none of these captions: extract them from these")
    return {f"units{Path(file).suffix}": Path(file)}


def _negatives(file: str | None, source: Source) -> dict[str, Path]:
    """Returns the file of negatives by its name beside the tars.

    Raises:
        ZooError: It lacks some of the captions.
    """
    if file is None:
        return {}
    from zoo.negatives.replay import Replay

    Replay(Path(file)).check(source.captions)
    return {f"negatives{Path(file).suffix}": Path(file)}


def parser() -> NamingParser:
    """Returns the parser of the command."""
    parser = NamingParser(prog="zoo data", description="Pack captions and their images.")
    commands = parser.add_subcommands(dest="command", required=True)
    packing = NamingParser(
        description="Write captions and their images into tars, which WebDataset reads."
    )
    packing.add_captions()
    packing.add_argument("--out", type=str, required=True, help="the folder of tars to write")
    packing.add_argument(
        "--data_root", type=str, nargs="+", default=["."], help="folders of images, as fit has it"
    )
    packing.add_argument(
        "--side",
        type=PositiveInt | None,
        help="pixels of the shorter side that larger images are resized to; images are copied as "
        "they are by default",
    )
    packing.add_argument(
        "--quality",
        type=JpegQuality | None,
        help="of the JPEGs that --side and crops make, from 1 to 95 (95 by default)",
    )
    packing.add_argument("--per_shard", type=PositiveInt, default=10_000, help="images of a tar")
    packing.add_argument("--units", type=str, help="a units file to put beside the tars")
    packing.add_argument(
        "--negatives", type=str, help="a file of `zoo negatives export` to put beside the tars"
    )
    packing.add_argument(
        "--workers", type=NonNegativeInt, default=2, help="processes that read and resize"
    )
    packing.add_argument("--overwrite", action="store_true", help="write over tars that are there")
    packing.add_argument(
        "--tolerate_missing", action="store_true", help="leave out images that are not found"
    )
    packing.add_argument(
        "--tolerate_broken", action="store_true", help="leave out images that cannot be decoded"
    )
    commands.add_subcommand("pack", packing, help="write captions and their images into tars")
    return parser
