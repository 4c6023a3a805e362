"""Contact sheet: rendered scenes in a grid with their captions beneath, for people to check."""

import io
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from zoo.errors import ZooError
from zoo.scenes.cache import SPLITS, SceneCaption, read_captions
from zoo.support.files import write_beside

CELL, LINE, MARGIN, COLUMNS = 240, 13, 8, 6
INK, SWAPPED = (20, 20, 20), (190, 30, 30)


def contact_sheet(
    folder: str | Path, out: str | Path, n: int = 24, split: str | None = None
) -> Path:
    """Writes a PNG with scenes and their captions, true ones in black and a swap in red.

    Args:
        folder: A folder of rendered scenes.
        out: The PNG to write.
        n: How many scenes are shown, from the first on.
        split: The split they are of; None shows all splits.

    Returns:
        The path of the PNG.

    Raises:
        ZooError: There is no such split, or the folder has no scene of it.
    """
    if split is not None and split not in SPLITS:
        raise ZooError(f"there is no split '{split}': choose among {', '.join(SPLITS)}")
    scenes: dict[str, list[SceneCaption]] = {}
    for row in read_captions(folder):
        if split in (None, row.split):
            scenes.setdefault(row.image_id, []).append(row)
    shown = list(scenes.items())[:n]
    if not shown:
        raise ZooError(f"{folder} has no scene of the split '{split}': render more")
    columns = min(COLUMNS, len(shown))
    height = CELL + 14 * LINE
    sheet = Image.new(
        "RGB", (columns * (CELL + MARGIN), -(-len(shown) // columns) * height), "white"
    )
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for place, (image_id, rows) in enumerate(shown):
        left, top = place % columns * (CELL + MARGIN), place // columns * height
        with Image.open(Path(folder) / image_id) as image:
            sheet.paste(
                image.convert("RGB").resize((CELL, CELL), Image.Resampling.NEAREST), (left, top)
            )
        texts = [
            (f"{image_id} ({rows[0].split})", INK),
            *((row.caption, INK) for row in rows),
        ]
        texts += [(row.attribute_swap, SWAPPED) for row in rows if row.attribute_swap][:1]
        lines = [
            (line, ink)
            for text, ink in texts
            for line in textwrap.wrap(text, 42, subsequent_indent="  ")
        ]
        for number, (line, ink) in enumerate(lines[:14]):
            draw.text((left + 2, top + CELL + number * LINE), line, fill=ink, font=font)
    data = io.BytesIO()
    sheet.save(data, "png")
    write_beside(Path(out), data.getvalue())
    return Path(out)
