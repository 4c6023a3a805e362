"""The sampler: what it draws, how often, and what it never does."""

import hashlib
from collections import Counter
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.units.records import CATS, records
from zoo.errors import ZooError
from zoo.support.configurable import to_config
from zoo.units.reader import write_units
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord
from zoo.units.sampler import UnitSampler

ROOM = UnitRecord(
    "1",
    "1",
    "c",
    tuple(
        Entity(t, (EntityFoil(f"not {t}", "object_change"),))
        for t in ("cat", "dog", "sofa", "lamp")
    ),
)


def sampler(**arguments: Any) -> UnitSampler:
    return UnitSampler("units.jsonl", **arguments)


def draws(record: UnitRecord, n: int, **arguments: Any) -> list[tuple[str, str | None]]:
    """The first draw of n independent captions."""
    return [
        pair
        for seed in range(n)
        if (pair := sampler(**arguments).draw_units(record, Random(seed))[0])
    ]


@given(
    records,
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 99),
)
def test_draws_are_minimal_edits_of_units_of_the_record_and_never_repeat(
    record: UnitRecord, n_units: int, most: int, p_rel: float, seed: int
) -> None:
    drawing = sampler(n_units=n_units, max_conjunction=most, p_rel=p_rel, with_replacement=False)
    pairs = drawing.draw_units(record, Random(seed))
    assert pairs == drawing.draw_units(record, Random(seed))
    assert len(pairs) == n_units
    drawn = [pair for pair in pairs if pair]
    assert pairs[len(drawn) :] == [None] * (n_units - len(drawn))
    assert len({text for text, _ in drawn}) == len(drawn)
    for pair in drawn:
        assert pair in allowed(record, most)


def allowed(record: UnitRecord, most: int) -> set[tuple[str, str | None]]:
    """All pairs that a record allows, written out."""
    pairs: set[tuple[str, str | None]] = set()
    for relation in record.relations:
        pairs |= {(relation.text, f.text) for f in relation.foils} or {(relation.text, None)}
    for entity in record.entities:
        for size in range(1, most + 1):
            for members in permutations({e.text for e in record.entities}, size):
                if entity.text in members:
                    for foil in [f.text for f in entity.foils] or [None]:
                        wrong = foil and " and ".join(
                            foil if m == entity.text else m for m in members
                        )
                        pairs.add((" and ".join(members), wrong))
    return pairs


def test_without_replacement_relations_come_first_and_entities_once_they_are_used_up() -> None:
    pairs = sampler(n_units=4, conjunction_share=0.0, with_replacement=False).draw_units(
        CATS, Random(0)
    )
    assert pairs[0] is not None
    assert pairs[0][0] == "two cats sleep on grey sofa"
    assert {pair[0] for pair in pairs[1:3] if pair} == {"two cats", "grey sofa"}
    assert pairs[3] is None


@pytest.mark.parametrize("p_rel", [0.0, 0.3, 1.0])
def test_p_rel_is_the_share_of_relations_in_every_draw(p_rel: float) -> None:
    drawn = [sampler(n_units=3, p_rel=p_rel).draw_units(CATS, Random(seed)) for seed in range(1000)]
    for k in range(3):
        share = sum("sleep" in pairs[k][0] for pairs in drawn if pairs[k]) / 1000
        assert share == pytest.approx(p_rel, abs=0.05)


def test_a_unit_without_a_foil_comes_after_all_units_with_one() -> None:
    record = UnitRecord("1", "1", "c", (Entity("sky"), CATS.entities[0], CATS.entities[1]))
    for seed in range(20):
        pairs = sampler(n_units=3, conjunction_share=0.0, with_replacement=False).draw_units(
            record, Random(seed)
        )
        assert pairs[2] == ("sky", None)


def test_edits_are_drawn_uniformly_before_foils() -> None:
    foils = (
        EntityFoil("no", "attribute_change"),
        *(EntityFoil(f"o{i}", "object_change") for i in range(9)),
    )
    drawn = Counter(
        foil for _, foil in draws(UnitRecord("1", "1", "c", (Entity("cat", foils),)), 1000)
    )
    assert drawn["no"] / 1000 == pytest.approx(0.5, abs=0.06)
    assert len(drawn) == 10


def test_edits_select_foils() -> None:
    for _, foil in draws(CATS, 20, edits=["argument_swap"]):
        assert foil == "grey sofa sleep on two cats"
    assert {foil for _, foil in draws(CATS, 20, edits=["object_change"], conjunction_share=0)} == {
        "two rabbits"
    }


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_swap_share_is_the_share_of_foils_with_exchanged_arguments(share: float) -> None:
    drawn = Counter(foil for _, foil in draws(CATS, 1000, swap_share=share))
    swapped = drawn.pop("grey sofa sleep on two cats", 0)
    assert swapped / 1000 == pytest.approx(share, abs=0.05)
    assert sum(drawn.values()) == 1000 - swapped
    assert None not in drawn


def test_swap_share_exchanges_the_arguments_of_relations_without_such_a_foil() -> None:
    def drawn(predicate: str, *foils: RelationFoil) -> set[tuple[str, str | None]]:
        relation = Relation("man", predicate, "horse", foils)
        return set(draws(UnitRecord("1", "1", "c", (), (relation,)), 20, swap_share=1.0))

    assert drawn("riding") == {("man riding horse", "horse riding man")}
    assert drawn("next to") == {("man next to horse", None)}
    leading = RelationFoil("man", "leading", "horse", "predicate_change", "predicate")
    assert drawn("next to", leading) == {("man next to horse", "man leading horse")}


def test_a_relation_with_nothing_but_a_swap_comes_last_where_swaps_are_left_out() -> None:
    swap = RelationFoil("horse", "riding", "man", "argument_swap")
    relation = Relation("man", "riding", "horse", (swap,))
    cat = Entity("cat", (EntityFoil("dog", "object_change"),))
    record = UnitRecord("1", "1", "c", (cat,), (relation,))
    assert set(draws(record, 20, swap_share=0.0)) == {("cat", "dog")}
    assert set(draws(record, 20)) == {("man riding horse", "horse riding man")}


def test_conjunctions_come_at_their_share_and_in_both_orders() -> None:
    pairs = draws(ROOM, 1000, conjunction_share=0.4)
    joined = [(text, foil) for text, foil in pairs if " and " in text]
    assert len(joined) / 1000 == pytest.approx(0.4, abs=0.05)
    first = sum((foil or "").startswith("not ") for _, foil in joined) / len(joined)
    assert first == pytest.approx(0.5, abs=0.08)


def test_no_two_conjunctions_have_the_same_members() -> None:
    record = UnitRecord("1", "1", "c", ROOM.entities[:2])
    for seed in range(30):
        pairs = sampler(n_units=2, conjunction_share=1.0, with_replacement=False).draw_units(
            record, Random(seed)
        )
        members = [frozenset(pair[0].split(" and ")) for pair in pairs if pair]
        assert len(set(members)) == 2


def test_up_to_k_entities_are_joined() -> None:
    sizes = Counter(
        text.count(" and ") + 1
        for text, _ in draws(ROOM, 300, max_conjunction=3, conjunction_share=1.0)
    )
    assert set(sizes) == {2, 3}
    assert all(
        " and " not in text for text, _ in draws(ROOM, 50, max_conjunction=1, conjunction_share=1.0)
    )


def test_the_public_habit_reorders_about_half_of_the_foils() -> None:
    pairs = draws(ROOM, 400, conjunction_share=1.0, shuffle_conjunction_independently=True)
    moved = sum((foil or "").replace("not ", "") != text for text, foil in pairs) / 400
    assert moved == pytest.approx(0.5, abs=0.1)


def test_a_foil_never_meets_itself_in_a_conjunction() -> None:
    record = UnitRecord(
        "1", "1", "c", (Entity("cat", (EntityFoil("dog", "object_change"),)), Entity("dog"))
    )
    assert set(draws(record, 30, conjunction_share=1.0)) == {("cat", "dog")}


def test_with_replacement_a_unit_may_come_again() -> None:
    pairs = sampler(n_units=3).draw_units(CATS, Random(0))
    assert [pair and pair[0] for pair in pairs] == ["two cats sleep on grey sofa"] * 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_units": 0},
        {"max_conjunction": 0},
        {"p_rel": 1.5},
        {"conjunction_share": -0.1},
        {"swap_share": 2.0},
        {"edits": []},
    ],
)
def test_an_argument_out_of_range_is_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(ZooError, match=rf"UnitSampler\({next(iter(arguments))}="):
        sampler(**arguments)


def test_edits_and_swap_share_are_not_given_together() -> None:
    with pytest.raises(ZooError, match="both choose the foils of relations: give one"):
        sampler(edits=["argument_swap"], swap_share=0.5)


def test_an_edit_that_no_foil_has_is_refused_with_the_near_ones(tmp_path: Path) -> None:
    write_units([CATS], tmp_path / "units.jsonl")
    with pytest.raises(ZooError, match=r"'object_chang'.*did you mean object_change"):
        UnitSampler(str(tmp_path / "units.jsonl"), edits=["object_chang"]).records()


def test_it_describes_where_its_units_come_from(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    write_units([CATS], file)
    described = UnitSampler(str(file)).describe()
    assert described == {
        "file": "units.jsonl",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "sources": [{"extractor": "by hand"}],
        "captions": 1,
        "entities": 2,
        "relations": 1,
        "foils": {
            "argument_swap": 1,
            "attribute_change": 2,
            "object_change": 1,
            "predicate_change": 1,
        },
    }


def test_its_arguments_are_plain_data() -> None:
    assert to_config(sampler(edits=["argument_swap"]))["init_args"]["edits"] == ["argument_swap"]


def test_a_file_without_units_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    write_units([UnitRecord("1", "1", "a cat")], file)
    with pytest.raises(ZooError, match="has no units: its captions have neither"):
        UnitSampler(str(file)).records()
