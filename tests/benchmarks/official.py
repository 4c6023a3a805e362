"""A benchmark against its official rule, which a test writes a second time, as loops."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zoo.benchmarks.base import Benchmark, Case
from zoo.benchmarks.roots import read_benchmark, resolve_case_images
from zoo.sources.images import ImageFinder

Answers = Mapping[str, bool | float]
Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True)
class Asked:
    """A question as the published file has it.

    Attributes:
        subset: The subset.
        id: The case's id.
        rule: Answers by metric, from the score of each text for the image.
        photo: The photograph, None where it is not here.
        box: What is cropped.
    """

    subset: str
    id: str
    rule: Callable[[Callable[[str], float]], Answers]
    photo: Path | None = None
    box: Box | None = None


def counted(case: Case, scores: NDArray[np.float32]) -> dict[str, bool | float]:
    """Returns the answers by metric, ties counted as the official script counts them."""
    outcomes = case.judge(scores)
    assert len({outcome.metric for outcome in outcomes}) == len(outcomes)
    return {
        o.metric: (o.right or (o.tie and case.tie_is_right(o))) if o.value is None else o.value
        for o in outcomes
    }


@cache
def text_vector(text: str) -> NDArray[np.float64]:
    return np.random.default_rng(zlib.crc32(text.encode())).choice([-1.0, 1.0], 12)


def eye(image: Image.Image) -> Callable[[str], float]:
    """Returns the scores of texts for a photograph: by its colours, and so coarse that they tie."""
    colours = np.asarray(image.resize((2, 2), Image.Resampling.BOX), dtype=np.float64).ravel() / 64
    return lambda text: float(np.round(colours @ text_vector(text)))


def argmax(texts: Sequence[str], answer: int) -> Callable[[Callable[[str], float]], Answers]:
    """Returns the rule that takes the first of the highest scores."""

    def rule(score: Callable[[str], float]) -> Answers:
        best = 0
        for k in range(len(texts)):
            if score(texts[k]) > score(texts[best]):
                best = k
        return {"i2t": best == answer}

    return rule


def hold(
    benchmark: Benchmark, roots: Sequence[Path], questions: Iterable[Asked], every: int = 1
) -> int:
    """Compares every outcome, on random scores full of ties and on the photographs that are here.

    Args:
        benchmark: The benchmark.
        roots: The data roots.
        questions: The questions of the published file.
        every: Only every so many questions are asked of their photographs.

    Returns:
        The number of questions that were asked of photographs.
    """
    asked = {(q.subset, q.id): q for q in questions}
    generator, finder, seen = np.random.default_rng(0), ImageFinder(roots), 0
    contents = resolve_case_images(read_benchmark(benchmark, roots), finder)
    cases = {(case.subset, case.id): case for case in contents.cases}
    assert list(cases) == list(asked)
    load = cache(lambda image: eye(finder.load(image)))
    for number, (key, case) in enumerate(cases.items()):
        question, drawn = asked[key], dict[str, float]()
        for text in case.texts:
            drawn.setdefault(text, float(generator.integers(0, 3)))
        assert counted(case, table(case, drawn.__getitem__)) == question.rule(drawn.__getitem__)
        missing = (
            case.images[0] in contents.uncroppable_images or finder.find(case.images[0]) is None
        )
        assert missing == (question.photo is None), key
        if question.photo is not None and number % every == 0:
            seen += 1
            score = photograph(question.photo, question.box)
            assert counted(case, table(case, load(case.images[0]))) == question.rule(score), key
    photograph.cache_clear()
    return seen


@cache
def photograph(path: Path, box: Box | None) -> Callable[[str], float]:
    with Image.open(path) as file:
        image = file.convert("RGB")
    return eye(image if box is None else image.crop(box))


def table(case: Case, score: Callable[[str], float]) -> NDArray[np.float32]:
    return np.array([[score(text) for text in case.texts]], dtype=np.float32)


def there(path: Path) -> Path | None:
    return path if path.is_file() else None
