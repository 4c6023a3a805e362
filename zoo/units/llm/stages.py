"""The three stages of CS-CLIP, Appendix B: their prompts and the schemas of their answers."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError

Message = dict[str, str]

_PACKAGED = Path(__file__).parent / "prompts"
_SEPARATOR = "\n---\n"  # separates the system message from the user message


def _list_schema(item: dict[str, Any], max_items: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": max_items, "items": item}


def _object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


# only keywords that every back end of structured outputs supports
_TEXT = {"type": "string", "maxLength": 120}
_TRIPLE = _object_schema(subject=_TEXT, predicate=_TEXT, object=_TEXT)
_ENTITY_EDIT = {"type": "string", "enum": ["object_change", "attribute_change"]}
_RELATION_EDIT = {
    "type": "string",
    "enum": ["predicate_change", "argument_swap", "argument_change"],
}
_PAPERS_NAMES = {"{entity_unit}": "{entity}"}  # of placeholders, in Appendix B.4.2


@dataclass(frozen=True)
class Stage:
    """One stage of questions.

    Attributes:
        name: The stage's name, which is also that of its prompt file.
        fields: The placeholders of its prompt, such as `{caption}`.
        schema: The JSON schema of its answers.
    """

    name: str
    fields: tuple[str, ...]
    schema: dict[str, Any]


UNITS = Stage(
    "units",
    ("caption",),
    _object_schema(entities=_list_schema(_TEXT, 12), relations=_list_schema(_TRIPLE, 12)),
)
ENTITY_FOILS = Stage(
    "entity_foils",
    ("caption", "entity"),
    _object_schema(foils=_list_schema(_object_schema(text=_TEXT, edit_type=_ENTITY_EDIT), 4)),
)
RELATION_FOILS = Stage(
    "relation_foils",
    ("caption", "subject", "predicate", "object"),
    _object_schema(
        foils=_list_schema(
            _object_schema(subject=_TEXT, predicate=_TEXT, object=_TEXT, edit_type=_RELATION_EDIT),
            3,
        )
    ),
)
STAGES = (UNITS, ENTITY_FOILS, RELATION_FOILS)


class StagePrompts:
    """The prompts of all stages.

    Args:
        folder: A folder with `units.txt`, `entity_foils.txt` and `relation_foils.txt`; None for the
            packaged prompts. In each file a line `---` separates the system message from the user
            message, and each field of the stage appears in braces. The paper's prompts can be
            copied as they are.

    Attributes:
        digest: A hash of all prompts.

    Raises:
        ZooError: A file, its line `---` or a field is missing.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._parts = {
            stage.name: _read_prompt(Path(folder or _PACKAGED), stage) for stage in STAGES
        }
        all_prompts = "\0".join(part for parts in self._parts.values() for part in parts)
        self.digest = hashlib.blake2b(all_prompts.encode(), digest_size=6).hexdigest()

    def messages(self, stage: Stage, fields: Mapping[str, str]) -> list[Message]:
        """Returns the messages of one question.

        Args:
            stage: The stage of the question.
            fields: The values of the prompt's placeholders by name.
        """
        placeholders = re.compile("|".join(re.escape(f"{{{name}}}") for name in stage.fields))
        system, user = (
            placeholders.sub(lambda match: fields[match[0][1:-1]], part)
            for part in self._parts[stage.name]
        )
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _read_prompt(folder: Path, stage: Stage) -> tuple[str, str]:
    file = folder / f"{stage.name}.txt"
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(
            f"the prompt {file} cannot be read ({error}): a folder of prompts needs "
            f"{', '.join(f'{stage.name}.txt' for stage in STAGES)}"
        ) from error
    for papers_name, name in _PAPERS_NAMES.items():
        text = text.replace(papers_name, name)
    system, separator, user = text.partition(_SEPARATOR)
    if not separator:
        raise ZooError(
            f"the prompt {file} has no line '---': add one between the system message and the user "
            "message"
        )
    for name in stage.fields:
        if f"{{{name}}}" not in text:
            raise ZooError(f"the prompt {file} has no {{{name}}}: add it where the {name} belongs")
    return system.strip(), user.strip()
