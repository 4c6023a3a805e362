"""`zoo scenes`: renders scenes into a folder, or writes a contact sheet of a folder."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import Namespace

from zoo.cli.command_parser import CommandParser
from zoo.errors import ZooError
from zoo.support.arguments import integer_at_least
from zoo.support.files import check_writable

if TYPE_CHECKING:
    from zoo.scenes.collection import SceneCollection

# what `--n` counts
SINGLE = "scenes, with one image each"
PAIRED = "pairs of scenes, with two images each"


def main(argv: list[str]) -> int:
    """Runs a command, and returns the exit status."""
    arguments = parser().parse_args(argv)
    commands = {
        "render": _render,
        "grid": _render_grid,
        "pairs": _render_pairs,
        "world": _render_world,
        "world_pairs": _render_world_pairs,
        "world_bindings": _render_world_bindings,
        "image_half_truths": _render_image_half_truths,
        "hash": _print_hash,
        "negatives": _write_negatives,
        "sheet": _write_sheet,
    }
    return commands[arguments.command](arguments[arguments.command])


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo scenes",
        description="Render synthetic scenes with captions into a folder, or process such a "
        "folder. Repeat a command to resume an interrupted rendering.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    rendering = CommandParser(
        description="Render scenes of CLEVR's shapes (cubes, spheres and cylinders) with captions. "
        "Also write the captions' units (entities and relations) and foils (wrong versions of "
        "units)."
    )
    _add_rendering(rendering, n=1500, size=48, samples="16, or 64 if --size is at least 128")
    rendering.add_argument(
        "--objects",
        default="2-2",
        help="minimum and maximum number of objects per scene, such as 2-4",
    )
    rendering.add_argument(
        "--held_out",
        help="colour-shape pairs that must not occur in training, such as 'red cube,blue sphere'. "
        "A single comma means none. By default, two pairs per shape are held out",
    )
    grid = CommandParser(
        description="Render scenes of two objects, with 8 colours and 8 shapes. Some colour-shape "
        "pairs do not occur in training: 3 of the colours are never paired with 3 of the shapes."
    )
    _add_rendering(grid, n=2500, size=64, samples="48")
    grid.add_argument(
        "--block_seed",
        type=int,
        default=0,
        help="the seed that selects these 3 colours and 3 shapes",
    )
    pairs = CommandParser(
        description="Render pairs of scenes. From the first to the second scene, two objects swap "
        "their colours, sizes or materials, or two groups of objects swap their numbers."
    )
    _add_rendering(pairs, n=400, size=96, samples="64", images=PAIRED)
    world = CommandParser(
        description="Render cartoon scenes of everyday objects, with five captions each. The "
        "packaged model `scenes` was trained on such scenes."
    )
    _add_drawing(world, n=50_000)
    world.add_argument(
        "--split",
        choices=["train", "val", "test"],
        default="train",
        help="the split to render: train, val or test. Splits have different scenes. In val and "
        "test, some captions also have foils (wrong versions)",
    )
    world_pairs = CommandParser(
        description="Render pairs of cartoon scenes whose captions have the same words in a "
        "different order."
    )
    _add_drawing(world_pairs, n=400, images=PAIRED)
    world_bindings = CommandParser(
        description="Render pairs of cartoon scenes. From the first to the second scene, two "
        "objects swap their colours. Half of the pairs test combinations of colour and object that "
        "do not occur in training."
    )
    _add_drawing(world_bindings, n=800, images=PAIRED)
    world_bindings.add_argument(
        "--held_out",
        default="red ball,blue ball,red cup,blue cup",
        help="combinations of colour and object that do not occur in training. The command writes "
        "three splits. In `unseen_true`, scenes and true captions have such a combination. In "
        "`unseen_false`, only the false captions have one, and in `seen`, no caption has one",
    )
    image_half_truths = CommandParser(
        description="Render pairs of cartoon scenes that differ in one detail, with one caption "
        "per scene."
    )
    _add_drawing(image_half_truths, n=800, images=PAIRED)
    hashing = CommandParser(
        description="Print the SHA-256 of the pixels, scene graphs and captions in a folder."
    )
    hashing.add_argument("folder", help="the folder of rendered scenes")
    hashing.add_argument("--expected", help="fail if the hash differs from this one")
    negatives = CommandParser(
        description="For each training caption, write a negative in which two objects have swapped "
        "their colours. If an image of the folder shows the negative, the path of this image is "
        "also written."
    )
    negatives.add_argument("folder", help="the folder of rendered scenes")
    negatives.add_argument(
        "--out",
        required=True,
        type=Path,
        help="the file to write (.jsonl). In training, the classes NegativeImages (images) and "
        "Replay (texts) read this file",
    )
    negatives.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    sheet = CommandParser(
        description="Write a contact sheet: the first scenes of a folder with their captions."
    )
    sheet.add_argument("folder", help="the folder of rendered scenes")
    sheet.add_argument("--out", required=True, help="the PNG file to write")
    sheet.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    sheet.add_argument("--n", type=integer_at_least(1), default=24, help="number of scenes")
    sheet.add_argument("--split", help="a split of the folder, such as train (default: all)")
    commands.add_subcommand(
        "render",
        rendering,
        help="render scenes with captions, units and foils; resumes an interrupted run",
    )
    commands.add_subcommand(
        "grid",
        grid,
        help="render pairs of objects with 8 colours and 8 shapes; 3 x 3 pairs are held out of "
        "training",
    )
    commands.add_subcommand(
        "pairs",
        pairs,
        help="render pairs of scenes in which a colour, size, material or quantity is swapped",
    )
    commands.add_subcommand(
        "world",
        world,
        help="render scenes of people, animals, vehicles, furniture and things, with captions, "
        "units and foils; resumes an interrupted run",
    )
    commands.add_subcommand(
        "world_pairs",
        world_pairs,
        help="draw pairs of such scenes in which two objects exchange colours or positions",
    )
    commands.add_subcommand(
        "world_bindings",
        world_bindings,
        help="draw pairs of such scenes in which two objects exchange colours, with colour-object "
        "pairs that are held out of training",
    )
    commands.add_subcommand(
        "image_half_truths",
        image_half_truths,
        help="draw pairs of such scenes that differ in one detail of their texts",
    )
    commands.add_subcommand(
        "hash", hashing, help="print the SHA-256 of the pixels, graphs and captions of a folder"
    )
    commands.add_subcommand(
        "negatives",
        negatives,
        help="write the attribute swap of each training caption, and a scene that shows it",
    )
    commands.add_subcommand(
        "sheet", sheet, help="write a contact sheet of the first scenes with their captions"
    )
    return parser


def _add_rendering(
    parser: CommandParser, n: int, size: int, samples: str, images: str = SINGLE
) -> None:
    """Adds the flags of the commands that trace rays, with their defaults."""
    note = (
        ". Images of at least 128 pixels have CLEVR's camera view; smaller ones have a closer view"
    )
    _add_drawing(parser, n, size, "" if images == PAIRED else note, images)
    parser.add_argument("--samples", type=int, help=f"light paths per pixel (default: {samples})")


def _add_drawing(
    parser: CommandParser, n: int, size: int = 112, note: str = "", images: str = SINGLE
) -> None:
    """Adds the flags of all commands that make images, with their defaults."""
    parser.add_argument("--out", required=True, help="the folder to write")
    parser.add_argument(
        "--n",
        type=integer_at_least(1),
        default=n,
        help=f"number of {images}",
    )
    parser.add_argument(
        "--size",
        type=int,
        default=size,
        help=f"width and height of an image in pixels{note}",
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of all sampling")
    parser.add_argument(
        "--workers",
        type=integer_at_least(0),
        default=2,
        help="number of rendering processes; 0 renders in this process",
    )


def _render(arguments: Namespace) -> int:
    from zoo.scenes.cache import render_scenes
    from zoo.scenes.related import HELD_OUT

    return _render_and_report(
        arguments,
        lambda: render_scenes(
            arguments.out,
            arguments.n,
            arguments.seed,
            arguments.size,
            _default_samples(arguments.size) if arguments.samples is None else arguments.samples,
            _parse_range(arguments.objects),
            arguments.workers,
            HELD_OUT if arguments.held_out is None else _parse_pairs(arguments.held_out),
        ),
    )


def _render_grid(arguments: Namespace) -> int:
    from zoo.scenes.grid import BindingGrid

    grid = BindingGrid(arguments.seed, arguments.size, arguments.block_seed)
    return _render_collection(
        arguments, grid, 48 if arguments.samples is None else arguments.samples
    )


def _render_pairs(arguments: Namespace) -> int:
    from zoo.scenes.pairs import ExchangedPairs

    pairs = ExchangedPairs(arguments.seed, arguments.size)
    return _render_collection(
        arguments, pairs, 64 if arguments.samples is None else arguments.samples
    )


def _render_world(arguments: Namespace) -> int:
    from zoo.scenes.world.collection import World

    return _render_collection(arguments, World(arguments.seed, arguments.size, arguments.split))


def _render_world_pairs(arguments: Namespace) -> int:
    from zoo.scenes.world.collection import WorldPairs

    return _render_collection(arguments, WorldPairs(arguments.seed, arguments.size))


def _render_world_bindings(arguments: Namespace) -> int:
    from zoo.scenes.world.bindings import WorldBindings

    held_out = _parse_world_pairs(arguments.held_out)
    if not held_out:
        raise ZooError("--held_out is empty: give the colour-object pairs kept out of training")
    return _render_collection(arguments, WorldBindings(held_out, arguments.seed, arguments.size))


def _render_image_half_truths(arguments: Namespace) -> int:
    from zoo.scenes.world.image_edits import ImageHalfTruths

    return _render_collection(arguments, ImageHalfTruths(arguments.seed, arguments.size))


def _render_collection(
    arguments: Namespace, collection: "SceneCollection", samples: int = 1
) -> int:
    from zoo.scenes.cache import render_collection

    return _render_and_report(
        arguments,
        lambda: render_collection(
            arguments.out, arguments.n, collection, samples, arguments.workers
        ),
    )


def _print_hash(arguments: Namespace) -> int:
    from zoo.scenes.cache import hash_scenes

    digest = hash_scenes(arguments.folder)
    print(digest)
    if arguments.expected not in (None, digest):
        raise ZooError(
            f"{arguments.folder} has the hash {digest}, not {arguments.expected}: draw the scenes "
            "again, with the version of Pillow that the expected hash was computed with"
        )
    return 0


def _render_and_report(arguments: Namespace, render: Callable[[], int]) -> int:
    """Renders scenes, and prints their number and the speed."""
    start = time.monotonic()
    count = render()
    seconds = time.monotonic() - start
    pace = f" in {seconds:.1f} s, {seconds / count:.3f} s per scene" if count else ""
    print(f"{arguments.out}: {arguments.n} scenes, {count} rendered now{pace}")
    return 0


def _write_negatives(arguments: Namespace) -> int:
    from zoo.scenes.negative_images import write_negative_images

    check_writable(arguments.out, arguments.overwrite)
    swaps, shown_count = write_negative_images(arguments.folder, arguments.out)
    print(f"{arguments.out}: {swaps:,} captions with a swap, {shown_count:,} of them with a scene")
    return 0


def _write_sheet(arguments: Namespace) -> int:
    from zoo.scenes.sheet import write_contact_sheet

    check_writable(Path(arguments.out), arguments.overwrite)
    print(write_contact_sheet(arguments.folder, arguments.out, arguments.n, arguments.split))
    return 0


def _default_samples(size: int) -> int:
    """Returns the number of light paths per pixel.

    With few paths, small objects in CLEVR's view are too noisy: a cylinder looks like a cube.
    """
    return 16 if size < 128 else 64


def _parse_range(text: str) -> tuple[int, int]:
    minimum, _, maximum = text.partition("-")
    if not minimum.isdigit() or not (maximum or minimum).isdigit():
        raise ZooError(f"--objects {text}: give a number or a range, such as 2-4")
    limits = int(minimum), int(maximum or minimum)
    if not 2 <= limits[0] <= limits[1]:
        raise ZooError(
            f"--objects {text}: give at least two objects, the minimum first, such as 2-4"
        )
    return limits


def _parse_pairs(text: str) -> frozenset[tuple[str, str]]:
    from zoo.scenes.graph import PAIRS

    return _parse_allowed_pairs(
        text, PAIRS, "a colour and a shape: give pairs such as 'red cube,blue sphere'"
    )


def _parse_world_pairs(text: str) -> frozenset[tuple[str, str]]:
    from zoo.scenes.world.kinds import KINDS

    allowed = {(color, name) for name, kind in KINDS.items() for color in kind.colors}
    message = "a colour and an object that can have it: give pairs such as 'red ball,blue cup'"
    return _parse_allowed_pairs(text, allowed, message)


def _parse_allowed_pairs(
    text: str, allowed: Iterable[tuple[str, str]], message: str
) -> frozenset[tuple[str, str]]:
    pairs = frozenset(
        (color, noun)
        for color, _, noun in (
            part.strip().partition(" ") for part in text.split(",") if part.strip()
        )
    )
    for pair in sorted(pairs.difference(allowed)):
        name = " ".join(pair).strip()
        raise ZooError(f"--held_out: '{name}' is not {message}")
    return pairs
