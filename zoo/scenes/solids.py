"""Triangle meshes of shapes for which the renderer has no primitive.

They have a radius of 1 and are centred at the origin, in the pose of an object that rests on the
ground. z points up.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Mesh = tuple[NDArray[np.float32], NDArray[np.uint32]]
SIDES = 64  # of round surfaces


def mesh(shape: str) -> Mesh:
    """Returns the surface of a shape of `SOLIDS`.

    Args:
        shape: The shape.

    Returns:
        Corners `[n, 3]`, and triangles as rows of corners `[m, 3]`, counter-clockwise from outside.
    """
    return SOLIDS[shape]()


def _revolve(
    profile: Sequence[tuple[float, float]], sides: int = SIDES, phase: float = 0.0
) -> Mesh:
    """Returns the surface of revolution of a closed line of (radius, height) around the z axis.

    The line runs counter-clockwise, with the radius to the right.
    """
    angles = [phase + 2 * math.pi * k / sides for k in range(sides)]
    corners = [(r * math.cos(a), r * math.sin(a), z) for a in angles for r, z in profile]
    n, triangles = len(profile), []
    for k in range(sides):
        row, next_row = k * n, (k + 1) % sides * n
        for i in range(n):
            j = (i + 1) % n
            triangles += [(row + i, next_row + i, next_row + j), (row + i, next_row + j, row + j)]
    return np.array(corners, np.float32), np.array(triangles, np.uint32)


def _cone() -> Mesh:
    return _revolve([(0.0, -0.8), (0.9, -0.8), (0.0, 0.8)])


def _pyramid() -> Mesh:
    return _revolve([(0.0, -0.65), (1.15, -0.65), (0.0, 0.85)], sides=4, phase=math.pi / 4)


def _torus(ring: float = 0.7, tube: float = 0.3) -> Mesh:
    angles = [2 * math.pi * k / 32 for k in range(32)]
    return _revolve([(ring + tube * math.cos(a), tube * math.sin(a)) for a in angles])


def _capsule(radius: float = 0.5, length: float = 1.3) -> Mesh:
    """Returns a tube with rounded ends along the x axis."""
    half = length / 2
    ends = [(math.pi / 2) * k / 16 for k in range(17)]
    profile = [(radius * math.sin(a), -half - radius * math.cos(a)) for a in ends]
    profile += [(radius * math.cos(a), half + radius * math.sin(a)) for a in ends]
    standing, triangles = _revolve(profile)
    # (x, y, z) to (z, x, y) is a rotation, so that triangles still face outwards
    return standing[:, [2, 0, 1]], triangles


def _star(points: int = 5, inner: float = 0.5, outer: float = 1.15, half: float = 0.3) -> Mesh:
    """Returns a star that lies flat."""
    n = 2 * points
    outline = [
        (
            (outer, inner)[k % 2] * math.cos(2 * math.pi * k / n),
            (outer, inner)[k % 2] * math.sin(2 * math.pi * k / n),
        )
        for k in range(n)
    ]
    corners = [(x, y, z) for z in (-half, half) for x, y in outline] + [(0, 0, -half), (0, 0, half)]
    triangles = []
    for k in range(n):
        j = (k + 1) % n
        triangles += [(k, j, n + j), (k, n + j, n + k)]
        triangles += [(2 * n, j, k), (2 * n + 1, n + k, n + j)]
    return np.array(corners, np.float32), np.array(triangles, np.uint32)


SOLIDS: dict[str, Callable[[], Mesh]] = {
    "cone": _cone,
    "torus": _torus,
    "capsule": _capsule,
    "pyramid": _pyramid,
    "star": _star,
}
