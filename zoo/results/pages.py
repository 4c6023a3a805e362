"""Pages in one file that a browser opens: what those of this room share.

Images are inside the file, so that it can be sent and kept.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zoo.errors import ZooError
from zoo.sources.images import BrokenImage, ImageFinder, image_ref
from zoo.support.provenance import random_weights

TEMPLATES = Path(__file__).parent / "templates"
SIDE = 256


def render_page(page: str, **shown: Any) -> str:
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
    return {image: _data_uri(thumbnail(image, finder)) for image in dict.fromkeys(images)}


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


def mark_words(text: str, true: str) -> list[tuple[str, bool]]:
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


def describe_model(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields what a page says of a model, part by part.

    Args:
        model: What results say of the model.
    """
    if "model" in model:
        yield "model", str(model["model"])
    for part, spec in model.get("recipe", {}).items():
        if isinstance(spec, Mapping) and "class_path" in spec:
            own = {k: v for k, v in spec.get("init_args", {}).items() if isinstance(v, str)}
            name = spec["class_path"].rpartition(".")[2]
            yield part, ", ".join([name, *(f"{key} {value}" for key, value in own.items())])
    weights = model.get("weights", {})
    if random := random_weights(weights):
        yield "weights", random
    elif weights:
        yield "weights", ", ".join(f"{part} {came}" for part, came in weights.items())


def thumbnail(image: str, finder: ImageFinder) -> bytes | None:
    """Returns an image as a small JPEG file; None where it is not there or cannot be decoded.

    Args:
        image: The image, as results and units files name it.
        finder: Finds it.
    """
    ref = image_ref(image)
    if finder.find(ref) is None:
        return None
    try:
        picture = finder.load(ref)
    except BrokenImage:
        return None
    picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "jpeg", quality=80)
    return out.getvalue()


def _data_uri(content: bytes | None) -> str:
    """Returns a thumbnail as a data URI; nothing where there is none."""
    if content is None:
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode()}"
