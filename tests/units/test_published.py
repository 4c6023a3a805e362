"""CS-CLIP's published JSON, in both spellings of its keys."""

import json
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.units.reader import read_units
from zoo.units.record import Entity, EntityFoil, RelationFoil

NEW = {
    "sample_id": "coco_17_85",
    "original_caption": "Two cats sleep on a grey sofa",
    "image_path": "COCO/train2014/x.jpg",
    "entities": ["two cats", "grey sofa", "window"],
    "negative_entities": {
        "two cats": [{"negative": "two rabbits", "change_type": "object_change"}],
        "grey sofa": ["red sofa"],
    },
    "relations": [
        {
            "subject": "two cats",
            "relation_type": "are_sleeping_on",
            "object": "grey sofa",
            "negatives": [
                {"relation_type": "are_hiding_under", "change_type": "antonym"},
                {"change_type": "subject_object_swap"},
            ],
        }
    ],
}
OLD = {
    "sample_id": "coco_17_86",
    "caption": "Two cats sleep on a grey sofa",
    "positive_components": NEW["entities"],
    "negative_components": NEW["negative_entities"],
    "relations": [{"subject": "two cats", "predicate": "are sleeping on", "object": "grey sofa"}],
    "negative_relations": [
        {
            "subject": "two cats",
            "predicate": "are hiding under",
            "object": "grey sofa",
            "change_type": "antonym",
        },
        {
            "subject": "grey sofa",
            "predicate": "are sleeping on",
            "object": "two cats",
            "change_type": "swap",
        },
        {
            "subject": "window",
            "predicate": "is above",
            "object": "two cats",
            "change_type": "antonym",
        },
    ],
}


def write(folder: Path, rows: object, name: str = "units.json") -> Path:
    (folder / name).write_text(json.dumps(rows, indent=1))
    return folder / name


@pytest.mark.parametrize("row", [NEW, OLD], ids=["entities", "components"])
def test_both_spellings_give_the_same_units(tmp_path: Path, row: dict[str, object]) -> None:
    (record,) = read_units(write(tmp_path, [row])).values()
    assert (record.caption_id, record.image_id) == (row["sample_id"], "coco_17")
    assert record.caption == "Two cats sleep on a grey sofa"
    assert record.entities == (
        Entity("two cats", (EntityFoil("two rabbits", "object_change"),)),
        Entity("grey sofa", (EntityFoil("red sofa", "entity_change"),)),
        Entity("window"),
    )
    (relation,) = record.relations
    assert relation.text == "two cats are sleeping on grey sofa"
    assert relation.foils == (
        RelationFoil("two cats", "are hiding under", "grey sofa", "antonym", "predicate"),
        RelationFoil("grey sofa", "are sleeping on", "two cats", "argument_swap"),
        RelationFoil(
            "two rabbits", "are sleeping on", "grey sofa", "argument_change", "subject", "head"
        ),
        RelationFoil("two cats", "are sleeping on", "red sofa", "argument_change", "object", None),
    )


def test_the_image_is_named_by_its_coco_number(tmp_path: Path) -> None:
    (record,) = read_units(
        write(tmp_path, [{**NEW, "image_path": "COCO/train2014/COCO_train2014_000000391895.jpg"}])
    ).values()
    assert record.image_id == "coco:391895"


def test_an_entity_with_foils_that_is_not_listed_is_an_entity(tmp_path: Path) -> None:
    (record,) = read_units(write(tmp_path, [{**NEW, "entities": ["window"]}])).values()
    assert [e.text for e in record.entities] == ["window", "two cats", "grey sofa"]


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    write(tmp_path, [OLD], "b.json")
    write(tmp_path, [NEW], "a.json")
    assert list(read_units(tmp_path)) == ["coco_17_85", "coco_17_86"]


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({**NEW, "sample_id": None}, r"\[1\]: field 'sample_id' is missing"),
        ({**NEW, "entities": [3]}, r"\[1\]: field 'entities\[0\]' is a whole number"),
        (
            {**NEW, "negative_entities": {"cat": [{"change_type": "x"}]}},
            r"\[1\]: field 'negative_entities.cat\[0\].negative' is missing",
        ),
        (
            {**NEW, "relations": [{"subject": "a", "object": "b"}]},
            r"\[1\]: field 'relations\[0\].relation_type' is missing",
        ),
        (NEW, r"\[1\]: caption_id 'coco_17_85' already appears at .*units.json\[0\]"),
    ],
)
def test_an_error_names_file_entry_and_field(tmp_path: Path, row: object, complaint: str) -> None:
    with pytest.raises(ZooError, match=f"units.json{complaint}"):
        read_units(write(tmp_path, [NEW, row]))


def test_a_file_cut_short_names_the_line(tmp_path: Path) -> None:
    file = write(tmp_path, [NEW, OLD])
    file.write_text(file.read_text()[:-30])
    with pytest.raises(ZooError, match=r"units.json:\d+ is not JSON .*incomplete"):
        read_units(file)
