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
TRAINING = [("data", "backbone"), ("head", "scores"), ("scores", "objective")]
BOTH = [("backbone", "head")]
EVALUATION = [("benchmarks", "backbone"), ("head", "engine"), ("engine", "results")]
STYLE = """
text { font: 17px sans-serif; text-anchor: middle; fill: #1b1b2f; }
.second { font-size: 14px; fill: #4a4a5e; }
.label { font-size: 15px; }
.page { fill: #fff; }
.box { fill: #eef2fb; stroke: #44598c; }
.arrow { fill: none; stroke: #44598c; stroke-width: 1.6; marker-end: url(#tip); }
"""
TIP = (
    '<marker id="tip" orient="auto" refX="7" refY="4" markerWidth="9" markerHeight="8">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#44598c"/></marker>'
)


def draw() -> str:
    """Returns the drawing as SVG."""
    shapes = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style><defs>{TIP}</defs>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        '<text class="label" x="390" y="45">training</text>',
        '<text class="label" x="390" y="215">evaluation</text>',
    ]
    for start, end in (*TRAINING, *BOTH, *EVALUATION):
        (x1, y1), (x2, y2) = BOXES[start][2:], BOXES[end][2:]
        x1, x2 = x1 + BOX_WIDTH // 2, x2 - BOX_WIDTH // 2 - 2
        middle = (x1 + x2) // 2
        shapes.append(
            f'<path class="arrow" d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"/>'
        )
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
