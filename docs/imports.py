"""Draws imports.svg: rooms as boxes, floors as rows, an arrow for each room that another imports.

The floors are those of the contract in pyproject.toml, the imports those of the code. `python
docs/imports.py` writes the picture anew.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "imports.svg"
# All rooms may import these two. Their arrows would hide the others.
GROUND = ("support", "errors")

Arrow = tuple[str, str]

WIDTH, ROW, TOP = 1000, 78, 40
LETTER, PADDING, HEIGHT = 8, 12, 26
# how far a floor's only room stands from the middle: on the left and on the right in turn, so that
# arrows pass it
ASIDE = 190
STYLE = """
text { font: 13px sans-serif; text-anchor: middle; dominant-baseline: central; }
.page { fill: #fff; }
.room { fill: #eef2fb; stroke: #44598c; }
.floor { stroke: #d5d9e2; stroke-dasharray: 2 4; }
.arrow { fill: none; stroke: #44598c; stroke-width: 1.1; marker-end: url(#tip); }
.short { stroke: #c2c9d9; marker-end: url(#pale); }
.upward { stroke: #d00000; stroke-width: 2.5; }
"""
TIP = (
    '<marker id="{}" orient="auto" refX="7" refY="3.5" markerWidth="8" markerHeight="7">{}</marker>'
)


def floors() -> list[list[str]]:
    """Returns the rooms of each floor, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[room.strip() for room in layer.split("|")] for layer in layers]


def imports() -> set[Arrow]:
    """Returns (importing room, imported room) of all imports in `zoo` between two rooms."""
    graph = grimp.build_graph("zoo", cache_dir=None)
    arrows = {
        (_room(module), _room(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    return {(room, imported) for room, imported in arrows if room != imported and imported}


def not_downward(arrows: Iterable[Arrow]) -> list[Arrow]:
    """Returns the arrows that do not lead to a lower floor."""
    floor = {room: i for i, rooms in enumerate(floors()) for room in rooms}
    return sorted((a, b) for a, b in arrows if floor[a] >= floor[b])


def picture(arrows: set[Arrow]) -> str:
    """Returns the drawing as SVG."""
    rooms = floors()
    place = _places(rooms)
    drawn = {arrow for arrow in arrows if arrow[1] not in GROUND}
    starts, ends = _spread(drawn, place, 0), _spread(drawn, place, 1)
    wrong = set(not_downward(arrows))
    heights = [TOP + ROW * i for i in range(len(rooms))]
    shapes = [f'<line class="floor" x1="20" x2="{WIDTH - 20}" y1="{y}" y2="{y}"/>' for y in heights]
    for arrow in sorted(drawn, key=lambda arrow: (not _implied(arrow, drawn), arrow)):
        kind = "upward" if arrow in wrong else "short" if _implied(arrow, drawn) else ""
        y1, y2 = place[arrow[0]][1] + HEIGHT / 2, place[arrow[1]][1] - HEIGHT / 2
        x1, x2, bend = starts[arrow], ends[arrow], ROW / 2
        curve = f"M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} "
        title = f"<title>{arrow[0]} imports {arrow[1]}</title>"
        shapes.append(f'<path class="arrow {kind}" d="{curve}{x2:.0f},{y2:.0f}">{title}</path>')
    for room, (x, y) in place.items():
        wide = _wide(room)
        box = f'x="{x - wide / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{wide}" height="{HEIGHT}"'
        shapes.append(f'<rect class="room" rx="4" {box}/><text x="{x:.0f}" y="{y}">{room}</text>')
    tips = TIP.format("tip", "#44598c") + TIP.format("pale", "#c2c9d9")
    size = f'viewBox="0 0 {WIDTH} {heights[-1] + TOP}"'
    page = f'<rect class="page" width="{WIDTH}" height="{heights[-1] + TOP}"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>'
    return "\n".join([opening, f"<defs>{tips}</defs>", page, *shapes, "</svg>", ""])


def _room(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def _implied(arrow: Arrow, arrows: set[Arrow]) -> bool:
    """Whether other arrows lead from the one room to the other."""
    reached, waiting = set(), [b for a, b in arrows if a == arrow[0] and b != arrow[1]]
    while waiting:
        room = waiting.pop()
        if room not in reached:
            reached.add(room)
            waiting += [b for a, b in arrows if a == room]
    return arrow[1] in reached


def _wide(room: str) -> int:
    return LETTER * len(room) + 2 * PADDING


def _places(rooms: list[list[str]]) -> dict[str, tuple[float, int]]:
    """Returns where the middle of each room's box is."""
    places = {}
    for i, row in enumerate(rooms):
        step = WIDTH / (len(row) + 1)
        aside = (ASIDE if i % 2 else -ASIDE) if len(row) == 1 and 0 < i < len(rooms) - 1 else 0
        for k, room in enumerate(row, start=1):
            places[room] = (step * k + aside, TOP + ROW * i)
    return places


def _spread(
    arrows: set[Arrow], place: dict[str, tuple[float, int]], side: int
) -> dict[Arrow, float]:
    """Returns where each arrow touches its room's box, sorted so that few arrows cross.

    Args:
        arrows: The arrows.
        place: The middle of each room's box.
        side: 0 for the box that an arrow starts from, 1 for the one that it leads to.
    """
    found = {}
    for room, (x, _) in place.items():
        own = sorted(
            (arrow for arrow in arrows if arrow[side] == room),
            key=lambda arrow: (place[arrow[1 - side]], arrow),
        )
        for k, arrow in enumerate(own, start=1):
            found[arrow] = x + _wide(room) * (k / (len(own) + 1) - 0.5)
    return found


if __name__ == "__main__":
    PICTURE.write_text(picture(imports()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
