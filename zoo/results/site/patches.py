"""Maps of the similarity between the words of a text and the patches of an image.

For heads that score with these similarities, such as `MaxSim`, the maps show what decided a case;
for heads that read both together, such as `CrossModal`, where each word attends to.
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
from zoo.results.site.answers import MAX_OPTIONS, QueryAnswers, ReportAnswers
from zoo.results.site.images import FOLDER as IMAGES
from zoo.results.site.images import PageImages
from zoo.sources.images import BrokenImage, ImageFinder, infer_image_ref


@dataclass(frozen=True)
class PatchWords:
    """The similarity, or attention, between each word of a text and each patch of an image.

    Attributes:
        image: The image as the model sees it, resized and cropped.
        words: The W tokens of the text that take part in its score.
        similarity: The head's value for each word and patch, `[W, rows, columns]`.
        measure: The kind of value: `cosine` or `attention`.
    """

    image: Image.Image
    words: tuple[str, ...]
    similarity: NDArray[np.float32]
    measure: str = "cosine"


# from an image and texts to the maps of each text
PatchMapper = Callable[[Image.Image, Sequence[str]], Sequence[PatchWords]]


@dataclass(frozen=True)
class PatchMapOptions:
    """The runs whose words and patches are shown, and the number of cases.

    Attributes:
        mappers: Functions that compute the maps, by the name of the run.
        max_cases: Maximum number of cases per run and metric: the wrong answers with the lowest
            margins.
    """

    mappers: Mapping[str, PatchMapper]
    max_cases: int


def write_patch_maps(
    patch_map_options: PatchMapOptions,
    answers: ReportAnswers,
    runs: Mapping[str, Results],
    images: PageImages,
    write_script: Callable[..., int],
) -> list[list[int]]:
    """Writes the maps of each run, one file per metric.

    Args:
        patch_map_options: The runs to show, and the number of cases.
        answers: The answers of the runs to every query.
        runs: The runs by name.
        images: Finds images, and knows how many bytes are left.
        write_script: Writes a script that calls a function of the page; takes the file name, the
            function and its arguments, and returns the size.

    Returns:
        The numbers of the answers that have maps, for each run.
    """
    answers_with_maps: list[list[int]] = [[] for _ in runs]
    results = list(runs.values())
    if images.finder is None:
        return answers_with_maps
    for run, name in enumerate(runs):
        mapper = patch_map_options.mappers.get(name)
        if mapper is None:
            continue
        for number, part in enumerate(answers.metric_ranges):
            maps_by_answer: dict[int, Any] = {}
            for i in _wrong_answer_indices(answers, run, part.start, part.n):
                if len(maps_by_answer) == patch_map_options.max_cases or images.bytes_left <= 0:
                    break
                answer = next(answers.read(results, i, i + 1))
                case_maps = _write_case_maps(answer, mapper, images.finder, images, f"{run}_{i}")
                if case_maps is not None:
                    maps_by_answer[i] = case_maps
            if maps_by_answer:
                images.bytes_left -= write_script(
                    f"patches_{run}_{number}.js", "patches", run, number, maps_by_answer
                )
                answers_with_maps[run].extend(maps_by_answer)
    return answers_with_maps


def _wrong_answer_indices(answers: ReportAnswers, run: int, start: int, n: int) -> Iterator[int]:
    """Yields the numbers of a run's wrong answers to a metric, the lowest margin first."""
    right = answers.right[run, start : start + n]
    margin = np.nan_to_num(answers.margin[run, start : start + n], nan=np.inf)
    for i in np.argsort(margin, kind="stable"):
        if right[i] == 0:
            yield start + int(i)


def _write_case_maps(
    answer: QueryAnswers, mapper: PatchMapper, finder: ImageFinder, images: PageImages, name: str
) -> dict[str, Any] | None:
    """Returns the maps of a case.

    Returns:
        None if it has no image or text, too many of them, or an image that may not be copied.
    """
    if not 0 < len(answer.images) * len(answer.texts) <= MAX_OPTIONS:
        return None
    if not all(map(images.may_copy, answer.images)):
        return None
    files, pairs, grid, kind = [], [], (0, 0), ""
    for position, image in enumerate(answer.images):
        try:
            picture = finder.load(infer_image_ref(image))
        except (BrokenImage, ZooError):
            return None  # reported with the copies
        maps = mapper(picture, answer.texts)
        file = Path(IMAGES) / f"seen_{name}_{position}.jpg"
        (images.out / IMAGES).mkdir(exist_ok=True)
        maps[0].image.save(images.out / file, quality=85)
        images.bytes_left -= (images.out / file).stat().st_size
        files.append(file.as_posix())
        grid, kind = (maps[0].similarity.shape[1], maps[0].similarity.shape[2]), maps[0].measure
        pairs += [_pair_maps(position, text, patch_words) for text, patch_words in enumerate(maps)]
    return {"images": files, "grid": grid, "pairs": pairs, "by": kind}


def _pair_maps(image: int, text: int, patch_words: PatchWords) -> list[Any]:
    """Returns the numbers of an image and a text, with the map of each word of the text.

    Each map has its minimum, its maximum, and all values in 256 steps between these.
    """
    words = []
    for word, numbers in zip(patch_words.words, patch_words.similarity, strict=True):
        low, high = float(numbers.min()), float(numbers.max())
        steps = np.rint(255 * (numbers - low) / max(high - low, 1e-9)).astype(np.uint8)
        coded = base64.b64encode(steps.tobytes()).decode()
        words.append([word, float(f"{low:.4g}"), float(f"{high:.4g}"), coded])
    return [image, text, words]
