"""The three stages of CS-CLIP, Appendix B: what each asks, and the form of its answers."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError

Message = dict[str, str]

_PACKAGED = Path(__file__).parent / "prompts"
_BETWEEN = "\n---\n"  # stands between what the system says and what the user says


def _list(item: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": item}


def _record(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


# only words that every back end of structured outputs knows
_TEXT = {"type": "string", "maxLength": 120}
_TRIPLE = _record(subject=_TEXT, predicate=_TEXT, object=_TEXT)
_EDIT = {"type": "string", "enum": ["object_change", "attribute_change"]}


@dataclass(frozen=True)
class Stage:
    """One kind of question.

    Attributes:
        name: The stage's name, which is that of its prompt file too.
        fields: What its prompt has places for, such as `{caption}`.
        schema: The JSON schema of its answers.
    """

    name: str
    fields: tuple[str, ...]
    schema: dict[str, Any]


UNITS = Stage(
    "units", ("caption",), _record(entities=_list(_TEXT, 12), relations=_list(_TRIPLE, 12))
)
ENTITY_FOILS = Stage(
    "entity_foils",
    ("caption", "entity"),
    _record(foils=_list(_record(text=_TEXT, edit=_EDIT), 4)),
)
RELATION_FOILS = Stage(
    "relation_foils",
    ("caption", "subject", "predicate", "object"),
    _record(foils=_list(_TRIPLE, 3)),
)
STAGES = (UNITS, ENTITY_FOILS, RELATION_FOILS)


class StagePrompts:
    """The prompts of all stages.

    Args:
        folder: A folder of `units.txt`, `entity_foils.txt` and `relation_foils.txt`; None for those
            of this package. In each file a line `---` parts what the system says from what the user
            says, and each field of the stage stands somewhere in braces.

    Attributes:
        digest: A hash of all prompts.

    Raises:
        ZooError: A file is missing, or lacks the line or a field.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._parts = {stage.name: _read(Path(folder or _PACKAGED), stage) for stage in STAGES}
        whole = "\0".join(part for parts in self._parts.values() for part in parts)
        self.digest = hashlib.blake2b(whole.encode(), digest_size=6).hexdigest()

    def messages(self, stage: Stage, fields: Mapping[str, str]) -> list[Message]:
        """Returns the messages of one question.

        Args:
            stage: What is asked.
            fields: What is put into the prompt's places, by name.
        """
        places = re.compile("|".join(re.escape(f"{{{name}}}") for name in stage.fields))
        system, user = (
            places.sub(lambda found: fields[found[0][1:-1]], part)
            for part in self._parts[stage.name]
        )
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def _read(folder: Path, stage: Stage) -> tuple[str, str]:
    file = folder / f"{stage.name}.txt"
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(
            f"the prompt {file} cannot be read ({error}): a folder of prompts holds "
            f"{', '.join(f'{stage.name}.txt' for stage in STAGES)}"
        ) from error
    system, between, user = text.partition(_BETWEEN)
    if not between:
        raise ZooError(
            f"the prompt {file} has no line '---': write one between what the system says and what "
            "the user says"
        )
    for name in stage.fields:
        if f"{{{name}}}" not in text:
            raise ZooError(f"the prompt {file} has no {{{name}}}: write it where the {name} goes")
    return system.strip(), user.strip()
