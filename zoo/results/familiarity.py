"""Familiarity: compares the bindings of cases with those of training captions (BindSplit).

The table of outcomes stores the bucket of each case; `splits.py` computes metrics from it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from zoo.benchmarks.aro.attribution import ATTRIBUTION
from zoo.benchmarks.aro.benchmark import ARO
from zoo.errors import ZooError
from zoo.familiarity.bindings import Binding, attribution_bindings, unit_bindings
from zoo.familiarity.buckets import BUCKETS, EXCLUDED, LABELS, LOOSE, STRICT, Label, bucket
from zoo.familiarity.table import BindingTable
from zoo.results.outcomes import SCHEMA
from zoo.results.plan import Plan
from zoo.results.runs import BenchmarkRun
from zoo.units.rules.rule import RuleExtractor

# In this subset, a published pattern finds the bindings.
PARSED = (ARO.name, ATTRIBUTION)

Labelled = tuple[tuple[Binding, Label], ...]
RunSubset = tuple[BenchmarkRun, str]


@dataclass(frozen=True)
class CaptionOverlap:
    """The familiarity of the bindings of one case.

    Attributes:
        case: Id of the case.
        right: Bindings of the right texts of its first image, with their labels.
        wrong: Bindings of its other texts, with their labels.
        bucket: The bucket; `excluded` if a text has no binding.
    """

    case: str
    right: Labelled
    wrong: Labelled
    bucket: str


Overlaps = dict[RunSubset, list[CaptionOverlap]]


class Familiarity:
    """Looks up the bindings of cases in a table of bindings of training captions.

    Args:
        table: The table.
    """

    def __init__(self, table: BindingTable) -> None:
        self.table = table
        self._extractor = RuleExtractor()
        self._cached_unit_bindings = cache(self._unit_bindings)

    def describe(self) -> dict[str, Any]:
        """Returns a description of the training captions and of the extractor, for results.json."""
        return {"training_captions": self.table.about, "extractor": self._extractor.describe()}

    def check_plan(self, plan: Plan) -> None:
        """Checks, before anything is measured, that each benchmark has a case to split.

        Raises:
            ZooError: A benchmark has no case with an attribute-object binding in each text.
        """
        for run, contents in plan.contents.items():
            cases = (case for case in contents.cases if not case.is_gallery)
            if not any(all(self._bindings((run, case.subset), case.texts)) for case in cases):
                raise ZooError(_no_split_message(str(run)))

    def overlaps(self, cases: pa.Table) -> Overlaps:
        """Returns the overlap of each case, by benchmark and subset, in the order of the cases.

        Retrieval is omitted, because its cases have no separate texts.

        Args:
            cases: Table of `outcomes.SCHEMA`.

        Raises:
            ZooError: No case has an attribute-object binding in each of its texts.
        """
        texts_by_subset: dict[RunSubset, dict[str, dict[str, bool]]] = {}
        for (run_subset, case), row_texts, match in _texts_and_labels(cases):
            right_by_text = texts_by_subset.setdefault(run_subset, {}).setdefault(case, {})
            for text, right in zip(row_texts, match, strict=False):
                right_by_text.setdefault(text, right)
        overlaps_by_subset = {
            run_subset: [
                self._case_overlap(run_subset, case, right) for case, right in right_by_case.items()
            ]
            for run_subset, right_by_case in texts_by_subset.items()
        }
        if all(
            overlap.bucket == EXCLUDED
            for subset_overlaps in overlaps_by_subset.values()
            for overlap in subset_overlaps
        ):
            names = dict.fromkeys(cases["benchmark"].to_pylist())
            raise ZooError(_no_split_message(", ".join(names) or "the run"))
        return overlaps_by_subset

    def _case_overlap(
        self, run_subset: RunSubset, case: str, right_by_text: Mapping[str, bool]
    ) -> CaptionOverlap:
        bindings_by_text = self._bindings(run_subset, right_by_text)
        sides: dict[bool, list[tuple[Binding, Label]]] = {True: [], False: []}
        for is_right, bindings in zip(right_by_text.values(), bindings_by_text, strict=True):
            sides[is_right] += [
                (binding, self.table.familiarity_label(binding)) for binding in bindings
            ]
        labels = [label for side in sides.values() for _, label in side]
        case_bucket = bucket(labels) if all(bindings_by_text) else EXCLUDED
        return CaptionOverlap(case, tuple(sides[True]), tuple(sides[False]), case_bucket)

    def _bindings(self, run_subset: RunSubset, texts: Iterable[str]) -> list[tuple[Binding, ...]]:
        is_attribution = (run_subset[0].benchmark, run_subset[1]) == PARSED
        return [
            attribution_bindings(text) if is_attribution else self._cached_unit_bindings(text)
            for text in texts
        ]

    def _unit_bindings(self, text: str) -> tuple[Binding, ...]:
        components = unit_bindings(self._extractor.extract(text, text, text))
        return tuple(binding for component in components for binding in component)


def add_bucket_column(cases: pa.Table, overlaps: Overlaps) -> pa.Table:
    """Returns the outcomes with the bucket of each case.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        overlaps: The overlap of each case.
    """
    bucket_by_case = {
        (run_subset, overlap.case): overlap.bucket
        for run_subset, subset_overlaps in overlaps.items()
        for overlap in subset_overlaps
    }
    buckets = [bucket_by_case.get(key) for key in _subsets_and_cases(cases)]
    index = SCHEMA.get_field_index("bucket")
    return cases.set_column(index, SCHEMA.field(index), pa.array(buckets, pa.string()))


def count_overlaps(overlaps: Overlaps) -> dict[str, dict[str, Any]]:
    """Returns counts of buckets and labels, by 'benchmark/subset'.

    If all cases of a subset are excluded, only their number is given.

    Args:
        overlaps: The overlap of each case.
    """
    return {
        f"{run}/{subset}": _count_buckets(subset_overlaps)
        for (run, subset), subset_overlaps in overlaps.items()
    }


def _count_buckets(overlaps: Sequence[CaptionOverlap]) -> dict[str, Any]:
    by_bucket = Counter(overlap.bucket for overlap in overlaps)
    counts: dict[str, Any] = {EXCLUDED: by_bucket.pop(EXCLUDED, 0), "split": by_bucket.total()}
    if not by_bucket:
        return counts
    counts["buckets"] = {name: by_bucket[name] for name in BUCKETS}
    for name, rule in (("strict", STRICT), ("loose", LOOSE)):
        counts[name] = {
            split: sum(by_bucket[bucket] for bucket in buckets) for split, buckets in rule.items()
        }
    for name, splits in (("full", {"seen", "mixed", "unseen"}), ("mixed", {"mixed"})):
        split_overlaps = [overlap for overlap in overlaps if BUCKETS.get(overlap.bucket) in splits]
        counts[f"labels, {name}"] = {
            "right": _count_labels(overlap.right for overlap in split_overlaps),
            "wrong": _count_labels(overlap.wrong for overlap in split_overlaps),
        }
    return counts


def _count_labels(bindings: Iterable[Labelled]) -> dict[str, int]:
    counts = Counter(label for labelled in bindings for _, label in labelled)
    return {label: counts[label] for label in LABELS}


def _texts_and_labels(
    cases: pa.Table,
) -> Iterator[tuple[tuple[RunSubset, str], list[str], list[bool]]]:
    """Yields subset and case, texts, and which are right for the first image, row by row."""
    columns = (cases[name].to_pylist() for name in ("texts", "match", "right_options"))
    for key, texts, match, right_options in zip(_subsets_and_cases(cases), *columns, strict=True):
        if right_options is None:
            yield key, texts, match


def _subsets_and_cases(cases: pa.Table) -> Iterator[tuple[RunSubset, str]]:
    columns = (cases[name].to_pylist() for name in ("benchmark", "run", "subset", "case"))
    for benchmark, run, subset, case in zip(*columns, strict=True):
        yield (BenchmarkRun(benchmark, run), subset), case


def _no_split_message(names: str) -> str:
    return (
        f"{names} has no case with an attribute-object binding in each of its texts, so that "
        "--familiar_with cannot split it. Run it without --familiar_with"
    )
