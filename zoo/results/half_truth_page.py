"""The page of half-truths: numbers, pictures and the worst cases, in one file that a browser opens.

Images and drawings are inside the file, so that it can be sent and kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.results.drawing import png, svg
from zoo.results.half_truth_pictures import accuracy, gaps
from zoo.results.half_truths import Diagnostic, ScoredCase
from zoo.results.pages import check_some, describe_model, mark_words, render_page, thumbnails
from zoo.sources.images import ImageFinder
from zoo.support.files import write_bytes

PAGE = "half_truths.html"
DRAWN = {"accuracy": accuracy, "gaps": gaps}


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
    finder: ImageFinder | None,
    worst: int,
    out: Path,
) -> Iterator[Path]:
    """Writes the pictures and the page, and yields the path of each file.

    Args:
        found: The diagnostics. From the second on, the names of its pictures have a number.
        model: What results say of the model.
        finder: Finds the images; None for a page without images.
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
        write_bytes(picture, png(drawing))
        yield picture
    write_bytes(path, text.encode())
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
    found: Sequence[Diagnostic], model: Mapping[str, Any], finder: ImageFinder | None, worst: int
) -> str:
    """Returns the page as HTML; see `write`."""
    worst_of = [diagnostic.worst(worst) for diagnostic in found]
    shown = [case for sections in worst_of for own in sections.values() for case in own]
    images = dict.fromkeys((case.image for case in shown), "")
    if finder is not None:
        images = thumbnails(images, finder)
        check_some(images, finder, f"{len(shown):,} worst cases")
    cards = [
        {
            name: [Card(case, images[case.image], mark_words(*case.texts[1:])) for case in cases]
            for name, cases in sections.items()
        }
        for sections in worst_of
    ]
    scores = [score for case in shown for score in case.scores] or [0.0]
    return render_page(
        PAGE,
        runs=[
            {
                "diagnostic": diagnostic,
                "table": diagnostic.table(),
                **{name: svg(draw(diagnostic)) for name, draw in DRAWN.items()},
                "cards": sections,
            }
            for diagnostic, sections in zip(found, cards, strict=True)
        ],
        model=dict(describe_model(model)),
        low=min(scores),
        reach=max(max(scores) - min(scores), 1e-6),
        worst=worst,
    )
