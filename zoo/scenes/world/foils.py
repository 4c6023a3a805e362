"""Falsehoods about scenes of the world: units with foils, and captions with one edit.

The edits are those of SugarCrepe (Hsieh et al., 2023) and of half-truths (CS-CLIP, Appendix C). All
foils are false by the graph; a statement whose truth is in doubt is never a foil.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from zoo.scenes.world.captions import TEMPLATES, WorldCaption
from zoo.scenes.world.graph import INVERSES, LINKS, WorldGraph
from zoo.scenes.world.kinds import KINDS, PEOPLE
from zoo.scenes.world.layout import attachable_kinds
from zoo.scenes.world.phrases import (
    Phrase,
    added_attributes,
    can_have,
    false_phrases,
    may_hold,
    other_attributes,
    other_nouns,
)
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

VERSION = 3
SOURCE = {"extractor": "zoo.scenes.world", "version": VERSION}  # of units
FOILS_PER_EDIT = 2
SUBSETS = (
    "add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj",
)  # fmt: skip
# predicates that replace one for which no relation along an axis is an opposite
OTHER_LINKS = {
    "on": ("under",),
    "under": ("on",),
    "inside": ("under",),
    "holding": ("to the left of", "to the right of"),
    "riding": ("under",),
}


def unit_record(
    graph: WorldGraph, caption: WorldCaption, caption_id: str, image_id: str
) -> UnitRecord:
    """Returns a caption with its entities, its relation and their foils.

    Args:
        graph: The scene.
        caption: One of its captions.
        caption_id: The id of the caption.
        image_id: The path of the image.
    """
    rng = Random(f"units {caption_id} {graph.seed}")
    entities = []
    for phrase in caption.phrases:
        foils = []
        for edit, variants in (
            ("object_change", other_nouns(phrase)),
            ("attribute_change", other_attributes(phrase)),
        ):
            foils += [EntityFoil(str(v), edit) for v in _draw(rng, false_phrases(graph, variants))]
        entities.append(Entity(str(phrase), tuple(foils)))
    relations = []
    if caption.predicate is not None:
        subject, object, *_ = caption.phrases
        foils_of_relation = tuple(_relation_foils(graph, rng, subject, caption.predicate, object))
        relations.append(Relation(str(subject), caption.predicate, str(object), foils_of_relation))
    return UnitRecord(
        caption_id, image_id, str(caption), tuple(entities), tuple(relations), dict(SOURCE)
    )


def _draw(rng: Random, variants: list[Phrase], n: int = FOILS_PER_EDIT) -> list[Phrase]:
    return rng.sample(variants, min(n, len(variants)))


def _relation_foils(
    graph: WorldGraph, rng: Random, subject: Phrase, predicate: str, object: Phrase
) -> Iterator[RelationFoil]:
    predicates = false_predicates(graph, subject, predicate, object)
    for foil in rng.sample(predicates, min(FOILS_PER_EDIT, len(predicates))):
        yield RelationFoil(str(subject), foil, str(object), "predicate_change", "predicate")
    if not may_hold(graph, object, predicate, subject):
        yield RelationFoil(str(object), predicate, str(subject), "argument_swap")
    for part, change in (("head", other_nouns), ("attribute", other_attributes)):
        for variant in _draw(rng, false_phrases(graph, change(subject)), 1):
            yield RelationFoil(
                str(variant), predicate, str(object), "argument_change", "subject", part
            )
        for variant in _draw(rng, false_phrases(graph, change(object)), 1):
            yield RelationFoil(
                str(subject), predicate, str(variant), "argument_change", "object", part
            )


def false_predicates(
    graph: WorldGraph, subject: Phrase, predicate: str, object: Phrase
) -> list[str]:
    """Returns plausible predicates that make a true statement false."""
    if predicate in INVERSES:
        candidates = [INVERSES[predicate]]
        if not predicate.endswith("than"):
            candidates += [
                link
                for link in LINKS
                if link != "holding"
                and is_host(object.kind, link)
                and subject.kind in attachable_kinds(object.kind, link)
            ]
    else:
        candidates = list(OTHER_LINKS[predicate])
    return [
        candidate for candidate in candidates if not may_hold(graph, subject, candidate, object)
    ]


def is_host(kind: str, link: str) -> bool:
    """Returns whether something can be attached to a kind.

    Args:
        kind: The kind.
        link: How it is attached, one of `LINKS`.
    """
    traits = KINDS[kind]
    if link == "holding":
        return kind in PEOPLE
    part = {
        "on": traits.surface,
        "under": traits.gap,
        "inside": traits.rim,
        "riding": traits.saddle,
    }
    return part[link] is not None


def caption_foils(
    graph: WorldGraph, captions: list[WorldCaption]
) -> Iterator[tuple[str, WorldCaption, WorldCaption]]:
    """Yields at most one caption with a foil for each of `SUBSETS`.

    Args:
        graph: The scene.
        captions: Its captions.
    """
    rng = Random(f"foils {graph.id} {graph.seed}")
    for subset in SUBSETS:
        for caption in rng.sample(captions, len(captions)):
            foils = [foil for foil in _edits(graph, caption, subset) if str(foil) != str(caption)]
            if foils:
                yield subset, caption, rng.choice(foils)
                break


def _edits(graph: WorldGraph, caption: WorldCaption, subset: str) -> list[WorldCaption]:
    """Returns the foils of a caption with one kind of edit."""
    if subset in ("replace_obj", "replace_att", "add_att"):
        return list(_phrase_edits(graph, caption, subset))
    if subset == "add_obj":
        return list(_added_objects(graph, caption))
    if subset == "replace_rel":
        return list(_other_relations(graph, caption))
    swapped = (
        swap_attributes(graph, caption) if subset == "swap_att" else swap_objects(graph, caption)
    )
    return [] if swapped is None else [swapped]


def _phrase_edits(graph: WorldGraph, caption: WorldCaption, subset: str) -> Iterator[WorldCaption]:
    for row, phrase in enumerate(caption.phrases):
        variants = {
            "replace_obj": other_nouns(phrase, any_group=True),
            "replace_att": other_attributes(phrase),
            "add_att": added_attributes(phrase),
        }[subset]
        for variant in false_phrases(graph, variants):
            if subset == "replace_obj" and not _is_plausible(caption, row, variant.kind):
                continue
            yield caption.with_phrases(*caption.phrases[:row], variant, *caption.phrases[row + 1 :])


def _is_plausible(caption: WorldCaption, row: int, kind: str) -> bool:
    """Returns whether a kind can be in the place of a phrase in the relation of a caption."""
    if caption.predicate not in LINKS or row > 1:
        return True
    kinds = [phrase.kind for phrase in caption.phrases[:2]]
    kinds[row] = kind
    host, child = kinds if caption.predicate == "holding" else kinds[::-1]
    return is_host(host, caption.predicate) and child in attachable_kinds(host, caption.predicate)


def _added_objects(graph: WorldGraph, caption: WorldCaption) -> Iterator[WorldCaption]:
    if len(caption.phrases) > 2 or caption.added is not None:
        return
    rng = Random(f"added {graph.id} {caption}")
    present = {object.kind for object in graph.objects}
    for name, kind in KINDS.items():
        if name not in present and (not kind.places or graph.place in kind.places):
            color = rng.choice(kind.colors) if rng.random() < 0.5 else None
            yield replace(caption, added=Phrase(name, color))


def _other_relations(graph: WorldGraph, caption: WorldCaption) -> Iterator[WorldCaption]:
    if caption.predicate is None:
        return
    place = TEMPLATES[caption.predicate].index(caption.template)
    for foil in false_predicates(graph, caption.phrases[0], caption.predicate, caption.phrases[1]):
        templates = TEMPLATES[foil]
        same_form = INVERSES.get(caption.predicate) == foil
        yield replace(caption, form=foil, template=templates[place if same_form else 0])


def swap_attributes(graph: WorldGraph, caption: WorldCaption) -> WorldCaption | None:
    """Returns the caption with the colours of its first two phrases exchanged.

    It returns None if they have no different colours, if the objects cannot have them, or if the
    result may be true.
    """
    if len(caption.phrases) < 2:
        return None
    a, b, *more_phrases = caption.phrases
    if a.color is None or b.color is None or a.color == b.color:
        return None
    first, second = replace(a, color=b.color), replace(b, color=a.color)
    if not all(can_have(p.kind, p.color, p.pattern, p.size) for p in (first, second)):
        return None
    if may_hold(graph, first, caption.predicate or "and", second):
        return None
    return caption.with_phrases(first, second, *more_phrases)


def swap_objects(graph: WorldGraph, caption: WorldCaption) -> WorldCaption | None:
    """Returns the caption with the two phrases of its relation exchanged.

    It returns None if the caption has no relation or compares sizes, or if the result may be true.
    """
    if caption.predicate is None or caption.predicate.endswith("than"):
        return None
    a, b, *more_phrases = caption.phrases
    if may_hold(graph, b, caption.predicate, a):
        return None
    return caption.with_phrases(b, a, *more_phrases)
