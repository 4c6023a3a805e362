"""Foils of relations: another predicate, swapped arguments, another argument."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from random import Random

from zoo.units.record import Entity, Relation, RelationFoil
from zoo.units.rules.corpus_counts import CorpusCounts
from zoo.units.rules.foils.contradictions import CONTRADICTIONS, Contradiction, contradiction
from zoo.units.rules.foils.exchange import draw_exchanged
from zoo.units.rules.foils.heads import attributes_of, fits_phrase, names_any, replace_head
from zoo.units.rules.foils.swaps import can_swap
from zoo.units.rules.kinds import noun_class
from zoo.units.rules.lexicon import is_symmetric
from zoo.units.rules.phrases.phrase import Phrase

# the number of draws of another head of each argument
_EXCHANGES = 2


def relation_foils(
    relation: Relation,
    subject: tuple[Phrase, Entity],
    object_: tuple[Phrase, Entity],
    mentioned: frozenset[str],
    counts: CorpusCounts,
    rng: Random,
) -> Iterator[RelationFoil]:
    """Yields predicate changes, the argument swap, and argument changes.

    Predicates and heads of arguments are drawn from those that the corpus has in the same context,
    so that a text alone does not give a foil away. One predicate has a contradicting verb, and one
    a contradicting preposition. Changed attributes are those of the arguments' entities.

    Args:
        relation: The relation.
        subject: The phrase of its subject, and its entity with foils.
        object_: The phrase of its object, and its entity with foils.
        mentioned: The nouns of the caption, which are not used as foils.
        counts: The counts of a corpus.
        rng: Draws the foils.
    """
    texts = {"subject": relation.subject, "object": relation.object}
    predicate = relation.predicate
    heads = {"subject": subject[0].head_text, "object": object_[0].head_text}
    phrases = {"subject": subject[0], "object": object_[0]}
    # a head that is expected with the other argument makes a foil that sounds as likely as the unit
    other_heads = mentioned - set(heads.values())
    predicates = counts.predicates_between(noun_class(heads["subject"]), heads["object"])
    change_predicate = partial(
        RelationFoil, **texts, edit="predicate_change", component="predicate"
    )
    change_argument = partial(RelationFoil, predicate=predicate, edit="argument_change")
    for kind in CONTRADICTIONS:

        def contraries(true: str, kind: Contradiction = kind) -> tuple[str, ...]:
            return _contrary_predicates(
                counts, noun_class(heads["subject"]), true, heads["object"]
            ).get(kind, ())

        other_predicate = draw_exchanged(predicate, contraries, predicates, rng)
        if other_predicate:
            yield change_predicate(predicate=other_predicate)
    # the filter drops and counts symmetric ones
    if is_symmetric(predicate) or (
        can_swap(predicate, relation.subject, relation.object)
        and rng.random() < counts.swap_probability(heads["subject"], predicate, heads["object"])
    ):
        yield RelationFoil(relation.object, predicate, relation.subject, "argument_swap")
    contexts = {
        "subject": counts.subjects.get((predicate, noun_class(heads["object"])), {}),
        "object": counts.objects.get((noun_class(heads["subject"]), predicate), {}),
    }
    for component, phrase in phrases.items():
        if _is_named_elsewhere(heads[component], other_heads, counts):
            # it would not be drawn as a foil here
            continue
        frequencies = counts.with_attributes(contexts[component], attributes_of(phrase))
        for _ in range(_EXCHANGES):
            head = draw_exchanged(heads[component], counts.other_heads_of, frequencies, rng)
            if (
                head
                and fits_phrase(head, phrase, mentioned)
                and not counts.is_expected_with(head, other_heads)
            ):
                changed = texts | {component: replace_head(phrase, counts.draw_compound(head, rng))}
                yield change_argument(component=component, part="head", **changed)
    for component, entity in (("subject", subject[1]), ("object", object_[1])):
        texts_of_foils = [foil.text for foil in entity.foils if foil.edit == "attribute_change"]
        if texts_of_foils:
            changed = texts | {component: rng.choice(texts_of_foils)}
            yield change_argument(component=component, part="attribute", **changed)


def _is_named_elsewhere(head: str, other_heads: frozenset[str], counts: CorpusCounts) -> bool:
    """Returns whether other nouns of the caption may name the same, or make it expected."""
    return names_any(head, other_heads) or counts.is_expected_with(head, other_heads)


@lru_cache(1 << 16)
def _contrary_predicates(
    counts: CorpusCounts, subject_class: str, predicate: str, object_: str
) -> Mapping[Contradiction, tuple[str, ...]]:
    """Returns the predicates that contradict one in the corpus, by the kind of contradiction."""
    contraries: dict[Contradiction, tuple[str, ...]] = {}
    for candidate in counts.predicates_between(subject_class, object_):
        kind = contradiction(predicate, candidate, object_)
        if kind:
            contraries[kind] = (*contraries.get(kind, ()), candidate)
    return contraries
