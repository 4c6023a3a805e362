"""Gaps between the splits of a comparison: how much lower a run is on the second of two splits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from zoo.results.comparison.lines import ComparisonLine
from zoo.scenes.blocks import SPLITS as BLOCK_SPLITS

# BindSplit, Tables 6, 8, 10, 12, 14 and 16
FAMILIARITY_GAPS = (("full", "seen"), ("mixed", "seen"), ("seen", "unseen"), ("full", "unseen"))
# BindSplit, Table 3; the splits of a block of held-out bindings are subsets of the benchmark
BLOCK_GAPS = tuple(combinations(BLOCK_SPLITS, 2))
# a recall of images is among those of the split, of which another split has more or fewer
AMONG_IMAGES_OF_SPLIT = "t2i_r@"


@dataclass(frozen=True)
class SplitGap:
    """The gap of all runs between two splits of a metric.

    Attributes:
        metric: Name of the metric, without the split.
        splits: Names of both splits.
        values: The first split minus the second in percentage points, by run; positive for a drop.
        published: The same of published models, None where one of both values was not published.
    """

    metric: str
    splits: tuple[str, str]
    values: tuple[float, ...]
    published: tuple[float | None, ...] = ()


def compute_split_gaps(
    lines: Iterable[ComparisonLine], reference_models: Sequence[str] = ()
) -> list[SplitGap]:
    """Returns the gaps between splits of familiarity, and between those of held-out blocks.

    Recalls of images are left out, because splits have galleries of other sizes.

    Args:
        lines: The rows of a comparison.
        reference_models: Models whose published values the rows have.
    """
    metrics = [
        line
        for line in lines
        if not (line.name.is_mean or line.name.metric.startswith(AMONG_IMAGES_OF_SPLIT))
    ]
    return [
        *_gaps(
            (line for line in metrics if line.name.split),
            lambda line: (line.name.split, str(replace(line.name, split=""))),
            FAMILIARITY_GAPS,
            reference_models,
        ),
        *_gaps(
            (line for line in metrics if not line.name.split and line.name.subset in BLOCK_SPLITS),
            lambda line: (line.name.subset, f"{line.name.benchmark}/{line.name.metric}"),
            BLOCK_GAPS,
            reference_models,
        ),
    ]


def _gaps(
    lines: Iterable[ComparisonLine],
    split_and_metric: Callable[[ComparisonLine], tuple[str, str]],
    gaps: Sequence[tuple[str, str]],
    reference_models: Sequence[str],
) -> Iterator[SplitGap]:
    by_metric: dict[tuple[str, str], dict[str, ComparisonLine]] = {}
    for line in lines:
        split, metric = split_and_metric(line)
        by_metric.setdefault((line.name.preset, metric), {})[split] = line
    for (_, metric), by_split in by_metric.items():
        for first, second in gaps:
            if first in by_split and second in by_split:
                pair = by_split[first], by_split[second]
                values = zip(*(line.values for line in pair), strict=True)
                yield SplitGap(
                    metric,
                    (first, second),
                    tuple(minuend.value - subtrahend.value for minuend, subtrahend in values),
                    tuple(_published_gap(*pair, model) for model in reference_models),
                )


def _published_gap(first: ComparisonLine, second: ComparisonLine, model: str) -> float | None:
    """Returns the gap of a published model, from a source that has both values."""
    values = [
        {figure.source: figure.value for figure in line.published if figure.model == model}
        for line in (first, second)
    ]
    source = next((source for source in values[0] if source in values[1]), None)
    return None if source is None else values[0][source] - values[1][source]
