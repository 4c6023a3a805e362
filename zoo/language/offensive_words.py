"""The reviewed list of words that replacements and foils never use: slurs and obscene words."""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_WHOLE_SENSE = "* "
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@dataclass(frozen=True)
class OffensiveWords:
    """Words that are never used, and words that are not used in some senses.

    Attributes:
        words: Lower-case words that are never used.
        senses: WordNet's keys of senses in which a word is not used.
        whole_senses: Keys of senses that are not used at all, with any of their words.
    """

    words: frozenset[str]
    senses: frozenset[str]
    whole_senses: frozenset[str]

    def includes_text(self, text: str) -> bool:
        """Returns whether a text contains a word that is never used, also as a compound's part.

        A regular plural counts as the word.

        Args:
            text: A word, a compound with spaces, underscores or hyphens, or a caption.
        """
        return any(
            form in self.words
            for word in _WORD.findall(text.lower())
            for part in {word, *word.split("-")}
            for form in _possible_singulars(part)
        )

    def digest(self) -> str:
        """Returns a hash of the list, for results."""
        entries = [*sorted(self.words), *sorted(self.senses), *sorted(self.whole_senses)]
        return hashlib.blake2b("\n".join(entries).encode(), digest_size=8).hexdigest()


@cache
def offensive_words() -> OffensiveWords:
    """Returns the reviewed list; the file's header describes it."""
    lines = files("zoo.language").joinpath("offensive_words.txt").read_text("utf-8").splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    keys = [entry for entry in entries if "%" in entry]
    return OffensiveWords(
        words=frozenset(entries) - frozenset(keys),
        senses=frozenset(key for key in keys if not key.startswith(_WHOLE_SENSE)),
        whole_senses=frozenset(
            key.removeprefix(_WHOLE_SENSE) for key in keys if key.startswith(_WHOLE_SENSE)
        ),
    )


def _possible_singulars(word: str) -> tuple[str, ...]:
    endings = (("s$", ""), ("(?<=[hosxz])es$", ""), ("ies$", "y"))
    return word, *(re.sub(plural, singular, word) for plural, singular in endings)
