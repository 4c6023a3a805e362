"""Bindings of captions, by the published pattern and by units."""

import json
import os
from pathlib import Path

import pytest

from zoo.familiarity.bindings import attribution_bindings, unit_bindings
from zoo.units.record import Entity, UnitRecord


@pytest.mark.parametrize(
    ("caption", "bindings"),
    [
        ("the blue sky and the white wall", [("blue", "sky"), ("white", "wall")]),
        ("The Red Cars and the smiling children", [("red", "car"), ("smiling", "child")]),
        (
            "the crème door and the black-rimmed glasses",
            [("creme", "door"), ("black-rimmed", "glasses")],
        ),
        ("the long sleeved shirt and the blue sky", []),
        ("the blue sky and the dining table", [("blue", "sky"), ("dining", "table")]),
        ("the brown dining table and the red chair", []),
        ("the light blue sky and the white wall", []),
        ("a blue sky and the white wall", []),
        ("the blue sky and the white wall.", [("blue", "sky"), ("white", "wall.")]),
        ("so the blue sky and the white wall", []),
        ("the blue sky and the white wall\n", []),
    ],
)
def test_a_caption_of_vg_attribution_has_two_bindings_of_single_words_or_none(
    caption: str, bindings: list[tuple[str, str]]
) -> None:
    assert list(attribution_bindings(caption)) == bindings


def test_the_last_word_of_a_component_is_the_object_and_each_before_it_an_attribute() -> None:
    texts = "red couches", "small white dog", "chairs", "glass of cold white wine", "lid of toilet"
    record = UnitRecord("1", "1", "a caption", tuple(map(Entity, texts)))
    assert list(unit_bindings(record)) == [
        (("red", "couch"),),
        (("small", "dog"), ("white", "dog")),
        (),
        (),
        (("cold", "wine"), ("white", "wine")),
        (),
        (),
    ]


def test_the_published_pattern_keeps_26508_of_the_real_records() -> None:
    """Holds where ZOO_VG_ATTRIBUTION names visual_genome_attribution.json."""
    if "ZOO_VG_ATTRIBUTION" not in os.environ:
        pytest.skip("ZOO_VG_ATTRIBUTION does not name the published file")
    records = json.loads(Path(os.environ["ZOO_VG_ATTRIBUTION"]).read_text("utf-8"))
    kept = [
        record
        for record in records
        if attribution_bindings(record["true_caption"])
        and attribution_bindings(record["false_caption"])
    ]
    assert (len(kept), len(records)) == (26_508, 28_748)
