"""Compare: two runs over the same cases. Which outcomes differ and by what margins, and whether by more than chance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from zoo.errors import ZooError
from zoo.evaluation.figures import Place
from zoo.evaluation.statistics import benjamini_hochberg, mcnemar

KEYS = ("benchmark", "subset", "case", "query", "figure")
Key = tuple[str, str, str, int, str]
Entry = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """An outcome that two runs do not share. Margins: worst right score minus best wrong one; None where a run did not score the case."""

    benchmark: str
    subset: str
    case: str
    query: int
    figure: str
    first_right: bool | None
    second_right: bool | None
    first_margin: float
    second_margin: float


@dataclass(frozen=True)
class Paired:
    """McNemar's test of one figure, strict outcomes. both: queries that both runs scored; first, second: right in that run alone; p: mid-p;
    q: adjusted over all figures compared (Benjamini and Hochberg)."""

    place: Place
    both: int
    first: int
    second: int
    p: float
    q: float


def differences(first: pa.Table, second: pa.Table) -> list[Difference]:
    """Returns the outcomes that differ, smallest margins first; raises ZooError where the runs are not over the same cases."""
    found = []
    for key, a, b in _matched(first, second):
        if a["right"] != b["right"]:
            found.append(Difference(*key, a["right"], b["right"], margin(a), margin(b)))
    return sorted(
        found,
        key=lambda d: (
            np.nan_to_num(max(abs(d.first_margin), abs(d.second_margin)), nan=np.inf),
            d.case,
        ),
    )


def paired(first: pa.Table, second: pa.Table) -> list[Paired]:
    """Returns a test for every figure that both runs scored; raises ZooError where the runs are not over the same cases."""
    by_place: dict[Place, list[tuple[bool, bool]]] = {}
    for key, a, b in _matched(first, second):
        if a["right"] is not None and b["right"] is not None:
            by_place.setdefault((key[0], key[1], key[4]), []).append((a["right"], b["right"]))
    outcomes = {place: np.array(pairs) for place, pairs in by_place.items()}
    if not outcomes:
        return []
    p = [mcnemar(pairs[:, 0], pairs[:, 1]) for pairs in outcomes.values()]
    q = benjamini_hochberg(p)
    return [
        Paired(
            place,
            len(o),
            int((o[:, 0] & ~o[:, 1]).sum()),
            int((o[:, 1] & ~o[:, 0]).sum()),
            one_p,
            float(one_q),
        )
        for (place, o), one_p, one_q in zip(outcomes.items(), p, q, strict=True)
    ]


def largest_difference(first: pa.Table, second: pa.Table) -> float:
    """Returns the largest absolute difference of two runs' scores; raises ZooError where the runs are not over the same cases."""
    largest = 0.0
    for _, a, b in _matched(first, second):
        if a["scores"] is not None and b["scores"] is not None:
            one, other = np.array(a["scores"]), np.array(b["scores"])
            same = one == other  # minus infinity, off a short-list, has no difference from itself
            largest = max(
                largest, float(np.abs(np.where(same, 0.0, one) - np.where(same, 0.0, other)).max())
            )
    return largest


def margin(row: Entry) -> float:
    """Returns by how much the worst right score is above the best wrong one, not a number where the case was not scored."""
    if row["scores"] is None:
        return float("nan")
    scores, match = np.array(row["scores"], dtype=np.float64), np.array(row["match"], dtype=bool)
    return float(scores[match].min() - scores[~match].max())


def _matched(first: pa.Table, second: pa.Table) -> list[tuple[Key, Entry, Entry]]:
    a, b = _by_key(first), _by_key(second)
    if a.keys() != b.keys():
        alone = next(iter(a.keys() ^ b.keys()))
        raise ZooError(
            f"the two runs are not over the same cases: {len(a.keys() ^ b.keys()):,} are in one alone, such as {alone}"
        )
    return [(key, row, b[key]) for key, row in a.items()]


def _by_key(table: pa.Table) -> dict[Key, Entry]:
    columns = table.select([*KEYS, "right", "scores", "match"]).to_pylist()
    return {tuple(row[key] for key in KEYS): row for row in columns}
