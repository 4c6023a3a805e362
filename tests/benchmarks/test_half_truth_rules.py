from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.benchmarks.half_truth.rules import (
    CONDITIONS,
    condition_of,
    equal_length_texts,
    paper_texts,
    public_code_texts,
    without_doubtful_foils,
)
from zoo.units.caption_support import content_words
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

DOG = Entity(
    "Brown dog",
    (EntityFoil("brown cat", "object_change"), EntityFoil("white dog", "attribute_change")),
)
BALL = Entity(
    "red ball",
    (EntityFoil("red kite", "object_change"), EntityFoil("blue ball", "attribute_change")),
)
CHASES = Relation(
    "Brown dog",
    "chases",
    "red ball",
    (
        RelationFoil("Brown dog", "ignores", "red ball", "predicate_change", "predicate"),
        RelationFoil("red ball", "chases", "Brown dog", "argument_swap"),
        RelationFoil("brown cat", "chases", "red ball", "argument_change", "subject", "head"),
        RelationFoil("white dog", "chases", "red ball", "argument_change", "subject", "attribute"),
        RelationFoil("Brown dog", "chases", "red kite", "argument_change", "object", "head"),
        RelationFoil("Brown dog", "chases", "blue ball", "argument_change", "object", "attribute"),
    ),
)
PARK = UnitRecord("1_0", "1", "Brown dog chases a red ball", (DOG, BALL), (CHASES,))
SEA = UnitRecord("2_0", "2", "a surfer on the sea", (Entity("a surfer"), Entity("the sea")), ())


def by_condition(made, caption_id="1_0"):
    return {m.condition: m for m in made if m.record.caption_id == caption_id}


def test_the_paper_joins_anchor_and_foil_in_all_eight_conditions():
    found = by_condition(paper_texts([PARK, SEA], 10, seed=3))
    assert list(found) == list(CONDITIONS)
    for made in found.values():
        assert made.half_truth.startswith(f"{made.anchor} and ")
        assert made.truth.startswith(f"{made.anchor} and ")
        assert made.half_truth != made.truth
        assert made.anchor in ("Brown dog", "red ball")
    pair = {"Brown dog": "red ball", "red ball": "Brown dog"}
    assert found["+Obj"].truth == f"{found['+Obj'].anchor} and {pair[found['+Obj'].anchor]}"
    assert found["+Rand"].half_truth.removeprefix(f"{found['+Rand'].anchor} and ") in (
        "a surfer",
        "the sea",
    )
    assert found["Ant"].half_truth.endswith(" and Brown dog ignores red ball")
    assert found["Swap"].half_truth.endswith(" and red ball chases Brown dog")
    assert found["Subj"].half_truth.endswith(" and brown cat chases red ball")
    assert found["Rel:Obj"].half_truth.endswith(" and Brown dog chases red kite")
    assert found["Rel:Attr"].half_truth.endswith(
        (" and white dog chases red ball", " and Brown dog chases blue ball")
    )
    assert found["Ant"].truth.endswith(" and Brown dog chases red ball")


def test_half_truths_of_equal_words_are_as_long_as_the_true_completion():
    longer = (
        EntityFoil("big red ball", "attribute_change"),
        EntityFoil("green ball", "attribute_change"),
    )
    ball = Entity("red ball", longer)
    near = RelationFoil("Brown dog", "runs away from", "red ball", "predicate_change", "predicate")
    chases = Relation("Brown dog", "chases", "red ball", (near, *CHASES.foils[1:]))
    park = UnitRecord("1_0", "1", "Brown dog chases a red ball", (DOG, ball), (chases,))
    strangers = [
        UnitRecord("2_0", "2", "a surfer", (Entity("surfer"),), ()),
        UnitRecord("3_0", "3", "a wooden table", (Entity("wooden table"),), ()),
    ]
    conditions = Counter()
    for seed in range(40):
        made = equal_length_texts([park, *strangers], 10, seed)
        assert all(len(m.half_truth.split()) == len(m.truth.split()) for m in made)
        conditions.update(m.condition for m in made)
        found = by_condition(made)
        assert "big red" not in str(found)
        if "+Rand" in found:
            assert found["+Rand"].half_truth.endswith(" and wooden table")
    assert conditions.keys() == set(CONDITIONS) - {"Ant"}
    assert 0 < conditions["+Rand"] < 40


def test_both_arguments_come_up_as_anchor():
    anchors = Counter(
        by_condition(paper_texts([PARK], 1, seed))["Ant"].anchor for seed in range(100)
    )
    assert min(anchors["Brown dog"], anchors["red ball"]) > 30


def swaps(*relations):
    record = UnitRecord("1_0", "1", "c", (DOG, BALL), relations)
    return {
        made.half_truth.removeprefix(f"{made.anchor} and ")
        for seed in range(20)
        for made in paper_texts([record], 1, seed)
        if made.condition == "Swap"
    }


def test_the_paper_exchanges_arguments_unless_the_predicate_is_symmetric():
    assert swaps(Relation("Brown dog", "carries", "red ball")) == {"red ball carries Brown dog"}
    assert swaps(Relation("Brown dog", "next to", "red ball")) == set()
    assert swaps(Relation("red ball", "on", "Red ball")) == set()


def test_the_paper_takes_the_swap_of_the_units_where_they_have_one():
    own = RelationFoil("a red ball", "chases", "a dog", "argument_swap")
    assert swaps(Relation("Brown dog", "chases", "red ball", (own,))) == {"a red ball chases a dog"}


def test_a_foil_that_is_true_of_the_caption_is_no_half_truth():
    twins = (
        Entity("red cube", (EntityFoil("blue cube", "attribute_change"),)),
        Entity("blue cube"),
    )
    assert paper_texts([UnitRecord("1", "1", "a red cube and a blue cube", twins)], 1, 0) == []


def test_a_random_distractor_shares_no_word_with_the_caption_and_is_of_another_image():
    near_miss = UnitRecord("2_0", "2", "c", (Entity("the brown chair"), Entity("a ball")))
    same = UnitRecord("1_1", "1", "c", (Entity("wet grass"),))
    assert "+Rand" not in by_condition(paper_texts([PARK, near_miss, same], 10, 0))
    found = by_condition(paper_texts([PARK, near_miss, SEA], 10, 0))["+Rand"]
    assert not content_words(found.half_truth.removeprefix(found.anchor)) & content_words(
        PARK.caption
    )


def test_a_random_distractor_shares_no_word_with_any_caption_of_the_image():
    other_words = UnitRecord("1_1", "1", "a surfer beside a dog", (Entity("wide sea"),))
    elsewhere = UnitRecord("3_0", "3", "tall trees", (Entity("tall trees"),))
    assert "+Rand" not in by_condition(paper_texts([PARK, other_words, SEA], 10, 0))
    for seed in range(20):
        made = by_condition(paper_texts([PARK, other_words, SEA, elsewhere], 10, seed))["+Rand"]
        assert made.half_truth == f"{made.anchor} and tall trees"


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_the_paper_draws_one_caption_a_image_and_no_more_images_than_asked(seed, max_images):
    records = [
        UnitRecord(f"{i}_{k}", str(i), PARK.caption, PARK.entities, PARK.relations)
        for i in range(5)
        for k in range(3)
    ]
    made = paper_texts(records, max_images, seed)
    captions = {m.record.caption_id for m in made}
    assert len({m.record.image_id for m in made}) == len(captions) == min(max_images, 5)
    assert made == paper_texts(records, max_images, seed)
    assert max(Counter((m.record.caption_id, m.condition) for m in made).values()) == 1


def test_a_caption_without_units_gives_way_to_another_of_its_image():
    empty = UnitRecord("1_1", "1", "nothing", ())
    assert all(by_condition(paper_texts([empty, PARK], 1, seed)) for seed in range(10))


def test_the_public_code_compares_the_foil_relation_alone_in_lower_case():
    found = by_condition(public_code_texts([PARK, SEA], 10, 0))
    assert {c: (m.anchor, m.half_truth, m.truth) for c, m in found.items()} == {
        "+Obj": ("brown dog", "brown dog and red kite", "brown dog and red ball"),
        "+Attr": ("brown dog", "brown dog and blue ball", "brown dog and red ball"),
        "Rel:Attr": ("brown dog", "brown dog chases blue ball", "brown dog chases red ball"),
        "Rel:Obj": ("brown dog", "brown dog chases red kite", "brown dog chases red ball"),
        "Ant": ("brown dog", "brown dog ignores red ball", "brown dog chases red ball"),
        "Swap": ("brown dog", "red ball chases brown dog", "brown dog chases red ball"),
        "Subj": ("brown dog", "brown cat chases red ball", "brown dog chases red ball"),
    }


def test_the_public_code_takes_the_distractor_from_another_record_unchecked():
    other = UnitRecord("2_0", "2", "c", (SEA.entities[0], DOG))
    assert (
        by_condition(public_code_texts([PARK, other], 10, 0))["+Rand"].half_truth
        == "brown dog and brown dog"
    )


def test_the_public_code_takes_the_first_caption_and_counts_entities_and_relations_apart():
    only_entities = UnitRecord("0_0", "0", "c", (DOG, BALL))
    later = UnitRecord("1_1", "1", "c", (BALL, DOG), (CHASES,))
    made = public_code_texts([only_entities, PARK, later], 1, 0)
    assert {m.record.caption_id for m in made if m.condition.startswith("+")} == {"0_0"}
    assert {m.record.caption_id for m in made if not m.condition.startswith("+")} == {"1_0"}


def test_the_public_code_drops_a_relation_foil_whose_part_says_nothing_and_needs_two_kinds():
    on = Relation(
        "dog",
        "is under",
        "mat",
        (RelationFoil("dog", "is on", "mat", "predicate_change", "predicate"),),
    )
    assert public_code_texts([UnitRecord("1", "1", "c", (), (on,))], 1, 0) == []
    under = Relation(
        "dog",
        "is on",
        "mat",
        (RelationFoil("dog", "is under", "mat", "predicate_change", "predicate"),),
    )
    assert [
        m.condition for m in public_code_texts([UnitRecord("1", "1", "c", (), (under,))], 1, 0)
    ] == [
        "Ant",
        "Swap",
    ]


def test_the_public_code_falls_back_to_the_first_entity_that_contains_the_argument():
    relation = Relation("dog", "near", "ball", ())
    found = by_condition(
        public_code_texts([UnitRecord("1_0", "1", "c", (DOG, BALL), (relation,))], 1, 0)
    )
    assert found["Subj"].half_truth == "brown cat near ball"
    assert found["Rel:Obj"].half_truth == "dog near red kite"


@pytest.mark.parametrize(
    ("edit", "component", "part", "condition"),
    [
        ("antonym", None, None, "Ant"),
        ("negation", "predicate", None, None),
        ("argument_swap", None, None, "Swap"),
        ("argument_change", "subject", None, "Subj"),
        ("argument_change", "object", "attribute", "Rel:Attr"),
        ("attribute_change", "subject", None, "Rel:Attr"),
        ("entity_change", "object", None, "Rel:Obj"),
        ("anything", None, None, None),
    ],
)
def test_conditions_of_relation_foils(edit, component, part, condition):
    assert condition_of(RelationFoil("a", "b", "c", edit, component, part)) == condition


def test_a_random_distractor_shares_no_word_in_another_form():
    dogs = UnitRecord("2_0", "2", "c", (Entity("two dogs"), Entity("balls"), Entity("a chasing")))
    assert "+Rand" not in by_condition(paper_texts([PARK, dogs], 10, 0))


def record(caption, *foils, caption_id="1_0", entity="red ball"):
    return UnitRecord(
        caption_id, "1", caption, (Entity(entity, tuple(EntityFoil(*foil) for foil in foils)),)
    )


@pytest.mark.parametrize(
    ("foil", "other", "stays"),
    [
        ("blue ball", "a dog and a blue kite", False),
        ("red balloons", "a balloon", False),
        ("running ball", "somebody runs", False),
        ("running ball", "somebody is running", False),
        ("blue ball", "a red ball", True),
        ("brown ball", "a brown dog", True),
        ("red balls", "many balls", True),
    ],
)
def test_a_foil_stays_where_no_other_caption_has_the_words_that_it_brings(foil, other, stays):
    """Words of its own caption are not brought, in whatever form: here "brown" and "ball"."""
    one = record("a brown dog and a red ball", (foil, "attribute_change"), ("x", "unknown"))
    two = record(other, caption_id="1_1")
    elsewhere = UnitRecord("2_0", "2", f"{foil}", ())
    kept, counted = without_doubtful_foils([one, two, elsewhere])
    assert [f.text for f in kept[0].entities[0].foils] == [*([foil] if stays else []), "x"]
    assert counted == {"+Attr": (1, int(not stays))}


def test_the_public_code_takes_no_entity_that_says_nothing():
    it, on = Entity("it", DOG.foils), Entity("on it", BALL.foils)
    assert public_code_texts([UnitRecord("1_0", "1", "c", (it, DOG))], 1, 0) == []
    assert public_code_texts([UnitRecord("1_0", "1", "c", (DOG, on))], 1, 0) == []
    made = public_code_texts([UnitRecord("1_0", "1", "c", (it, DOG, BALL))], 1, 0)
    assert {m.anchor for m in made} == {"brown dog"}


def test_the_public_code_does_not_score_a_relation_whose_subject_says_nothing():
    relation = Relation("it", "chases", "red ball", CHASES.foils)
    later = UnitRecord("1_1", "1", "c", (DOG, BALL), (CHASES,))
    assert public_code_texts([UnitRecord("1_0", "1", "c", (BALL,), (relation,)), later], 1, 0) == [
        m for m in public_code_texts([later], 1, 0) if m.condition.startswith("+")
    ]
