"""Filters the units and foils of answers (CS-CLIP, Appendix B.3.3 and B.6)."""

import re
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Any, TypeVar

from zoo.language.offensive_words import offensive_words
from zoo.units.caption_support import base_forms, content_words, is_supported_elsewhere
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
SUPPORTED_ELSEWHERE = "true_of_the_image"
OFFENSIVE = "offensive"

Triple = tuple[str, str, str]
RelationOrFoil = TypeVar("RelationOrFoil", Relation, RelationFoil)

_ARTICLES = frozenset({"a", "an", "the"})
_AFTER_HEAD = PREPOSITIONS | {"of", "and", "or", "who", "that", "which"}
_PART_OF_EDIT = {"object_change": "head", "attribute_change": "attribute"}


def parse_units(
    answer: dict[str, Any], caption: str, dropped: Counter[str]
) -> tuple[list[str], list[Triple]]:
    """Returns the entities and relations of an answer of the first stage.

    The words of an entity must occur in the caption, in any form. Of "horse" and "brown horse" only
    the second is kept. The arguments of a relation must be kept entities, and take their spelling.

    Args:
        answer: The answer.
        caption: The caption.
        dropped: A counter of dropped units by reason, which is updated.
    """
    caption_forms = base_forms(caption)
    entities: dict[str, str] = {}
    for text in answer["entities"]:
        fault = _entity_fault(text, caption_forms) or (
            DUPLICATE_UNIT if normalise(text) in entities else None
        )
        if fault:
            dropped[fault] += 1
        else:
            entities[normalise(text)] = text
    for part in [part for part in entities if _is_part_of_another(part, entities)]:
        del entities[part]
        dropped[PART_OF_ANOTHER] += 1
    relations: dict[Triple, Triple] = {}
    for row in answer["relations"]:
        subject, predicate, object_ = (
            normalise(row["subject"]),
            row["predicate"],
            normalise(row["object"]),
        )
        key = subject, predicate.lower(), object_
        fault = _relation_unit_fault(key, entities.keys())
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
        dropped: A counter of dropped foils by reason, which is updated.
    """

    def __init__(
        self, units: Iterable[str], caption: str, others: Iterable[str], dropped: Counter[str]
    ) -> None:
        self._used_texts = {normalise(text) for text in units}
        self._caption_forms = base_forms(caption)
        self._other_forms = set[str]().union(*map(base_forms, others))
        self._dropped = dropped

    def entity_with_foils(self, text: str, answer: dict[str, Any]) -> Entity:
        """Returns an entity with its foils.

        Args:
            text: The entity.
            answer: The answer of the second stage about it.
        """
        original = _unify_article(text)
        return Entity(
            text,
            tuple(
                EntityFoil(foil["text"], foil["edit_type"])
                for foil in answer["foils"]
                if self._accept_foil(
                    foil["text"], text, phrase_fault(original, _unify_article(foil["text"]))
                )
            ),
        )

    def relation_with_foils(
        self, triple: Triple, answer: dict[str, Any], entities: list[Entity]
    ) -> Relation:
        """Returns a relation with its foils.

        Args:
            triple: The relation.
            answer: The answer of the third stage about it.
            entities: The entities of the caption with their foils, which show what part of an
                argument was changed.
        """
        relation = Relation(*triple)
        edits = {
            (normalise(entity.text), normalise(foil.text)): foil.edit
            for entity in entities
            for foil in entity.foils
        }
        original = _unify_articles(relation)
        foils = (_relation_foil(relation, row, edits) for row in answer["foils"])
        return Relation(
            *triple,
            foils=tuple(
                foil
                for foil in foils
                if self._accept_foil(
                    foil.text, relation.text, relation_fault(original, _unify_articles(foil))
                )
            ),
        )

    def _accept_foil(self, text: str, unit: str, fault: str | None) -> bool:
        """Returns whether a foil is kept; if so, adds its text to the texts in use."""
        key = normalise(text)
        fault = (
            fault
            or (EMPTY if not key else None)
            or (DUPLICATE if key in self._used_texts else None)
        )
        if fault is None and is_supported_elsewhere(
            text, self._caption_forms | base_forms(unit), self._other_forms
        ):
            fault = SUPPORTED_ELSEWHERE
        if fault is None and offensive_words().includes_text(text):
            fault = OFFENSIVE
        if fault:
            self._dropped[fault] += 1
            return False
        self._used_texts.add(key)
        return True


def normalise(text: str) -> str:
    """Returns a text in lower case, without a leading article and surrounding punctuation."""
    words = re.sub(r"^\W+|\W+$", "", text.lower()).split()
    return " ".join(words[1:] if words[:1] and words[0] in _ARTICLES else words)


def _entity_fault(text: str, caption_forms: Set[str]) -> str | None:
    words = content_words(text)
    if not words:
        return EMPTY
    if normalise(text) in PLACEHOLDERS:
        return PLACEHOLDER
    return None if all(base_forms(word) & caption_forms for word in words) else UNGROUNDED_ENTITY


def _is_part_of_another(text: str, entities: Iterable[str]) -> bool:
    """Returns whether another entity is this one with modifiers: "horse" and "brown horse".

    "Blue shirt" is not such a part of "man in a blue shirt".
    """
    modifiers = (
        entity.removesuffix(text).split() for entity in entities if entity.endswith(f" {text}")
    )
    return any(not _AFTER_HEAD & set(words) for words in modifiers)


def _relation_unit_fault(key: Triple, entities: Set[str]) -> str | None:
    subject, predicate, object_ = key
    if not normalise(predicate):
        return EMPTY
    if not {subject, object_} <= entities:
        return UNGROUNDED_ARGUMENT
    return SAME_ARGUMENTS if subject == object_ else None


def _relation_foil(
    relation: Relation, row: dict[str, str], edits: dict[tuple[str, str], str]
) -> RelationFoil:
    """Returns a foil with its edit, determined from its words and not from the model's answer."""
    triple = row["subject"], row["predicate"], row["object"]
    for name in ("subject", "object"):
        original_text, foil_text = normalise(getattr(relation, name)), normalise(row[name])
        if original_text != foil_text and row["predicate"].lower() == relation.predicate.lower():
            if foil_text == normalise(relation.object if name == "subject" else relation.subject):
                return RelationFoil(*triple, "argument_swap")
            edit = edits.get((original_text, foil_text))
            part = _PART_OF_EDIT[edit] if edit else _changed_part(original_text, foil_text)
            return RelationFoil(*triple, "argument_change", name, part)
    return RelationFoil(*triple, "predicate_change", "predicate")


def _changed_part(original: str, foil: str) -> str:
    """Returns whether a noun phrase's head (the last word before a preposition) was changed."""
    words = original.split()
    head = next((i for i, word in enumerate(words) if i and word in _AFTER_HEAD), len(words)) - 1
    return "attribute" if words[head] in foil.split() else "head"


def _unify_article(text: str) -> str:
    """Returns the text with "a" for "an", since the choice between them is not an edit."""
    return re.sub(r"\b[Aa]n\b", "a", text)


def _unify_articles(unit: RelationOrFoil) -> RelationOrFoil:
    return replace(
        unit,
        subject=_unify_article(unit.subject),
        predicate=_unify_article(unit.predicate),
        object=_unify_article(unit.object),
    )
