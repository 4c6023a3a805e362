"""Buckets of cases by the familiarity of their bindings (BindSplit, appendices B.6 and B.7)."""

from collections.abc import Collection, Mapping
from typing import Literal

Label = Literal["perfect", "close", "none"]
LABELS: tuple[Label, ...] = ("perfect", "close", "none")

SPLITS = ("full", "seen", "mixed", "unseen", "excluded")
EXCLUDED = "excluded"
CLOSE_ONLY = "amb_close_only"
# The split of each bucket, in the order of the paper's Table 19.
BUCKETS = {
    "definitely_seen": "seen",
    "amb_perfect_close": "mixed",
    "amb_mixed": "mixed",
    "amb_perfect_none": "mixed",
    CLOSE_ONLY: "mixed",
    "amb_close_none": "mixed",
    "definitely_unseen": "unseen",
}
AMBIGUOUS = tuple(name for name, split in BUCKETS.items() if split == "mixed")
# Cases in which all bindings, or none, overlap with training captions. By the strict rule only a
# perfect match is an overlap; by the loose rule a close match is one too.
STRICT = {
    "seen": ("definitely_seen",),
    "unseen": (CLOSE_ONLY, "amb_close_none", "definitely_unseen"),
}
LOOSE = {
    "seen": ("definitely_seen", "amb_perfect_close", CLOSE_ONLY),
    "unseen": ("definitely_unseen",),
}


def bucket(labels: Collection[Label]) -> str:
    """Returns the bucket of a case by the labels of its bindings, at least one."""
    return _BY_LABELS[frozenset(labels)]


_BY_LABELS: Mapping[frozenset[Label], str] = {
    frozenset({"perfect"}): "definitely_seen",
    frozenset({"perfect", "close"}): "amb_perfect_close",
    frozenset({"perfect", "close", "none"}): "amb_mixed",
    frozenset({"perfect", "none"}): "amb_perfect_none",
    frozenset({"close"}): CLOSE_ONLY,
    frozenset({"close", "none"}): "amb_close_none",
    frozenset({"none"}): "definitely_unseen",
}
