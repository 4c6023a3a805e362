"""The table is built of the captions' words, whole or not at all, and can be continued."""

import json
from pathlib import Path

import pytest

from tests.language.made_wordnet import make_wordnet
from tests.support.mistakes import said
from zoo.cli import main
from zoo.errors import ZooError
from zoo.language.offensive_words import offensive_words
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.language.wordnet import WordNet
from zoo.negatives.table import ReplacementTable, TaggedWord
from zoo.negatives.word_table import build_table, replaceable_vocabulary, replacements

KEYS = [("cat", "NN"), ("dogs", "NNS"), ("red", "JJ"), ("tall", "JJ")]


class LookUp:
    """Answers each key with itself, and fails at one."""

    def __init__(self, fails_at: TaggedWord | None = None) -> None:
        self.fails_at, self.asked = fails_at, list[TaggedWord]()

    def __call__(self, key: TaggedWord) -> dict[str, float]:
        if key == self.fails_at:
            raise KeyboardInterrupt
        self.asked.append(key)
        return {f"no {key[0]}": 1.5}


def stopped(out: Path, **made_by: str) -> Path:
    """Leaves a build that was stopped at the third key; returns what it kept."""
    with pytest.raises(KeyboardInterrupt):
        build_table(KEYS, LookUp(KEYS[2]), out, **made_by)
    assert not out.exists()
    return out.with_name(f".{out.name}.unfinished")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return WordNet(make_wordnet(tmp_path_factory.mktemp("wordnet")))


def test_the_vocabulary_is_what_may_be_replaced_by_word_and_tag() -> None:
    found = replaceable_vocabulary(
        ["A red dog runs in front of two dogs.", "A dog is tall"], TextBlobTagger()
    )
    assert found == [("dog", "NN"), ("dogs", "NNS"), ("red", "JJ"), ("runs", "VBZ")]


def test_alternatives_are_inflected_as_the_word_is(small: WordNet) -> None:
    assert replacements(("dogs", "NNS"), small) == {
        "wolves": 2,
        "cats": 9,
        "lions": 1,
        "kings of beasts": 1,
        "oafs": 1,
    }
    assert replacements(("walking", "VBG"), small) == {"running": 3, "lying down": 1}
    assert replacements(("taller", "JJR"), small) == {"shorter": 3}
    assert replacements(("dog", "NN"), small, min_count=3) == {"cat": 9}


def test_the_word_itself_is_no_alternative(small: WordNet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        small, "alternatives", lambda *_: {"sheep": 2.0, "deer": 1.0, "T-shirt": 1.0}
    )
    assert replacements(("sheep", "NNS"), small) == {"deer": 1.0, "T-shirts": 1.0}
    assert "T-shirt" not in replacements(("tshirt", "NN"), small)


def test_a_build_that_was_stopped_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "made" / "t.arrow"
    kept = stopped(out, tagger="textblob")
    with kept.open("a") as file:
        file.write('["red", "JJ", {"no r')  # killed in mid-line
    rest, done = LookUp(), list[int]()
    build_table(KEYS, rest, out, done.append, tagger="textblob")
    assert rest.asked == KEYS[2:]
    assert done == [2, 1, 1]
    assert {key: ReplacementTable(out).alternatives(key) for key in KEYS} == {
        key: {f"no {key[0]}": 1.5} for key in KEYS
    }
    assert [path.name for path in out.parent.iterdir()] == ["t.arrow"]


@pytest.mark.parametrize("change", ["words", "rule"])
def test_one_of_other_words_or_by_another_rule_starts_anew(tmp_path: Path, change: str) -> None:
    out = tmp_path / "t.arrow"
    stopped(out, tagger="textblob", min_count="0")
    keys = KEYS[:2] if change == "words" else KEYS
    look_up = LookUp()
    build_table(keys, look_up, out, tagger="textblob", min_count="0" if change == "words" else "1")
    assert look_up.asked == keys
    assert len(ReplacementTable(out)) == len(keys)


def test_two_builds_at_once_are_found_out(tmp_path: Path) -> None:
    out = tmp_path / "t.arrow"
    kept = stopped(out)
    with kept.open("a") as file:
        file.write(json.dumps(["dogs", "NNS", {}]) + "\n")
    with pytest.raises(
        ZooError, match=r"unfinished is damaged .*'dogs' was found instead of 'red'.*delete it"
    ):
        build_table(KEYS, LookUp(), out)
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ZooError, match="cannot be written"):
        build_table(KEYS, LookUp(), tmp_path / "file" / "t.arrow")


CAPTIONS = "A dog runs in front of a wolf\nA tall cat walks on a lion\n"


def test_from_the_command_line_a_table_is_built_and_drawn_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions, table = tmp_path / "captions.txt", tmp_path / "t.arrow"
    captions.write_text(CAPTIONS)
    wordnet = make_wordnet(tmp_path / "wordnet")
    own = ["--wordnet", str(wordnet), "--tagger", "TextBlobTagger"]
    assert main(["negatives", "build", str(captions), "--out", str(table), *own]) == 0
    out = capsys.readouterr().out
    assert "7 of 7 words of 2 captions have replacements" in out
    assert "wordnet 9.9, sense_prior false, min_count 0" in out
    assert ReplacementTable(table).settings["offensive_words"] == offensive_words().digest()
    assert (
        main(
            [
                "negatives",
                "preview",
                str(captions),
                "--generator",
                "Replace",
                "--generator.table",
                str(table),
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "yield       100.0%  2 of 2 captions have a negative" in out
    assert "generator replace, tagger textblob" in out
    assert "table_wordnet 9.9" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["build", "CAPTIONS", "--out", "T", "--wordnet", "absent"],
            "absent is not a folder of WordNet's database files",
        ),
        (
            ["build", "CAPTIONS", "--out", "T", "--generator.table", "T"],
            "unrecognized arguments: --generator.table",
        ),
        (["preview", "CAPTIONS", "--generator", "Replace"], "arguments are required: table"),
        (
            ["preview", "CAPTIONS", "--generator", "Replace", "--generator.table", "T"],
            "T does not exist: run `zoo negatives build",
        ),
        (
            ["preview", "CAPTIONS", "--generator", "BigramShuffle", "--generator.n=3"],
            "BigramShuffle takes no 'n' (it takes no arguments)",
        ),
        (
            [
                "preview",
                "CAPTIONS",
                "--generator",
                "Replay",
                "--generator.file=T",
                "--generator.strict=2",
            ],
            "generator.strict: Expected bool. Got value: 2",
        ),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "captions.txt").write_text(CAPTIONS)
    places = {"CAPTIONS": str(tmp_path / "captions.txt"), "T": str(tmp_path / "T")}
    filled = [places.get(a, a.replace("=T", f"={tmp_path / 'T'}")) for a in arguments]
    assert message in said(["negatives", *filled]).sentence


def test_arguments_of_a_generator_are_those_of_a_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text(CAPTIONS)
    swap = [
        "--generator.swap",
        "zoo.negatives.negclip_swap.NegCLIPSwap",
        "--generator.swap.tagger=TextBlobTagger",
    ]
    foil = [
        "--generator.foil=zoo.negatives.bigram_shuffle.BigramShuffle",
        "--generator.sentence_swap_share",
        "0",
    ]
    assert (
        main(["negatives", "preview", str(captions), "--generator", "SwapOrFoil", *swap, *foil])
        == 0
    )
    assert "2 of 2 captions have a negative" in capsys.readouterr().out
    aro = [
        "--generator",
        "AROShuffle",
        "--generator.kinds",
        "[shuffle_trigrams]",
        "--generator.tagger",
        "TextBlobTagger",
    ]
    assert main(["negatives", "preview", str(captions), *aro]) == 0
    lines = capsys.readouterr().out
    assert "2 of 2 captions have a negative" in lines
