"""Draws engine.svg, the parts of a model in training and in evaluation: `python docs/engine.py`."""

from pathlib import Path

PICTURE = Path(__file__).with_name("engine.svg")
WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT = 960, 250, 156, 60
# title, second line, middle of the box
BOXES = {
    "data": ("data", "images, captions, units", 90, 50),
    "backbone": ("backbone", "image and text tower", 290, 125),
    "head": ("head", "scores of pairs", 490, 125),
    "scores": ("Scores", "over all devices", 680, 50),
    "objective": ("objective", "loss", 870, 50),
    "benchmarks": ("benchmarks", "cases", 90, 200),
    "engine": ("engine", "scores of cases", 680, 200),
    "results": ("results", "metrics, intervals", 870, 200),
}
# the arrows of each class
ARROWS = {
    "training": [("data", "backbone"), ("head", "scores"), ("scores", "objective")],
    "both": [("backbone", "head")],
    "evaluation": [("benchmarks", "backbone"), ("head", "engine"), ("engine", "results")],
}
LABELS = {"training": 45, "evaluation": 215}  # with the height of the label
COLOURS = {"training": "#0b62a8", "both": "#4a4a5e", "evaluation": "#b3470b"}
STYLE = """
text { font: 17px sans-serif; text-anchor: middle; fill: #1b1b2f; }
.second { font-size: 14px; fill: #4a4a5e; }
.label { font-size: 15px; }
.page { fill: #fff; }
.box { fill: #eef2fb; stroke: #44598c; }
.arrow { fill: none; stroke-width: 1.8; }
.evaluation { stroke-dasharray: 7 4; }
"""


def draw_tip(kind: str) -> str:
    """Returns the definition of the tip of a kind of arrow."""
    return (
        f'<marker id="{kind}" orient="auto" refX="7" refY="4" markerWidth="9" markerHeight="8">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{COLOURS[kind]}"/></marker>'
    )


def draw_arrow(kind: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """Returns an arrow between two points."""
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) // 2
    return (
        f'<path class="arrow {kind}" stroke="{COLOURS[kind]}" marker-end="url(#{kind})" '
        f'd="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"/>'
    )


def draw() -> str:
    """Returns the drawing as SVG."""
    shapes = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style><defs>{''.join(map(draw_tip, ARROWS))}</defs>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
    ]
    for kind, height in LABELS.items():  # in the colour of their arrows
        style = f'class="label" style="fill: {COLOURS[kind]}"'
        shapes.append(f'<text {style} x="390" y="{height}">{kind}</text>')
    for kind, arrows in ARROWS.items():
        for start, end in arrows:
            (x1, y1), (x2, y2) = BOXES[start][2:], BOXES[end][2:]
            y2 += (y1 - y2) // 8  # arrows from two sides do not meet
            ends = (x1 + BOX_WIDTH // 2, y1), (x2 - BOX_WIDTH // 2 - 2, y2)
            shapes.append(draw_arrow(kind, *ends))
    for title, second, x, y in BOXES.values():
        left, top = x - BOX_WIDTH // 2, y - BOX_HEIGHT // 2
        shapes.append(
            f'<rect class="box" rx="5" x="{left}" y="{top}" width="{BOX_WIDTH}" '
            f'height="{BOX_HEIGHT}"/><text x="{x}" y="{y - 5}">{title}</text>'
            f'<text class="second" x="{x}" y="{y + 17}">{second}</text>'
        )
    return "\n".join([*shapes, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
