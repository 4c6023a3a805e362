"""Foils of a noun phrase with another head: "a red sofa" for "a red chair"."""

from collections.abc import Iterable, Iterator
from random import Random

from zoo.units.record import EntityFoil
from zoo.units.rules import kinds, words
from zoo.units.rules.corpus_counts import CorpusCounts
from zoo.units.rules.foils.exchange import draw_exchanged
from zoo.units.rules.kinds import can_take_number, is_kind, noun_class, sort_of
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    COLOURS,
    MATERIALS,
    NUMBERS,
    QUANTITIES,
    SINGULARS,
    UNCOUNTED,
    plural,
    same_meaning,
    singulars_and_plurals,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

# the number of heads that are drawn to find two that fit
_DRAWS = 12
# the number of draws of exchangeable heads of the same sort
_EXCHANGES = 3
_FREE = word_set(words.FREE_MODIFIERS)
_FREE_OF_ANIMALS = _FREE | QUANTITIES | {"young", "old"}
_FREE_OF_NATURE = (_FREE - {"colorful", "bright"}) | QUANTITIES
_GROWN_WILD = (
    (kinds.PLANTS | kinds.UNPAINTED) - kinds.GROUNDS - kinds.WATERS - kinds.FOODS - kinds.ANIMALS
) | kinds.SUBSTANCES - {"food"}
_GROWN = singulars_and_plurals(word_set("man woman guy gentleman lady"))
_YOUNG = singulars_and_plurals(word_set("boy girl"))
_OF_THE_GROWN = word_set("older old elderly middle-aged adult aged grown business")
_OF_ONE_SEX = word_set("pregnant bearded bald mustached male female")
_BARE = frozenset({"shirtless", "topless"})
_FEMALE = singulars_and_plurals(word_set("woman girl lady"))
_NEARLY_GROWN = singulars_and_plurals(word_set("teenager adult"))
_PORTIONS = word_set(
    "slice slices piece pieces cup cups glass glasses bottle bottles bowl bowls "
    "plate plates can jar"
)
_OF_ANIMALS = frozenset({"herd", "flock"})
_MEALS = frozenset({"food", "foods", "meal", "meals"})
_COUNTING = (NUMBERS | QUANTITIES | word_set("several many few some multiple various")) - {"one"}
_SMALL = frozenset({"little", "small", "young", "younger", "tiny"})


def exchanged_head_foils(
    phrase: Phrase, mentioned: frozenset[str], counts: CorpusCounts, rng: Random
) -> Iterator[EntityFoil]:
    """Yields at most two foils, whose heads are exchangeable with the phrase's own in the corpus.

    They are drawn from the heads that the corpus has after the phrase's attribute: first a similar
    one, then one of the same sort. Without an attribute, a thing is exchanged only with a similar
    one, and an animal with none; `drawn_head_foils` adds others. The foils of "a cat" are thus
    mostly people, who are named more often than all animals together.

    Args:
        phrase: The noun phrase.
        mentioned: The nouns of the caption, which are not used as foils.
        counts: The counts of a corpus.
        rng: Draws the head.
    """
    attributes = attributes_of(phrase)
    if not attributes and is_kind(phrase.head_text, kinds.ANIMALS):
        return
    is_person = is_kind(phrase.head_text, kinds.PEOPLE)
    n_exchanges = _EXCHANGES if attributes or is_person else 0
    frequencies = counts.heads_after(attributes)
    used: set[str] = set()
    for alternatives in (counts.other_heads_of, *[counts.other_heads_of_sort] * n_exchanges):
        head = draw_exchanged(phrase.head_text, alternatives, frequencies, rng)
        if head and head not in used and _is_absent(head, phrase, mentioned, counts):
            used.add(head)
            yield _change_head(phrase, head, counts, rng)
            if len(used) == 2:
                return


def attributes_of(phrase: Phrase) -> list[str]:
    """Returns the attributes of a phrase."""
    return [word for word in phrase.words[: phrase.head[0]] if word in ATTRIBUTE_FOILS]


def drawn_head_foils(
    phrase: Phrase, mentioned: frozenset[str], counts: CorpusCounts, rng: Random
) -> Iterator[EntityFoil]:
    """Yields foils with another head: first of the same sort, then of the same set.

    Args:
        phrase: The noun phrase.
        mentioned: The nouns of the caption, which are not used as foils.
        counts: The counts of a corpus.
        rng: Draws the order.
    """
    heads, weights = counts.weights_of_sort(phrase.head_text)
    candidates = rng.choices(heads, cum_weights=weights, k=_DRAWS) if heads else []
    # frequent ones are likely to come first
    neighbours = sorted(
        counts.other_heads_of(phrase.head_text),
        key=lambda head: -(rng.random() ** (1 / counts.heads.get(head, 0.1))),
    )
    for head in dict.fromkeys((*candidates, *neighbours)):
        if counts.can_replace(head, phrase.head_text) and _is_absent(
            head, phrase, mentioned, counts
        ):
            yield _change_head(phrase, head, counts, rng)


def _change_head(phrase: Phrase, head: str, counts: CorpusCounts, rng: Random) -> EntityFoil:
    return EntityFoil(replace_head(phrase, counts.draw_compound(head, rng)), "object_change")


def _is_absent(head: str, phrase: Phrase, mentioned: frozenset[str], counts: CorpusCounts) -> bool:
    """Returns whether a head fits the phrase and is not expected in the image of the caption."""
    return (
        (not is_kind(head, kinds.BACKDROPS) or counts.is_rare_with(head, mentioned))
        and fits_phrase(head, phrase, mentioned)
        and not counts.is_expected_with(head, mentioned)
    )


def replace_head(phrase: Phrase, head: str) -> str:
    """Returns the phrase with another head; a compound ("nose ring") is replaced as a whole.

    The head becomes a plural after "two" or "group of" if that of the phrase is both ("sheep").
    """
    if phrase.head_text == plural(phrase.head_text):
        is_plural = not _COUNTING.isdisjoint(phrase.words)
        head = plural(head) if is_plural and head not in SINGULARS.keys() | UNCOUNTED else head
    return phrase.replace_words(min(phrase.compound, phrase.head[0]), phrase.head[1], head)


def fits_phrase(head: str, phrase: Phrase, mentioned: frozenset[str]) -> bool:
    """Returns whether a head can replace that of a phrase.

    It cannot if a modifier fits only the phrase's own head ("sliding door"), if it may name the
    same as a noun of the caption, or if it cannot be counted.

    Args:
        head: The head.
        phrase: The noun phrase.
        mentioned: The nouns of the caption.
    """
    start, end = min(phrase.compound, phrase.head[0]), phrase.head[1]
    counted = bool((NUMBERS - {"one"}) & set(phrase.words))
    return (
        end == len(phrase.words)
        and not (counted and (head in UNCOUNTED or not can_take_number(phrase.head_text)))
        and not _is_mentioned(head, phrase.head_text, mentioned)
        and _quantity_fits(phrase, head)
        and _modifiers_fit_foil(phrase.words[:start], phrase.head_text, head)
        and _modifiers_fit_foil(phrase.words[:start], head, phrase.head_text)
    )


def _quantity_fits(phrase: Phrase, head: str) -> bool:
    """Returns whether a quantity fits the head: a bowl of food, a pair of shoes."""
    quantity = phrase.words[0] if "of" in phrase.words else ""
    if quantity in ("pair", "pairs"):
        return head.endswith("s")
    if quantity in _OF_ANIMALS:
        return is_kind(head, kinds.ANIMALS) and head in SINGULARS.keys() | UNCOUNTED
    if quantity in _PORTIONS:
        return is_kind(phrase.head_text, kinds.FOODS, _MEALS) and is_kind(head, kinds.FOODS, _MEALS)
    return quantity not in QUANTITIES or sort_of(head)[1] or head in UNCOUNTED


def _modifiers_fit_foil(modifiers: tuple[str, ...], head: str, foil: str) -> bool:
    """Returns whether the modifiers of the head fit the foil.

    For example, there are no little adults and no metal hedges.
    """
    modifier_set = set(modifiers) - {"and", "of"}
    if is_kind(head, kinds.BEINGS):
        if is_kind(head, kinds.ANIMALS) and is_kind(foil, kinds.PEOPLE):
            return modifier_set <= _FREE_OF_ANIMALS
        person, animal = is_kind(head, kinds.PEOPLE), is_kind(foil, kinds.ANIMALS)
        if "young" in modifier_set and {head, foil} <= _NEARLY_GROWN:
            return False
        if (
            modifier_set & _SMALL
            and is_kind(head, kinds.YOUNG)
            and not (is_kind(foil, kinds.YOUNG) or animal)
        ):
            return False
        if person and not animal:
            grown = modifier_set & _OF_THE_GROWN
            if any(word.endswith("-aged") and word != "middle-aged" for word in modifier_set):
                return False
            return (
                not (grown and is_kind(foil, kinds.YOUNG))
                and not modifier_set & _OF_ONE_SEX
                and not (modifier_set & _BARE and {head, foil} & _FEMALE)
            )
        if person and animal:
            # a "black man" is not a "black dog": the word does not mean the same of both
            return modifier_set <= _FREE_OF_ANIMALS
        return True
    if is_kind(head, _GROWN_WILD):
        return modifier_set <= _FREE_OF_NATURE
    rest = modifier_set - _FREE - COLOURS - QUANTITIES
    if rest & MATERIALS and not is_kind(foil, kinds.MANUFACTURED):
        return False
    return noun_class(head) == noun_class(foil) or rest <= MATERIALS


def _is_mentioned(foil: str, head: str, mentioned: frozenset[str]) -> bool:
    """Returns whether a foil may name the same as the head or another noun of the caption."""
    return same_meaning(foil, head) or names_any(foil, mentioned - {head, *head.split()})


def names_any(head: str, nouns: Iterable[str]) -> bool:
    """Returns whether a head may name the same as one of some nouns."""
    return any(same_meaning(head, noun) and not _differ_in_age(head, noun) for noun in nouns)


def _differ_in_age(first: str, second: str) -> bool:
    """Returns whether one is a man or woman and the other a boy or girl."""
    return (first in _GROWN and second in _YOUNG) or (first in _YOUNG and second in _GROWN)
