"""Data of the page of cases: an index of all answers, and files of a few hundred each.

They are scripts that call a function, since a page of the file system may not fetch.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.results.report import Results
from zoo.results.site.answers import UNSCORED, Answer, Answers
from zoo.results.site.images import PageImages
from zoo.results.site.patches import Mapped, write_patches

FOLDER = "data"
INDEX = f"{FOLDER}/index.js"
PAGE = 200  # answers in a file
DIGITS = 5


def write_data(
    answers: Answers,
    runs: Mapping[str, Results],
    images: PageImages,
    out: Path,
    mapped: Mapped | None = None,
) -> int:
    """Writes the files, and adds the images to those that are copied.

    Args:
        answers: What runs made of every question.
        runs: The runs by name.
        images: Takes the images.
        out: The folder of the pages.
        mapped: Whose words and patches are shown; of no run where None.

    Returns:
        How many bytes the files have.
    """
    (out / FOLDER).mkdir()
    results = list(runs.values())
    size, numbers = 0, dict[str, int]()
    for page, start in enumerate(range(0, len(answers), PAGE)):
        own = list(answers.read(results, start, min(start + PAGE, len(answers))))
        rows = [_row(answer, numbers) for answer in own]
        size += _write(out / FOLDER / f"cases_{page}.js", "page", page, rows)
    images.room -= size
    patches = mapped and write_patches(
        mapped, answers, runs, images, lambda name, *told: _write(out / FOLDER / name, *told)
    )
    for image in _by_interest(answers, results):
        images.add(image)
    shown = [images.shown[image] for image in numbers]
    index = {
        "runs": list(runs),
        "size": PAGE,
        "parts": [
            [str(part.place[0]), part.place[1], part.place[2], part.start, part.n, part.graded]
            for part in answers.parts
        ],
        "right": ["".join("-01"[one + 1] for one in run) for run in answers.right.tolist()],
        "margin": [[_short(one) for one in run] for run in answers.margin.tolist()],
        "patches": patches,
        "split": answers.split if any(answers.split) else None,
        "leak": answers.leak if any(map(any, answers.leak)) else None,
        "images": [
            [images.name(image), one.file, one.link]
            for image, one in zip(numbers, shown, strict=True)
        ],
    }
    return size + _write(out / INDEX, "index", index)


def _row(answer: Answer, numbers: dict[str, int]) -> list[Any]:
    """Returns a question as its file has it, with numbers for its images."""

    def number(image: str) -> int:
        return numbers.setdefault(image, len(numbers))

    row: list[Any] = [
        answer.case,
        [number(image) for image in answer.images],
        answer.texts,
        "".join("01"[one] for one in answer.match or ()),
        [scores and [_short(one) for one in scores] for scores in answer.scores],
    ]
    if any(answer.wrong):
        row.append(
            [
                wrong and [wrong[0], None if wrong[1] is None else number(wrong[1])]
                for wrong in answer.wrong
            ]
        )
    return row


def _by_interest(answers: Answers, results: Sequence[Results]) -> Iterable[str]:
    """Yields the images, first those of which runs differ, then those that are most wrong."""
    scored = answers.right != UNSCORED
    differ = ((answers.right == 1) & scored).any(0) & ((answers.right == 0) & scored).any(0)
    margin = np.where(scored, np.nan_to_num(answers.margin, nan=np.inf), np.inf).min(0)
    columns = [run.cases["images"].to_pylist() for run in results]
    wrong = [run.cases["wrong_image"].to_pylist() for run in results]
    for i in np.lexsort((margin, ~differ)):
        has = np.flatnonzero(answers.rows[:, i] >= 0)
        yield from columns[has[0]][answers.rows[has[0], i]]
        yield from filter(None, (wrong[run][answers.rows[run, i]] for run in has))


def _short(number: float) -> float | None:
    """Returns a number as a page shows it; None where it is not finite."""
    return float(f"{number:.{DIGITS}g}") if np.isfinite(number) else None


def _write(path: Path, function: str, *arguments: Any) -> int:
    """Writes a script that calls a function of the page, and returns its size."""
    told = ",".join(
        json.dumps(one, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        for one in arguments
    )
    content = f"zoo.{function}({told});\n".encode()
    path.write_bytes(content)
    return len(content)
