"""Noun phrases about objects, and whether they and statements about two of them are true."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from zoo.scenes.world.graph import WorldGraph, WorldObject
from zoo.scenes.world.kinds import (
    GENERAL_NOUNS,
    KINDS,
    NUMBERS,
    SIZES,
    WOODEN,
    general_noun,
    plural,
)

# how often an attribute that an object has is mentioned
COLOR_MENTIONED, PATTERN_MENTIONED, SIZE_MENTIONED = 0.25, 0.25, 0.25

GARMENTS = {"shirt": "shirts", "dress": "dresses"}


@dataclass(frozen=True)
class Phrase:
    """A noun phrase. Attributes that are None are not mentioned.

    Attributes:
        kind: A name of `KINDS`.
        color: A name of `COLORS`, or wooden.
        pattern: A pattern.
        size: A name of `SIZES`.
        count: Number of objects.
        is_general: Whether the noun is the general one of the kind, such as animal of dog.
    """

    kind: str
    color: str | None = None
    pattern: str | None = None
    size: str | None = None
    count: int = 1
    is_general: bool = False

    @property
    def noun(self) -> str:
        """The noun in singular: the kind or its general noun."""
        return (general_noun(self.kind) if self.is_general else None) or self.kind

    def __str__(self) -> str:
        """The phrase without an article, such as "two red striped balls"."""
        noun = self.noun if self.count == 1 else plural(self.noun)
        looks = [word for word in (self.color, self.pattern) if word]
        clothing = KINDS[self.kind].worn
        modifiers = [NUMBERS.get(self.count, ""), self.size or ""]
        if clothing is None:
            return " ".join(word for word in (*modifiers, *looks, noun) if word)
        if not looks:
            return " ".join(word for word in (*modifiers, noun) if word)
        garment = " ".join((*looks, clothing if self.count == 1 else GARMENTS[clothing]))
        article = f"{article_for(garment)} " if self.count == 1 else ""
        return " ".join(word for word in (*modifiers, noun, f"in {article}{garment}") if word)

    @property
    def with_article(self) -> str:
        """The phrase with "a" or "an", unless it has a number."""
        text = str(self)
        return text if self.count > 1 else f"{article_for(text)} {text}"

    def fits(self, object: WorldObject) -> bool:
        """Returns whether an object, or each of a group, has all attributes of the phrase."""
        return (
            object.kind in GENERAL_NOUNS.get(self.noun, ("", (self.kind,)))[1]
            and self.color in (None, object.shown_color)
            and self.pattern in (None, object.pattern)
            and self.size in (None, object.size)
        )

    def may_fit(self, object: WorldObject) -> bool:
        """Returns whether an object fits the phrase, or someone may say so: wood is brown."""
        wooden = self.color == "brown" and object.pattern == WOODEN
        return (replace(self, color=WOODEN) if wooden else self).fits(object)

    def is_true(self, graph: WorldGraph) -> bool:
        """Returns whether a scene has such an object, or exactly that number of them."""
        n = sum(object.count for object in graph.objects if self.fits(object))
        return n == self.count if self.count > 1 else n > 0


def article_for(text: str) -> str:
    """Returns "a" or "an"."""
    return "an" if text[0] in "aeiou" else "a"


def sample_phrase(rng: Random, object: WorldObject, general_share: float = 0.0) -> Phrase:
    """Returns a true phrase of an object that mentions some of its attributes.

    Args:
        rng: The source of random numbers.
        object: The object.
        general_share: How often the noun is general, if the kind has a general noun.
    """
    pattern = object.pattern if object.pattern != WOODEN else None
    return Phrase(
        object.kind,
        object.shown_color if rng.random() < COLOR_MENTIONED else None,
        pattern if rng.random() < PATTERN_MENTIONED else None,
        object.size if rng.random() < SIZE_MENTIONED else None,
        object.count,
        general_noun(object.kind) is not None and rng.random() < general_share,
    )


def may_hold(graph: WorldGraph, subject: Phrase, predicate: str, object: Phrase) -> bool:
    """Returns whether a statement is true or in doubt for some two objects of a scene.

    Args:
        graph: The scene.
        subject: The phrase of the first object.
        predicate: One of `PREDICATES`, or `and`.
        object: The phrase of the second object.
    """
    rows = range(len(graph.objects))
    return any(
        i != j
        and subject.may_fit(graph.objects[i])
        and object.may_fit(graph.objects[j])
        and (subject.count == 1 or graph.objects[i].count == subject.count)
        and (object.count == 1 or graph.objects[j].count == object.count)
        and (predicate == "and" or graph.may_hold(i, predicate, j))
        for i in rows
        for j in rows
    )


def can_have(kind: str, color: str | None, pattern: str | None, size: str | None) -> bool:
    """Returns whether objects of a kind can have these attributes."""
    traits = KINDS[kind]
    return (
        (color is None or color in traits.colors or (color == WOODEN and WOODEN in traits.patterns))
        and (pattern is None or pattern in traits.patterns)
        and (size is None or traits.group != "people")
    )


def other_nouns(phrase: Phrase, any_group: bool = False) -> Iterator[Phrase]:
    """Yields the phrases of other kinds with the same attributes.

    Args:
        phrase: The phrase.
        any_group: Whether kinds of all groups are taken. Otherwise they are of the same group, or
            can be held too.
    """
    own = KINDS[phrase.kind]
    for name, kind in KINDS.items():
        if (
            general_noun(name) != phrase.noun
            and name != phrase.kind
            and (any_group or kind.group == own.group or (kind.portable and own.portable))
            and can_have(name, phrase.color, phrase.pattern, phrase.size)
        ):
            yield replace(phrase, kind=name, is_general=False)


def other_attributes(phrase: Phrase) -> Iterator[Phrase]:
    """Yields the phrases with another colour, pattern, size or number than the mentioned one."""
    kind = KINDS[phrase.kind]
    if phrase.color is not None:
        woods = [WOODEN] if WOODEN in kind.patterns and phrase.pattern is None else []
        for color in (*kind.colors, *woods):
            if color != phrase.color:
                yield replace(phrase, color=color)
    if phrase.pattern is not None:
        for pattern in kind.patterns:
            if pattern not in (phrase.pattern, WOODEN):
                yield replace(phrase, pattern=pattern)
    if phrase.size is not None:
        for size in SIZES:
            if size != phrase.size:
                yield replace(phrase, size=size)
    if phrase.count > 1:
        for count in NUMBERS:
            if count != phrase.count:
                yield replace(phrase, count=count)


def added_attributes(phrase: Phrase) -> Iterator[Phrase]:
    """Yields the phrases with a colour, or with a pattern if they have a colour.

    A size is never added: it is a matter of degree.
    """
    kind = KINDS[phrase.kind]
    if phrase.color is None:
        for color in kind.colors:
            yield replace(phrase, color=color)
    elif phrase.pattern is None and phrase.color != WOODEN:
        for pattern in kind.patterns:
            if pattern != WOODEN:
                yield replace(phrase, pattern=pattern)


def false_phrases(graph: WorldGraph, variants: Iterator[Phrase]) -> list[Phrase]:
    """Returns the variants that are false of a scene."""
    return [
        variant
        for variant in variants
        if not variant.is_true(graph)
        and (variant.count > 1 or not any(map(variant.may_fit, graph.objects)))
    ]
