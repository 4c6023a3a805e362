from dataclasses import replace

from tests.scenes.world.test_layout import GRAPHS, made_object
from zoo.scenes.world.captions import TEMPLATES, WorldCaption, describe
from zoo.scenes.world.graph import INVERSES, WorldGraph
from zoo.scenes.world.phrases import Phrase, may_hold, other_nouns

DESCRIBED = [(graph, describe(graph)) for graph in GRAPHS]


def test_phrases_read_as_people_write_them():
    assert str(Phrase("ball", "red", "striped", "big")) == "big red striped ball"
    assert Phrase("apple").with_article == "an apple"
    assert Phrase("sheep", "white", count=2).with_article == "two white sheep"
    assert Phrase("man", "orange").with_article == "a man in an orange shirt"
    assert str(Phrase("woman", "red", count=2)) == "two women in red dresses"
    assert Phrase("dog", "brown", is_general=True).with_article == "a brown animal"
    assert str(Phrase("girl", count=2, is_general=True)) == "two children"


def test_a_general_noun_is_true_of_all_its_kinds_and_is_never_replaced_by_one_of_them():
    animal = Phrase("dog", is_general=True)
    assert animal.fits(made_object("cat"))
    assert not animal.fits(made_object("ball"))
    others = {str(phrase) for phrase in other_nouns(Phrase("man", is_general=True))}
    assert others == {"boy", "girl"}


def test_a_caption_puts_phrases_pronouns_and_place_into_its_template():
    woman, cup = Phrase("woman"), Phrase("cup", "blue")
    caption = WorldCaption("holding", "{a} with {b} in {his} hand", (woman, cup), "park")
    assert str(caption) == "a woman with a blue cup in her hand in a park"
    assert str(replace(caption, place_first=True)).startswith("in a park, a woman with")


def test_a_third_object_follows_after_near():
    phrases = Phrase("woman"), Phrase("cup", "blue"), Phrase("dog")
    caption = WorldCaption("holding", "{a} holds {b}", phrases, "park")
    assert str(caption) == "a woman holds a blue cup near a dog in a park"


def test_the_larger_of_two_objects_on_the_ground_is_more_often_the_subject():
    def area(object):
        left, top, right, bottom = object.box
        return (right - left) * (bottom - top)

    larger_first = []
    for graph, captions in DESCRIBED:
        for caption in captions:
            if caption.predicate not in INVERSES:
                continue
            pairs = [
                (graph.objects[i], graph.objects[j])
                for i, predicate, j in graph.relations()
                if predicate == caption.predicate
                and caption.phrases[0].fits(graph.objects[i])
                and caption.phrases[1].fits(graph.objects[j])
            ]
            if len(pairs) == 1:
                larger_first.append(area(pairs[0][0]) > area(pairs[0][1]))
    assert 0.55 < sum(larger_first) / len(larger_first) < 0.9


def test_a_scene_has_five_different_captions_that_depend_only_on_the_graph():
    for graph, captions in DESCRIBED:
        assert len(set(map(str, captions))) == 5
        assert describe(graph) == captions


def test_every_caption_is_true_of_its_graph():
    for graph, captions in DESCRIBED:
        for caption in captions:
            assert all(phrase.is_true(graph) for phrase in caption.phrases)
            assert caption.place in (None, graph.place)
            if caption.predicate is not None:
                statements = [
                    (graph.objects[i], graph.objects[j])
                    for i, predicate, j in graph.relations()
                    if predicate == caption.predicate
                ]
                first, second, *_ = caption.phrases
                assert any(first.fits(a) and second.fits(b) for a, b in statements)


def test_most_captions_are_a_relation_and_all_templates_occur():
    captions = [caption for _, captions in DESCRIBED for caption in captions]
    share = sum(caption.predicate is not None for caption in captions) / len(captions)
    assert 0.6 < share < 0.85
    used = {(caption.form, caption.template) for caption in captions}
    all_templates = {(form, template) for form in TEMPLATES for template in TEMPLATES[form]}
    assert len(used) > 0.85 * len(all_templates)


def test_a_number_is_true_only_of_exactly_as_many_objects():
    graph = WorldGraph("0", 0, "park", (made_object(count=2), made_object("dog", x=0.2)))
    assert Phrase("ball", count=2).is_true(graph)
    assert not Phrase("ball", count=3).is_true(graph)
    assert Phrase("dog").is_true(graph)


def test_wood_may_be_called_brown():
    table = made_object("table", color="blue", pattern="wooden")
    graph = WorldGraph("0", 0, "park", (table, made_object(x=0.1)))
    assert not Phrase("table", "brown").is_true(graph)
    assert may_hold(graph, Phrase("table", "brown"), "and", Phrase("ball"))
