"""Paints scene graphs with Pillow: flat polygons with patterns, shading, outlines and shadows.

Equal graphs give equal pixels with one version of Pillow. The picture is drawn at twice its size
and averaged.
"""

from random import Random

import numpy as np
import PIL
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from zoo.scenes.world.backdrops import paint_backdrop
from zoo.scenes.world.drawings import FIXED, Part, draw_kind
from zoo.scenes.world.graph import WorldGraph, WorldObject
from zoo.scenes.world.kinds import COLORS, KINDS, WOODEN

VERSION = 1
SUPERSAMPLING = 2
Color = tuple[int, int, int]
Pixels = NDArray[np.uint8]


def painter_version() -> str:
    """Returns the versions that the pixels depend on."""
    return f"painter {VERSION}, pillow {PIL.__version__}"


def paint(graph: WorldGraph, size: int) -> Pixels:
    """Paints a scene.

    Args:
        graph: The scene.
        size: The side of the image, in pixels.

    Returns:
        The image in sRGB, `[size, size, 3]`.
    """
    side = size * SUPERSAMPLING
    rng = Random(f"paint {graph.seed}")
    canvas = Image.new("RGB", (side, side))
    paint_backdrop(canvas, graph.place, rng)
    _paint_shadows(canvas, graph)
    for row, parts in _painting_order(graph):
        _paint_parts(canvas, graph, row, parts)
    light = [rng.uniform(0.9, 1.06) * rng.uniform(0.97, 1.03) for _ in range(3)]
    mean = np.asarray(canvas, np.float32).reshape(size, SUPERSAMPLING, size, SUPERSAMPLING, 3)
    common = sum(light) / 3
    tint = np.array([0.75 * common + 0.25 * value for value in light], np.float32)
    pixels: Pixels = (mean.mean((1, 3)) * tint + 0.5).clip(0, 255).astype(np.uint8)
    return pixels


def paint_rows(graph: WorldGraph, size: int) -> NDArray[np.int16]:
    """Returns the object that is visible in each pixel.

    Args:
        graph: The scene.
        size: The side of the image, in pixels.

    Returns:
        Rows of `objects`, -1 for the background, `[size, size]`.
    """
    rows = Image.new("I", (size, size), -1)
    draw = ImageDraw.Draw(rows)
    for row, parts in _painting_order(graph):
        object = graph.objects[row]
        for part in parts:
            for offset in object.offsets:
                draw.polygon(_corners(part, object, offset, size), fill=row)
    return np.asarray(rows).astype(np.int16)


def _painting_order(graph: WorldGraph) -> list[tuple[int, list[Part]]]:
    """Returns the parts of all objects from back to front."""
    roots = [i for i, object in enumerate(graph.objects) if object.host is None]
    order: list[tuple[int, list[Part]]] = []
    for root in sorted(roots, key=lambda i: (graph.objects[i].y, i)):
        _append_with_children(graph, root, order)
    return order


def _append_with_children(graph: WorldGraph, row: int, order: list[tuple[int, list[Part]]]) -> None:
    children: dict[str, list[int]] = {}
    for i, object in enumerate(graph.objects):
        if object.host == row:
            children.setdefault(str(object.link), []).append(i)
    kind = graph.objects[row].kind
    parts = draw_kind(kind, arm="holding" in children)
    mounted = graph.objects[row].link == "riding"
    if mounted:  # the mount hides the legs
        parts = [part for part in parts if part.points[:, 1].max() > 0.45 * KINDS[kind].height]
    order.append((row, [part for part in parts if not part.front]))
    for link in ("riding", "inside", "under"):
        for child in children.get(link, ()):
            _append_with_children(graph, child, order)
    order.append((row, [part for part in parts if part.front]))
    for link in ("on", "holding"):
        for child in children.get(link, ()):
            _append_with_children(graph, child, order)
    for rider in children.get("riding", ()):
        order.append((rider, _rider_leg(graph.objects[rider])))


def _rider_leg(rider: WorldObject) -> list[Part]:
    height = KINDS[rider.kind].height
    paint = "trousers" if KINDS[rider.kind].worn == "shirt" else "skin"
    leg = np.array([(-0.05, 0.46), (0.07, 0.46), (0.12, 0.2), (0.04, 0.18)]) * height
    shoe = np.array([(0.03, 0.14), (0.18, 0.14), (0.15, 0.2), (0.03, 0.21)]) * height
    return [Part(leg, paint), Part(shoe, "shoe")]


def _corners(
    part: Part, object: WorldObject, offset: float, side: int
) -> list[tuple[float, float]]:
    sign = -1 if object.flipped else 1
    x = (object.x + offset + sign * part.points[:, 0] * object.scale) * side
    y = (object.y - part.points[:, 1] * object.scale) * side
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _paint_shadows(canvas: Image.Image, graph: WorldGraph) -> None:
    side = canvas.width
    mask = Image.new("L", canvas.size)
    draw = ImageDraw.Draw(mask)
    for object in graph.objects:
        if object.host is None or object.link == "under":
            half = KINDS[object.kind].width * object.scale * 0.5
            for offset in object.offsets:
                x, y = object.x + offset + 0.02, object.y
                box = (x - half, y - 0.16 * half, x + half, y + 0.2 * half)
                draw.ellipse([value * side for value in box], fill=80)
    canvas.paste((30, 30, 40), mask=mask)


def _paint_parts(canvas: Image.Image, graph: WorldGraph, row: int, parts: list[Part]) -> None:
    if not parts:
        return
    object, side = graph.objects[row], canvas.width
    rng = Random(f"object {graph.seed} {row}")
    jitter = rng.uniform(0.92, 1.08)
    wooden = object.pattern == WOODEN
    main: Color = (168, 112, 60) if wooden else COLORS[object.color]
    main = _scale_color(main, jitter)
    left, top, right, bottom = _tile_box(object, side)
    tile = Image.new("RGB", (right - left, bottom - top))
    mask = Image.new("L", tile.size)
    draw, draw_mask = ImageDraw.Draw(tile), ImageDraw.Draw(mask)
    pattern: Image.Image | None = None
    for offset in object.offsets:
        for part in parts:
            corners = [(x - left, y - top) for x, y in _corners(part, object, offset, side)]
            color = _paint_color(part.paint, main)
            edge = _scale_color(color, 0.5) if part.outlined else color
            if part.paint == "main" and object.pattern is not None:
                if pattern is None:
                    pattern = _pattern_tile(tile.size, object, main, side, (left, top))
                area = Image.new("L", tile.size)
                ImageDraw.Draw(area).polygon(corners, fill=255)
                tile.paste(pattern, mask=area)
                if part.outlined:
                    draw.polygon(corners, outline=edge)
            else:
                draw.polygon(corners, fill=color, outline=edge)
            draw_mask.polygon(corners, fill=255, outline=255)
    shade = np.linspace(1.1, 0.84, tile.width, dtype=np.float32)[None, :, None]
    shaded = (np.asarray(tile, np.float32) * shade).clip(0, 255).astype(np.uint8)
    canvas.paste(Image.fromarray(shaded), (left, top), mask)


def _tile_box(object: WorldObject, side: int) -> tuple[int, int, int, int]:
    left, top, right, bottom = object.box
    margin = 0.35 * object.scale  # stretched arms and tails
    return (
        int((left - margin) * side),
        int((top - margin / 3) * side),
        int((right + margin) * side) + 1,
        int((bottom + margin / 3) * side) + 1,
    )


def _paint_color(paint: str, main: Color) -> Color:
    if paint == "main":
        return main
    if paint == "shade":
        return _scale_color(main, 0.76)
    if paint == "light":
        return _mix_colors(main, (255, 255, 255), 0.3)
    return FIXED[paint]


def _pattern_tile(
    size: tuple[int, int], object: WorldObject, main: Color, side: int, corner: tuple[int, int]
) -> Image.Image:
    """Returns a tile filled with the object's pattern."""
    pixel = side / 112  # lengths below are pixels of an image of 112 pixels
    columns, rows = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
    x, y = (
        (columns + corner[0] - object.x * side) / pixel,
        (rows + corner[1] - object.y * side) / pixel,
    )
    bright = sum(main) > 560
    second = _scale_color(main, 0.3) if bright else (250, 250, 246)
    if KINDS[object.kind].group == "animals" and not bright:
        second = _scale_color(main, 0.42) if sum(main) > 200 else (225, 225, 222)
    if object.pattern == WOODEN:
        grain = (y + 0.6 * np.sin(x / 5)) % 3.2 < 0.9
        second, painted = _scale_color(main, 0.72), grain
    elif object.pattern == "striped":
        upright = KINDS[object.kind].worn is None
        painted = ((x + 0.35 * y if upright else y) % 5.0) < 2.1
    elif object.pattern == "spotted":
        row = np.floor(y / 5)
        painted = ((x + 2.5 * (row % 2)) % 5.4 - 2.7) ** 2 + (y % 5 - 2.5) ** 2 < 2.7
        if KINDS[object.kind].group == "animals":
            painted = np.sin(x / 2.6 + 1.3) * np.sin(y / 2.3 + 0.4) > 0.3
    else:
        painted = (np.floor(x / 3.4) + np.floor(y / 3.4)) % 2 < 1
    colors = np.where(painted[..., None], np.array(second), np.array(main)).astype(np.uint8)
    return Image.fromarray(colors)


def _scale_color(color: Color, factor: float) -> Color:
    red, green, blue = (min(255, int(value * factor + 0.5)) for value in color)
    return red, green, blue


def _mix_colors(a: Color, b: Color, share: float) -> Color:
    red, green, blue = (int(x * (1 - share) + y * share + 0.5) for x, y in zip(a, b, strict=True))
    return red, green, blue
