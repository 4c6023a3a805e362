"""Shared functions of HTML pages. Images are embedded, so that a page is a single file."""

import base64
import io
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zoo.errors import ZooError
from zoo.sources.images import BrokenImage, ImageFinder, infer_image_ref
from zoo.support.provenance import describe_random_weights

TEMPLATES = Path(__file__).parent / "templates"
SIDE = 256


def render_page(page: str, **context: Any) -> str:
    """Returns a page as HTML.

    Args:
        page: The name of its template.
        **context: The variables of the template.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(page).render(**context)


def thumbnail_uris(images: Iterable[str], finder: ImageFinder) -> dict[str, str]:
    """Returns each image as a small data URI; empty if it is missing.

    Args:
        images: Identities of the images in results or units files.
        finder: Finds the images.
    """
    return {image: _data_uri(thumbnail_jpeg(image, finder)) for image in dict.fromkeys(images)}


def require_any_image(data_uris: Mapping[str, str], finder: ImageFinder, subject: str) -> None:
    """Checks that at least one image was found.

    Args:
        data_uris: The images, from `thumbnail_uris`.
        finder: The finder that searched for the images.
        subject: Description of the images for the error message.

    Raises:
        ZooError: There are images, and none was found.
    """
    if data_uris and not any(data_uris.values()):
        raise ZooError(
            f"no image of the {subject} was found under "
            f"{', '.join(map(str, finder.roots))} (first missing: {next(iter(data_uris))}). "
            "Set the folder of the images with --data_root"
        )


def mark_words(text: str, reference_text: str) -> list[tuple[str, bool]]:
    """Returns the words of a text, each with whether it differs from a reference text.

    Args:
        text: The text.
        reference_text: The reference text.
    """
    words = text.split()
    matcher = SequenceMatcher(None, reference_text.split(), words, autojunk=False)
    changed = set[int]()
    for kind, _, _, start, stop in matcher.get_opcodes():
        if kind != "equal":
            changed.update(range(start, stop))
    return [(word, i in changed) for i, word in enumerate(words)]


def describe_model(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the description of a model for a page, as pairs of part and text.

    Args:
        model: Description of the model in results.json.
    """
    if "model" in model:
        yield "model", str(model["model"])
    for part, spec in model.get("recipe", {}).items():
        if isinstance(spec, Mapping) and "class_path" in spec:
            name = spec["class_path"].rpartition(".")[2]
            arguments = [
                f"{key} {value}"
                for key, value in spec.get("init_args", {}).items()
                if isinstance(value, str | int | float)
            ]
            yield part, ", ".join([name, *arguments])
    data = model.get("origin", {}).get("data", {})
    if "batch_size" in data:  # trained by zoo
        settings = model.get("recipe", {}).get("optimizer", {}).items()
        yield "optimizer", ", ".join(f"{key} {v}" for key, v in settings if v is not None)
        yield "data", f"batch_size {data['batch_size']}, seed {data['seed']}"
    weights = model.get("weights", {})
    if random := describe_random_weights(weights):
        yield "weights", random
    elif weights:
        yield "weights", ", ".join(f"{part} {origin}" for part, origin in weights.items())


def thumbnail_jpeg(image: str, finder: ImageFinder) -> bytes | None:
    """Returns an image as a small JPEG file; None if it is missing or cannot be decoded.

    Args:
        image: Identity of the image in results or units files.
        finder: Finds the image.
    """
    ref = infer_image_ref(image)
    if finder.find(ref) is None:
        return None
    try:
        picture = finder.load(ref)
    except BrokenImage:
        return None
    picture.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "jpeg", quality=80)
    return buffer.getvalue()


def _data_uri(content: bytes | None) -> str:
    """Returns a thumbnail as a data URI; empty for None."""
    if content is None:
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(content).decode()}"
