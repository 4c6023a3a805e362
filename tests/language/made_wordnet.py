"""A WordNet of a few words, in the files of its database.

What is read from it can be worked out by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
NUMBERS = {"n": 1, "v": 2, "a": 3, "r": 4}
HEADER = "  1 Made for tests: WordNet 9.9 Copyright of nobody\n"


@dataclass(frozen=True)
class Sense:
    """A synset.

    The first of `words` names it, and a count after a colon says how often texts have the word.
    `up` are its hypernyms. `opposites` and `derived` go from its first word to the first words of
    other synsets. `usage` are its usage domains, "word:domain" for one of its words alone. `file`
    is the number of its lexicographer's file, which its keys have.
    """

    part: str
    words: Sequence[str]
    up: Sequence[str] = ()
    opposites: Sequence[str] = ()
    derived: Sequence[str] = ()
    usage: Sequence[str] = ()
    file: int = 0
    names: list[str] = field(init=False)
    counts: list[int] = field(init=False)

    def usage_pointers(self) -> list[tuple[str, str, str]]:
        pointers = []
        for entry in self.usage:
            word, _, domain = entry.rpartition(":")
            source = self.names.index(word) + 1 if word else 0
            pointers.append((";u", domain, f"{source:02x}{1 if word else 0:02x}"))
        return pointers

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", [word.partition(":")[0] for word in self.words])
        object.__setattr__(
            self, "counts", [int(word.partition(":")[2] or 0) for word in self.words]
        )


# animal > canine > dog, wolf;  animal > feline > cat (9 times), lion;  a dog is a man as well, of a
# sense that has one cousin
SENSES = {
    "animal": Sense("n", ["animal"]),
    "canine": Sense("n", ["canine"], up=["animal"]),
    "feline": Sense("n", ["feline"], up=["animal"]),
    "dog": Sense("n", ["dog:5", "domestic_dog"], up=["canine"]),
    "wolf": Sense("n", ["wolf:2"], up=["canine"]),
    "cat": Sense("n", ["cat:9"], up=["feline"]),
    "lion": Sense("n", ["lion", "king_of_beasts"], up=["feline"]),
    "person": Sense("n", ["person"]),
    "man": Sense("n", ["man"], up=["person"]),
    "woman": Sense("n", ["woman"], up=["person"]),
    "frump": Sense("n", ["frump", "dog"], up=["woman"]),
    "oaf": Sense("n", ["oaf"], up=["man"]),
    "move": Sense("v", ["move"]),
    "go": Sense("v", ["go"], up=["move"]),
    "run": Sense("v", ["run:3"], up=["go"]),
    "walk": Sense("v", ["walk:4"], up=["go"]),
    "lie_down": Sense("v", ["lie_down"], up=["go"]),
    "color": Sense("n", ["color"]),
    "warm": Sense("n", ["warm_color"], up=["color"]),
    "redness": Sense("n", ["redness"], up=["warm"], derived=["red"]),
    "yellowness": Sense("n", ["yellowness"], up=["warm"], derived=["yellow"]),
    "red": Sense("a", ["red:7"], derived=["redness"]),
    "yellow": Sense("a", ["yellow:6"], derived=["yellowness"]),
    "tall": Sense("a", ["tall:2"], opposites=["short"]),
    "short": Sense("a", ["short:3"], opposites=["tall"]),
    "well": Sense("r", ["well"]),
}


def make_wordnet(folder: Path, senses: Mapping[str, Sense] = SENSES) -> Path:
    """Writes the database files of the senses as Debian has them into a folder, and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    offsets = dict.fromkeys(senses, 0)
    for part, name in FILES.items():
        at = len(HEADER)
        for key, sense in senses.items():
            if sense.part == part:
                offsets[key] = at
                at += len(_line(key, senses, offsets))
        (folder / f"index.{name}").write_text(HEADER + "".join(_index(part, senses, offsets)))
        (folder / f"{name}.exc").write_text(
            "wolves wolf\n" if part == "n" else "ran run\n" if part == "v" else ""
        )
    for part, name in FILES.items():
        (folder / f"data.{name}").write_text(
            HEADER
            + "".join(
                _line(key, senses, offsets) for key, sense in senses.items() if sense.part == part
            )
        )
    counts = [
        f"{name}%{NUMBERS[sense.part]}:{sense.file:02d}:{_which(name, key, senses):02d}:: "
        f"1 {count}\n"
        for key, sense in senses.items()
        for name, count in zip(sense.names, sense.counts, strict=True)
        if count
    ]
    (folder / "cntlist.rev").write_text("".join(sorted(counts)))
    return folder


def _pointers(key: str, senses: Mapping[str, Sense]) -> list[tuple[str, str, str]]:
    sense = senses[key]
    below = [name for name, other in senses.items() if key in other.up]
    return [
        *(("@", other, "0000") for other in sense.up),
        *(("~", other, "0000") for other in below),
        *(("!", other, "0101") for other in sense.opposites),
        *(("+", other, "0101") for other in sense.derived),
        *sense.usage_pointers(),
    ]


def _which(name: str, key: str, senses: Mapping[str, Sense]) -> int:
    """Returns how many synsets before this one have the word, which tells its senses apart."""
    return [other for other, sense in senses.items() if name in sense.names].index(key)


def _line(key: str, senses: Mapping[str, Sense], offsets: Mapping[str, int]) -> str:
    sense = senses[key]
    words = " ".join(f"{name} {_which(name, key, senses):x}" for name in sense.names)
    pointers = _pointers(key, senses)
    targets = "".join(
        f" {symbol} {offsets[other]:08d} {senses[other].part} {which}"
        for symbol, other, which in pointers
    )
    return (
        f"{offsets[key]:08d} {sense.file:02d} {sense.part} {len(sense.names):02x} {words} "
        f"{len(pointers):03d}{targets} | made  \n"
    )


def _index(part: str, senses: Mapping[str, Sense], offsets: Mapping[str, int]) -> list[str]:
    found: dict[str, list[int]] = {}
    for key, sense in senses.items():
        if sense.part == part:
            for name in sense.names:
                found.setdefault(name, []).append(offsets[key])
    return [
        f"{name} {part} {len(at)} 0 {len(at)} 0 {' '.join(f'{o:08d}' for o in at)}  \n"
        for name, at in sorted(found.items())
    ]
