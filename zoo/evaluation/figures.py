"""Figures: what the outcomes of a benchmark come to, with interval, coverage and ties. Values are in per cent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.evaluation.outcomes import Judged, judged
from zoo.evaluation.statistics import bootstrap, wilson

MACRO = "macro"
# chance is one in the number of options; other figures take it from the benchmark
BY_OPTIONS = ("i2t", "t2i", "half_truth", "completion")

Place = tuple[str, str, str]


@dataclass(frozen=True)
class Reference:
    """What is known of a figure beforehand, in per cent: its chance level, and OpenAI ViT-B/32's published value."""

    chance: float | None = None
    published: float | None = None


@dataclass(frozen=True)
class Macro:
    """How a macro average is taken over groups: without some, and without those of fewer cases in the file than `at_least`."""

    without: frozenset[str] = frozenset()
    at_least: int = 1


@dataclass(frozen=True)
class Rules:
    """What counts as right, and what is averaged over groups.

    official_ties: a tie is right where the official script's argmax makes it so; else every tie is wrong. drop_identical: options equal
    to the right text are dropped. macros: by benchmark and subset; '*' is any subset.
    """

    official_ties: bool
    drop_identical: bool
    macros: Mapping[tuple[str, str], Macro]

    def macro(self, benchmark: str, subset: str) -> Macro | None:
        """Returns how that subset is averaged over groups, None where it is not."""
        return self.macros.get((benchmark, subset), self.macros.get((benchmark, "*")))


@dataclass(frozen=True)
class Figure:
    """One number of the report.

    figure: as the protocol names it, `macro` for the mean over groups. value, low, high: per cent and its 95 % interval, None where
    nothing was scored. n: queries scored, of: all that the file asks. ties: of those scored, wrong by `>` and right by `>=`. photographs,
    photographs_of: distinct ones scored and asked for; trained_on: scored ones that the model was trained on. chance, published: per
    cent, where known.
    """

    benchmark: str
    subset: str
    figure: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    n: int
    of: int
    ties: int
    photographs: int
    photographs_of: int
    trained_on: int
    chance: float | None = None
    published: float | None = None

    @property
    def coverage(self) -> float:
        """The share of queries that were scored."""
        return self.n / self.of if self.of else 0.0


def figures(outcomes: pa.Table, rules: Rules, references: Mapping[Place, Reference]) -> list[Figure]:
    """references: by benchmark, subset and figure. Returns the figures in the order of the table."""
    columns = ["benchmark", "subset", "figure"]
    found: list[Figure] = []
    for place in outcomes.select(columns).group_by(columns, use_threads=False).aggregate([]).to_pylist():
        benchmark, subset, figure = (place[column] for column in columns)
        same = [pc.equal(outcomes[column], place[column]) for column in columns]
        part = outcomes.filter(pc.and_(same[0], pc.and_(same[1], same[2])))
        outcome = judged(part, rules.official_ties, rules.drop_identical)
        by_image = part["protocol"][0].as_py() == "group"
        options = figure in BY_OPTIONS
        found.append(_figure((benchmark, subset, figure), outcome, by_image, False, options, references))
        macro = rules.macro(benchmark, subset)
        if macro is not None:
            found.append(_figure((benchmark, subset, MACRO), _grouped(outcome, macro), True, True, options, references))
    return found


def _grouped(outcome: Judged, macro: Macro) -> Judged:
    names, index, sizes = np.unique(outcome.group.astype(str), return_inverse=True, return_counts=True)
    counts = np.array([size >= macro.at_least and name not in macro.without for name, size in zip(names, sizes, strict=True)], dtype=bool)
    return outcome.where(counts[index])


def _figure(place: Place, outcome: Judged, by_image: bool, macro: bool, by_options: bool, references: Mapping[Place, Reference]) -> Figure:
    scored = outcome.where(outcome.scored)
    n = len(scored.right)
    groups = scored.group.astype(str) if macro else np.zeros(n)
    value = low = high = chance = None
    if n:
        value = _mean(scored.right, groups)
        clusters = ["|".join(images) for images in scored.images]
        low, high = bootstrap(scored.right, clusters, groups) if by_image else wilson(int(scored.right.sum()), n)
    if n and by_options:
        chance = _mean(1 / scored.options, groups)
    trained = {
        image for images, seen in zip(scored.images, scored.trained, strict=True) for image, s in zip(images, seen, strict=True) if s
    }
    reference = references.get(place, Reference())
    return Figure(
        *place,
        value=_per_cent(value),
        low=_per_cent(low),
        high=_per_cent(high),
        interval="bootstrap by photograph" if by_image else "Wilson",
        n=n,
        of=len(outcome.right),
        ties=int(scored.tie.sum()),
        photographs=len({image for images in scored.images for image in images}),
        photographs_of=len({image for images in outcome.images for image in images}),
        trained_on=len(trained),
        chance=_per_cent(chance) if by_options else reference.chance,
        published=reference.published,
    )


def _mean(values: NDArray[Any], groups: NDArray[Any]) -> float:
    """Returns the mean over groups of the mean inside each."""
    _, index = np.unique(groups, return_inverse=True)
    return float((np.bincount(index, values) / np.bincount(index)).mean())


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share
