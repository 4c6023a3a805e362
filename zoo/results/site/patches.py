"""Patches: how like the words of a text are to the patches of an image, beside the cases.

Heads that score by such similarities, as `MaxSim`, can say what a case was decided by; those that
read both together, as `CrossModal`, what each word looks at.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zoo.errors import ZooError
from zoo.results.report import Results
from zoo.results.site.answers import MOST, Answer, Answers
from zoo.results.site.images import FOLDER as IMAGES
from zoo.results.site.images import PageImages
from zoo.sources.images import BrokenImage, ImageFinder, image_ref


@dataclass(frozen=True)
class PatchWords:
    """How like each word of a text is to each patch of an image, or how much it looks at it.

    Attributes:
        seen: The image as the model sees it, resized and cropped.
        words: The tokens of the text that take part in its score, W of them.
        similarity: What the head tells of each word and patch, `[W, rows, columns]`.
        words_by: What that is: `cosine` or `attention`.
    """

    seen: Image.Image
    words: tuple[str, ...]
    similarity: NDArray[np.float32]
    words_by: str = "cosine"


# from an image and texts to what a model makes of each
Mapper = Callable[[Image.Image, Sequence[str]], Sequence[PatchWords]]


@dataclass(frozen=True)
class Mapped:
    """Whose words and patches are shown, and of how many cases.

    Attributes:
        mappers: What gives them, by the name of the run.
        most: How many cases of each metric a run has them of, those that it has most wrong.
    """

    mappers: Mapping[str, Mapper]
    most: int


def write_patches(
    mapped: Mapped,
    answers: Answers,
    runs: Mapping[str, Results],
    images: PageImages,
    write: Callable[..., int],
) -> list[list[int]]:
    """Writes the maps of each run, a file for each metric.

    Args:
        mapped: Whose, and how many.
        answers: What runs made of every question.
        runs: The runs by name.
        images: Has the finder, and how much room there is.
        write: Writes a script that calls a function of the page, of its name and arguments, and
            returns its size.

    Returns:
        The numbers of the answers that each run has maps of.
    """
    has: list[list[int]] = [[] for _ in runs]
    results = list(runs.values())
    if images.finder is None:
        return has
    for run, name in enumerate(runs):
        mapper = mapped.mappers.get(name)
        if mapper is None:
            continue
        for number, part in enumerate(answers.parts):
            found: dict[int, Any] = {}
            for i in _most_wrong(answers, run, part.start, part.n):
                if len(found) == mapped.most or images.room <= 0:
                    break
                answer = next(answers.read(results, i, i + 1))
                made = _of_a_case(answer, mapper, images.finder, images, f"{run}_{i}")
                if made is not None:
                    found[i] = made
            if found:
                images.room -= write(f"patches_{run}_{number}.js", "patches", run, number, found)
                has[run].extend(found)
    return has


def _most_wrong(answers: Answers, run: int, start: int, n: int) -> Iterator[int]:
    """Yields the numbers of a metric's answers that a run has wrong, the worst first."""
    right = answers.right[run, start : start + n]
    margin = np.nan_to_num(answers.margin[run, start : start + n], nan=np.inf)
    for i in np.argsort(margin, kind="stable"):
        if right[i] == 0:
            yield start + int(i)


def _of_a_case(
    answer: Answer, mapper: Mapper, finder: ImageFinder, images: PageImages, name: str
) -> dict[str, Any] | None:
    """Returns the maps of a case.

    Returns:
        None where it has no image or text, too many of them, or an image that may not be copied.
    """
    if not 0 < len(answer.images) * len(answer.texts) <= MOST:
        return None
    if not all(map(images.may_copy, answer.images)):
        return None
    files, pairs, grid, by = [], [], (0, 0), ""
    for place, image in enumerate(answer.images):
        try:
            picture = finder.load(image_ref(image))
        except (BrokenImage, ZooError):
            return None  # which is said of the copies
        maps = mapper(picture, answer.texts)
        file = Path(IMAGES) / f"seen_{name}_{place}.jpg"
        (images.out / IMAGES).mkdir(exist_ok=True)
        maps[0].seen.save(images.out / file, quality=85)
        images.room -= (images.out / file).stat().st_size
        files.append(file.as_posix())
        grid, by = (maps[0].similarity.shape[1], maps[0].similarity.shape[2]), maps[0].words_by
        pairs += [_pair(place, text, one) for text, one in enumerate(maps)]
    return {"images": files, "grid": grid, "pairs": pairs, "by": by}


def _pair(image: int, text: int, one: PatchWords) -> list[Any]:
    """Returns an image and a text with their words.

    Each word has its least and largest number and, in 256 steps between these, all of them.
    """
    words = []
    for word, numbers in zip(one.words, one.similarity, strict=True):
        low, high = float(numbers.min()), float(numbers.max())
        steps = np.rint(255 * (numbers - low) / max(high - low, 1e-9)).astype(np.uint8)
        coded = base64.b64encode(steps.tobytes()).decode()
        words.append([word, float(f"{low:.4g}"), float(f"{high:.4g}"), coded])
    return [image, text, words]
