"""What the blind get of a file of cases, against numbers worked by hand and loops."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from zoo.benchmarks import Case, SugarCrepe
from zoo.benchmarks import ceilings as module
from zoo.benchmarks.ceilings import (
    ALL_SUBSETS,
    ceilings_from_dict,
    ceilings_to_dict,
    load_or_compute_ceilings,
    split_words,
)
from zoo.benchmarks.protocols.by_kind import ByKind
from zoo.benchmarks.roots import read_benchmark
from zoo.sources.sample import ImageRef

IMAGE = ImageRef("file", "a.png")


def asking(
    *texts: str, right: int = 1, subset: str = "a", protocol: object = "i2t", **more
) -> Case:
    match = np.arange(len(texts))[None] < right
    return Case((IMAGE,), texts, match, protocol, subset, "|".join(texts), **more)  # type: ignore[arg-type]


def test_a_bag_of_words_gets_96_19_per_cent_of_sugarcrepe(shared_data: Path) -> None:
    found = load_or_compute_ceilings(read_benchmark(SugarCrepe(), [shared_data]).cases)
    assert found[ALL_SUBSETS]["i2t"].n == 7511
    assert found[ALL_SUBSETS]["i2t"].order_only == pytest.approx(100 * (7511 - 572 / 2) / 7511)
    same = {s: round(2 * of["i2t"].n * (1 - of["i2t"].order_only / 100)) for s, of in found.items()}
    assert same.pop(ALL_SUBSETS) == 572
    assert {s: n for s, n in same.items() if n} == {"swap_obj": 164, "swap_att": 408}
    assert found["add_obj"]["i2t"].best_guess[0] == "shorter"


def test_words_are_counted_whatever_their_order_case_and_marks() -> None:
    assert split_words("The dog's bone, a Dog.") == ["the", "dog's", "bone", "a", "dog"]
    found = load_or_compute_ceilings(
        [asking("A dog on a cat.", "a cat on a dog"), asking("a dog", "a dog dog")]
    )
    assert found["a"]["i2t"].order_only == 75.0


def test_equal_bags_are_put_in_order_by_chance() -> None:
    """Counted over all orders in which a bag of words may put what it cannot tell apart."""
    for right, texts in product((1, 2), permutations(("a b", "b a", "c d", "d c"))):
        bags = ["".join(sorted(text)) for text in texts]
        mixed = {bag for bag in bags[:right] if bag in bags[right:]}
        told = [j for j, bag in enumerate(bags) if bag in mixed]
        orders = list(permutations(told))
        won = [all(j < right for j in o[: sum(k < right for k in told)]) for o in orders]
        expected = 100 * sum(won) / len(orders)
        case = asking(*texts, right=right, protocol="all_pos")
        assert load_or_compute_ceilings([case])["a"]["i2t"].order_only == pytest.approx(expected)


def test_guesses_by_length_and_by_common_words_share_what_is_equal() -> None:
    cases = [
        asking("a dog", "a dog here"),  # shorter and, "here" being rare, of commoner words
        asking("a dog runs", "a dog"),
        asking(" a  dog ", "a cat"),  # as long; "cat" is rarer
    ]
    found = load_or_compute_ceilings(cases)["a"]["i2t"]
    assert found.text_only["shorter"] == pytest.approx(100 * (1 + 0 + 0.5) / 3)
    assert found.text_only["longer"] == pytest.approx(100 * (0 + 1 + 0.5) / 3)
    assert found.text_only["commoner"] == pytest.approx(100 * (1 + 0 + 1) / 3)
    assert (found.n, found.chance, found.always_first) == (3, 50.0, None)


def test_one_place_is_told_of_where_the_file_puts_the_answers_in_an_order() -> None:
    first = [asking("a", "b", "c", argmax=True) for _ in range(3)]
    match = np.array([[False, True, False]])
    last = Case((IMAGE,), ("d", "e", "f"), match, "i2t", "a", "0", argmax=True)
    assert load_or_compute_ceilings([*first, last])["a"]["i2t"].always_first == 75.0
    images = tuple(ImageRef("file", f"{i}.png") for i in range(4))
    one = Case(images, ("a",), np.arange(4)[:, None] == 2, "t2i", "b", "0", argmax=True)
    (found,) = load_or_compute_ceilings([one])["b"].values()
    assert (found.order_only, dict(found.text_only), found.always_first) == (None, {}, 100.0)
    assert found.chance == 25.0


def test_two_images_and_two_texts_of_the_same_words_are_guessed() -> None:
    pair = (IMAGE, ImageRef("file", "b.png"))
    cases = [
        Case(pair, texts, np.eye(2, dtype=bool), "group", "a", texts[1])
        for texts in (("a b", "b a"), ("a b", "a c"))
    ]
    found = load_or_compute_ceilings(cases)["a"]
    order = {metric: ceiling.order_only for metric, ceiling in found.items()}
    assert order == pytest.approx({"text": 62.5, "image": 62.5, "group": 100 * (1 + 1 / 6) / 2})
    assert not any(ceiling.text_only for ceiling in found.values())


def test_what_makes_no_sense_is_absent() -> None:
    gallery = Case((IMAGE,) * 2, ("a", "b"), np.eye(2, dtype=bool), "retrieval", "r", "0")
    pairs = Case((IMAGE,), ("a",), np.array([[True]]), "binary", "b", "0")
    ranked = Case((IMAGE,) * 2, ("a",), np.array([[True], [False]]), "ap", "m", "0")
    classes = Case((IMAGE,) * 2, ("a", "b"), np.eye(2, dtype=bool), "classify", "z", "all")
    assert load_or_compute_ceilings([gallery, pairs, ranked, classes]) == {}
    hard = asking("a b", "b a", "a c", right=2, protocol="hard_positive")
    assert set(load_or_compute_ceilings([hard])["a"]) == {"original", "augmented"}


def test_a_foil_of_the_words_of_a_caption_that_asks_is_guessed() -> None:
    match = np.array([[True, False]] * 2)
    cases = [
        Case((), ("b", foil), match, "text_only", "t", foil, query_texts=("x y", "b"))
        for foil in ("y x", "z")
    ]
    (found,) = load_or_compute_ceilings(cases)["t"].values()
    assert found.order_only == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert (dict(found.text_only), found.always_first) == ({}, None)


def test_subsets_stand_apart_and_together_and_kinds_beside_the_whole() -> None:
    cases = [asking("a b", "b a"), asking("a", "b", subset="other", protocol=ByKind("negative"))]
    found = load_or_compute_ceilings(cases)
    assert list(found) == [ALL_SUBSETS, "a", "other"]
    assert {metric: c.n for metric, c in found[ALL_SUBSETS].items()} == {"i2t": 2, "negative": 1}
    assert found[ALL_SUBSETS]["i2t"].order_only == 75.0
    assert ceilings_from_dict(ceilings_to_dict(found)) == found


def test_ceilings_of_many_cases_are_kept_by_what_these_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "CACHE_FROM", 2)
    cases = [asking("a b", "b a"), asking("a", "b")]
    found = load_or_compute_ceilings(cases)
    (file,) = (tmp_path / "zoo" / "ceilings").glob("*.json")
    monkeypatch.setattr(module, "compute_ceilings", None)  # nothing is looked through again
    assert load_or_compute_ceilings(list(cases)) == found
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "CACHE_FROM", 2)
    file.write_text("{")
    assert load_or_compute_ceilings(cases) == found
    assert load_or_compute_ceilings([cases[0], asking("a", "b", subset="c")]) != found
    assert len(list(file.parent.glob("*.json"))) == 2
