"""The texts of half-truths, by the paper's rule and by that of its public code.

The paper is CS-CLIP, Appendix C. The checked rule leaves out foils that may be true after all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, TypeVar

from zoo.units.borne_out import base_forms, content_words, is_borne_out
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

# what is wrong with the entity or relation that a half-truth adds, as pictures say it
WRONG = {
    "+Obj": "entity: wrong object",
    "+Attr": "entity: wrong attribute",
    "+Rand": "entity: of another image",
    "Rel:Attr": "relation: wrong attribute",
    "Rel:Obj": "relation: wrong object",
    "Ant": "relation: wrong predicate",
    "Swap": "relation: arguments exchanged",
    "Subj": "relation: wrong subject",
}
CONDITIONS = tuple(WRONG)
ENTITY_CONDITIONS = {"object_change": "+Obj", "attribute_change": "+Attr"}
PREDICATE_EDITS = ("predicate_change", "antonym")
DRAWS = 100
# the paper's rule without the foils that another caption of the image bears out
CHECKED = "checked"
PUBLIC_CODE = "public_code"

# by image id
Captions = Mapping[str, Sequence[str]]
NO_CAPTIONS: Captions = {}

Found = TypeVar("Found")
Foil = TypeVar("Foil", EntityFoil, RelationFoil)


@dataclass(frozen=True)
class HalfTruthTexts:
    """The three texts of one comparison.

    Attributes:
        record: The units of the caption that they are made from.
        condition: The condition, one of `CONDITIONS`.
        anchor: The true description.
        half_truth: The text that differs from `truth` in one wrong detail.
        truth: The anchor, truly completed.
    """

    record: UnitRecord
    condition: str
    anchor: str
    half_truth: str
    truth: str


class Doubtful(NamedTuple):
    """How many foils of a condition may be true.

    Attributes:
        foils: How many foils there were.
        left_out: How many of them were left out, since they may be true.
    """

    foils: int
    left_out: int


def paper(
    records: list[UnitRecord], max_images: int, seed: int, captions: Captions = NO_CAPTIONS
) -> list[HalfTruthTexts]:
    """Makes texts by the paper's rule (Appendix C): 'anchor and foil' against 'anchor'.

    The anchor is any entity for entity conditions, and an argument for relation conditions. One
    caption an image is drawn among those that yield a case. For each condition that it allows, one
    anchor is drawn, then one added unit, then one foil. +Rand's entity is drawn from another image.
    It shares no word, in whatever form, with any caption or entity of this one, function words
    apart.

    Args:
        records: The units, in file order.
        max_images: How many images are drawn at most.
        seed: Settles all draws.
        captions: Further captions, by image id.

    Returns:
        The texts, in the order of the images' first records.
    """
    by_image: dict[str, list[UnitRecord]] = {}
    for record in records:
        by_image.setdefault(record.image_id, []).append(record)
    images = sorted(by_image)
    drawn = set(Random(f"{seed}/images").sample(images, min(max_images, len(images))))
    made: list[HalfTruthTexts] = []
    for image_id in (i for i in by_image if i in drawn):
        rng = Random(f"{seed}/{image_id}")
        said = _said_of(by_image[image_id], captions.get(image_id, ()))
        for record in rng.sample(by_image[image_id], len(by_image[image_id])):
            found = [*_entity_cases(record, records, said, rng), *_relation_cases(record, rng)]
            if found:
                made.extend(found)
                break
    return made


def _entity_cases(
    record: UnitRecord, records: list[UnitRecord], said: set[str], rng: Random
) -> Iterator[HalfTruthTexts]:
    entities = _distinct(record.entities)
    true = {entity.text.lower() for entity in entities}
    for edit, condition in ENTITY_CONDITIONS.items():
        foiled = {
            entity.text: [f for f in entity.foils if f.edit == edit and f.text.lower() not in true]
            for entity in entities
        }
        options = {
            anchor: [e for e in entities if e is not anchor and foiled[e.text]]
            for anchor in entities
        }
        if any(options.values()):
            anchor = rng.choice([entity for entity, added in options.items() if added])
            added = rng.choice(options[anchor])
            yield _join_texts(
                record, condition, anchor.text, rng.choice(foiled[added.text]).text, added.text
            )
    if len(entities) > 1:
        anchor, added = rng.sample(entities, 2)
        stranger = _stranger(record.image_id, said, records, rng)
        if stranger is not None:
            yield _join_texts(record, "+Rand", anchor.text, stranger, added.text)


def _relation_cases(record: UnitRecord, rng: Random) -> Iterator[HalfTruthTexts]:
    options: dict[str, dict[str, list[tuple[Relation, list[RelationFoil]]]]] = {}
    for relation in record.relations:
        by_condition: dict[str, list[RelationFoil]] = {}
        for foil in relation.foils:
            condition = condition_of(foil)
            if condition is not None:
                by_condition.setdefault(condition, []).append(foil)
        for condition, foils in by_condition.items():
            for anchor in dict.fromkeys((relation.subject, relation.object)):
                options.setdefault(condition, {}).setdefault(anchor, []).append((relation, foils))
    for condition in CONDITIONS:
        if condition in options:
            anchor = rng.choice(list(options[condition]))
            relation, foils = rng.choice(options[condition][anchor])
            yield _join_texts(record, condition, anchor, rng.choice(foils).text, relation.text)


def condition_of(foil: RelationFoil) -> str | None:
    """Returns the condition that a foil of a relation belongs to.

    A changed attribute inside either argument is Rel:Attr. A changed head noun of the object is
    Rel:Obj, and one of the subject is Subj. A negation or an unknown edit belongs to none, so that
    None is returned.
    """
    if foil.edit == "argument_swap":
        return "Swap"
    if foil.edit in PREDICATE_EDITS:
        return "Ant"
    if foil.component not in ("subject", "object"):
        return None
    if foil.part == "attribute" or foil.edit == "attribute_change":
        return "Rel:Attr"
    return "Rel:Obj" if foil.component == "object" else "Subj"


def explain_condition(condition: str) -> str:
    """Returns a condition with what is wrong in it, in lines as short as a picture has room for."""
    return "\n".join([condition, *WRONG.get(condition, "").split()])


def _said_of(records: Iterable[UnitRecord], captions: Iterable[str] = ()) -> set[str]:
    """Returns the base forms of all that any caption and entity says of one image."""
    texts = (
        text
        for record in records
        for text in (record.caption, *(entity.text for entity in record.entities))
    )
    return set[str]().union(*map(base_forms, (*texts, *captions)))


def _stranger(image_id: str, said: set[str], records: list[UnitRecord], rng: Random) -> str | None:
    """Returns an entity of another image that shares no word with what is said of this one.

    It returns None where `DRAWS` draws find none.
    """
    for _ in range(DRAWS):
        other = rng.choice(records)
        if other.image_id != image_id and other.entities:
            text = rng.choice(other.entities).text
            if content_words(text) and not base_forms(text) & said:
                return text
    return None


def without_doubtful_foils(
    records: list[UnitRecord], captions: Captions = NO_CAPTIONS
) -> tuple[list[UnitRecord], dict[str, Doubtful]]:
    """Leaves out foils that may be true.

    Such a foil brings a word that stands in another caption of the same image. A word of the foil's
    own caption is none that it brings: "a blue cube" is wrong where that caption has a red cube and
    a blue ball.

    Args:
        records: All captions of each image that have units.
        captions: Further captions, by image id.

    Returns:
        The records with the foils that are left, and by condition how many foils there were and how
        many are left out.
    """
    by_image: dict[str, list[UnitRecord]] = {}
    for record in records:
        by_image.setdefault(record.image_id, []).append(record)
    counted: dict[str, Doubtful] = {}
    kept = []
    for record in records:
        own = base_forms(record.caption)
        others = [other for other in by_image[record.image_id] if other is not record]
        elsewhere = _said_of(others, captions.get(record.image_id, ())) - own
        entities, relations = [], []
        for entity in record.entities:
            conditions = [ENTITY_CONDITIONS.get(foil.edit) for foil in entity.foils]
            foils = _borne_out_by_none(
                entity.foils, entity.text, conditions, own, elsewhere, counted
            )
            entities.append(replace(entity, foils=foils))
        for relation in record.relations:
            kinds = [condition_of(foil) for foil in relation.foils]
            left = _borne_out_by_none(relation.foils, relation.text, kinds, own, elsewhere, counted)
            relations.append(replace(relation, foils=left))
        kept.append(replace(record, entities=tuple(entities), relations=tuple(relations)))
    return kept, {name: counted[name] for name in CONDITIONS if name in counted}


def _borne_out_by_none(
    foils: Sequence[Foil],
    true: str,
    conditions: Sequence[str | None],
    own: set[str],
    elsewhere: set[str],
    counted: dict[str, Doubtful],
) -> tuple[Foil, ...]:
    """Returns the foils that bring no word of other captions, and counts those of conditions."""
    known, left = own | base_forms(true), []
    for foil, condition in zip(foils, conditions, strict=True):
        doubtful = is_borne_out(foil.text, known, elsewhere)
        if condition is not None:
            before = counted.get(condition, Doubtful(0, 0))
            counted[condition] = Doubtful(before.foils + 1, before.left_out + doubtful)
        if not doubtful:
            left.append(foil)
    return tuple(left)


def _distinct(entities: Iterable[Entity]) -> list[Entity]:
    return list({entity.text.lower(): entity for entity in reversed(tuple(entities))}.values())[
        ::-1
    ]


def _join_texts(
    record: UnitRecord, condition: str, anchor: str, foil: str, truth: str
) -> HalfTruthTexts:
    return HalfTruthTexts(
        record, condition, anchor, f"{anchor} and {foil}", f"{anchor} and {truth}"
    )


def public_code(
    records: list[UnitRecord], max_images: int, seed: int, captions: Captions = NO_CAPTIONS
) -> list[HalfTruthTexts]:
    """Makes texts as the public code does: by the first match in file order, in lower case.

    For entity conditions, the first caption of an image counts that has an ordered pair (A, B) of
    entities where B has a foil. It gives 'a and foil' against 'a'. +Rand's entity is the B of
    another such caption, whatever the image shows. A, B, foils and subjects of relations have a
    word that says something (`_says_something`).

    For relation conditions, the first caption of an image counts that has a relation with two kinds
    of foil. It gives the foil relation alone against its subject, also for Subj, where the anchor
    is not in the text.

    Args:
        records: The units, in file order.
        max_images: How many images are taken at most, of entities and of relations apart.
        seed: Settles the draws of +Rand.
        captions: Further captions, which the public code does not look at.

    Returns:
        The texts, those of entities before those of relations.
    """
    pairs = _first_of_each_image(records, _foiled_pair, max_images)
    relations = _first_of_each_image(records, _foiled_relation, max_images)
    rng = Random(seed)
    made: list[HalfTruthTexts] = []
    for i, (record, (anchor, added)) in enumerate(pairs):
        for edit, condition in ENTITY_CONDITIONS.items():
            made += [
                _join_texts(record, condition, anchor.text, foil, added.text)
                for foil in _texts(added.foils, edit)[:1]
            ]
        if len(pairs) > 1:
            other = rng.randrange(len(pairs) - 1)
            stranger = pairs[other + (other >= i)][1][1].text
            made.append(_join_texts(record, "+Rand", anchor.text, stranger, added.text))
    for record, (relation, foils) in relations:
        if not _says_something(relation.subject):
            continue
        made += [
            HalfTruthTexts(record, c, relation.subject, foils[c], relation.text)
            for c in CONDITIONS
            if c in foils
        ]
    return [
        HalfTruthTexts(
            m.record, m.condition, m.anchor.lower(), m.half_truth.lower(), m.truth.lower()
        )
        for m in made
    ]


def _first_of_each_image(
    records: list[UnitRecord], find: Callable[[UnitRecord], Found | None], max_images: int
) -> list[tuple[UnitRecord, Found]]:
    first: dict[str, tuple[UnitRecord, Found]] = {}
    for record in records:
        if len(first) == max_images:
            break
        if record.image_id not in first:
            found = find(record)
            if found is not None:
                first[record.image_id] = (record, found)
    return list(first.values())


def _foiled_pair(record: UnitRecord) -> tuple[Entity, Entity] | None:
    return next(
        (
            (anchor, added)
            for anchor in record.entities
            for added in record.entities
            if anchor.text != added.text
            and _says_something(anchor.text)
            and _says_something(added.text)
            and any(_texts(added.foils, edit) for edit in ENTITY_CONDITIONS)
        ),
        None,
    )


def _foiled_relation(record: UnitRecord) -> tuple[Relation, dict[str, str]] | None:
    for relation in record.relations:
        foils = _mechanical_foils(record, relation)
        if len(foils.keys() - {"Rel:Attr"}) >= 2:
            return relation, foils
    return None


def _mechanical_foils(record: UnitRecord, relation: Relation) -> dict[str, str]:
    """Returns the first foil by kind; arguments are changed to foils of their entity.

    A negation counts as a kind and is in no condition.
    """
    subject, predicate, object_ = relation.subject, relation.predicate, relation.object
    of_subject, of_object = _foils_of(record, subject), _foils_of(record, object_)
    written = [
        f for f in relation.foils if all(map(_says_something, (f.subject, f.predicate, f.object)))
    ]
    foils = {
        "Rel:Attr": [
            f"{subject} {predicate} {foil}" for foil in _texts(of_object, "attribute_change")
        ],
        "Rel:Obj": [f"{subject} {predicate} {foil}" for foil in _texts(of_object, "object_change")],
        "Ant": [foil.text for foil in written if foil.edit in PREDICATE_EDITS],
        "negation": [foil.text for foil in written if foil.edit == "negation"],
        "Swap": [f"{object_} {predicate} {subject}"],
        "Subj": [f"{foil} {predicate} {object_}" for foil in _texts(of_subject, "object_change")],
    }
    return {kind: texts[0] for kind, texts in foils.items() if texts}


def _foils_of(record: UnitRecord, text: str) -> tuple[EntityFoil, ...]:
    """Returns the foils of the entity of that text, else of the first one that contains it."""
    same = (entity.foils for entity in record.entities if entity.text == text)
    wider = (entity.foils for entity in record.entities if text.lower() in entity.text.lower())
    return next(same, None) or next(wider, ())


def _texts(foils: Iterable[EntityFoil], edit: str) -> list[str]:
    return [foil.text for foil in foils if foil.edit == edit and _says_something(foil.text)]


def _says_something(text: str) -> bool:
    """Whether a text has a word of more than two letters that is neither 'and' nor 'the'.

    This is the public code's filter of articles, 'and' and its short list of prepositions.
    """
    return any(len(word) > 2 and word not in ("and", "the") for word in text.lower().split())


Rule = Callable[[list[UnitRecord], int, int, Captions], list[HalfTruthTexts]]
RULES: dict[str, Rule] = {CHECKED: paper, "paper": paper, PUBLIC_CODE: public_code}
