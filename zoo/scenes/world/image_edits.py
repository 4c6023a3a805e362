"""Image-side half-truths: a scene, and the same scene with one detail that its text excludes.

A half-truth of CS-CLIP is a text: of one image, a true text with a wrong detail added. Its mirror
is an image: for one text, a scene that agrees with the text but for one detail. The graphs decide
what is true of a scene.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from zoo.scenes.captions import SceneDescription
from zoo.scenes.collection import Scene, SceneCollection, image_id
from zoo.scenes.world.captions import TEMPLATES, WorldCaption
from zoo.scenes.world.collection import (
    RENDERER,
    SWAPPED,
    VERSION,
    exchange_colors,
    exchange_positions,
)
from zoo.scenes.world.foils import is_host, unit_record
from zoo.scenes.world.graph import LINKS, WorldGraph, WorldObject
from zoo.scenes.world.kinds import EDITS, KINDS, WOODEN
from zoo.scenes.world.layout import (
    add_object,
    attachable_kinds,
    move_object,
    reattach,
    sample_graph,
)
from zoo.scenes.world.phrases import Phrase, can_have, may_hold, other_nouns

TRIES = 20  # positions of a moved or added object

Statement = tuple[int, str, int]  # row of the subject, predicate, row of the object
# the edited scene, a caption of the scene before the edit, and one of the edited scene
EditedScene = tuple[WorldGraph, WorldCaption, WorldCaption]


class ImageHalfTruths(SceneCollection):
    """Pairs of scenes that differ in one detail, for each kind of edit in turn.

    The caption of the first scene is false of the second and vice versa, with two exceptions. If
    the edit is `missing`, only the first scene has an object, and only its caption
    names it. If it is `extra`, the second scene has the object, and the caption of the first, which
    does not name it, is true of both.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.
    """

    splits = EDITS
    renderer = RENDERER

    def __init__(self, seed: int = 0, size: int = 112) -> None:
        super().__init__(seed, size)

    def extra_settings(self) -> dict[str, Any]:
        """Returns the kind of the collection and its version."""
        return {"kind": "image_half_truths", "world": VERSION}

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n pairs, two each."""
        for index in range(n_layouts):
            kind = EDITS[index % len(EDITS)]
            pair = self._pair(index, kind)
            for k, (graph, caption) in enumerate(pair):
                image = image_id(index, SWAPPED if k else "")
                record = unit_record(graph, caption, f"{graph.id}-{k}", image)
                yield Scene(image, graph, kind, [SceneDescription(record, str(pair[1 - k][1]))])

    def _pair(self, index: int, kind: str) -> list[tuple[WorldGraph, WorldCaption]]:
        rng = Random(f"image half-truths {self.seed} {index}")
        while True:
            graph = replace(
                sample_graph(f"image half-truths {self.seed}", rng.randrange(10**9)),
                id=f"{index:06d}",
            )
            statements = [s for s in graph.relations() if is_unambiguous(graph, s)]
            predicates = sorted({predicate for _, predicate, _ in statements})
            for chosen in rng.sample(predicates, len(predicates)):
                statement = rng.choice([s for s in statements if s[1] == chosen])
                for edited, caption, edited_caption in EDIT_FUNCTIONS[kind](rng, graph, statement):
                    pair = [(graph, caption), (edited, edited_caption)]
                    if kind == "missing":
                        pair.reverse()
                    if is_valid_pair(kind, pair):
                        return pair


def is_unambiguous(graph: WorldGraph, statement: Statement) -> bool:
    """Returns whether no two objects of a kind may be meant, nor a relation of sizes.

    Args:
        graph: The scene.
        statement: A true statement about it.
    """
    kinds = [object.kind for object in graph.objects]
    subject, predicate, object = statement
    return not predicate.endswith("than") and all(
        kinds.count(kinds[row]) == 1 for row in (subject, object)
    )


def is_valid_pair(kind: str, pair: list[tuple[WorldGraph, WorldCaption]]) -> bool:
    """Returns whether the captions are true and false of the scenes as their kind requires.

    Args:
        kind: One of `EDITS`.
        pair: Two scenes with their captions.
    """
    (first, caption), (second, other_caption) = pair
    if not (is_true(first, caption) and is_true(second, other_caption)):
        return False
    if kind == "extra":
        return is_true(second, caption)
    if may_be_true(second, caption):
        return False
    return kind == "missing" or not may_be_true(first, other_caption)


def is_true(graph: WorldGraph, caption: WorldCaption) -> bool:
    """Returns whether a caption of a relation is clearly true of a scene.

    Args:
        graph: The scene.
        caption: The caption.
    """
    subject, object = caption.phrases
    rows = range(len(graph.objects))
    return (caption.added is None or caption.added.is_true(graph)) and any(
        i != j
        and _names(subject, graph.objects[i])
        and _names(object, graph.objects[j])
        and graph.holds(i, caption.form, j)
        for i in rows
        for j in rows
    )


def may_be_true(graph: WorldGraph, caption: WorldCaption) -> bool:
    """Returns whether a caption of a relation is true of a scene, or in doubt.

    Args:
        graph: The scene.
        caption: The caption.
    """
    subject, object = caption.phrases
    return may_hold(graph, subject, caption.form, object) and (
        caption.added is None or any(map(caption.added.may_fit, graph.objects))
    )


def _names(phrase: Phrase, object: WorldObject) -> bool:
    return phrase.fits(object) and phrase.count == object.count


def _edit_object(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields scenes in which a named object is of another kind."""
    caption, present = _caption(graph, statement), {object.kind for object in graph.objects}
    for k, row in _rows_in_random_order(rng, statement):
        object = graph.objects[row]
        kinds = [
            kind
            for kind in (phrase.kind for phrase in other_nouns(caption.phrases[k]))
            if kind not in present
            and can_have(kind, object.color, object.pattern, object.size)
            and _can_be_attached(graph, row, kind)
        ]
        for kind in rng.sample(kinds, len(kinds)):
            edited = _replace_object(graph, row, kind=kind)
            if edited is not None:
                yield edited, caption, _caption(edited, statement)


def _edit_attribute(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields scenes in which a named object has another colour or pattern."""
    for k, row in _rows_in_random_order(rng, statement):
        object = graph.objects[row]
        if object.pattern == WOODEN:
            continue
        attribute = rng.choice(("color", "pattern") if object.pattern else ("color",))
        values: tuple[str, ...] = getattr(KINDS[object.kind], f"{attribute}s")
        others = [v for v in values if v not in (getattr(object, attribute), WOODEN)]
        for value in rng.sample(others, len(others)):
            edited = _replace_object(graph, row, **{attribute: value})
            if edited is not None:
                mentioned = {k: attribute}
                caption, edited_caption = (
                    _caption(g, statement, mentioned) for g in (graph, edited)
                )
                yield edited, caption, edited_caption


def _edit_relation(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields scenes in which the subject is elsewhere."""
    subject, predicate, object = statement
    caption = _caption(graph, statement)
    if predicate in LINKS:
        child, host = graph.objects[subject].kind, graph.objects[object].kind
        links = [
            link
            for link in LINKS
            if link not in (predicate, "holding")
            and is_host(host, link)
            and child in attachable_kinds(host, link)
        ]
        for link in rng.sample(links, len(links)):
            edited = _replace_object(graph, subject, link=link)
            if edited is not None:
                yield edited, caption, _caption(edited, (subject, link, object))
    elif graph.objects[subject].host is None:
        for _ in range(TRIES):
            moved = move_object(rng, graph, subject)
            for row, new_predicate, other_row in moved.relations() if moved else ():
                if (row, other_row) == (subject, object) and not new_predicate.endswith("than"):
                    assert moved is not None
                    yield moved, caption, _caption(moved, (subject, new_predicate, object))


def swap_colors(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields the scene in which the named objects exchange their colours.

    Args:
        rng: Not used.
        graph: The scene.
        statement: A true statement about it.
    """
    edited = exchange_colors(graph, statement[0], statement[2])
    if edited is not None:
        colors = {0: "color", 1: "color"}
        yield edited, _caption(graph, statement, colors), _caption(edited, statement, colors)


def _swap_positions(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields the scene in which the named objects exchange their positions."""
    subject, predicate, object = statement
    edited = exchange_positions(graph, subject, object)
    if edited is not None:
        yield edited, _caption(graph, statement), _caption(edited, (object, predicate, subject))


def _edit_count(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields scenes in which a named group has three members instead of two, or vice versa."""
    for _, row in _rows_in_random_order(rng, statement):
        count = graph.objects[row].count
        edited = _replace_object(graph, row, count=5 - count) if count > 1 else None
        if edited is not None:
            yield edited, _caption(graph, statement), _caption(edited, statement)


def _add_object(rng: Random, graph: WorldGraph, statement: Statement) -> Iterator[EditedScene]:
    """Yields scenes with one more object, which only the second caption names."""
    caption = _caption(graph, statement)
    for _ in range(TRIES):
        edited = add_object(rng, graph)
        if edited is not None:
            new = edited.objects[-1]
            phrase = Phrase(new.kind, new.shown_color if rng.random() < 0.5 else None)
            yield edited, caption, replace(caption, added=phrase)


Edit = Callable[[Random, WorldGraph, Statement], Iterator[EditedScene]]
EDIT_FUNCTIONS: dict[str, Edit] = {
    "object": _edit_object,
    "attribute": _edit_attribute,
    "relation": _edit_relation,
    "count": _edit_count,
    "swap_color": swap_colors,
    "swap_position": _swap_positions,
    "missing": _add_object,
    "extra": _add_object,
}


def _caption(
    graph: WorldGraph, statement: Statement, mentioned: dict[int, str] | None = None
) -> WorldCaption:
    """Returns a caption that makes a statement.

    Args:
        graph: The scene.
        statement: The statement.
        mentioned: The attribute to mention, by the position of the phrase.
    """
    subject, predicate, object = statement
    phrases = []
    for k, row in enumerate((subject, object)):
        named, attribute = graph.objects[row], (mentioned or {}).get(k)
        phrases.append(
            Phrase(
                named.kind,
                named.shown_color if attribute == "color" else None,
                named.pattern if attribute == "pattern" else None,
                count=named.count,
            )
        )
    return WorldCaption(predicate, TEMPLATES[predicate][0], tuple(phrases))


def _rows_in_random_order(rng: Random, statement: Statement) -> list[tuple[int, int]]:
    """Returns the positions of the phrases of a statement, with the rows of their objects."""
    subject, _, object = statement
    return rng.sample([(0, subject), (1, object)], 2)


def _replace_object(graph: WorldGraph, row: int, **changes: Any) -> WorldGraph | None:
    """Returns the scene with changes to one object, or None if it is not clear."""
    objects = list(graph.objects)
    objects[row] = replace(objects[row], **changes)
    return reattach(replace(graph, objects=tuple(objects)))


def _can_be_attached(graph: WorldGraph, row: int, kind: str) -> bool:
    """Returns whether a kind can take the place of an object, for its host and what it carries."""
    object = graph.objects[row]
    if object.host is not None and object.link is not None:
        host = graph.objects[object.host].kind
        if kind not in attachable_kinds(host, object.link):
            return False
    return all(
        is_host(kind, child.link) and child.kind in attachable_kinds(kind, child.link)
        for child in graph.objects
        if child.host == row and child.link is not None
    )
