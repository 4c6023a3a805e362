"""Drawing: the look that all pictures of results share, and their files."""

from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#3f7fd1", "#d9822b", "#3d9a50", "#a5519d", "#7a5c3e", "#5b6770", "#c4403a", "#1f9aa8")
MARKERS = "osD^vP*X"
INK, PAPER = "#1f2328", "#ffffff"
OF_PAGE = {INK: "currentColor", PAPER: "var(--paper)"}  # ink and paper of the page around
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "text.parse_math": False,  # a name may have a dollar
    "svg.fonttype": "none",
    "svg.hashsalt": "zoo",
    "pdf.fonttype": 42,
}


def look(i: int) -> tuple[str, str]:
    """Returns the colour and marker of a run by its number; no two of the first 64 share both."""
    return COLOURS[i % len(COLOURS)], MARKERS[(i + i // len(COLOURS)) % len(MARKERS)]


def png(figure: "Figure") -> bytes:
    """Returns a figure as a PNG on white."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150, facecolor=PAPER)
    return out.getvalue()


def svg(figure: "Figure") -> str:
    """Returns a figure as an SVG element with the ink and the paper of the page around it."""
    import matplotlib

    out = StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    inside = out.getvalue()
    inside = inside[inside.index("<svg") :]
    for own, of_page in OF_PAGE.items():
        inside = inside.replace(own, of_page)
    return inside


def standalone_svg(inside: str) -> str:
    """Returns an SVG element of a page with the ink and the paper of a file by itself."""
    for own, of_page in OF_PAGE.items():
        inside = inside.replace(of_page, own)
    return inside
