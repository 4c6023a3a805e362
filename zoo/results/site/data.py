"""Data of the page of cases: an index of all answers, and files with a few hundred answers each.

The files are scripts that call a function, since a page opened from disk may not fetch files.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.results.report import Results
from zoo.results.site.answers import UNSCORED, QueryAnswers, ReportAnswers
from zoo.results.site.images import PageImages
from zoo.results.site.patches import PatchMapOptions, write_patch_maps

FOLDER = "data"
INDEX = f"{FOLDER}/index.js"
ANSWERS_PER_FILE = 200
DIGITS = 5


def write_data(
    answers: ReportAnswers,
    runs: Mapping[str, Results],
    images: PageImages,
    out: Path,
    patch_map_options: PatchMapOptions | None = None,
) -> int:
    """Writes the data files, and copies the images to the report.

    Args:
        answers: The answers of the runs to every query.
        runs: The runs by name.
        images: Copies the images.
        out: The folder of the pages.
        patch_map_options: The runs whose words and patches are shown; no runs if None.

    Returns:
        The size of the files in bytes.
    """
    (out / FOLDER).mkdir()
    results = list(runs.values())
    size, numbers = 0, dict[str, int]()
    for page, start in enumerate(range(0, len(answers), ANSWERS_PER_FILE)):
        stop = min(start + ANSWERS_PER_FILE, len(answers))
        page_answers = list(answers.read(results, start, stop))
        rows = [_answer_record(answer, numbers) for answer in page_answers]
        size += _write_script(out / FOLDER / f"cases_{page}.js", "page", page, rows)
    images.bytes_left -= size
    patches = patch_map_options and write_patch_maps(
        patch_map_options,
        answers,
        runs,
        images,
        lambda name, *arguments: _write_script(out / FOLDER / name, *arguments),
    )
    for image in _images_by_interest(answers, results):
        images.add(image)
    locations = [images.locations[image] for image in numbers]
    index = {
        "runs": list(runs),
        "size": ANSWERS_PER_FILE,
        "parts": [
            [str(part.key[0]), part.key[1], part.key[2], part.start, part.n, part.graded]
            for part in answers.metric_ranges
        ],
        "right": ["".join("-01"[right + 1] for right in run) for run in answers.right.tolist()],
        "margin": [[_rounded(margin) for margin in run] for run in answers.margin.tolist()],
        "patches": patches,
        "split": answers.split if any(answers.split) else None,
        "leak": answers.leak if any(map(any, answers.leak)) else None,
        "images": [
            [images.display_name(image), location.file, location.link]
            for image, location in zip(numbers, locations, strict=True)
        ],
    }
    return size + _write_script(out / INDEX, "index", index)


def _answer_record(answer: QueryAnswers, image_numbers: dict[str, int]) -> list[Any]:
    """Returns a query as in its file, with its images as numbers."""

    def image_number(image: str) -> int:
        return image_numbers.setdefault(image, len(image_numbers))

    row: list[Any] = [
        answer.case,
        [image_number(image) for image in answer.images],
        answer.texts,
        "".join("01"[is_right] for is_right in answer.match or ()),
        [scores and [_rounded(score) for score in scores] for scores in answer.scores],
    ]
    if any(answer.best_wrong):
        row.append(
            [
                wrong and [wrong[0], None if wrong[1] is None else image_number(wrong[1])]
                for wrong in answer.best_wrong
            ]
        )
    return row


def _images_by_interest(answers: ReportAnswers, results: Sequence[Results]) -> Iterable[str]:
    """Yields the images, first those on which runs differ, then by the lowest margin."""
    scored = answers.right != UNSCORED
    runs_differ = ((answers.right == 1) & scored).any(0) & ((answers.right == 0) & scored).any(0)
    margin = np.where(scored, np.nan_to_num(answers.margin, nan=np.inf), np.inf).min(0)
    columns = [run.cases["images"].to_pylist() for run in results]
    wrong = [run.cases["wrong_image"].to_pylist() for run in results]
    for i in np.lexsort((margin, ~runs_differ)):
        runs_with_case = np.flatnonzero(answers.rows[:, i] >= 0)
        yield from columns[runs_with_case[0]][answers.rows[runs_with_case[0], i]]
        yield from filter(None, (wrong[run][answers.rows[run, i]] for run in runs_with_case))


def _rounded(number: float) -> float | None:
    """Returns a number rounded for the page; None if it is not finite."""
    return float(f"{number:.{DIGITS}g}") if np.isfinite(number) else None


def _write_script(path: Path, function: str, *arguments: Any) -> int:
    """Writes a script that calls a function of the page, and returns its size."""
    encoded = ",".join(
        json.dumps(argument, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        for argument in arguments
    )
    content = f"zoo.{function}({encoded});\n".encode()
    path.write_bytes(content)
    return len(content)
