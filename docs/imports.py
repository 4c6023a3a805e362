"""Draws imports.svg: packages as boxes, layers as rows, and imports as arrows.

The layers are those of the contract in pyproject.toml, the imports those of the code. `python
docs/imports.py` writes the picture again.
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "imports.svg"
# All packages may import these two, so their arrows are not drawn.
GROUND = ("support", "errors")

Arrow = tuple[str, str]

WIDTH, ROW, TOP = 1000, 78, 40
LETTER, PADDING, HEIGHT = 8, 12, 26
# shift of the only package of a layer from the middle, to the left and right in turn, so that
# arrows pass it
ASIDE = 190
STYLE = """
text { font: 13px sans-serif; text-anchor: middle; dominant-baseline: central; }
.page { fill: #fff; }
.package { fill: #eef2fb; stroke: #44598c; }
.layer { stroke: #d5d9e2; stroke-dasharray: 2 4; }
.arrow { fill: none; stroke: #44598c; stroke-width: 1.1; marker-end: url(#tip); }
.short { stroke: #c2c9d9; marker-end: url(#pale); }
.upward { stroke: #d00000; stroke-width: 2.5; }
"""
TIP = (
    '<marker id="{}" orient="auto" refX="7" refY="3.5" markerWidth="8" markerHeight="7">{}</marker>'
)


def layers() -> list[list[str]]:
    """Returns the packages of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    contract = next(contract for contract in contracts if contract["type"] == "layers")
    return [[package.strip() for package in layer.split("|")] for layer in contract["layers"]]


def imports() -> set[Arrow]:
    """Returns (importing, imported) package of each import between two packages of `zoo`."""
    graph = grimp.build_graph("zoo", cache_dir=None)
    arrows = {
        (_package(module), _package(imported))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
    }
    return {(package, imported) for package, imported in arrows if package != imported and imported}


def not_downward(arrows: Iterable[Arrow]) -> list[Arrow]:
    """Returns the arrows that do not lead to a lower layer."""
    layer = {package: i for i, packages in enumerate(layers()) for package in packages}
    return sorted((a, b) for a, b in arrows if layer[a] >= layer[b])


def picture(arrows: set[Arrow]) -> str:
    """Returns the drawing as SVG."""
    packages = layers()
    place = _places(packages)
    drawn = {arrow for arrow in arrows if arrow[1] not in GROUND}
    starts, ends = _spread(drawn, place, 0), _spread(drawn, place, 1)
    wrong = set(not_downward(arrows))
    heights = [TOP + ROW * i for i in range(len(packages))]
    shapes = [f'<line class="layer" x1="20" x2="{WIDTH - 20}" y1="{y}" y2="{y}"/>' for y in heights]
    for arrow in sorted(drawn, key=lambda arrow: (not _implied(arrow, drawn), arrow)):
        kind = "upward" if arrow in wrong else "short" if _implied(arrow, drawn) else ""
        y1, y2 = place[arrow[0]][1] + HEIGHT / 2, place[arrow[1]][1] - HEIGHT / 2
        x1, x2, bend = starts[arrow], ends[arrow], ROW / 2
        curve = f"M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} "
        title = f"<title>{arrow[0]} imports {arrow[1]}</title>"
        shapes.append(f'<path class="arrow {kind}" d="{curve}{x2:.0f},{y2:.0f}">{title}</path>')
    for package, (x, y) in place.items():
        wide = _wide(package)
        box = f'x="{x - wide / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{wide}" height="{HEIGHT}"'
        label = f'<text x="{x:.0f}" y="{y}">{package}</text>'
        shapes.append(f'<rect class="package" rx="4" {box}/>{label}')
    tips = TIP.format("tip", "#44598c") + TIP.format("pale", "#c2c9d9")
    size = f'viewBox="0 0 {WIDTH} {heights[-1] + TOP}"'
    page = f'<rect class="page" width="{WIDTH}" height="{heights[-1] + TOP}"/>'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>'
    return "\n".join([opening, f"<defs>{tips}</defs>", page, *shapes, "</svg>", ""])


def _package(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def _implied(arrow: Arrow, arrows: set[Arrow]) -> bool:
    """Whether a path of other arrows connects the two packages."""
    reached, waiting = set(), [b for a, b in arrows if a == arrow[0] and b != arrow[1]]
    while waiting:
        package = waiting.pop()
        if package not in reached:
            reached.add(package)
            waiting += [b for a, b in arrows if a == package]
    return arrow[1] in reached


def _wide(package: str) -> int:
    return LETTER * len(package) + 2 * PADDING


def _places(packages: list[list[str]]) -> dict[str, tuple[float, int]]:
    """Returns where the middle of each package's box is."""
    places = {}
    for i, row in enumerate(packages):
        step = WIDTH / (len(row) + 1)
        aside = (ASIDE if i % 2 else -ASIDE) if len(row) == 1 and 0 < i < len(packages) - 1 else 0
        for k, package in enumerate(row, start=1):
            places[package] = (step * k + aside, TOP + ROW * i)
    return places


def _spread(
    arrows: set[Arrow], place: dict[str, tuple[float, int]], side: int
) -> dict[Arrow, float]:
    """Returns where each arrow touches its package's box, sorted so that few arrows cross.

    Args:
        arrows: The arrows.
        place: The middle of each package's box.
        side: 0 for the box that an arrow starts from, 1 for the one that it leads to.
    """
    found = {}
    for package, (x, _) in place.items():
        own = sorted(
            (arrow for arrow in arrows if arrow[side] == package),
            key=lambda arrow: (place[arrow[1 - side]], arrow),
        )
        for k, arrow in enumerate(own, start=1):
            found[arrow] = x + _wide(package) * (k / (len(own) + 1) - 0.5)
    return found


if __name__ == "__main__":
    PICTURE.write_text(picture(imports()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
