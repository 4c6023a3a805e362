"""The common style of all figures of results, and their file formats."""

import re
from collections.abc import Iterable
from io import BytesIO, StringIO
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError
from zoo.results.display_names import METHODS, method_key
from zoo.results.number_formats import format_number

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

NEUTRAL = "#8b949e"  # what belongs to no run, readable on light and dark pages
START = "start"  # the name of the model before training, which is neutral as well
# each method has the colour at its place in METHODS, the start has the next, other names the rest;
# all have a contrast of 3 or more to light and to dark pages
COLOURS = (
    *("#3f7fd1", "#d67e26", "#3d9a50", "#a5519d", "#7a5c3e", "#5b6770", "#c4403a", "#1f9aa8"),
    *("#7f9e27", "#e26ba1", "#6a5acd", "#b58e27", "#14735f", "#9c4362", "#3d98e8", "#e07555"),
    *("#b0338a", "#8a7fd0", "#4f8a2c", "#b5651d", "#40a38b", NEUTRAL),
    *("#1d5fbe", "#9c4a1a", "#2f7d6b", "#8345ac", "#8a7a2a", "#a83a6a", "#4b5fb0", "#5f7f3a"),
)
MARKERS = "osD^vP*X"
FORMATS = ("png", "svg", "pdf")
INK, PAPER = "#1f2328", "#ffffff"
MIN_LINE_POINTS = 30  # a line between fewer points would suggest values that nobody measured
_HOVER = "hover:"  # in the id of a mark, until the SVG is written
PAGE_COLOURS = {INK: "currentColor", PAPER: "var(--paper)"}  # CSS of the surrounding page
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "text.parse_math": False,  # a name may contain a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "zoo",
    "pdf.fonttype": 42,
}


def style_numbers(names: Iterable[str]) -> dict[str, int]:
    """Returns the number of each name's colour: that of its method, or one that no method has.

    A variant of a method (`CS-CLIP, no foils`, `CS-CLIP + WiSE-FT`) has its colour as well, and
    another marker.

    Args:
        names: Names of all runs of a figure, in order.

    Example:
        >>> style_numbers(["my run", "NegCLIP", "cs_clip", "start"])
        {'my run': 22, 'NegCLIP': 1, 'cs_clip': 2, 'start': 21}
    """
    keys = [*map(method_key, METHODS), START]
    numbers: dict[str, int] = {}
    for name in dict.fromkeys(names):
        whole, method = method_key(name), method_key(re.split(r", | \+ ", name)[0])
        key = whole if whole in keys else method
        # a step of len(COLOURS) keeps the colour and changes the marker
        candidates = count(keys.index(key), len(COLOURS)) if key in keys else count(len(keys))
        numbers[name] = next(n for n in candidates if n not in numbers.values())
    return numbers


def run_styles(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Returns the colour and marker of each run, by the names of all runs of a figure."""
    return {name: colour_and_marker(number) for name, number in style_numbers(names).items()}


def colour_and_marker(i: int) -> tuple[str, str]:
    """Returns the colour and marker of a number, unique for the first 64."""
    return COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def set_hover_text(artist: "Artist", text: str) -> None:
    """Sets the text that a page shows while the pointer is on a mark of an SVG."""
    artist.set_gid(_HOVER + text)


def format_hover(
    names: Iterable[str], value: float | None, low: float | None, high: float | None
) -> str:
    """Returns the text of a mark: its names, its value in per cent, and its 95 % interval.

    Example:
        >>> format_hover(["CLIP", "swap_att"], 61.25, 55.0, 67.02)
        'CLIP, swap_att: 61.3 % (95 % interval 55.0 to 67.0)'
    """
    text = f"{', '.join(names)}: " + ("no value" if value is None else f"{format_number(value)} %")
    has_interval = low is not None and high is not None
    return (
        f"{text} (95 % interval {format_number(low)} to {format_number(high)})"
        if has_interval
        else text
    )


def figure_format(path: Path) -> str:
    """Returns the format of a figure, by the ending of its name.

    Args:
        path: The figure's file.

    Raises:
        ZooError: The ending is unknown.
    """
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise ZooError(f"{path}: the name of a figure ends in .png, .svg or .pdf; end it in .png")
    return suffix


def render_figure(figure: "Figure", kind: str) -> bytes:
    """Returns a figure on white as the contents of a file, the same for the same figure.

    Args:
        figure: The figure.
        kind: One of FORMATS.
    """
    import matplotlib

    buffer, metadata_by_kind = BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "path"}):
        figure.savefig(
            buffer, format=kind, dpi=150, facecolor=PAPER, metadata=metadata_by_kind.get(kind)
        )
    content = buffer.getvalue()
    return _with_titles(content.decode()).encode() if kind == "svg" else content


def png(figure: "Figure") -> bytes:
    """Returns a figure as a PNG on white."""
    return render_figure(figure, "png")


def svg(figure: "Figure") -> str:
    """Returns a figure as an SVG element in the colours of the surrounding page."""
    import matplotlib

    buffer = StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    element = buffer.getvalue()
    element = _with_titles(element[element.index("<svg") :])
    for file_colour, page_colour in PAGE_COLOURS.items():
        element = element.replace(file_colour, page_colour)
    return element


def svg_and_png(figure: "Figure") -> tuple[str, bytes]:
    """Returns a figure as an SVG element of a page and as a PNG on white, laid out only once."""
    element = svg(figure)
    figure.set_layout_engine(None)  # the axes keep their places
    return element, png(figure)


def _with_titles(element: str) -> str:
    """Returns an SVG whose marks have their hover text as a title instead of as an id."""
    return re.sub(rf'<g id="{_HOVER}([^"]*)">', r"<g>\n<title>\1</title>", element)


def standalone_svg(element: str) -> str:
    """Returns an SVG element of a page in the colours of a standalone file."""
    for file_colour, page_colour in PAGE_COLOURS.items():
        element = element.replace(page_colour, file_colour)
    return element
