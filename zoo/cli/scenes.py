"""`zoo scenes`: render scenes into a folder, or lay a folder out as one picture to look at."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.arguments import Parser, whole_number
from zoo.support.files import check_place


def main(argv: list[str]) -> int:
    """Runs a command, and returns the exit status."""
    arguments = parser().parse_args(argv)
    commands = {
        "render": _render,
        "grid": _grid,
        "pairs": _pairs,
        "negatives": _negatives,
        "sheet": _sheet,
    }
    return commands[arguments.command](arguments)


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(prog="zoo scenes", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    rendering = commands.add_parser(
        "render",
        help="render scenes with captions, units and foils; goes on where it was interrupted",
    )
    _add_rendering(rendering, n=1500, size=48, samples="16; 64 from 128 pixels on")
    rendering.add_argument(
        "--objects", default="2-2", help="fewest and most objects, as 2-4 (default: %(default)s)"
    )
    rendering.add_argument(
        "--held_out",
        default=None,
        help="pairs that training never has, as 'red cube,blue sphere'; '' for none",
    )
    grid = commands.add_parser(
        "grid",
        help="render two objects of 8 colours and 8 shapes, 3 by 3 bindings held out of training",
    )
    _add_rendering(grid, n=2500, size=64, samples="48")
    grid.add_argument(
        "--block_seed",
        type=int,
        default=0,
        help="of the block of bindings that is held out (default: %(default)s)",
    )
    pairs = commands.add_parser(
        "pairs",
        help="render pairs of scenes with a colour, size, material or quantity exchanged",
    )
    _add_rendering(pairs, n=400, size=96, samples="64")
    negatives = commands.add_parser(
        "negatives",
        help="write for each training caption its attribute swap and a scene that shows it",
    )
    negatives.add_argument("folder", help="folder of rendered scenes")
    negatives.add_argument(
        "--out",
        required=True,
        type=Path,
        help="JSON lines to write, for NegativeImages and Replay",
    )
    negatives.add_argument(
        "--overwrite", action="store_true", help="write over a file that is there"
    )
    laying_out = commands.add_parser(
        "sheet", help="write a picture of the first scenes with their captions"
    )
    laying_out.add_argument("folder", help="folder of rendered scenes")
    laying_out.add_argument("--out", required=True, help="PNG to write")
    laying_out.add_argument(
        "--overwrite", action="store_true", help="write over a file that is there"
    )
    laying_out.add_argument(
        "--n", type=whole_number(1), default=24, help="scenes (default: %(default)s)"
    )
    laying_out.add_argument(
        "--split", default=None, help="a split of the folder, such as train; all by default"
    )
    return parser


def _add_rendering(parser: argparse.ArgumentParser, n: int, size: int, samples: str) -> None:
    """Adds the flags of all commands that render, with their defaults."""
    parser.add_argument("--out", required=True, help="folder to fill")
    parser.add_argument(
        "--n", type=whole_number(1), default=n, help="layouts of scenes (default: %(default)s)"
    )
    parser.add_argument(
        "--size",
        type=int,
        default=size,
        help="pixels a side; from 128 on CLEVR's view (default: %(default)s)",
    )
    parser.add_argument(
        "--samples", type=int, default=None, help=f"paths a pixel (default: {samples})"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of everything that is drawn (default: %(default)s)"
    )
    parser.add_argument(
        "--workers",
        type=whole_number(0),
        default=2,
        help="processes; 0 renders in this one (default: %(default)s)",
    )


def _render(arguments: argparse.Namespace) -> int:
    from zoo.scenes.cache import render_scenes
    from zoo.scenes.related import HELD_OUT

    return _render_and_report(
        arguments,
        lambda: render_scenes(
            arguments.out,
            arguments.n,
            arguments.seed,
            arguments.size,
            _samples(arguments.size) if arguments.samples is None else arguments.samples,
            _span(arguments.objects),
            arguments.workers,
            HELD_OUT if arguments.held_out is None else _bindings(arguments.held_out),
        ),
    )


def _grid(arguments: argparse.Namespace) -> int:
    from zoo.scenes.cache import fill
    from zoo.scenes.grid import Grid

    grid = Grid(arguments.seed, arguments.size, arguments.block_seed)
    samples = 48 if arguments.samples is None else arguments.samples
    return _render_and_report(
        arguments, lambda: fill(arguments.out, arguments.n, grid, samples, arguments.workers)
    )


def _pairs(arguments: argparse.Namespace) -> int:
    from zoo.scenes.cache import fill
    from zoo.scenes.pairs import Pairs

    pairs = Pairs(arguments.seed, arguments.size)
    samples = 64 if arguments.samples is None else arguments.samples
    return _render_and_report(
        arguments, lambda: fill(arguments.out, arguments.n, pairs, samples, arguments.workers)
    )


def _render_and_report(arguments: argparse.Namespace, render: Callable[[], int]) -> int:
    """Renders, and says how many scenes were rendered and how fast."""
    start = time.monotonic()
    count = render()
    seconds = time.monotonic() - start
    pace = f" in {seconds:.1f} s, {seconds / count:.3f} s a scene" if count else ""
    print(f"{arguments.out}: {arguments.n} scenes, {count} rendered now{pace}")
    return 0


def _negatives(arguments: argparse.Namespace) -> int:
    from zoo.scenes.negative_images import write_negative_images

    check_place(arguments.out, arguments.overwrite)
    swaps, shown = write_negative_images(arguments.folder, arguments.out)
    print(f"{arguments.out}: {swaps:,} captions with a swap, {shown:,} of which a scene shows")
    return 0


def _sheet(arguments: argparse.Namespace) -> int:
    from zoo.scenes.sheet import contact_sheet

    check_place(Path(arguments.out), arguments.overwrite)
    print(contact_sheet(arguments.folder, arguments.out, arguments.n, arguments.split))
    return 0


def _samples(size: int) -> int:
    """Returns paths a pixel.

    Small objects of CLEVR's view drown in the noise of few paths: a cylinder looks like a cube.
    """
    return 16 if size < 128 else 64


def _span(text: str) -> tuple[int, int]:
    fewest, _, most = text.partition("-")
    if not fewest.isdigit() or not (most or fewest).isdigit():
        raise ZooError(f"--objects {text}: give a number or a span, as 2-4")
    span = int(fewest), int(most or fewest)
    if not 2 <= span[0] <= span[1]:
        raise ZooError(f"--objects {text}: give two objects or more, the fewest first, as 2-4")
    return span


def _bindings(text: str) -> frozenset[tuple[str, str]]:
    from zoo.scenes.graph import PAIRS

    pairs = frozenset(
        (color, shape)
        for color, _, shape in (
            part.strip().partition(" ") for part in text.split(",") if part.strip()
        )
    )
    for pair in sorted(pairs.difference(PAIRS)):
        raise ZooError(
            f"--held_out names '{' '.join(pair).strip()}', which is no colour and shape: name "
            "pairs as 'red cube,blue sphere'"
        )
    return pairs
