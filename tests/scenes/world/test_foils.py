from tests.scenes.world.test_captions import DESCRIBED
from tests.scenes.world.test_layout import made_object
from zoo.scenes.world.captions import WorldCaption
from zoo.scenes.world.foils import (
    SUBSETS,
    caption_foils,
    false_predicates,
    swap_attributes,
    swap_objects,
    unit_record,
)
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.phrases import Phrase, may_hold

BALL, BOX = Phrase("ball", "red"), Phrase("box", "blue")
GRAPH = WorldGraph(
    "0", 0, "park", (made_object(x=0.2), made_object("box", x=0.7, color="blue"))
)  # fmt: skip
LEFT = WorldCaption("to the left of", "{a} to the left of {b}", (BALL, BOX))


def is_false(graph, caption):
    if caption.added is not None and not any(map(caption.added.fits, graph.objects)):
        return True
    if not all(phrase.is_true(graph) for phrase in caption.phrases):
        return True
    first, second = caption.phrases[:2]
    return not may_hold(graph, first, caption.predicate or "and", second)


def test_swaps_exchange_colours_or_objects():
    assert str(swap_attributes(GRAPH, LEFT)) == "a blue ball to the left of a red box"
    assert str(swap_objects(GRAPH, LEFT)) == "a blue box to the left of a red ball"


def test_objects_that_are_linked_are_swapped_too():
    rider = made_object("man", link="riding", host=0)
    graph = WorldGraph("0", 0, "farm", (made_object("horse"), rider))
    caption = WorldCaption("riding", "{a} riding {b}", (Phrase("man"), Phrase("horse")))
    assert str(swap_objects(graph, caption)) == "a horse riding a man"


def test_a_swap_that_is_true_too_is_not_made():
    twins = (*GRAPH.objects, made_object(x=0.3, y=0.7, color="blue"))
    crossed = WorldGraph("0", 0, "park", (*twins, made_object("box", x=0.9, y=0.7)))
    assert swap_attributes(crossed, LEFT) is None


def test_false_predicates_are_the_opposite_and_possible_links():
    table = made_object("table", x=0.7)
    graph = WorldGraph("0", 0, "park", (made_object(x=0.2), table))
    found = false_predicates(graph, Phrase("ball"), "to the left of", Phrase("table"))
    assert found == ["to the right of", "on", "under"]


def test_every_foil_of_a_caption_is_false_of_the_graph():
    counts = dict.fromkeys(SUBSETS, 0)
    for graph, captions in DESCRIBED:
        for subset, caption, foil in caption_foils(graph, captions):
            assert caption in captions
            assert str(foil) != str(caption)
            assert is_false(graph, foil), (graph.id, str(foil))
            counts[subset] += 1
    # only captions that name two attributes have a swap of attributes
    assert counts.pop("swap_att") > 0.15 * len(DESCRIBED)
    assert min(counts.values()) > 0.3 * len(DESCRIBED)


def test_swapped_captions_have_the_words_of_the_caption():
    for graph, captions in DESCRIBED:
        for subset, caption, foil in caption_foils(graph, captions):
            if subset.startswith("swap"):
                words = [str(c).replace("an ", "a ") for c in (caption, foil)]
                assert len(words[0].split()) == len(words[1].split())


def test_units_name_the_phrases_and_their_foils_are_of_no_object():
    for graph, captions in DESCRIBED:
        texts = {
            str(Phrase(o.kind, color, pattern, size, o.count, is_general))
            for o in graph.objects
            for is_general in (False, True)
            for color in (None, o.shown_color)
            for pattern in (None, o.pattern)
            for size in (None, o.size)
        }
        for k, caption in enumerate(captions):
            record = unit_record(graph, caption, str(k), "image")
            assert [entity.text for entity in record.entities] == list(map(str, caption.phrases))
            for entity in record.entities:
                assert entity.text in texts
                assert not {foil.text for foil in entity.foils} & texts
            for relation in record.relations:
                assert relation.text not in {foil.text for foil in relation.foils}
