"""Buckets of cases are those of BindSplit's Table 19, and add up to its totals."""

from itertools import product

import pytest

from zoo.familiarity.buckets import AMBIGUOUS, BUCKETS, LABELS, LOOSE, STRICT, Label, bucket

# BindSplit, Tables 1, 19 and 20, on VG-Attribution with COCO's training captions
PUBLISHED = {
    "definitely_seen": 4_329,
    "amb_perfect_close": 2_971,
    "amb_mixed": 5_270,
    "amb_perfect_none": 13_186,
    "amb_close_only": 5,
    "amb_close_none": 433,
    "definitely_unseen": 314,
}


@pytest.mark.parametrize("labels", [*product(LABELS, repeat=4)])
def test_four_labels_have_the_bucket_that_the_rule_of_the_paper_gives(
    labels: tuple[Label, ...],
) -> None:
    perfect, close, none = map(labels.count, LABELS)
    rules = {
        "definitely_seen": perfect == 4,
        "amb_perfect_close": perfect > 0 and close > 0 and none == 0,
        "amb_mixed": perfect > 0 and close > 0 and none > 0,
        "amb_perfect_none": perfect > 0 and close == 0 and none > 0,
        "amb_close_only": close == 4,
        "amb_close_none": perfect == 0 and close > 0 and none > 0,
        "definitely_unseen": none == 4,
    }
    assert [name for name, holds in rules.items() if holds] == [bucket(labels)]
    seen = {"strict": perfect == 4, "loose": none == 0}
    unseen = {"strict": perfect == 0, "loose": none == 4}
    for name, rule in (("strict", STRICT), ("loose", LOOSE)):
        assert (bucket(labels) in rule["seen"]) == seen[name]
        assert (bucket(labels) in rule["unseen"]) == unseen[name]


def test_the_splits_have_the_published_sums() -> None:
    assert list(PUBLISHED) == list(BUCKETS)

    def total(names: tuple[str, ...]) -> int:
        return sum(PUBLISHED[name] for name in names)

    assert total(AMBIGUOUS) == 21_865
    assert total(tuple(BUCKETS)) == 26_508
    assert [total(STRICT["seen"]), total(STRICT["unseen"])] == [4_329, 752]
    assert [total(LOOSE["seen"]), total(LOOSE["unseen"])] == [7_305, 314]
    by_split = dict.fromkeys(BUCKETS.values(), 0)
    for name, n in PUBLISHED.items():
        by_split[BUCKETS[name]] += n
    assert by_split == {"seen": 4_329, "mixed": 21_865, "unseen": 314}
