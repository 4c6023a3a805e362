"""Negative images: the attribute swap of each training caption, and a scene that shows it."""

import json
from pathlib import Path

from zoo.errors import ZooError
from zoo.scenes.cache import read_captions
from zoo.support.files import write_bytes

TRAIN = "train"


def write_negative_images(folder: str | Path, out: Path) -> tuple[int, int]:
    """Writes a file for `zoo.sources.NegativeImages` and `zoo.negatives.Replay`.

    Each line has a caption, its attribute swap and the first training scene that has the swap as a
    caption, or null if there is none. There is one line per caption, even if several scenes have
    it.

    Args:
        folder: A folder of scenes.
        out: The file.

    Returns:
        Number of captions with a swap, and how many of these swaps are shown by a scene.

    Raises:
        ZooError: The folder has no training captions with a swap.
    """
    rows = [row for row in read_captions(folder) if row.split == TRAIN]
    images: dict[str, str] = {}
    for row in rows:
        images.setdefault(row.caption, str((Path(folder) / row.image_id).absolute()))
    swaps = {row.caption: row.attribute_swap for row in rows if row.attribute_swap}
    if not swaps:
        raise ZooError(
            f"{folder} has no training captions with an attribute swap: choose a folder of `zoo "
            "scenes render`"
        )
    lines = [
        {"caption": caption, "negative": swap, "negative_image": images.get(swap)}
        for caption, swap in swaps.items()
    ]
    write_bytes(out, "".join(json.dumps(line) + "\n" for line in lines).encode())
    return len(lines), sum(line["negative_image"] is not None for line in lines)
