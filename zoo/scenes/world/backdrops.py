"""Backdrops: the walls and floors, or the sky and the ground, of the places."""

from collections.abc import Callable, Sequence
from random import Random

from PIL import Image, ImageDraw

Color = tuple[int, int, int]
HORIZON = 0.5  # where the ground ends, as a fraction of the height


class Brush:
    """Draws on an image in fractions of its side.

    Args:
        canvas: The image.
        rng: Random generator of the details.
    """

    def __init__(self, canvas: Image.Image, rng: Random) -> None:
        self.side, self.draw, self.rng = canvas.width, ImageDraw.Draw(canvas), rng
        self.horizon = HORIZON + rng.uniform(-0.06, 0.04)

    def box(self, left: float, top: float, right: float, bottom: float, color: Color) -> None:
        """Fills a rectangle."""
        self.draw.rectangle([v * self.side for v in (left, top, right, bottom)], fill=color)

    def ellipse(self, x: float, y: float, rx: float, ry: float, color: Color) -> None:
        """Fills an ellipse around a point."""
        self.draw.ellipse([v * self.side for v in (x - rx, y - ry, x + rx, y + ry)], fill=color)

    def polygon(self, points: Sequence[tuple[float, float]], color: Color) -> None:
        """Fills a polygon."""
        self.draw.polygon([(x * self.side, y * self.side) for x, y in points], fill=color)

    def bands(self, top: float, bottom: float, first: Color, last: Color, n: int = 12) -> None:
        """Fills the whole width with bands from one colour to another."""
        for k in range(n):
            share = k / (n - 1)
            red, green, blue = (
                round(a + (b - a) * share) for a, b in zip(first, last, strict=True)
            )
            height = (bottom - top) / n
            self.box(0, top + k * height, 1, top + (k + 1) * height, (red, green, blue))


def paint_backdrop(canvas: Image.Image, place: str, rng: Random) -> None:
    """Paints the backdrop of a place.

    Args:
        canvas: A square image.
        place: A name of `PLACES`.
        rng: Random generator of the details.
    """
    _BACKDROPS[place](Brush(canvas, rng))


def _paint_room(brush: Brush, wall: Color, floor: Color) -> None:
    light = _lighten(floor, 20)
    brush.bands(0, brush.horizon, _lighten(wall, 12), wall, 5)
    brush.bands(brush.horizon, 1, floor, light, 6)
    brush.box(0, brush.horizon - 0.012, 1, brush.horizon + 0.008, _lighten(wall, -60))


def _paint_window(brush: Brush, x: float, y: float, width: float, height: float) -> None:
    brush.box(x - 0.015, y - 0.015, x + width + 0.015, y + height + 0.015, (245, 245, 240))
    brush.box(x, y, x + width, y + height, (170, 214, 244))
    brush.box(x + width / 2 - 0.006, y, x + width / 2 + 0.006, y + height, (245, 245, 240))
    brush.box(x, y + height / 2 - 0.006, x + width, y + height / 2 + 0.006, (245, 245, 240))


def _kitchen(brush: Brush) -> None:
    _paint_room(brush, (222, 228, 214), (214, 206, 196))
    h, rng = brush.horizon, brush.rng
    for k in range(9):  # tiled floor
        y = h + (1 - h) * (k / 9) ** 1.4
        brush.box(0, y, 1, y + 0.004, (186, 176, 168))
    for k in range(-6, 17):
        x = 0.5 + (k - 5.5) * 0.11
        far = 0.5 + (x - 0.5) * 0.75
        brush.polygon([(far, h), (far + 0.004, h), (x + 0.006, 1), (x, 1)], (186, 176, 168))
    x = rng.choice((0.04, 0.5))
    brush.box(x, h - 0.2, x + 0.46, h, (176, 190, 196))  # counter
    brush.box(x - 0.01, h - 0.215, x + 0.47, h - 0.19, (110, 110, 114))
    for k in range(3):
        brush.box(x + 0.02 + k * 0.15, h - 0.17, x + 0.14 + k * 0.15, h - 0.02, (200, 212, 216))
    brush.box(x, 0.02, x + 0.46, 0.17, (176, 190, 196))  # cupboards
    for k in range(3):
        brush.box(x + 0.02 + k * 0.15, 0.035, x + 0.14 + k * 0.15, 0.155, (200, 212, 216))
    corner = 0.66 if x < 0.3 else 0.08
    _paint_window(brush, corner, 0.08, 0.22, 0.22)


def _bedroom(brush: Brush) -> None:
    _paint_room(brush, (206, 196, 226), (178, 150, 124))
    h = brush.horizon
    x = brush.rng.uniform(0.1, 0.6)
    _paint_window(brush, x, 0.08, 0.24, 0.24)
    for left in (x - 0.09, x + 0.25):  # curtains
        brush.box(left, 0.04, left + 0.08, 0.38, (150, 110, 170))
    brush.ellipse(0.5, h + 0.3, 0.45, 0.16, (214, 196, 214))


def _living_room(brush: Brush) -> None:
    _paint_room(brush, (240, 222, 188), (164, 118, 78))
    h, rng = brush.horizon, brush.rng
    for k in range(7):
        y = h + (1 - h) * (k / 7) ** 1.3
        brush.box(0, y, 1, y + 0.005, (138, 96, 62))
    x = rng.uniform(0.08, 0.6)
    brush.box(x, 0.1, x + 0.26, 0.3, (110, 76, 44))  # a picture
    brush.box(x + 0.02, 0.12, x + 0.24, 0.28, (180, 206, 200))
    brush.polygon([(x + 0.02, 0.28), (x + 0.11, 0.17), (x + 0.2, 0.28)], (104, 142, 122))


def _street(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h, (150, 196, 236), (206, 226, 240), 6)
    x = -0.05
    while x < 1:
        width, height = rng.uniform(0.18, 0.3), rng.uniform(0.22, 0.42)
        color = rng.choice(((176, 132, 112), (168, 160, 150), (196, 176, 140), (150, 140, 150)))
        brush.box(x, h - height, x + width - 0.01, h, color)
        for row in range(int(height / 0.09)):
            for column in range(int(width / 0.075)):
                left, top = x + 0.025 + column * 0.07, h - height + 0.03 + row * 0.085
                brush.box(left, top, left + 0.035, top + 0.045, (226, 232, 200))
        x += width
    brush.box(0, h, 1, h + 0.05, (190, 188, 184))
    brush.bands(h + 0.05, 1, (104, 106, 110), (122, 124, 128), 4)
    y = h + 0.27
    for k in range(6):
        left = k * 0.2 - rng.uniform(0, 0.02)
        brush.box(left, y, left + 0.1, y + 0.018, (232, 228, 210))


def _park(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h, (118, 184, 240), (196, 226, 246), 8)
    for _ in range(7):
        r = rng.uniform(0.07, 0.13)
        brush.ellipse(rng.uniform(0, 1), h - r * 0.4, r, r, (88, 146, 84))
    brush.bands(h, 1, (112, 182, 90), (136, 200, 106), 6)
    x = rng.uniform(0.1, 0.9)
    brush.polygon([(x, h), (x + 0.04, h), (x + 0.2, 1), (x - 0.16, 1)], (214, 198, 160))


def _beach(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h - 0.14, (92, 176, 242), (186, 226, 250), 8)
    brush.bands(h - 0.14, h, (32, 118, 190), (76, 170, 208), 5)
    brush.bands(h, 1, (240, 222, 170), (246, 232, 190), 4)
    for k in range(8):
        brush.ellipse(k / 7, h, 0.09, 0.014, (244, 250, 250))
    brush.ellipse(rng.choice((0.14, 0.86)), 0.13, 0.08, 0.08, (255, 232, 110))


def _snow(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h, (186, 200, 220), (222, 230, 240), 6)
    for _ in range(4):
        x, width = rng.uniform(0, 1), rng.uniform(0.2, 0.3)
        top = h - rng.uniform(0.16, 0.34)
        brush.polygon([(x - width, h), (x, top), (x + width, h)], (146, 160, 182))
        brush.polygon(
            [
                (x - width * 0.3, top + 0.3 * (h - top)),
                (x, top),
                (x + width * 0.3, top + 0.3 * (h - top)),
            ],
            (250, 252, 255),
        )
    brush.bands(h, 1, (232, 238, 246), (248, 250, 253), 4)
    for _ in range(36):
        r = rng.uniform(0.005, 0.009)
        brush.ellipse(rng.uniform(0, 1), rng.uniform(0, h), r, r, (255, 255, 255))


def _desert(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h, (240, 172, 96), (252, 216, 150), 8)
    for _ in range(4):
        x = rng.uniform(0, 1)
        brush.ellipse(x, h + 0.02, rng.uniform(0.25, 0.4), rng.uniform(0.06, 0.14), (206, 142, 76))
    brush.bands(h, 1, (216, 160, 92), (230, 178, 110), 5)
    x = rng.choice((0.1, 0.5, 0.88))
    for box in (
        (-0.018, -0.24, 0.018, 0.02),
        (-0.07, -0.15, -0.045, -0.08),
        (0.045, -0.19, 0.07, -0.11),
    ):
        brush.box(x + box[0], h + box[1], x + box[2], h + box[3], (84, 130, 70))
    brush.box(x - 0.07, h - 0.1, x, h - 0.075, (84, 130, 70))
    brush.box(x, h - 0.13, x + 0.07, h - 0.105, (84, 130, 70))


def _farm(brush: Brush) -> None:
    h, rng = brush.horizon, brush.rng
    brush.bands(0, h, (140, 200, 240), (214, 232, 240), 6)
    brush.ellipse(rng.uniform(0, 1), h + 0.06, 0.6, 0.2, (140, 176, 84))
    x = rng.choice((0.08, 0.62))
    brush.box(x, h - 0.22, x + 0.3, h, (166, 62, 50))  # a barn
    brush.polygon([(x - 0.03, h - 0.22), (x + 0.15, h - 0.37), (x + 0.33, h - 0.22)], (96, 70, 66))
    brush.box(x + 0.1, h - 0.14, x + 0.2, h, (236, 226, 214))
    brush.bands(h, 1, (164, 178, 88), (190, 196, 108), 6)
    for k in range(9):  # a fence
        brush.box(k * 0.125, h - 0.06, k * 0.125 + 0.018, h + 0.03, (232, 224, 206))
    brush.box(0, h - 0.045, 1, h - 0.03, (232, 224, 206))
    brush.box(0, h - 0.01, 1, h + 0.005, (232, 224, 206))


def _lighten(color: Color, by: int) -> Color:
    red, green, blue = (max(0, min(255, value + by)) for value in color)
    return red, green, blue


_BACKDROPS: dict[str, Callable[[Brush], None]] = {
    "kitchen": _kitchen,
    "bedroom": _bedroom,
    "living room": _living_room,
    "street": _street,
    "park": _park,
    "beach": _beach,
    "snow": _snow,
    "desert": _desert,
    "farm": _farm,
}
