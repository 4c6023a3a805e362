"""Familiarity: the bindings of cases held against those of training captions (BindSplit).

The table of outcomes keeps the bucket of each case, of which `splits.py` makes metrics.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.aro.swapped import ATTRIBUTION
from zoo.errors import ZooError
from zoo.familiarity.bindings import Binding, of_attribution, of_units
from zoo.familiarity.buckets import BUCKETS, EXCLUDED, LABELS, LOOSE, STRICT, Label, bucket
from zoo.familiarity.table import BindingTable
from zoo.results.outcomes import SCHEMA
from zoo.results.plan import Plan
from zoo.results.runs import BenchmarkRun
from zoo.units.rules.rule import RuleExtractor

# Of this subset a published pattern finds the bindings.
PARSED = (ARO.name, ATTRIBUTION)

Labelled = tuple[tuple[Binding, Label], ...]
Part = tuple[BenchmarkRun, str]


@dataclass(frozen=True)
class CaptionOverlap:
    """What training captions have of the bindings of one case.

    Attributes:
        case: Id of the case.
        right: Bindings of the texts that are right for its first image, with their labels.
        wrong: Bindings of its other texts, with their labels.
        bucket: The bucket; `excluded` where a text has no binding.
    """

    case: str
    right: Labelled
    wrong: Labelled
    bucket: str


Overlaps = dict[Part, list[CaptionOverlap]]


class Familiarity:
    """Finds the bindings of cases in a table of training captions' bindings.

    Args:
        table: The table.
    """

    def __init__(self, table: BindingTable) -> None:
        self.table = table
        self._extractor = RuleExtractor()
        self._by_units = cache(self._of_units)

    def describe(self) -> dict[str, Any]:
        """Returns what results say of the training captions, and of what found bindings."""
        return {"with": self.table.about, "bindings_by": self._extractor.describe()}

    def check(self, plan: Plan) -> None:
        """Makes sure, before anything is measured, that each benchmark has a case to split.

        Raises:
            ZooError: Of a benchmark, no case binds an attribute to an object in each of its texts.
        """
        for run, contents in plan.contents.items():
            cases = (case for case in contents.cases if not case.gallery)
            if not any(all(self._bindings((run, case.subset), case.texts)) for case in cases):
                raise ZooError(_unsplit(str(run)))

    def overlaps(self, cases: pa.Table) -> Overlaps:
        """Returns the overlap of each case, by benchmark and subset, in the order of the cases.

        A retrieval has no cases with texts of their own, and is left out.

        Args:
            cases: Table of `outcomes.SCHEMA`.

        Raises:
            ZooError: No case binds an attribute to an object in each of its texts.
        """
        texts: dict[Part, dict[str, dict[str, bool]]] = {}
        for (part, case), own, match in _texts_and_labels(cases):
            known = texts.setdefault(part, {}).setdefault(case, {})
            for text, right in zip(own, match, strict=False):
                known.setdefault(text, right)
        found = {
            part: [self._overlap(part, case, right) for case, right in of.items()]
            for part, of in texts.items()
        }
        if all(one.bucket == EXCLUDED for of in found.values() for one in of):
            names = dict.fromkeys(cases["benchmark"].to_pylist())
            raise ZooError(_unsplit(", ".join(names) or "the run"))
        return found

    def _overlap(self, part: Part, case: str, right: Mapping[str, bool]) -> CaptionOverlap:
        bound = self._bindings(part, right)
        sides: dict[bool, list[tuple[Binding, Label]]] = {True: [], False: []}
        for is_right, bindings in zip(right.values(), bound, strict=True):
            sides[is_right] += [(one, self.table.label(one)) for one in bindings]
        labels = [label for side in sides.values() for _, label in side]
        found = bucket(labels) if all(bound) else EXCLUDED
        return CaptionOverlap(case, tuple(sides[True]), tuple(sides[False]), found)

    def _bindings(self, part: Part, texts: Iterable[str]) -> list[tuple[Binding, ...]]:
        parsed = (part[0].benchmark, part[1]) == PARSED
        return [of_attribution(text) if parsed else self._by_units(text) for text in texts]

    def _of_units(self, text: str) -> tuple[Binding, ...]:
        components = of_units(self._extractor.extract(text, text, text))
        return tuple(one for component in components for one in component)


def with_buckets(cases: pa.Table, overlaps: Overlaps) -> pa.Table:
    """Returns the outcomes with the bucket of each case.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        overlaps: The overlap of each case.
    """
    known = {(part, one.case): one.bucket for part, of in overlaps.items() for one in of}
    buckets = [known.get(key) for key in _keys(cases)]
    place = SCHEMA.get_field_index("bucket")
    return cases.set_column(place, SCHEMA.field(place), pa.array(buckets, pa.string()))


def summary(overlaps: Overlaps) -> dict[str, dict[str, Any]]:
    """Counts buckets and labels, by 'benchmark/subset'.

    A subset of which all cases are excluded has its number alone.

    Args:
        overlaps: The overlap of each case.
    """
    return {f"{run}/{subset}": _counts(of) for (run, subset), of in overlaps.items()}


def _counts(overlaps: Sequence[CaptionOverlap]) -> dict[str, Any]:
    by_bucket = Counter(one.bucket for one in overlaps)
    counts: dict[str, Any] = {EXCLUDED: by_bucket.pop(EXCLUDED, 0), "split": by_bucket.total()}
    if not by_bucket:
        return counts
    counts["buckets"] = {name: by_bucket[name] for name in BUCKETS}
    for name, rule in (("strict", STRICT), ("loose", LOOSE)):
        counts[name] = {
            split: sum(by_bucket[one] for one in buckets) for split, buckets in rule.items()
        }
    for name, splits in (("full", {"seen", "mixed", "unseen"}), ("mixed", {"mixed"})):
        kept = [one for one in overlaps if BUCKETS.get(one.bucket) in splits]
        counts[f"labels, {name}"] = {
            "right": _labels(one.right for one in kept),
            "wrong": _labels(one.wrong for one in kept),
        }
    return counts


def _labels(bindings: Iterable[Labelled]) -> dict[str, int]:
    found = Counter(label for labelled in bindings for _, label in labelled)
    return {label: found[label] for label in LABELS}


def _texts_and_labels(cases: pa.Table) -> Iterator[tuple[tuple[Part, str], list[str], list[bool]]]:
    """Yields part and case, texts, and which are right for the first image, row by row."""
    columns = (cases[name].to_pylist() for name in ("texts", "match", "right_options"))
    for key, texts, match, right_options in zip(_keys(cases), *columns, strict=True):
        if right_options is None:
            yield key, texts, match


def _keys(cases: pa.Table) -> Iterator[tuple[Part, str]]:
    columns = (cases[name].to_pylist() for name in ("benchmark", "run", "subset", "case"))
    for benchmark, run, subset, case in zip(*columns, strict=True):
        yield (BenchmarkRun(benchmark, run), subset), case


def _unsplit(names: str) -> str:
    return (
        f"{names} has no case whose texts all give an object an attribute, by which "
        "--familiar_with could split it: measure it without --familiar_with"
    )
