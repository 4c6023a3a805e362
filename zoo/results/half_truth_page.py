"""The HTML page of half-truths: numbers, figures and the worst cases.

Images and figures are embedded, so that the page is a single file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.results.drawing import png, svg
from zoo.results.half_truth_pictures import draw_accuracy, draw_gaps
from zoo.results.half_truths import Diagnostic, ScoredCase
from zoo.results.html_pages import (
    describe_model,
    mark_words,
    render_page,
    require_any_image,
    thumbnail_uris,
)
from zoo.sources.images import ImageFinder
from zoo.support.files import write_bytes

PAGE = "half_truths.html"
DRAWN = {"accuracy": draw_accuracy, "gaps": draw_gaps}


@dataclass(frozen=True)
class Card:
    """A case on the page.

    Attributes:
        case: The case.
        thumbnail: The image as a data URI; empty if it is missing.
        half_truth: The words of the half-truth, each with whether it differs from the true
            completion.
    """

    case: ScoredCase
    thumbnail: str
    half_truth: Sequence[tuple[str, bool]]


def write_page_and_figures(
    diagnostics: Sequence[Diagnostic],
    model: Mapping[str, Any],
    finder: ImageFinder | None,
    worst: int,
    out: Path,
) -> Iterator[Path]:
    """Writes the figures and the page, and yields the path of each file.

    Args:
        diagnostics: The diagnostics. File names of figures are numbered from the second one on.
        model: Description of the model in results.json.
        finder: Finds the images; None for a page without images.
        worst: Number of cases per condition on the page.
        out: The output folder.

    Yields:
        The path of each file that was written.

    Raises:
        ZooError: No image is found, or a file cannot be written.
    """
    text = render_half_truth_page(diagnostics, model, finder, worst)
    *paths, page_path = output_paths(len(diagnostics), out)
    figures = (draw(diagnostic) for diagnostic in diagnostics for draw in DRAWN.values())
    for path, figure in zip(paths, figures, strict=True):
        write_bytes(path, png(figure))
        yield path
    write_bytes(page_path, text.encode())
    yield page_path


def output_paths(n: int, out: Path) -> list[Path]:
    """Returns the files that `write_page_and_figures` writes: figures of all diagnostics, the page.

    Args:
        n: Number of diagnostics.
        out: The output folder.
    """
    numbers = ["", *(f"_{number}" for number in range(2, n + 1))]
    return [*(out / f"{name}{number}.png" for number in numbers for name in DRAWN), out / PAGE]


def render_half_truth_page(
    diagnostics: Sequence[Diagnostic],
    model: Mapping[str, Any],
    finder: ImageFinder | None,
    worst: int,
) -> str:
    """Returns the page as HTML; see `write_page_and_figures`."""
    worst_by_run = [diagnostic.worst_cases(worst) for diagnostic in diagnostics]
    shown_cases = [
        case
        for sections in worst_by_run
        for condition_cases in sections.values()
        for case in condition_cases
    ]
    images = dict.fromkeys((case.image for case in shown_cases), "")
    if finder is not None:
        images = thumbnail_uris(images, finder)
        require_any_image(images, finder, f"{len(shown_cases):,} worst cases")
    cards = [
        {
            name: [Card(case, images[case.image], mark_words(*case.texts[1:])) for case in cases]
            for name, cases in sections.items()
        }
        for sections in worst_by_run
    ]
    scores = [score for case in shown_cases for score in case.scores] or [0.0]
    return render_page(
        PAGE,
        runs=[
            {
                "diagnostic": diagnostic,
                "table": diagnostic.table(),
                **{name: svg(draw(diagnostic)) for name, draw in DRAWN.items()},
                "cards": sections,
            }
            for diagnostic, sections in zip(diagnostics, cards, strict=True)
        ],
        model=dict(describe_model(model)),
        low=min(scores),
        reach=max(max(scores) - min(scores), 1e-6),
        worst=worst,
    )
