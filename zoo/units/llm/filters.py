"""Units and foils of answers, less what the filters of CS-CLIP, Appendix B.3.3 and B.6, drop."""

import re
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Any, TypeVar

from zoo.units.borne_out import base_forms, content_words, is_borne_out
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil
from zoo.units.rules.filters import DUPLICATE, phrase_fault, relation_fault
from zoo.units.rules.lexicon import PLACEHOLDERS, PREPOSITIONS

EMPTY = "empty"
PLACEHOLDER = "placeholder"
UNGROUNDED_ENTITY = "ungrounded_entity"
PART_OF_ANOTHER = "part_of_another"
UNGROUNDED_ARGUMENT = "ungrounded_argument"
SAME_ARGUMENTS = "same_arguments"
DUPLICATE_UNIT = "duplicate_unit"
BORNE_OUT = "true_of_the_image"

Triple = tuple[str, str, str]
Related = TypeVar("Related", Relation, RelationFoil)

_ARTICLES = frozenset({"a", "an", "the"})
_AFTER_HEAD = PREPOSITIONS | {"of", "and", "or", "who", "that", "which"}
_PART_OF_EDIT = {"object_change": "head", "attribute_change": "attribute"}


def units_of(
    answer: dict[str, Any], caption: str, dropped: Counter[str]
) -> tuple[list[str], list[Triple]]:
    """Returns the entities and relations of an answer of the first stage.

    An entity's words are those of the caption, whatever their form, and of "horse" and "brown
    horse" only the second is one. A relation stands between two entities that are kept, in their
    spelling.

    Args:
        answer: The answer.
        caption: The caption.
        dropped: Counts what is dropped, by reason.
    """
    said = base_forms(caption)
    entities: dict[str, str] = {}
    for text in answer["entities"]:
        fault = _entity_fault(text, said) or (DUPLICATE_UNIT if bare(text) in entities else None)
        if fault:
            dropped[fault] += 1
        else:
            entities[bare(text)] = text
    for part in [part for part in entities if _is_part(part, entities)]:
        del entities[part]
        dropped[PART_OF_ANOTHER] += 1
    relations: dict[Triple, Triple] = {}
    for row in answer["relations"]:
        subject, predicate, object_ = bare(row["subject"]), row["predicate"], bare(row["object"])
        key = subject, predicate.lower(), object_
        fault = _relation_fault(key, entities.keys())
        fault = fault or (DUPLICATE_UNIT if key in relations else None)
        if fault:
            dropped[fault] += 1
        else:
            relations[key] = entities[subject], predicate, entities[object_]
    return list(entities.values()), list(relations.values())


class FoilFilter:
    """Keeps the foils of one caption that differ from all units and from each other.

    Args:
        units: The texts of the caption's units.
        caption: The caption.
        others: The other captions of its image.
        dropped: Counts what is dropped, by reason.
    """

    def __init__(
        self, units: Iterable[str], caption: str, others: Iterable[str], dropped: Counter[str]
    ) -> None:
        self._taken = {bare(text) for text in units}
        self._own = base_forms(caption)
        self._elsewhere = set[str]().union(*map(base_forms, others))
        self._dropped = dropped

    def entity(self, text: str, answer: dict[str, Any]) -> Entity:
        """Returns an entity with its foils.

        Args:
            text: The entity.
            answer: The answer of the second stage about it.
        """
        true = _one_article(text)
        return Entity(
            text,
            tuple(
                EntityFoil(foil["text"], foil["edit"])
                for foil in answer["foils"]
                if self._keeps(foil["text"], text, phrase_fault(true, _one_article(foil["text"])))
            ),
        )

    def relation(self, triple: Triple, answer: dict[str, Any], entities: list[Entity]) -> Relation:
        """Returns a relation with its foils.

        Args:
            triple: The relation.
            answer: The answer of the third stage about it.
            entities: The entities of the caption with their foils. They tell what of an argument
                was changed.
        """
        relation = Relation(*triple)
        edits = {
            (bare(entity.text), bare(foil.text)): foil.edit
            for entity in entities
            for foil in entity.foils
        }
        true = _with_one_article(relation)
        foils = (_relation_foil(relation, row, edits) for row in answer["foils"])
        return Relation(
            *triple,
            foils=tuple(
                foil
                for foil in foils
                if self._keeps(
                    foil.text, relation.text, relation_fault(true, _with_one_article(foil))
                )
            ),
        )

    def _keeps(self, text: str, unit: str, fault: str | None) -> bool:
        """Whether a foil of a unit is kept; its text is taken then."""
        key = bare(text)
        fault = fault or (EMPTY if not key else None) or (DUPLICATE if key in self._taken else None)
        if fault is None and is_borne_out(text, self._own | base_forms(unit), self._elsewhere):
            fault = BORNE_OUT
        if fault:
            self._dropped[fault] += 1
            return False
        self._taken.add(key)
        return True


def bare(text: str) -> str:
    """Returns a text in lower case, without an article before it and marks around it."""
    words = re.sub(r"^\W+|\W+$", "", text.lower()).split()
    return " ".join(words[1:] if words[:1] and words[0] in _ARTICLES else words)


def _entity_fault(text: str, said: Set[str]) -> str | None:
    words = content_words(text)
    if not words:
        return EMPTY
    if bare(text) in PLACEHOLDERS:
        return PLACEHOLDER
    return None if all(base_forms(word) & said for word in words) else UNGROUNDED_ENTITY


def _is_part(text: str, entities: Iterable[str]) -> bool:
    """Whether another entity is this one with modifiers: "horse" of "brown horse".

    "Blue shirt" is not that of "man in a blue shirt".
    """
    before = (other.removesuffix(text).split() for other in entities if other.endswith(f" {text}"))
    return any(not _AFTER_HEAD & set(words) for words in before)


def _relation_fault(key: Triple, entities: Set[str]) -> str | None:
    subject, predicate, object_ = key
    if not bare(predicate):
        return EMPTY
    if not {subject, object_} <= entities:
        return UNGROUNDED_ARGUMENT
    return SAME_ARGUMENTS if subject == object_ else None


def _relation_foil(
    relation: Relation, row: dict[str, str], edits: dict[tuple[str, str], str]
) -> RelationFoil:
    """Returns a foil with what was changed in it, which its words tell better than the model."""
    triple = row["subject"], row["predicate"], row["object"]
    for name in ("subject", "object"):
        before, after = bare(getattr(relation, name)), bare(row[name])
        if before != after and row["predicate"].lower() == relation.predicate.lower():
            if after == bare(relation.object if name == "subject" else relation.subject):
                return RelationFoil(*triple, "argument_swap")
            edit = edits.get((before, after))
            part = _PART_OF_EDIT[edit] if edit else _changed_part(before, after)
            return RelationFoil(*triple, "argument_change", name, part)
    return RelationFoil(*triple, "predicate_change", "predicate")


def _changed_part(before: str, after: str) -> str:
    """Returns what of a noun phrase was changed: its head is the last word before a preposition."""
    words = before.split()
    head = next((i for i, word in enumerate(words) if i and word in _AFTER_HEAD), len(words)) - 1
    return "attribute" if words[head] in after.split() else "head"


def _one_article(text: str) -> str:
    """Returns the text with "a" for "an", which follows the next word and is no edit."""
    return re.sub(r"\b[Aa]n\b", "a", text)


def _with_one_article(unit: Related) -> Related:
    return replace(
        unit,
        subject=_one_article(unit.subject),
        predicate=_one_article(unit.predicate),
        object=_one_article(unit.object),
    )
