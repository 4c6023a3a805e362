"""Contact sheet: rendered scenes in a grid with their captions, for visual inspection."""

import io
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from zoo.errors import ZooError
from zoo.scenes.cache import SPLITS, SceneCaption, read_captions
from zoo.support.files import write_bytes

CELL, LINE, LETTER, MARGIN = 240, 13, 6, 8  # pixels; LETTER is the width of an average letter
COLUMNS = 3  # as wide as a page of documentation, so that captions are readable
INK, SWAPPED = (20, 20, 20), (190, 30, 30)
LEGEND = (
    "Black: captions, true of the image. Red: a caption with one attribute exchanged, false of it."
)

Ink = tuple[int, int, int]


def write_contact_sheet(
    folder: str | Path, out: str | Path, n: int = 24, split: str | None = None
) -> Path:
    """Writes a PNG with scenes and their captions, true ones in black and a swap in red.

    The title explains the colours.

    Args:
        folder: A folder of rendered scenes.
        out: The PNG to write.
        n: Number of scenes to show, from the first one.
        split: The split to show; None for all splits.

    Returns:
        The path of the PNG.

    Raises:
        ZooError: There is no such split, or the folder has no scene of it.
    """
    if split is not None and split not in SPLITS:
        raise ZooError(f"unknown split '{split}': choose one of {', '.join(SPLITS)}")
    scenes: dict[str, list[SceneCaption]] = {}
    for row in read_captions(folder):
        if split in (None, row.split):
            scenes.setdefault(row.image_id, []).append(row)
    shown_scenes = list(scenes.items())[:n]
    if not shown_scenes:
        raise ZooError(f"{folder} has no scenes of split '{split}': render more scenes")
    columns = min(COLUMNS, len(shown_scenes))
    width = columns * (CELL + MARGIN)
    title = (
        f"{len(shown_scenes)} of {len(scenes)} scenes{f' of {split}' if split else ''}. {LEGEND}"
    )
    title_lines = textwrap.wrap(title, width // LETTER)
    caption_lines = [_caption_lines(image_id, rows) for image_id, rows in shown_scenes]
    head, height = (len(title_lines) + 1) * LINE, CELL + (max(map(len, caption_lines)) + 1) * LINE
    sheet = Image.new("RGB", (width, head + -(-len(shown_scenes) // columns) * height), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for number, line in enumerate(title_lines):
        draw.text((2, 2 + number * LINE), line, fill=INK, font=font)
    for place, ((image_id, _), lines) in enumerate(zip(shown_scenes, caption_lines, strict=True)):
        left, top = place % columns * (CELL + MARGIN), head + place // columns * height
        with Image.open(Path(folder) / image_id) as image:
            enlarged = image.convert("RGB").resize((CELL, CELL), Image.Resampling.LANCZOS)
        sheet.paste(enlarged, (left, top))
        for number, (line, ink) in enumerate(lines):
            draw.text((left + 2, top + CELL + number * LINE), line, fill=ink, font=font)
    data = io.BytesIO()
    sheet.save(data, "png")
    write_bytes(Path(out), data.getvalue())
    return Path(out)


def _caption_lines(image_id: str, rows: list[SceneCaption]) -> list[tuple[str, Ink]]:
    """Returns the lines below an image and their colours."""
    texts = [(f"{image_id} ({rows[0].split})", INK), *((row.caption, INK) for row in rows)]
    texts += [(row.attribute_swap, SWAPPED) for row in rows if row.attribute_swap][:1]
    return [
        (line, ink)
        for text, ink in texts
        for line in textwrap.wrap(text, CELL // LETTER + 2, subsequent_indent="  ")
    ]
