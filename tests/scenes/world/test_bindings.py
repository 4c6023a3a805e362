import pytest

from zoo.benchmarks import WorldBindings
from zoo.cli.scenes import main
from zoo.errors import ZooError
from zoo.scenes.cache import read_captions
from zoo.scenes.world.bindings import WorldBindings as BindingsCollection

HELD_OUT = frozenset(
    (color, kind) for color in ("red", "blue", "green") for kind in ("ball", "cup", "hat", "car")
)


def shown_pairs(graph):
    return {(object.shown_color, object.kind) for object in graph.objects}


def test_held_out_pairs_are_in_the_true_or_in_the_false_caption_or_in_neither():
    names = [f"{color} {kind}" for color, kind in HELD_OUT]
    expected = {"seen": (False, False), "unseen_true": (True, False), "unseen_false": (False, True)}
    splits = []
    for scene in BindingsCollection(HELD_OUT).scenes(12):
        [description] = scene.descriptions
        texts = description.record.caption, description.attribute_swap
        units = [entity.text for entity in description.record.entities]
        assert len(units) >= 2
        assert all(unit in description.record.caption for unit in units)
        assert tuple(any(n in text for n in names) for text in texts) == expected[scene.split]
        assert HELD_OUT.isdisjoint(shown_pairs(scene.graph)) == (scene.split != "unseen_true")
        words = [sorted(text.replace("an ", "a ").split()) for text in texts]
        assert words[0] == words[1]
        splits.append(scene.split)
    assert splits == ["seen", "seen", "unseen_true", "unseen_false"] * 6


def test_the_scenes_are_drawn_and_read(tmp_path):
    out = str(tmp_path / "scenes")
    flags = ["--size", "16", "--workers", "0", "--n", "2", "--out", out]
    assert main(["world_bindings", "--held_out", "red ball,red cup,blue hat", *flags]) == 0
    cases = WorldBindings(out).read(tmp_path).cases
    assert [case.subset for case in cases] == [row.split for row in read_captions(out)]
    assert cases[2].texts == cases[3].texts[::-1]


@pytest.mark.parametrize(
    ("pairs", "message"), [("red cow", "'red cow' is not a colour and"), (",", "is empty")]
)
def test_pairs_that_cannot_be_are_refused(tmp_path, pairs, message):
    with pytest.raises(ZooError, match=message):
        main(["world_bindings", "--held_out", pairs, "--out", str(tmp_path / "x")])
