"""Strategies for records, and a worked record that several tests use."""

from hypothesis import strategies as st

from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

words = st.text(min_size=1, max_size=12).filter(str.strip)
edits = st.sampled_from(
    [
        "object_change",
        "attribute_change",
        "predicate_change",
        "argument_swap",
        "argument_change",
        "my own word",
    ]
)
entities = st.builds(
    Entity, words, st.lists(st.builds(EntityFoil, words, edits), max_size=4).map(tuple)
)
relation_foils = st.builds(
    RelationFoil,
    *(words, words, words, edits),
    component=st.sampled_from([None, "subject", "predicate", "object"]),
    part=st.sampled_from([None, "head", "attribute"]),
)
relations = st.builds(
    Relation, words, words, words, st.lists(relation_foils, max_size=4).map(tuple)
)
records = st.builds(
    UnitRecord,
    *(
        words,
        words,
        words,
        st.lists(entities, max_size=4).map(tuple),
        st.lists(relations, max_size=3).map(tuple),
    ),
    source=st.dictionaries(words, st.one_of(words, st.integers(), st.none()), max_size=2),
)

CATS = UnitRecord(
    "17#0",
    "17",
    "Two cats sleep on a grey sofa",
    (
        Entity(
            "two cats",
            (
                EntityFoil("two rabbits", "object_change"),
                EntityFoil("three cats", "attribute_change"),
            ),
        ),
        Entity("grey sofa", (EntityFoil("red sofa", "attribute_change"),)),
    ),
    (
        Relation(
            *("two cats", "sleep on", "grey sofa"),
            foils=(
                RelationFoil("two cats", "play on", "grey sofa", "predicate_change", "predicate"),
                RelationFoil("grey sofa", "sleep on", "two cats", "argument_swap"),
            ),
        ),
    ),
    {"extractor": "by hand"},
)
