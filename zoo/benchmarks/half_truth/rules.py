"""Rules that build the texts of half-truths: the paper's, its public code's, and two variants.

The paper is CS-CLIP, Appendix C. The checked rule leaves out foils that may actually be true, and
the rule of equal words those that are longer or shorter than what is true.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, TypeVar

from zoo.units.argument_swap import ARGUMENT_SWAP, swap_arguments
from zoo.units.caption_support import base_forms, content_words, is_supported_elsewhere
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

# the error in the entity or relation that a half-truth adds, as shown in figures
CONDITION_ERRORS = {
    "+Obj": "entity: wrong object",
    "+Attr": "entity: wrong attribute",
    "+Rand": "entity: of another image",
    "Rel:Attr": "relation: wrong attribute",
    "Rel:Obj": "relation: wrong object",
    "Ant": "relation: wrong predicate",
    "Swap": "relation: arguments exchanged",
    "Subj": "relation: wrong subject",
}
CONDITIONS = tuple(CONDITION_ERRORS)
ENTITY_CONDITIONS = {"object_change": "+Obj", "attribute_change": "+Attr"}
PREDICATE_EDITS = ("predicate_change", "antonym")
DRAWS = 100
# the paper's rule without the foils that another caption of the image supports
CHECKED = "checked"
PAPER = "paper"
# the paper's rule for half-truths and true completions of the same number of words
EQUAL_WORDS = "equal_words"
PUBLIC_CODE = "public_code"

# by image id
Captions = Mapping[str, Sequence[str]]
NO_CAPTIONS: Captions = {}

Result = TypeVar("Result")
Foil = TypeVar("Foil", EntityFoil, RelationFoil)


@dataclass(frozen=True)
class HalfTruthTexts:
    """The three texts of one comparison.

    Attributes:
        record: The units of the caption that they are built from.
        condition: The condition, one of `CONDITIONS`.
        anchor: The true description.
        half_truth: The text that differs from `truth` in one wrong detail.
        truth: The anchor with a true completion.
    """

    record: UnitRecord
    condition: str
    anchor: str
    half_truth: str
    truth: str


class DoubtfulCounts(NamedTuple):
    """Counts of the foils of a condition that may be true.

    Attributes:
        n_foils: The number of foils.
        n_omitted: The number of foils that were left out because they may be true.
    """

    n_foils: int
    n_omitted: int


def paper_texts(
    records: list[UnitRecord], max_images: int, seed: int, captions: Captions = NO_CAPTIONS
) -> list[HalfTruthTexts]:
    """Builds texts by the paper's rule (Appendix C): 'anchor and foil' against 'anchor'.

    The anchor is any entity for entity conditions, and an argument for relation conditions. One
    caption per image is sampled among those that yield a case. For each condition that it allows,
    one anchor is sampled, then one added unit, then one foil. +Rand's entity is sampled from
    another image. It shares no word, in any inflection, with a caption or entity of this image,
    except for function words. Swap exchanges the arguments of a relation whose predicate is not
    symmetric (Appendices B.6 and C.1.2), whether or not the units have this foil.

    Args:
        records: The units, in file order.
        max_images: The maximum number of sampled images.
        seed: Seed of the sampling.
        captions: Further captions, by image id.

    Returns:
        The texts, in the order of the images' first records.
    """
    by_image: dict[str, list[UnitRecord]] = {}
    for record in records:
        by_image.setdefault(record.image_id, []).append(record)
    images = sorted(by_image)
    drawn_images = set(Random(f"{seed}/images").sample(images, min(max_images, len(images))))
    texts: list[HalfTruthTexts] = []
    for image_id in (i for i in by_image if i in drawn_images):
        rng = Random(f"{seed}/{image_id}")
        image_words = _image_base_forms(by_image[image_id], captions.get(image_id, ()))
        for record in rng.sample(by_image[image_id], len(by_image[image_id])):
            new_texts = [
                *_entity_texts(record, records, image_words, rng),
                *_relation_texts(record, rng),
            ]
            if new_texts:
                texts.extend(new_texts)
                break
    return texts


def equal_length_texts(
    records: list[UnitRecord], max_images: int, seed: int, captions: Captions = NO_CAPTIONS
) -> list[HalfTruthTexts]:
    """Builds texts by the paper's rule whose half-truth and true completion have as many words.

    A preference for shorter texts is then right in every comparison with the anchor and in half of
    the comparisons with the completion. The completion of +Rand names another object than the
    half-truth; that of all other conditions differs from it in the edit.

    Args:
        records: The units, in file order.
        max_images: The maximum number of sampled images.
        seed: Seed of the sampling.
        captions: Further captions, by image id.

    Returns:
        The texts, in the order of the images' first records.
    """
    texts = paper_texts(list(map(_with_equal_length_foils, records)), max_images, seed, captions)
    return [text for text in texts if _have_equal_length(text.half_truth, text.truth)]


def _with_equal_length_foils(record: UnitRecord) -> UnitRecord:
    entities = tuple(
        replace(e, foils=tuple(f for f in e.foils if _have_equal_length(f.text, e.text)))
        for e in record.entities
    )
    relations = tuple(
        replace(r, foils=tuple(f for f in r.foils if _have_equal_length(f.text, r.text)))
        for r in record.relations
    )
    return replace(record, entities=entities, relations=relations)


def _have_equal_length(text: str, other_text: str) -> bool:
    return len(text.split()) == len(other_text.split())


def _entity_texts(
    record: UnitRecord, records: list[UnitRecord], mentioned: set[str], rng: Random
) -> Iterator[HalfTruthTexts]:
    entities = _distinct_entities(record.entities)
    true_texts = {entity.text.lower() for entity in entities}
    for edit, condition in ENTITY_CONDITIONS.items():
        foils_by_text = {
            entity.text: [
                f for f in entity.foils if f.edit == edit and f.text.lower() not in true_texts
            ]
            for entity in entities
        }
        options = {
            anchor: [e for e in entities if e is not anchor and foils_by_text[e.text]]
            for anchor in entities
        }
        if any(options.values()):
            anchor = rng.choice([entity for entity, added in options.items() if added])
            added = rng.choice(options[anchor])
            yield _join_texts(
                record,
                condition,
                anchor.text,
                rng.choice(foils_by_text[added.text]).text,
                added.text,
            )
    if len(entities) > 1:
        anchor, added = rng.sample(entities, 2)
        stranger = _unrelated_entity(record.image_id, mentioned, records, rng)
        if stranger is not None:
            yield _join_texts(record, "+Rand", anchor.text, stranger, added.text)


def _relation_texts(record: UnitRecord, rng: Random) -> Iterator[HalfTruthTexts]:
    options: dict[str, dict[str, list[tuple[Relation, list[RelationFoil]]]]] = {}
    for relation in record.relations:
        by_condition: dict[str, list[RelationFoil]] = {}
        for foil in relation.foils:
            condition = condition_of(foil)
            if condition is not None:
                by_condition.setdefault(condition, []).append(foil)
        if "Swap" not in by_condition and (swapped := swap_arguments(relation)) is not None:
            by_condition["Swap"] = [swapped]
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

    A changed attribute in either argument is Rel:Attr. A changed head noun of the object is
    Rel:Obj, and of the subject, Subj. For a negation or an unknown edit the result is None.
    """
    if foil.edit == ARGUMENT_SWAP:
        return "Swap"
    if foil.edit in PREDICATE_EDITS:
        return "Ant"
    if foil.component not in ("subject", "object"):
        return None
    if foil.part == "attribute" or foil.edit == "attribute_change":
        return "Rel:Attr"
    return "Rel:Obj" if foil.component == "object" else "Subj"


def figure_label(condition: str) -> str:
    """Returns a condition and its error as a label for figures, one word per line."""
    return "\n".join([condition, *CONDITION_ERRORS.get(condition, "").split()])


def _image_base_forms(records: Iterable[UnitRecord], captions: Iterable[str] = ()) -> set[str]:
    """Returns the base forms of all words in the captions and entities of one image."""
    texts = (
        text
        for record in records
        for text in (record.caption, *(entity.text for entity in record.entities))
    )
    return set[str]().union(*map(base_forms, (*texts, *captions)))


def _unrelated_entity(
    image_id: str, mentioned: set[str], records: list[UnitRecord], rng: Random
) -> str | None:
    """Returns an entity of another image that shares no word with the captions of this one.

    It returns None if `DRAWS` samples find none.
    """
    for _ in range(DRAWS):
        record = rng.choice(records)
        if record.image_id != image_id and record.entities:
            text = rng.choice(record.entities).text
            if content_words(text) and not base_forms(text) & mentioned:
                return text
    return None


def without_doubtful_foils(
    records: list[UnitRecord], captions: Captions = NO_CAPTIONS
) -> tuple[list[UnitRecord], dict[str, DoubtfulCounts]]:
    """Leaves out foils that may be true.

    Such a foil adds a word that another caption of the same image has. Words of the foil's own
    caption do not count as added: "a blue cube" is wrong if the caption has a red cube and a blue
    ball.

    Args:
        records: All captions of each image that have units.
        captions: Further captions, by image id.

    Returns:
        The records with the remaining foils, and by condition the number of foils and of those left
        out.
    """
    by_image: dict[str, list[UnitRecord]] = {}
    for record in records:
        by_image.setdefault(record.image_id, []).append(record)
    counts: dict[str, DoubtfulCounts] = {}
    filtered = []
    for record in records:
        caption_words = base_forms(record.caption)
        other_records = [
            other_record for other_record in by_image[record.image_id] if other_record is not record
        ]
        other_words = (
            _image_base_forms(other_records, captions.get(record.image_id, ())) - caption_words
        )
        entities, relations = [], []
        for entity in record.entities:
            conditions = [ENTITY_CONDITIONS.get(foil.edit) for foil in entity.foils]
            entity_foils = _drop_doubtful(
                entity.foils, entity.text, conditions, caption_words, other_words, counts
            )
            entities.append(replace(entity, foils=entity_foils))
        for relation in record.relations:
            kinds = [condition_of(foil) for foil in relation.foils]
            relation_foils = _drop_doubtful(
                relation.foils, relation.text, kinds, caption_words, other_words, counts
            )
            relations.append(replace(relation, foils=relation_foils))
        filtered.append(replace(record, entities=tuple(entities), relations=tuple(relations)))
    return filtered, {name: counts[name] for name in CONDITIONS if name in counts}


def _drop_doubtful(
    foils: Sequence[Foil],
    true_text: str,
    conditions: Sequence[str | None],
    own_forms: set[str],
    other_forms: set[str],
    counts: dict[str, DoubtfulCounts],
) -> tuple[Foil, ...]:
    """Returns the foils that add no word of other captions, and updates the counts by condition."""
    known_words, kept_foils = own_forms | base_forms(true_text), []
    for foil, condition in zip(foils, conditions, strict=True):
        doubtful = is_supported_elsewhere(foil.text, known_words, other_forms)
        if condition is not None:
            previous = counts.get(condition, DoubtfulCounts(0, 0))
            counts[condition] = DoubtfulCounts(previous.n_foils + 1, previous.n_omitted + doubtful)
        if not doubtful:
            kept_foils.append(foil)
    return tuple(kept_foils)


def _distinct_entities(entities: Iterable[Entity]) -> list[Entity]:
    return list({entity.text.lower(): entity for entity in reversed(tuple(entities))}.values())[
        ::-1
    ]


def _join_texts(
    record: UnitRecord, condition: str, anchor: str, foil: str, truth: str
) -> HalfTruthTexts:
    return HalfTruthTexts(
        record, condition, anchor, f"{anchor} and {foil}", f"{anchor} and {truth}"
    )


def public_code_texts(
    records: list[UnitRecord], max_images: int, seed: int, captions: Captions = NO_CAPTIONS
) -> list[HalfTruthTexts]:
    """Builds texts like the public code: from the first match in file order, in lower case.

    For entity conditions, it uses the first caption of an image that has an ordered pair (A, B) of
    entities where B has a foil. The texts are 'a and foil' against 'a'. +Rand's entity is the B of
    another such caption, even if the image shows it. A, B, foils and subjects of relations must
    have a content word (`_passes_public_code_filter`).

    For relation conditions, it uses the first caption of an image that has a relation with two
    kinds of foil. The texts are the foil relation alone against its subject, also for Subj, where
    the anchor is not in the text.

    Args:
        records: The units, in file order.
        max_images: The maximum number of images, separately for entities and relations.
        seed: Seed of the sampling of +Rand.
        captions: Further captions, which the public code ignores.

    Returns:
        The texts, first those of entities, then those of relations.
    """
    pairs = _first_of_each_image(records, _pair_with_foil, max_images)
    relations = _first_of_each_image(records, _find_relation_with_two_foil_kinds, max_images)
    rng = Random(seed)
    texts: list[HalfTruthTexts] = []
    for i, (record, (anchor, added)) in enumerate(pairs):
        for edit, condition in ENTITY_CONDITIONS.items():
            texts += [
                _join_texts(record, condition, anchor.text, foil, added.text)
                for foil in _foil_texts_with_content_word(added.foils, edit)[:1]
            ]
        if len(pairs) > 1:
            other_index = rng.randrange(len(pairs) - 1)
            stranger = pairs[other_index + (other_index >= i)][1][1].text
            texts.append(_join_texts(record, "+Rand", anchor.text, stranger, added.text))
    for record, (relation, foils) in relations:
        if not _passes_public_code_filter(relation.subject):
            continue
        texts += [
            HalfTruthTexts(record, c, relation.subject, foils[c], relation.text)
            for c in CONDITIONS
            if c in foils
        ]
    return [
        HalfTruthTexts(
            m.record, m.condition, m.anchor.lower(), m.half_truth.lower(), m.truth.lower()
        )
        for m in texts
    ]


def _first_of_each_image(
    records: list[UnitRecord], find: Callable[[UnitRecord], Result | None], max_images: int
) -> list[tuple[UnitRecord, Result]]:
    first_results: dict[str, tuple[UnitRecord, Result]] = {}
    for record in records:
        if len(first_results) == max_images:
            break
        if record.image_id not in first_results:
            result = find(record)
            if result is not None:
                first_results[record.image_id] = (record, result)
    return list(first_results.values())


def _pair_with_foil(record: UnitRecord) -> tuple[Entity, Entity] | None:
    return next(
        (
            (anchor, added)
            for anchor in record.entities
            for added in record.entities
            if anchor.text != added.text
            and _passes_public_code_filter(anchor.text)
            and _passes_public_code_filter(added.text)
            and any(_foil_texts_with_content_word(added.foils, edit) for edit in ENTITY_CONDITIONS)
        ),
        None,
    )


def _find_relation_with_two_foil_kinds(
    record: UnitRecord,
) -> tuple[Relation, dict[str, str]] | None:
    for relation in record.relations:
        foils = _first_foil_text_by_kind(record, relation)
        if len(foils.keys() - {"Rel:Attr"}) >= 2:
            return relation, foils
    return None


def _first_foil_text_by_kind(record: UnitRecord, relation: Relation) -> dict[str, str]:
    """Returns the first foil of each kind; arguments are replaced by foils of their entity.

    A negation counts as a kind but belongs to no condition.
    """
    subject, predicate, object_ = relation.subject, relation.predicate, relation.object
    subject_foils, object_foils = (
        _find_entity_foils(record, subject),
        _find_entity_foils(record, object_),
    )
    worded_foils = [
        f
        for f in relation.foils
        if all(map(_passes_public_code_filter, (f.subject, f.predicate, f.object)))
    ]
    foils = {
        "Rel:Attr": [
            f"{subject} {predicate} {foil}"
            for foil in _foil_texts_with_content_word(object_foils, "attribute_change")
        ],
        "Rel:Obj": [
            f"{subject} {predicate} {foil}"
            for foil in _foil_texts_with_content_word(object_foils, "object_change")
        ],
        "Ant": [foil.text for foil in worded_foils if foil.edit in PREDICATE_EDITS],
        "negation": [foil.text for foil in worded_foils if foil.edit == "negation"],
        "Swap": [f"{object_} {predicate} {subject}"],
        "Subj": [
            f"{foil} {predicate} {object_}"
            for foil in _foil_texts_with_content_word(subject_foils, "object_change")
        ],
    }
    return {kind: texts[0] for kind, texts in foils.items() if texts}


def _find_entity_foils(record: UnitRecord, text: str) -> tuple[EntityFoil, ...]:
    """Returns the foils of the entity with that text, else of the first one that contains it."""
    exact_matches = (entity.foils for entity in record.entities if entity.text == text)
    containing_matches = (
        entity.foils for entity in record.entities if text.lower() in entity.text.lower()
    )
    return next(exact_matches, None) or next(containing_matches, ())


def _foil_texts_with_content_word(foils: Iterable[EntityFoil], edit: str) -> list[str]:
    return [
        foil.text for foil in foils if foil.edit == edit and _passes_public_code_filter(foil.text)
    ]


def _passes_public_code_filter(text: str) -> bool:
    """Returns whether a text has a word of more than two letters except 'and' and 'the'.

    This equals the public code's filter of articles, 'and' and a short list of prepositions.
    """
    return any(len(word) > 2 and word not in ("and", "the") for word in text.lower().split())


Rule = Callable[[list[UnitRecord], int, int, Captions], list[HalfTruthTexts]]
RULES: dict[str, Rule] = {
    CHECKED: paper_texts,
    PAPER: paper_texts,
    EQUAL_WORDS: equal_length_texts,
    PUBLIC_CODE: public_code_texts,
}
