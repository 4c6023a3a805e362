"""Joins words that taggers take apart, and repairs apostrophes."""

from collections.abc import Sequence

from zoo.language.tagger import Token
from zoo.units.rules.lexicon import NUMBERS, PLACEHOLDERS, word_set
from zoo.units.rules.phrases.word_classes import NOUNS

_COMPOUNDS: dict[tuple[str, ...], str] = {
    ("stop", "sign"): "stop sign",
    ("stop", "signs"): "stop signs",
    ("air", "plane"): "airplane",
    ("air", "planes"): "airplanes",
    ("run", "way"): "runway",
    ("fire", "place"): "fireplace",
    ("hill", "side"): "hillside",
    ("water", "'s", "edge"): "water's edge",
    ("waters", "edge"): "water's edge",
    ("walk", "in", "shower"): "walk-in shower",
    ("side", "walk"): "sidewalk",
    ("side", "walks"): "sidewalks",
    ("pick", "up", "truck"): "pickup truck",
    ("pick", "up", "trucks"): "pickup trucks",
    ("button", "up", "shirt"): "button-up shirt",
    ("button", "down", "shirt"): "button-down shirt",
    **{(s, f"boarder{n}"): f"{s}boarder{n}" for s in ("skate", "snow") for n in ("", "s")},
    ("train", "tracks"): "train tracks",
    ("railroad", "tracks"): "railroad tracks",
    ("close", "up"): "close-up",
    ("counter", "top"): "counter top",
    ("table", "top"): "table top",
    ("home", "plate"): "home plate",
    ("cutting", "board"): "cutting board",
    ("cutting", "boards"): "cutting boards",
    ("frying", "pan"): "frying pan",
    ("trash", "can"): "trash can",
    ("trash", "cans"): "trash cans",
    ("garbage", "can"): "trash can",
    ("garbage", "cans"): "trash cans",
}
_SAME = {"someone": "person", "somebody": "person"}
_BEFORE_PLURAL = NUMBERS | word_set("several some many")
_READING = word_set("read reads reading say says saying")
_QUOTES = ('"', "“", "”")


def join_words(tokens: Sequence[Token]) -> tuple[list[str], list[str]]:
    """Returns the words of a caption in lower case, and their tags.

    A compound that taggers take apart is one noun. What a sign reads and "side by side" are left
    out. "Someone" is a person. "In it's mouth" and "two cat's sitting" are spelled as they are
    meant.
    """
    words: list[str] = []
    tags: list[str] = []
    for token in tokens:
        word = _SAME.get(token.text.lower(), token.text.lower())
        for n_words in (2, 1):
            joined = _COMPOUNDS.get((*words[-n_words:], word))
            if joined:
                words[-n_words:], tags[-n_words:] = (
                    [joined],
                    ["NNS" if word.endswith("s") else "NN"],
                )
                break
        else:
            words.append(word)
            tags.append(token.tag)
    _join_adverbs(words, tags)
    _repair_apostrophes(words, tags)
    _remove_quotations(words, tags)
    return words, tags


def _join_adverbs(words: list[str], tags: list[str]) -> None:
    # joined words are one word less, so the last indices may be gone
    for i in range(len(words) - 1):
        if words[i : i + 2] in (["upside", "down"], ["face", "down"]):
            words[i : i + 2], tags[i : i + 2] = (
                ["upside-down" if words[i] == "upside" else "facedown"],
                ["JJ"],
            )
        elif words[i : i + 1] == ["half"] and tags[i + 1 : i + 2] == ["VBN"]:
            # "a half eaten donut"
            words[i : i + 2], tags[i : i + 2] = [f"half-{words[i + 1]}"], ["JJ"]
    while " side by side " in f" {' '.join(words)} ":
        at = next(i for i in range(len(words)) if words[i : i + 3] == ["side", "by", "side"])
        del words[at : at + 3], tags[at : at + 3]


def _repair_apostrophes(words: list[str], tags: list[str]) -> None:
    for i in range(len(words) - 2):
        if i + 2 < len(words) and words[i + 1] in ("'s", "’s"):
            if (
                words[i] == "it"
                and words[i - 1 : i]
                and tags[i - 1] in ("IN", "VBG", "VBZ")
                and words[i + 2] not in PLACEHOLDERS
            ):
                # "in it's mouth"
                words[i : i + 2], tags[i : i + 2] = ["its"], ["PRP$"]
            elif tags[i] in NOUNS and tags[i + 1] == "POS" and tags[i + 2] in ("IN", "VBG", "VBP"):
                # "two cat's sitting" and "on ski's" are plurals, unlike "the man's standing"
                many = tags[i + 2] != "VBG" or not _BEFORE_PLURAL.isdisjoint(
                    words[max(i - 2, 0) : i]
                )
                words[i : i + 2] = [f"{words[i]}s" if many else words[i]]
                tags[i : i + 2] = ["NNS" if many else tags[i]]


def _remove_quotations(words: list[str], tags: list[str]) -> None:
    """Removes what is read: "lifeguard" of: a truck that reads "lifeguard"."""
    for i in range(len(words) - 1, 0, -1):
        if words[i] in _QUOTES and words[i - 1] in _READING:
            end = next((k for k in range(i + 1, len(words)) if words[k] in _QUOTES), i)
            words[i : end + 1], tags[i : end + 1] = [";"], [":"]
