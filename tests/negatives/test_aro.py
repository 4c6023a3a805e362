"""ARO's perturbations on cases worked by hand, and the negatives made of them."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.tokens import split_tokens
from zoo.errors import ZooError
from zoo.language.tagger import Token
from zoo.language.text import equal_when_normalized
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.aro import PERTURBATIONS, AROShuffle, perturbations, pre_caption

TAGGED = "The/DT red/JJ dog/NN chased/VBD two/CD small/JJ cats/NNS ./."
TOKENS = [Token(text, 0, 0, tag, "O") for text, tag in (item.split("/") for item in TAGGED.split())]
VOCABULARY = "a the man woman dogs red blue quickly is riding on and 's t-shirt don't , . ("
captions = st.lists(st.sampled_from(VOCABULARY.split()), max_size=12).map(" ".join)

TAGGER = TextBlobTagger()


def outcomes(kind: str, draws: int = 3000) -> set[str]:
    return {" ".join(PERTURBATIONS[kind](TOKENS, Random(seed))) for seed in range(draws)}


def test_nouns_move_among_nouns_and_adjectives_among_adjectives() -> None:
    assert outcomes("shuffle_nouns_and_adj") == {
        f"The {a} {n} chased two {b} {m} ."
        for a, b in permutations(["red", "small"])
        for n, m in permutations(["dog", "cats"])
    }


def test_all_others_move_and_nouns_and_adjectives_stay() -> None:
    assert outcomes("shuffle_allbut_nouns_and_adj") == {
        f"{w} red dog {x} {y} small cats {z}"
        for w, x, y, z in permutations(["The", "chased", "two", "."])
    }


def test_words_move_inside_their_three() -> None:
    groups = [
        permutations(group)
        for group in (["The", "red", "dog"], ["chased", "two", "small"], ["cats", "."])
    ]
    first, second, third = (list(group) for group in groups)
    assert outcomes("shuffle_within_trigrams") == {
        " ".join(a + b + c) for a in first for b in second for c in third
    }


def test_threes_move_as_they_are() -> None:
    assert outcomes("shuffle_trigrams") == {
        " ".join(order) for order in permutations(["The red dog", "chased two small", "cats ."])
    }


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_every_order_is_equally_likely(kind: str) -> None:
    tokens = [
        Token(text, 0, 0, "NN" if kind == "shuffle_nouns_and_adj" else "DT", "O") for text in "abc"
    ]
    if kind == "shuffle_trigrams":
        tokens = [Token(text, 0, 0, "DT", "O") for text in "axxbxxcxx"]
    counts: dict[str, int] = {}
    for seed in range(3000):
        text = " ".join(PERTURBATIONS[kind](tokens, Random(seed)))
        counts[text] = counts.get(text, 0) + 1
    assert len(counts) == 6
    assert all(400 < count < 600 for count in counts.values())


def test_the_benchmark_gets_all_four_in_order_identities_kept() -> None:
    assert list(PERTURBATIONS) == [
        "shuffle_nouns_and_adj",
        "shuffle_allbut_nouns_and_adj",
        "shuffle_within_trigrams",
        "shuffle_trigrams",
    ]
    four = perturbations("a man's dog.", Random(0), TAGGER)
    assert len(four) == 4
    assert four[0] in ("a man 's dog .", "a dog 's man .")
    assert {perturbations("Dogs.", Random(s), TAGGER)[3] for s in range(5)} == {"Dogs ."}


def test_the_cleaner() -> None:
    assert pre_caption('A "man\'s"  t-shirt, (red); #1: ~ ok!\n*.') == "a man's t-shirt, red 1 ok"
    assert pre_caption("a.b c d e", max_words=3) == "a b c"
    assert pre_caption("x " * 40).split() == ["x"] * 30


@settings(deadline=None)
@given(captions, st.integers(0, 5))
def test_a_negative_is_a_permutation_of_the_tokens_and_another_sentence(
    caption: str, seed: int
) -> None:
    negative = AROShuffle(tagger=TAGGER).negative(caption, Random(seed))
    if negative is not None:
        assert sorted("".join(negative.split())) == sorted("".join(caption.split()))
        assert not equal_when_normalized(negative, caption)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["man", "dog", "red", "runs"]), min_size=2, max_size=3, unique=True),
    st.integers(0, 30),
)
def test_two_different_words_always_give_one(drawn: list[str], seed: int) -> None:
    assert AROShuffle(tagger=TAGGER).negative(" ".join(drawn), Random(seed)) is not None


def test_what_cannot_change_gives_none() -> None:
    for caption in ("", "dog", "dog dog Dog.", "dogs ."):
        assert {AROShuffle(tagger=TAGGER).negative(caption, Random(s)) for s in range(9)} == {None}


def test_kinds_can_be_chosen() -> None:
    made = {
        AROShuffle(["shuffle_nouns_and_adj"], TAGGER).negative("A man and the dog", Random(s))
        for s in range(9)
    }
    assert made == {"A dog and the man"}


def test_a_kind_that_changes_nothing_gives_way() -> None:
    made = {
        AROShuffle(["shuffle_trigrams", "shuffle_nouns_and_adj"], TAGGER).negative(
            "dogs eat cats", Random(s)
        )
        for s in range(9)
    }
    assert made == {"cats eat dogs"}


def test_marks_stand_as_in_the_caption() -> None:
    kinds = ["shuffle_nouns_and_adj"]
    assert (
        AROShuffle(kinds, TAGGER).negative("A man's dog, here.", Random(1)) == "A dog's man, here."
    )
    assert (
        AROShuffle(kinds, TAGGER).negative("A man 's dog , here .", Random(1))
        == "A dog 's man , here ."
    )


def test_the_random_state_alone_decides() -> None:
    caption = "A man in a red hat rides two brown horses"
    made = [AROShuffle(tagger=TAGGER).negative(caption, Random(s)) for s in range(40)]
    assert made == [AROShuffle(tagger=TAGGER).negative(caption, Random(s)) for s in range(40)]
    assert len(set(made)) > 20


def test_unknown_or_no_kinds_are_refused() -> None:
    with pytest.raises(
        ZooError, match=r"no ARO perturbation 'shuffle_trigram' \(did you mean shuffle_trigrams"
    ):
        AROShuffle(["shuffle_trigram"])
    with pytest.raises(ZooError, match="has no kinds"):
        AROShuffle([])


def test_the_words_of_a_caption_are_the_taggers() -> None:
    text = "A man's t-shirt."
    assert split_tokens(text) == [token.text for token in TAGGER.analyse(text)]
