"""Drawings of the kinds as polygons.

A drawing is a list of parts from back to front. A part has the corners of a polygon, `[n, 2]`, and
a paint: `main`, which has the object's colour and pattern; `shade` or `light`, a darker or lighter
colour without a pattern; or the name of a fixed colour.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
FIXED = {
    "skin": (238, 190, 150),
    "ink": (38, 36, 40),
    "hair": (92, 58, 34),
    "blond": (232, 192, 96),
    "trousers": (62, 72, 104),
    "shoe": (60, 46, 40),
    "glass": (178, 220, 240),
    "tyre": (48, 48, 52),
    "metal": (176, 180, 188),
    "leaf": (62, 138, 60),
    "wood": (128, 84, 46),
    "paper": (250, 248, 236),
    "cream": (252, 244, 224),
    "beak": (240, 146, 34),
    "rose": (236, 152, 160),
    "lit": (255, 236, 150),
    "pillow": (250, 250, 250),
    "hollow": (70, 58, 50),
    "tusk": (250, 246, 226),
}


@dataclass(frozen=True)
class Part:
    """A polygon of a drawing.

    Attributes:
        points: Its corners, `[n, 2]`.
        paint: `main`, `shade`, `light` or a name of `FIXED`.
        front: Whether it is in front of what is inside or below the object.
        outlined: Whether it has a dark outline.
    """

    points: Points
    paint: str
    front: bool = True
    outlined: bool = True


def draw_kind(kind: str, arm: bool = False) -> list[Part]:
    """Returns the drawing of an object that looks to the right.

    Args:
        kind: A name of `KINDS`.
        arm: Whether a person stretches out an arm to hold something.
    """
    return _person(kind, arm) if kind in _PEOPLE else _DRAWINGS[kind]()


def hand_position(kind: str) -> tuple[float, float]:
    """Returns the position of the hand of a stretched arm."""
    height = _PEOPLE[kind][0]
    return 0.34 * height + 0.02, 0.5 * height


def _ellipse(
    x: float,
    y: float,
    rx: float,
    ry: float,
    paint: str = "main",
    turn: float = 0.0,
    start: float = 0.0,
    end: float = 360.0,
    front: bool = True,
    outlined: bool = True,
) -> Part:
    """Returns an ellipse, or a segment of one between two angles in degrees."""
    n = max(6, round(28 * (end - start) / 360))
    angles = np.radians(np.linspace(start, end, n, endpoint=end - start < 360))
    c, s = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    px, py = rx * np.cos(angles), ry * np.sin(angles)
    return Part(np.stack([x + c * px - s * py, y + s * px + c * py], 1), paint, front, outlined)


def _polygon(
    points: Sequence[tuple[float, float]], paint: str = "main", front: bool = True
) -> Part:
    return Part(np.array(points, float), paint, front)


def _box(
    left: float,
    bottom: float,
    right: float,
    top: float,
    paint: str = "main",
    front: bool = True,
    outlined: bool = True,
) -> Part:
    points = [(left, bottom), (right, bottom), (right, top), (left, top)]
    return Part(np.array(points, float), paint, front, outlined)


def _bar(
    points: Sequence[tuple[float, float]],
    width: float,
    paint: str,
    front: bool = True,
    outlined: bool = False,
) -> list[Part]:
    """Returns a line of some width, as one rectangle with a round end per segment."""
    parts = []
    for (ax, ay), (bx, by) in pairwise(points):
        dx, dy = bx - ax, by - ay
        length = math.hypot(dx, dy) or 1.0
        nx, ny = -dy / length * width / 2, dx / length * width / 2
        corners = [(ax + nx, ay + ny), (bx + nx, by + ny), (bx - nx, by - ny), (ax - nx, ay - ny)]
        parts.append(Part(np.array(corners), paint, front, outlined))
        parts.append(_ellipse(bx, by, width / 2, width / 2, paint, front=front, outlined=False))
    return parts


# height, colour of the hair, dress, and share of the head in the height
_PEOPLE = {
    "man": (1.0, "hair", False, 0.11),
    "woman": (0.96, "blond", True, 0.115),
    "boy": (0.72, "hair", False, 0.15),
    "girl": (0.7, "blond", True, 0.15),
}


def _person(kind: str, arm: bool) -> list[Part]:
    h, hair, dress, share = _PEOPLE[kind]
    r = share * h
    neck, hip = h - 2 * r, 0.44 * h
    shoulder = 0.15 * h + 0.01
    parts = []
    if dress:  # long hair behind the back
        parts.append(_box(-1.15 * r, neck - 0.55 * r, 1.15 * r, h - r, hair))
    for side in (-1, 1):
        x = side * 0.075 * h
        leg = "skin" if dress else "trousers"
        parts.append(_box(x - 0.05 * h, 0.03 * h, x + 0.05 * h, hip, leg))
        parts.append(_ellipse(x + 0.025 * h, 0.03 * h, 0.07 * h, 0.035 * h, "shoe"))
    arms = [[(-shoulder, neck - 0.05 * h), (-shoulder - 0.07 * h, hip + 0.02 * h)]]
    if arm:
        x, y = hand_position(kind)
        arms.append([(shoulder - 0.03, neck - 0.06 * h), (x * 0.75, y - 0.04 * h), (x, y)])
    else:
        arms.append([(shoulder, neck - 0.05 * h), (shoulder + 0.07 * h, hip + 0.02 * h)])
    for points in arms:
        parts += _bar(points, 0.085 * h, "skin")
    if dress:
        body = [(-shoulder, neck), (shoulder, neck), (0.1 * h, 0.6 * h), (0.25 * h, 0.2 * h)]
        body += [(-0.25 * h, 0.2 * h), (-0.1 * h, 0.6 * h)]
    else:
        body = [(-shoulder, neck), (shoulder, neck), (0.14 * h, hip - 0.04 * h)]
        body += [(-0.14 * h, hip - 0.04 * h)]
    parts.append(_polygon(body))
    for points in arms:  # sleeves
        (ax, ay), (bx, by) = points[:2]
        parts += _bar([(ax, ay), ((ax + bx) / 2, (ay + by) / 2)], 0.1 * h, "main")
    parts.append(_ellipse(0, h - r, r, r, "skin"))
    parts.append(_ellipse(0, h - 0.92 * r, 1.08 * r, 1.04 * r, hair, start=10, end=170))
    parts += [_ellipse(s * 0.4 * r, h - 1.05 * r, 0.13 * r, 0.16 * r, "ink") for s in (-1, 1)]
    return parts


def _legs(xs: Sequence[float], width: float, top: float, paint: str = "main") -> list[Part]:
    return [_box(x - width / 2, 0, x + width / 2, top, paint) for x in xs]


def _dog() -> list[Part]:
    return [
        *_bar([(-0.26, 0.36), (-0.36, 0.5)], 0.06, "main", outlined=True),
        *_legs((-0.2, 0.12), 0.08, 0.25, "shade"),
        *_legs((-0.26, 0.18), 0.08, 0.25),
        _ellipse(-0.03, 0.3, 0.29, 0.13),
        _ellipse(0.22, 0.42, 0.14, 0.13),
        _ellipse(0.33, 0.37, 0.09, 0.065),
        _ellipse(0.41, 0.385, 0.03, 0.026, "ink"),
        _ellipse(0.13, 0.41, 0.05, 0.12, "shade", 10),
        _ellipse(0.27, 0.46, 0.02, 0.025, "ink"),
    ]


def _cat() -> list[Part]:
    tail = [(-0.12, 0.06), (-0.24, 0.08), (-0.25, 0.24), (-0.2, 0.3)]
    return [
        *_bar(tail, 0.055, "main", outlined=True),
        _ellipse(0, 0.16, 0.17, 0.17),
        _box(-0.07, 0, -0.01, 0.18),
        _box(0.02, 0, 0.08, 0.18),
        _polygon([(-0.13, 0.38), (-0.13, 0.54), (-0.01, 0.46)]),
        _polygon([(0.13, 0.38), (0.13, 0.54), (0.01, 0.46)]),
        _ellipse(0, 0.37, 0.16, 0.125),
        *(_ellipse(s * 0.065, 0.39, 0.024, 0.032, "leaf") for s in (-1, 1)),
        _ellipse(0, 0.34, 0.02, 0.015, "rose"),
        *_bar([(-0.2, 0.33), (-0.07, 0.33)], 0.01, "ink"),
        *_bar([(0.07, 0.33), (0.2, 0.33)], 0.01, "ink"),
    ]


def _horse() -> list[Part]:
    return [
        *_bar([(-0.34, 0.6), (-0.44, 0.5), (-0.44, 0.28)], 0.08, "shade"),
        *_legs((-0.22, 0.16), 0.08, 0.45, "shade"),
        *_legs((-0.3, 0.23), 0.08, 0.45),
        _ellipse(-0.03, 0.52, 0.35, 0.15),
        _polygon([(0.14, 0.5), (0.3, 0.9), (0.42, 0.84), (0.32, 0.5)]),
        _ellipse(0.4, 0.82, 0.15, 0.07, turn=-35),
        _polygon([(0.28, 0.86), (0.3, 0.97), (0.36, 0.88)]),
        *_bar([(0.12, 0.62), (0.19, 0.78), (0.28, 0.9)], 0.07, "ink"),
        _ellipse(0.38, 0.84, 0.018, 0.02, "ink"),
    ]


def _cow() -> list[Part]:
    return [
        *_bar([(-0.36, 0.55), (-0.42, 0.3)], 0.04, "shade"),
        *_legs((-0.22, 0.14), 0.09, 0.28, "shade"),
        *_legs((-0.3, 0.22), 0.09, 0.28),
        _ellipse(-0.2, 0.25, 0.09, 0.06, "rose"),
        _box(-0.37, 0.24, 0.28, 0.58),
        *_bar([(0.28, 0.66), (0.24, 0.76)], 0.04, "tusk", outlined=True),
        *_bar([(0.42, 0.66), (0.46, 0.76)], 0.04, "tusk", outlined=True),
        _ellipse(0.24, 0.62, 0.07, 0.03, "shade", -15),
        _polygon([(0.25, 0.68), (0.45, 0.68), (0.44, 0.42), (0.28, 0.42)]),
        _ellipse(0.36, 0.42, 0.11, 0.07, "rose"),
        *(_ellipse(0.36 + s * 0.05, 0.58, 0.02, 0.025, "ink") for s in (-1, 1)),
    ]


def _sheep() -> list[Part]:
    puffs = [(-0.2, 0.3), (-0.22, 0.4), (-0.08, 0.47), (0.06, 0.46), (0.14, 0.36), (0.1, 0.26)]
    puffs += [(-0.06, 0.24), (-0.03, 0.35)]
    return [
        *_legs((-0.18, -0.06, 0.06, 0.14), 0.05, 0.2, "ink"),
        *(_ellipse(x, y, 0.13, 0.12) for x, y in puffs),
        _ellipse(-0.03, 0.36, 0.17, 0.12, outlined=False),
        _ellipse(0.2, 0.47, 0.06, 0.03, "hollow", 30),
        _ellipse(0.28, 0.42, 0.09, 0.11, "hollow", 20),
        _ellipse(0.25, 0.52, 0.08, 0.05),
        _ellipse(0.3, 0.44, 0.02, 0.02, "paper", outlined=False),
    ]


def _elephant() -> list[Part]:
    trunk = [(0.4, 0.62), (0.52, 0.45), (0.51, 0.22), (0.57, 0.12)]
    return [
        *_bar([(-0.45, 0.6), (-0.52, 0.35)], 0.03, "shade"),
        *_legs((-0.24, 0.14), 0.15, 0.4, "shade"),
        *_legs((-0.36, 0.04), 0.15, 0.4),
        _ellipse(-0.12, 0.58, 0.38, 0.29),
        *_bar(trunk, 0.1, "main", outlined=True),
        _ellipse(0.3, 0.68, 0.2, 0.22),
        _polygon([(0.36, 0.5), (0.5, 0.42), (0.4, 0.54)], "tusk"),
        _ellipse(0.14, 0.66, 0.15, 0.22, "shade"),
        _ellipse(0.38, 0.74, 0.022, 0.026, "ink"),
    ]


def _rabbit() -> list[Part]:
    return [
        _ellipse(-0.05, 0.42, 0.04, 0.13, turn=10),
        _ellipse(0.06, 0.42, 0.04, 0.13, turn=-8),
        _ellipse(0.06, 0.42, 0.018, 0.09, "rose", -8, outlined=False),
        _ellipse(-0.05, 0.42, 0.018, 0.09, "rose", 10, outlined=False),
        _ellipse(-0.15, 0.09, 0.05, 0.05, "paper"),
        _ellipse(0, 0.13, 0.15, 0.13),
        _ellipse(-0.07, 0.03, 0.08, 0.035),
        _ellipse(0.08, 0.03, 0.08, 0.035),
        _ellipse(0.01, 0.28, 0.11, 0.095),
        *(_ellipse(0.01 + s * 0.05, 0.3, 0.018, 0.024, "ink") for s in (-1, 1)),
        _ellipse(0.01, 0.26, 0.018, 0.014, "rose"),
    ]


def _duck() -> list[Part]:
    return [
        *_legs((-0.04, 0.05), 0.03, 0.08, "beak"),
        _ellipse(-0.01, 0.015, 0.05, 0.018, "beak"),
        _ellipse(0.08, 0.015, 0.05, 0.018, "beak"),
        _polygon([(-0.26, 0.3), (-0.16, 0.12), (0.0, 0.2)]),
        _ellipse(-0.01, 0.17, 0.2, 0.12),
        _box(0.06, 0.2, 0.14, 0.34, outlined=False),
        _ellipse(0.12, 0.36, 0.1, 0.095),
        _polygon([(0.19, 0.4), (0.31, 0.34), (0.19, 0.31)], "beak"),
        _ellipse(0.14, 0.39, 0.02, 0.024, "ink"),
        _ellipse(-0.05, 0.19, 0.11, 0.06, "shade", 15),
    ]


def _wheels(xs: Sequence[float], r: float) -> list[Part]:
    return [
        part
        for x in xs
        for part in (_ellipse(x, r, r, r, "tyre"), _ellipse(x, r, r * 0.45, r * 0.45, "metal"))
    ]


def _car() -> list[Part]:
    roof = [(-0.38, 0.32), (-0.26, 0.54), (0.14, 0.54), (0.32, 0.32)]
    body = [(-0.58, 0.12), (-0.58, 0.33), (0.34, 0.34), (0.56, 0.28), (0.59, 0.12)]
    return [
        _polygon(roof),
        _polygon([(-0.31, 0.33), (-0.23, 0.49), (-0.06, 0.49), (-0.06, 0.33)], "glass"),
        _polygon([(-0.02, 0.33), (-0.02, 0.49), (0.12, 0.49), (0.24, 0.33)], "glass"),
        _polygon(body),
        _ellipse(0.54, 0.25, 0.04, 0.04, "lit"),
        *_wheels((-0.33, 0.33), 0.13),
    ]


def _bus() -> list[Part]:
    return [
        _polygon(
            [(-0.74, 0.1), (-0.74, 0.8), (-0.7, 0.84), (0.68, 0.84), (0.74, 0.76), (0.74, 0.1)]
        ),
        *(_box(x, 0.48, x + 0.2, 0.74, "glass") for x in (-0.66, -0.42, -0.18, 0.06)),
        _box(0.34, 0.12, 0.54, 0.74, "glass"),
        _box(0.6, 0.44, 0.74, 0.74, "glass"),
        _box(-0.74, 0.32, 0.3, 0.37, "light", outlined=False),
        *_wheels((-0.45, 0.2), 0.13),
    ]


def _truck() -> list[Part]:
    return [
        _box(-0.66, 0.16, 0.24, 0.77, "light"),
        *(_box(x, 0.2, x + 0.015, 0.74, "shade", outlined=False) for x in (-0.46, -0.22, 0.02)),
        _polygon([(0.27, 0.12), (0.27, 0.6), (0.5, 0.6), (0.6, 0.38), (0.66, 0.36), (0.66, 0.12)]),
        _polygon([(0.38, 0.38), (0.38, 0.55), (0.48, 0.55), (0.56, 0.38)], "glass"),
        _box(-0.66, 0.12, 0.27, 0.18, "tyre"),
        *_wheels((-0.48, -0.2, 0.46), 0.13),
    ]


def _ring(x: float, y: float, r: float, width: float, paint: str) -> list[Part]:
    points = [
        (x + r * math.cos(a), y + r * math.sin(a)) for a in np.linspace(0, 2 * math.pi, 19).tolist()
    ]
    return _bar(points, width, paint)


def _bicycle() -> list[Part]:
    spokes = [
        part
        for x in (-0.29, 0.29)
        for part in (
            *_bar([(x - 0.17, 0.19), (x + 0.17, 0.19)], 0.01, "metal"),
            *_bar([(x, 0.02), (x, 0.36)], 0.01, "metal"),
        )
    ]
    frame = [(-0.29, 0.19), (-0.14, 0.42), (0.2, 0.42), (0.0, 0.17), (-0.29, 0.19)]
    return [
        *spokes,
        *_ring(-0.29, 0.19, 0.17, 0.045, "tyre"),
        *_ring(0.29, 0.19, 0.17, 0.045, "tyre"),
        *_bar(frame, 0.055, "main"),
        *_bar([(0.0, 0.17), (-0.16, 0.48)], 0.05, "main"),
        *_bar([(0.29, 0.19), (0.19, 0.55), (0.29, 0.6)], 0.05, "main"),
        _ellipse(-0.17, 0.5, 0.1, 0.035, "ink"),
        _ellipse(0.28, 0.6, 0.06, 0.03, "ink"),
    ]


def _boat() -> list[Part]:
    return [
        _box(-0.03, 0.2, 0.02, 0.95, "wood"),
        _polygon([(0.05, 0.32), (0.05, 0.9), (0.42, 0.34)], "paper"),
        _polygon([(-0.07, 0.34), (-0.07, 0.8), (-0.34, 0.36)], "paper"),
        _polygon([(-0.55, 0.28), (0.55, 0.28), (0.36, 0.02), (-0.36, 0.02)]),
    ]


def _chair() -> list[Part]:
    return [
        _box(-0.21, 0, -0.15, 0.42, "shade"),
        _box(0.13, 0.08, 0.18, 0.42, "shade"),
        _box(-0.22, 0.4, 0.2, 0.8),
        _box(-0.15, 0.47, 0.13, 0.58, "shade"),
        _box(-0.15, 0.64, 0.13, 0.74, "shade"),
        _polygon([(-0.22, 0.42), (0.18, 0.42), (0.24, 0.33), (-0.16, 0.33)]),
        _box(-0.17, 0, -0.1, 0.33),
        _box(0.17, 0, 0.24, 0.33),
    ]


def _table() -> list[Part]:
    return [
        _box(-0.42, 0.1, -0.36, 0.46, "shade", front=False),
        _box(0.36, 0.1, 0.42, 0.46, "shade", front=False),
        _polygon([(-0.46, 0.56), (0.46, 0.56), (0.57, 0.44), (-0.57, 0.44)]),
        _box(-0.57, 0.39, 0.57, 0.45, "shade"),
        _box(-0.55, 0, -0.47, 0.4),
        _box(0.47, 0, 0.55, 0.4),
    ]


def _bed() -> list[Part]:
    return [
        _box(-0.64, 0, -0.56, 0.62, "wood"),
        _box(0.56, 0, 0.64, 0.42, "wood"),
        _box(-0.56, 0.1, 0.56, 0.3, "cream"),
        _polygon([(-0.56, 0.3), (0.56, 0.3), (0.52, 0.42), (-0.52, 0.42)], "cream"),
        _polygon([(-0.22, 0.12), (0.57, 0.12), (0.57, 0.32), (0.53, 0.44), (-0.2, 0.44)]),
        _ellipse(-0.4, 0.4, 0.14, 0.08, "pillow"),
    ]


def _sofa() -> list[Part]:
    return [
        _box(-0.5, 0.04, -0.44, 0.12, "ink"),
        _box(0.44, 0.04, 0.5, 0.12, "ink"),
        _box(-0.54, 0.28, 0.54, 0.62),
        _box(-0.01, 0.36, 0.01, 0.6, "shade", outlined=False),
        _polygon([(-0.5, 0.36), (0.5, 0.36), (0.5, 0.08), (-0.5, 0.08)], "shade"),
        _box(-0.5, 0.24, -0.01, 0.36, "light"),
        _box(0.01, 0.24, 0.5, 0.36, "light"),
        _box(-0.62, 0.08, -0.48, 0.46),
        _box(0.48, 0.08, 0.62, 0.46),
    ]


def _lamp() -> list[Part]:
    return [
        _ellipse(0, 0.04, 0.15, 0.045, "metal"),
        _box(-0.025, 0.04, 0.025, 0.58, "metal"),
        _ellipse(0, 0.54, 0.07, 0.06, "lit"),
        _polygon([(-0.19, 0.54), (0.19, 0.54), (0.1, 0.84), (-0.1, 0.84)]),
    ]


def _box_kind() -> list[Part]:
    return [
        _polygon([(-0.28, 0.36), (-0.2, 0.44), (0.2, 0.44), (0.28, 0.36)], "hollow", front=False),
        _polygon([(-0.28, 0.36), (-0.2, 0.44), (-0.34, 0.4), (-0.38, 0.33)], "light"),
        _polygon([(0.28, 0.36), (0.2, 0.44), (0.34, 0.4), (0.38, 0.33)], "light"),
        _box(-0.28, 0, 0.28, 0.36),
        _box(-0.05, 0.0, 0.05, 0.36, "shade", outlined=False),
    ]


def _basket() -> list[Part]:
    parts = _bar(
        [
            (0.26 * math.cos(a), 0.3 + 0.34 * math.sin(a))
            for a in np.linspace(0, math.pi, 13).tolist()
        ],
        0.04,
        "shade",
        front=False,
    )
    parts += [
        _ellipse(0, 0.32, 0.29, 0.06, "hollow", front=False),
        _polygon(
            [(-0.29, 0.32), (-0.14, 0.275), (0.14, 0.275), (0.29, 0.32), (0.21, 0), (-0.21, 0)]
        ),
    ]
    parts += [
        _box(-0.25 + 0.01 * k, y, 0.25 - 0.01 * k, y + 0.018, "shade", outlined=False)
        for k, y in enumerate((0.22, 0.15, 0.08))
    ]
    parts += [
        _polygon([(x * 1.2, 0.27), (x * 1.2 + 0.02, 0.27), (x + 0.02, 0), (x, 0)], "shade")
        for x in (-0.12, 0.0, 0.12)
    ]
    return parts


def _bowl() -> list[Part]:
    return [
        _ellipse(0, 0.27, 0.29, 0.055, "hollow", front=False),
        _box(-0.1, 0, 0.1, 0.06, "shade"),
        _ellipse(0, 0.26, 0.3, 0.24, start=190, end=350),
    ]


def _bucket() -> list[Part]:
    handle = [
        (0.2 * math.cos(a), 0.4 + 0.14 * math.sin(a)) for a in np.linspace(0, math.pi, 11).tolist()
    ]
    return [
        *_bar(handle, 0.025, "metal", front=False),
        _ellipse(0, 0.4, 0.21, 0.05, "hollow", front=False),
        _polygon([(-0.22, 0.4), (-0.1, 0.355), (0.1, 0.355), (0.22, 0.4), (0.15, 0), (-0.15, 0)]),
    ]


def _apple() -> list[Part]:
    return [
        *_bar([(0, 0.24), (0.02, 0.35)], 0.035, "hollow"),
        _ellipse(0.08, 0.32, 0.07, 0.032, "leaf", 25),
        _ellipse(-0.06, 0.14, 0.1, 0.14),
        _ellipse(0.06, 0.14, 0.1, 0.14),
        _ellipse(0, 0.13, 0.09, 0.12, outlined=False),
        _ellipse(-0.08, 0.19, 0.025, 0.04, "light", -20, outlined=False),
    ]


def _banana() -> list[Part]:
    outer = [(0.19 * math.cos(a), 0.22 + 0.22 * math.sin(a)) for a in np.linspace(-3.3, 0.15, 14)]
    inner = [(0.15 * math.cos(a), 0.27 + 0.15 * math.sin(a)) for a in np.linspace(0.0, -3.14, 12)]
    return [
        _polygon([*outer, *inner]),
        *_bar([(0.17, 0.24), (0.185, 0.3)], 0.05, "hollow"),
        _ellipse(-0.175, 0.25, 0.03, 0.03, "hollow"),
    ]


def _pear() -> list[Part]:
    return [
        *_bar([(0, 0.32), (0.02, 0.4)], 0.03, "hollow"),
        _ellipse(0.07, 0.37, 0.06, 0.025, "leaf", 20),
        _ellipse(0, 0.26, 0.075, 0.1),
        _ellipse(0, 0.13, 0.13, 0.13),
        _ellipse(0, 0.22, 0.07, 0.1, outlined=False),
        _ellipse(-0.06, 0.16, 0.025, 0.04, "light", outlined=False),
    ]


def _cake() -> list[Part]:
    return [
        _ellipse(0, 0.03, 0.22, 0.035, "metal"),
        _box(-0.17, 0.04, 0.17, 0.24),
        _ellipse(0, 0.24, 0.17, 0.04, "light"),
        *(
            _ellipse(x, 0.2, 0.035, 0.05, "cream", outlined=False)
            for x in (-0.13, -0.04, 0.05, 0.13)
        ),
        *(_box(x - 0.015, 0.25, x + 0.015, 0.35, "paper") for x in (-0.08, 0.0, 0.08)),
        *(_ellipse(x, 0.38, 0.016, 0.028, "beak", outlined=False) for x in (-0.08, 0.0, 0.08)),
    ]


def _ball() -> list[Part]:
    return [
        _ellipse(0, 0.17, 0.17, 0.17),
        _ellipse(-0.06, 0.24, 0.04, 0.03, "light", 30, outlined=False),
    ]


def _cup() -> list[Part]:
    handle = [
        (0.1 + 0.09 * math.cos(a), 0.16 + 0.08 * math.sin(a))
        for a in np.linspace(-math.pi / 2, math.pi / 2, 9).tolist()
    ]
    return [
        *_bar(handle, 0.04, "shade"),
        _polygon([(-0.15, 0.3), (0.11, 0.3), (0.09, 0.0), (-0.13, 0.0)]),
        _ellipse(-0.02, 0.3, 0.13, 0.03, "hollow"),
    ]


def _book() -> list[Part]:
    return [
        _polygon([(-0.18, 0.0), (-0.14, 0.28), (-0.1, 0.32), (-0.14, 0.04)], "shade"),
        _polygon([(-0.14, 0.03), (0.18, 0.03), (0.2, 0.3), (-0.1, 0.3)], "paper"),
        _polygon([(-0.18, 0.0), (0.15, 0.0), (0.19, 0.27), (-0.14, 0.27)]),
        _polygon([(-0.08, 0.16), (0.1, 0.16), (0.11, 0.22), (-0.07, 0.22)], "paper"),
    ]


def _hat() -> list[Part]:
    return [
        _ellipse(0, 0.05, 0.23, 0.05),
        _ellipse(0, 0.06, 0.14, 0.22, start=0, end=180),
        _polygon([(-0.14, 0.06), (0.14, 0.06), (0.13, 0.12), (-0.13, 0.12)], "ink"),
    ]


def _flower() -> list[Part]:
    petals = [
        _ellipse(0.09 * math.cos(a), 0.34 + 0.09 * math.sin(a), 0.065, 0.065)
        for a in np.linspace(0, 2 * math.pi, 6, endpoint=False).tolist()
    ]
    return [
        *_bar([(0, 0), (0, 0.32)], 0.035, "leaf"),
        _ellipse(0.07, 0.11, 0.075, 0.03, "leaf", 30),
        _ellipse(-0.07, 0.14, 0.075, 0.03, "leaf", 150),
        *petals,
        _ellipse(0, 0.34, 0.055, 0.055, "hollow"),
    ]


def _umbrella() -> list[Part]:
    scallops = [
        _ellipse(x, 0.46, 0.093, 0.05, "shade", start=0, end=180)
        for x in (-0.27, -0.09, 0.09, 0.27)
    ]
    return [
        *_bar([(0, 0.04), (0, 0.79)], 0.03, "wood"),
        *_bar([(0.0, 0.04), (0.05, 0.01), (0.09, 0.05)], 0.03, "wood"),
        _ellipse(0, 0.45, 0.37, 0.31, start=0, end=180),
        *scallops,
    ]


def _balloon() -> list[Part]:
    return [
        *_bar([(0, 0), (0.02, 0.13), (0, 0.27)], 0.014, "ink"),
        _polygon([(-0.03, 0.24), (0.03, 0.24), (0, 0.29)], "shade"),
        _ellipse(0, 0.45, 0.15, 0.18),
        _ellipse(-0.05, 0.52, 0.03, 0.045, "light", 20, outlined=False),
    ]


def _kite() -> list[Part]:
    tail = [(0, 0.2), (0.05, 0.14), (-0.03, 0.07), (0.0, 0.0)]
    return [
        *_bar(tail, 0.016, "ink"),
        _ellipse(0.04, 0.14, 0.035, 0.022, "beak", 30),
        _ellipse(-0.02, 0.07, 0.035, 0.022, "beak", -30),
        _polygon([(0, 0.18), (0.2, 0.44), (0, 0.62), (-0.2, 0.44)]),
        *_bar([(0, 0.2), (0, 0.6)], 0.012, "ink"),
        *_bar([(-0.19, 0.44), (0.19, 0.44)], 0.012, "ink"),
    ]


def _tree() -> list[Part]:
    puffs = [(-0.22, 0.7, 0.19), (0.22, 0.7, 0.19), (-0.13, 0.93, 0.2), (0.14, 0.93, 0.2)]
    puffs += [(0, 1.06, 0.18), (0, 0.76, 0.24)]
    return [
        _polygon([(-0.08, 0), (0.08, 0), (0.05, 0.6), (-0.05, 0.6)], "wood"),
        *(_ellipse(x, y, r, r) for x, y, r in puffs),
        _ellipse(0, 0.86, 0.26, 0.22, outlined=False),
    ]


_DRAWINGS: dict[str, Callable[[], list[Part]]] = {
    "dog": _dog, "cat": _cat, "horse": _horse, "cow": _cow, "sheep": _sheep,
    "elephant": _elephant, "rabbit": _rabbit, "duck": _duck, "car": _car, "bus": _bus,
    "truck": _truck, "bicycle": _bicycle, "boat": _boat, "chair": _chair, "table": _table,
    "bed": _bed, "sofa": _sofa, "lamp": _lamp, "box": _box_kind, "basket": _basket,
    "bowl": _bowl, "bucket": _bucket, "apple": _apple, "banana": _banana, "pear": _pear,
    "cake": _cake, "ball": _ball, "cup": _cup, "book": _book, "hat": _hat, "flower": _flower,
    "umbrella": _umbrella, "balloon": _balloon, "kite": _kite, "tree": _tree,
}  # fmt: skip
