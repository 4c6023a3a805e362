"""Prompts: those of the package, and a folder of one's own."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import zoo.units.llm.stages as stages
from zoo.errors import ZooError
from zoo.units.llm.stages import ENTITY_FOILS, RELATION_FOILS, STAGES, UNITS, StagePrompts

PACKAGED = Path(stages.__file__).parent / "prompts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACKAGED, tmp_path / "prompts"))


def test_fields_are_put_into_their_places_and_nothing_else_is_touched() -> None:
    caption = 'A {entity} and "one" {caption} \\1 {'
    system, user = StagePrompts().messages(UNITS, {"caption": caption})
    assert user == {"role": "user", "content": f'Caption: "{caption}"'}
    assert '{"entities": ["two small dogs"' in system["content"]
    _, user = StagePrompts().messages(ENTITY_FOILS, {"caption": "{entity}", "entity": "a dog"})
    assert user["content"] == 'Caption: "{entity}"\nNoun phrase: "a dog"'
    fields = {"caption": "c", "subject": "s", "predicate": "p", "object": "o"}
    _, user = StagePrompts().messages(RELATION_FOILS, fields)
    assert user["content"] == 'Caption: "c"\nSubject: "s"\nPredicate: "p"\nObject: "o"'


def test_prompts_of_ones_own_take_the_place_of_the_packages(folder: Path) -> None:
    assert StagePrompts(str(folder)).digest == StagePrompts().digest
    (folder / "units.txt").write_text("Be brief about {caption}.\n---\nGo.\n")
    own = StagePrompts(str(folder))
    assert [m["content"] for m in own.messages(UNITS, {"caption": "a dog"})] == [
        "Be brief about a dog.",
        "Go.",
    ]
    assert own.digest != StagePrompts().digest


def test_the_papers_name_of_a_placeholder_is_understood(folder: Path) -> None:
    """Appendix B.4.2 calls the entity an entity unit; the other placeholders have our names."""
    (folder / "entity_foils.txt").write_text("Foils.\n---\n{entity_unit} in {caption}\n")
    fields = {"caption": "a dog runs", "entity": "a dog"}
    _, user = StagePrompts(str(folder)).messages(ENTITY_FOILS, fields)
    assert user["content"] == "a dog in a dog runs"


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_prompt_names_every_key_and_every_edit_of_its_answers(stage: stages.Stage) -> None:
    system, _ = StagePrompts().messages(stage, dict.fromkeys(stage.fields, ""))

    def words(schema: dict[str, Any]) -> set[str]:
        inner = schema.get("properties", {})
        return {*inner, *schema.get("enum", [])}.union(
            *(words(s) for s in (*inner.values(), *filter(None, [schema.get("items")])))
        )

    assert {word for word in words(stage.schema) if word not in system["content"]} == set()


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_folder_that_lacks_something_is_named(folder: Path, stage: stages.Stage) -> None:
    file = folder / f"{stage.name}.txt"
    text = file.read_text()
    file.write_text(text.replace("---", ""))
    with pytest.raises(ZooError, match=f"{stage.name}.txt has no line '---'"):
        StagePrompts(str(folder))
    for field in stage.fields:
        file.write_text(text.replace(f"{{{field}}}", ""))
        with pytest.raises(ZooError, match=f"{stage.name}.txt has no {{{field}}}"):
            StagePrompts(str(folder))
    file.unlink()
    with pytest.raises(ZooError, match=f"{stage.name}.txt cannot be read"):
        StagePrompts(str(folder))


def test_schemas_have_only_words_that_every_back_end_knows() -> None:
    known = {"type", "properties", "required", "items", "enum", "maxItems", "maxLength"}

    def words(schema: dict[str, object]) -> set[str]:
        inner = [*schema.get("properties", {}).values(), schema.get("items", {})]  # type: ignore[attr-defined]
        return set(schema).union(*map(words, filter(None, inner)))

    assert set[str]().union(*(words(stage.schema) for stage in STAGES)) <= known
