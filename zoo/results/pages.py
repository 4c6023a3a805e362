"""Pages in one file that a browser opens: what those of this room share.

Images are inside the file, so that it can be sent and kept.
"""

import base64
import io
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zoo.errors import ZooError
from zoo.sources.images import BrokenImage, ImageFinder, image_ref

TEMPLATES = Path(__file__).parent / "templates"
SIDE = 256


def rendered(page: str, **shown: Any) -> str:
    """Returns a page as HTML.

    Args:
        page: The name of its template.
        **shown: What the template shows.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(page).render(**shown)


def thumbnails(images: Iterable[str], finder: ImageFinder) -> dict[str, str]:
    """Returns each image as a small data URI; empty where it is not there.

    Args:
        images: The images, as results and units files name them.
        finder: Finds the images.
    """
    return {image: _thumbnail(image, finder) for image in dict.fromkeys(images)}


def check_some(found: Mapping[str, str], finder: ImageFinder, of: str) -> None:
    """Makes sure that images were found.

    Args:
        found: What `thumbnails` returned.
        finder: What looked for the images.
        of: What the images are of, as the error says it.

    Raises:
        ZooError: There are images, and not one was found.
    """
    if found and not any(found.values()):
        raise ZooError(
            f"not one image of the {of} is under "
            f"{', '.join(map(str, finder.roots))} (first missing: {next(iter(found))}): "
            "name the folder of the images by --data_root"
        )


def marked(text: str, true: str) -> list[tuple[str, bool]]:
    """Returns the words of a text, each with whether another text lacks it there.

    Args:
        text: The text.
        true: The other.
    """
    words = text.split()
    matcher = SequenceMatcher(None, true.split(), words, autojunk=False)
    other = set[int]()
    for kind, _, _, start, stop in matcher.get_opcodes():
        if kind != "equal":
            other.update(range(start, stop))
    return [(word, i in other) for i, word in enumerate(words)]


def _thumbnail(image: str, finder: ImageFinder) -> str:
    ref = image_ref(image)
    if finder.find(ref) is None:
        return ""
    try:
        picture = finder.load(ref)
    except BrokenImage:
        return ""
    picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "jpeg", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"
