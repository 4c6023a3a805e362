"""Captions of the world, as people write them: one to three objects, a relation, few attributes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from zoo.scenes.world.graph import INVERSES, WorldGraph, WorldObject
from zoo.scenes.world.kinds import KINDS, PEOPLE, PLACES
from zoo.scenes.world.phrases import Phrase, sample_phrase

PER_SCENE = 5
# how often a caption is a relation, names two objects, three or one
FORMS = {"relation": 0.78, "two": 0.08, "three": 0.1, "one": 0.04}
GENERAL_SHARE = {"relation": 0.1, "two": 0.1, "three": 0.1, "one": 0.0}
PLACE_SHARE = {"relation": 0.35, "two": 0.5, "three": 0.3, "one": 1.0}
MORE = "near"
MORE_SHARE = 0.3  # how often a caption of a relation names a third object
SALIENCE = 2.0  # weight of a relation along an axis or of sizes if its subject is the larger object
WEIGHTS = {
    "on": 10.0, "under": 10.0, "inside": 10.0, "holding": 10.0, "riding": 10.0,
    "behind": 0.5, "in front of": 0.5, "to the left of": 0.05, "to the right of": 0.05,
    "bigger than": 0.08, "smaller than": 0.08,
}  # fmt: skip
TRIES = 20

# {a}, {b}: phrases with articles; {is_a}, {is_b}: is or are; {his}, {it}: pronouns of a and b
TEMPLATES: dict[str, tuple[str, ...]] = {
    "to the left of": (
        "{a} to the left of {b}",
        "{a} {is_a} to the left of {b}",
        "{a} on the left side of {b}",
        "there {is_a} {a} to the left of {b}",
        "{b} with {a} to the left",
    ),
    "to the right of": (
        "{a} to the right of {b}",
        "{a} {is_a} to the right of {b}",
        "{a} on the right side of {b}",
        "there {is_a} {a} to the right of {b}",
        "{b} with {a} to the right",
    ),
    "behind": (
        "{a} behind {b}",
        "{a} {is_a} behind {b}",
        "there {is_a} {a} behind {b}",
        "{b} with {a} behind {it}",
        "{a} standing behind {b}",
    ),
    "in front of": (
        "{a} in front of {b}",
        "{a} {is_a} in front of {b}",
        "there {is_a} {a} in front of {b}",
        "{b} with {a} in front of {it}",
        "{a} standing in front of {b}",
    ),
    "on": (
        "{a} on {b}",
        "{a} {is_a} on {b}",
        "{a} on top of {b}",
        "{b} with {a} on {it}",
        "there {is_a} {a} on {b}",
        "{a} placed on {b}",
    ),
    "under": (
        "{a} under {b}",
        "{a} {is_a} under {b}",
        "{a} underneath {b}",
        "{b} with {a} under {it}",
        "there {is_a} {a} under {b}",
        "{a} placed under {b}",
    ),
    "inside": (
        "{a} in {b}",
        "{a} inside {b}",
        "{a} {is_a} in {b}",
        "{b} with {a} in {it}",
        "there {is_a} {a} inside {b}",
        "{b} filled with {a}",
        "{a} placed in {b}",
    ),
    "holding": (
        "{a} holding {b}",
        "{a} {is_a} holding {b}",
        "{a} holds {b}",
        "{a} with {b} in {his} hand",
        "{b} held by {a}",
        "{b} {is_b} being held by {a}",
        "there {is_a} {a} holding {b}",
    ),
    "riding": (
        "{a} riding {b}",
        "{a} {is_a} riding {b}",
        "{a} rides {b}",
        "{b} ridden by {a}",
        "{b} {is_b} being ridden by {a}",
        "there {is_a} {a} riding {b}",
    ),
    "bigger than": (
        "{a} bigger than {b}",
        "{a} {is_a} bigger than {b}",
        "{a} that {is_a} larger than {b}",
    ),
    "smaller than": (
        "{a} smaller than {b}",
        "{a} {is_a} smaller than {b}",
        "{a} that {is_a} smaller than {b}",
    ),
    "two": (
        "{a} and {b}",
        "there {is_a} {a} and {b}",
        "a picture of {a} and {b}",
        "{a} next to {b}",
        "a scene with {a} and {b}",
    ),
    "three": ("{a}, {b} and {c}", "a picture of {a}, {b} and {c}"),
    "one": ("{a}", "a picture of {a}", "there {is_a} {a}", "a close view of {a}"),
}
N_NAMED = {"one": 1, "three": 3}  # phrases in the templates of a form; all others have two


@dataclass(frozen=True)
class WorldCaption:
    """A caption with the statement that it makes.

    Attributes:
        form: The predicate of its relation, or two, three or one.
        template: One of the templates of the form.
        phrases: Its phrases; the first is the subject. One that the template does not name follows
            after "near".
        place: The place, if it is mentioned.
        place_first: Whether the place comes first.
        added: A phrase that a foil adds.
    """

    form: str
    template: str
    phrases: tuple[Phrase, ...]
    place: str | None = None
    place_first: bool = False
    added: Phrase | None = field(default=None)

    def __str__(self) -> str:
        """The caption in words, in lower case."""
        a, *more_phrases = self.phrases
        fields = dict(zip("abc", (phrase.with_article for phrase in self.phrases), strict=False))
        fields |= {"is_a": _is(a), "his": _possessive(a)}
        if more_phrases:
            fields |= {"is_b": _is(more_phrases[0]), "it": _pronoun(more_phrases[0])}
        text = self.template.format(**fields)
        for phrase in self.phrases[N_NAMED.get(self.form, 2) :]:
            text = f"{text} {MORE} {phrase.with_article}"
        if self.added is not None:
            text = f"{text} and {self.added.with_article}"
        if self.place is None:
            return text
        place_phrase = PLACES[self.place]
        return f"{place_phrase}, {text}" if self.place_first else f"{text} {place_phrase}"

    @property
    def predicate(self) -> str | None:
        """The predicate of its relation; None if it only names objects."""
        return None if self.form in ("one", "two", "three") else self.form

    def with_phrases(self, *phrases: Phrase) -> "WorldCaption":
        """Returns the caption about other objects."""
        return replace(self, phrases=phrases)


def describe(graph: WorldGraph, n: int = PER_SCENE) -> list[WorldCaption]:
    """Returns true captions of a scene, no two of which are equal. They depend only on the graph.

    Args:
        graph: The scene.
        n: Number of captions.
    """
    rng = Random(f"captions {graph.id} {graph.seed}")
    captions: dict[str, WorldCaption] = {}
    statements = list(graph.relations())
    weights = [_weight(graph, *statement) for statement in statements]
    while len(captions) < n:
        for _ in range(TRIES):
            form = rng.choices(list(FORMS), list(FORMS.values()))[0]
            if (form == "three" and len(graph.objects) < 3) or (
                form == "relation" and not statements
            ):
                form = "two"
            if form == "relation":
                k = rng.choices(range(len(statements)), weights)[0]
                subject, predicate, object = statements[k]
                rows = [subject, object]
                if len(graph.objects) > 2 and rng.random() < MORE_SHARE:
                    rows.append(rng.choice(sorted(set(range(len(graph.objects))) - set(rows))))
                caption = _sample_caption(rng, graph, predicate, form, rows)
            else:
                rows = rng.sample(range(len(graph.objects)), N_NAMED.get(form, 2))
                caption = _sample_caption(rng, graph, form, form, rows)
            if all(phrase.is_true(graph) for phrase in caption.phrases):
                break
        if form == "relation" and len(statements) > 1:  # rather another relation next time
            weights[k] *= 0.2
        captions.setdefault(str(caption), caption)
    return list(captions.values())


def _sample_caption(
    rng: Random, graph: WorldGraph, form: str, share: str, rows: Sequence[int]
) -> WorldCaption:
    objects = [graph.objects[row] for row in rows]
    templates = TEMPLATES[form]
    if form == "two" and not _are_neighbours(*objects):
        templates = tuple(template for template in templates if "next to" not in template)
    if KINDS[objects[0].kind].group not in ("people", "animals"):
        templates = tuple(template for template in templates if "standing" not in template)
    else:
        templates = tuple(template for template in templates if "placed" not in template)
    phrases = [sample_phrase(rng, object, GENERAL_SHARE[share]) for object in objects]
    if len({phrase.noun for phrase in phrases}) < len(phrases):
        phrases = [replace(phrase, is_general=False) for phrase in phrases]
    if len({phrase.kind for phrase in phrases}) < len(phrases):  # two of a kind by their colours
        phrases = [
            replace(phrase, color=object.shown_color)
            for phrase, object in zip(phrases, objects, strict=True)
        ]
    place = graph.place if rng.random() < PLACE_SHARE[share] else None
    return WorldCaption(form, rng.choice(templates), tuple(phrases), place, rng.random() < 0.2)


def _weight(graph: WorldGraph, subject: int, predicate: str, object: int) -> float:
    """Returns how readily people make a statement: rather about the object that is larger."""
    if predicate not in INVERSES:
        return WEIGHTS[predicate]
    larger = _area(graph.objects[subject]) >= _area(graph.objects[object])
    return WEIGHTS[predicate] * (SALIENCE if larger else 1 / SALIENCE)


def _area(object: WorldObject) -> float:
    left, top, right, bottom = object.box
    return (right - left) * (bottom - top)


def _are_neighbours(a: WorldObject, b: WorldObject) -> bool:
    """Returns whether two objects are next to each other."""
    (left_a, _, right_a, bottom_a), (left_b, _, right_b, bottom_b) = a.box, b.box
    gap = max(left_a, left_b) - min(right_a, right_b)
    return -0.05 < gap < 0.15 and abs(bottom_a - bottom_b) < 0.12


def _is(phrase: Phrase) -> str:
    return "is" if phrase.count == 1 else "are"


def _pronoun(phrase: Phrase) -> str:
    if phrase.count > 1:
        return "them"
    if phrase.kind in PEOPLE:
        return "him" if phrase.kind in ("man", "boy") else "her"
    return "it"


def _possessive(phrase: Phrase) -> str:
    if phrase.count > 1:
        return "their"
    return "his" if phrase.kind in ("man", "boy") else "her"
