"""The page of half-truths: numbers, pictures and the worst cases, in one file that a browser opens.

Images and drawings are inside the file, so that it can be sent and kept.
"""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from zoo.errors import ZooError
from zoo.results.half_truth_pictures import accuracy, gaps, png, svg
from zoo.results.half_truths import Diagnostic, ScoredCase
from zoo.sources.images import BrokenImage, ImageFinder, image_ref
from zoo.support.files import write_beside
from zoo.support.provenance import random_weights

PAGE = "half_truths.html"
DRAWN = {"accuracy": accuracy, "gaps": gaps}
TEMPLATES = Path(__file__).parent / "templates"
SIDE = 256


@dataclass(frozen=True)
class Card:
    """A case as the page shows it.

    Attributes:
        case: The case.
        thumbnail: The image as a data URI; empty where it is not there.
        half_truth: The half-truth in pieces, each with whether the true completion lacks it.
    """

    case: ScoredCase
    thumbnail: str
    half_truth: Sequence[tuple[str, bool]]


def write(
    found: Sequence[Diagnostic],
    model: Mapping[str, Any],
    finder: ImageFinder,
    worst: int,
    out: Path,
) -> Iterator[Path]:
    """Writes the pictures and the page, and yields the path of each file.

    Args:
        found: The diagnostics. From the second on, the names of its pictures have a number.
        model: What results say of the model.
        finder: Finds the images.
        worst: How many cases of each condition the page shows.
        out: The folder to write into.

    Yields:
        The path of each file that was written.

    Raises:
        ZooError: Not one image is found, or a file cannot be written.
    """
    text = page(found, model, finder, worst)
    *pictures, path = files(len(found), out)
    drawn = (draw(diagnostic) for diagnostic in found for draw in DRAWN.values())
    for picture, drawing in zip(pictures, drawn, strict=True):
        write_beside(picture, png(drawing))
        yield picture
    write_beside(path, text.encode())
    yield path


def files(n: int, out: Path) -> list[Path]:
    """Returns the files that `write` writes: the pictures of each diagnostic, and the page.

    Args:
        n: Number of diagnostics.
        out: The folder to write into.
    """
    numbers = ["", *(f"_{number}" for number in range(2, n + 1))]
    return [*(out / f"{name}{number}.png" for number in numbers for name in DRAWN), out / PAGE]


def page(
    found: Sequence[Diagnostic], model: Mapping[str, Any], finder: ImageFinder, worst: int
) -> str:
    """Returns the page as HTML; see `write`."""
    cards = [
        {name: [_card(case, finder) for case in cases] for name, cases in d.worst(worst).items()}
        for d in found
    ]
    shown = [card for sections in cards for own in sections.values() for card in own]
    if shown and not any(card.thumbnail for card in shown):
        raise ZooError(
            f"not one image of the {len(shown):,} worst cases is under "
            f"{', '.join(map(str, finder.roots))} (first missing: {shown[0].case.image}): "
            "name the folder of the images by --data_root"
        )
    scores = [score for card in shown for score in card.case.scores] or [0.0]
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(PAGE).render(
        runs=[
            {
                "diagnostic": diagnostic,
                "table": diagnostic.table(),
                **{name: svg(draw(diagnostic)) for name, draw in DRAWN.items()},
                "cards": sections,
            }
            for diagnostic, sections in zip(found, cards, strict=True)
        ],
        model=dict(_described(model)),
        low=min(scores),
        reach=max(max(scores) - min(scores), 1e-6),
        worst=worst,
    )


def _described(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields what the page says of the model."""
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


def _card(case: ScoredCase, finder: ImageFinder) -> Card:
    _, half_truth, truth = case.texts
    words, true = half_truth.split(), truth.split()
    matcher = SequenceMatcher(None, true, words, autojunk=False)
    wrong = set[int]()
    for kind, _, _, start, stop in matcher.get_opcodes():
        if kind != "equal":
            wrong.update(range(start, stop))
    pieces = [(word, i in wrong) for i, word in enumerate(words)]
    return Card(case, _thumbnail(case.image, finder), pieces)


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
