"""Replace: replaces one word of the caption, as in SugarCrepe's REPLACE.

The rule is that of FSC-CLIP (A.1), from CLoVe's code.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.prepositions import other_prepositions, preposition_length
from zoo.language.tagger import Tagger, Token
from zoo.language.taggers import recorded_tagger
from zoo.language.text import correct_article, equal_when_normalized, match_case
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.table import HOW_TO_MAKE, OFFENSIVE_WORDS, ReplacementTable, open_table
from zoo.support.ranges import ClosedUnitInterval, NonNegativeInt
from zoo.units.record import UnitRecord

log = logging.getLogger(__name__)

CHECKED = 2_000
DRAWS = 10


class Replace(NegativeGenerator):
    """The caption with one noun, adjective, verb or preposition replaced.

    A noun, an adjective or a verb is replaced by an antonym or a cousin in WordNet (two steps up
    and two steps down). A preposition is replaced by another one from a list, drawn by frequency.

    For every word that can be changed, up to two alternatives are drawn by weight, without
    replacement. One of all these alternatives is used, so that every word is about equally likely.
    The new word takes the form and the case of the old one. A preceding "a" or "an" is corrected.

    Args:
        table: The table of replacement words, which `zoo negatives build` writes.
        min_entities: The minimum number of noun phrases in a caption. A caption with fewer has no
            negative. The default is the published value.
        max_unknown: The maximum share, from 0 to 1, of words that are missing from the table. If
            the share is higher, the command stops with an error before it makes negatives. The
            share is computed over the nouns, adjectives and verbs that may be replaced, in up to
            2,000 captions. Words are missing, for example, if the table was built from other
            captions. Missing words are never replaced.
        tagger: The tagger with which the table was built. By default, its name is read from the
            table. This works only for taggers of zoo.

    Raises:
        ZooError: The table cannot be read, or was made with another tagger.
    """

    name = "replace"

    def __init__(
        self,
        table: Path,
        min_entities: NonNegativeInt = 2,
        max_unknown: ClosedUnitInterval = 0.05,
        tagger: Tagger | None = None,
    ) -> None:
        self.table, self.min_entities, self.max_unknown = Path(table), min_entities, max_unknown
        settings = open_table(self.table).settings
        made_with = settings["tagger"]
        self.tagger = tagger or recorded_tagger(made_with, self.table)
        if self.tagger.name != made_with:
            raise ZooError(
                f"{self.table} was made with the tagger {made_with}, not {self.tagger.name}, which "
                "finds other words: use the table's tagger, or build a table with this one"
            )
        if OFFENSIVE_WORDS not in settings:
            log.warning(
                "%s was built by a version of zoo that did not leave out slurs and obscene words: "
                "%s without them",
                self.table,
                HOW_TO_MAKE,
            )

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator, its tagger and its table."""
        settings = open_table(self.table).settings
        made_by = {
            f"table_{key}": value
            for key, value in settings.items()
            if key not in ("tagger", "tagger_version")
        }
        return super().describe() | self.tagger.describe() | {"table": str(self.table)} | made_by

    def check(self, captions: Sequence[str]) -> None:
        """Checks, for a sample of up to 2,000 captions, that the table has their words.

        Args:
            captions: The captions.

        Raises:
            ZooError: The share of words that are missing from the table is above `max_unknown`.
        """
        table = open_table(self.table)
        sample = captions[:: -(-len(captions) // CHECKED) or 1]
        keys = [
            (part.lowercase_text, part.tag)
            for caption in sample
            for part in replaceable_words(self.tagger.checked_tokens(caption))
            if part.tag is not None
        ]
        unknown = [key for key in keys if key not in table]
        if len(unknown) > self.max_unknown * len(keys):
            examples = ", ".join(dict.fromkeys(word for word, _ in islice(unknown, 3)))
            raise ZooError(
                f"{self.table} was built from other captions: {len(unknown):,} of {len(keys):,} "
                f"words checked are missing ({examples}): {HOW_TO_MAKE} from these captions, or "
                "raise max_unknown"
            )

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with one word changed, or None if no word can be changed."""
        table = open_table(self.table)
        tokens = self.tagger.checked_tokens(caption)
        if sum(token.chunk == "B-NP" for token in tokens) < self.min_entities:
            return None
        parts = replaceable_words(tokens)
        draws = [min(2, _n_alternatives(table, part)) for part in parts]
        if not any(draws):
            return None
        for _ in range(DRAWS):
            (part,) = rng.choices(parts, draws)
            new = _draw_replacement(table, part, rng)
            negative = correct_article(
                caption[: part.start] + match_case(new, part.text) + caption[part.end :], part.start
            )
            if not equal_when_normalized(negative, caption):
                return negative
        return None


@dataclass(frozen=True, slots=True)
class ReplaceableWord:
    """A word that may be replaced, or a preposition of several words.

    Attributes:
        start: The position of its first character.
        end: The position after its last character.
        text: Its words. The caption may have other whitespace between them.
        tag: Its Penn Treebank tag; None for a preposition.
    """

    start: int
    end: int
    text: str
    tag: str | None

    @property
    def lowercase_text(self) -> str:
        """The text in lower case."""
        return self.text.lower()


def replaceable_words(tokens: Sequence[Token]) -> list[ReplaceableWord]:
    """Returns the words that may be replaced.

    These are the last noun of every noun phrase, its adjectives and participles, the main verbs,
    and the prepositions. Without a parse, every verb and preposition between phrases counts as a
    relation; the public code uses dependencies. Pronouns are never replaced; the public code may
    take "it" for the abbreviation IT and replace it.
    """
    words = [token.text.lower() for token in tokens]
    heads = _head_noun_indices(tokens)
    parts, at = [], 0
    while at < len(tokens):
        token = tokens[at]
        n_words = (
            0
            if token.tag == "RP" or _is_infinitive_marker(tokens, at)
            else preposition_length(words, at)
        )
        if n_words > 1 or (n_words and token.tag in ("IN", "TO")):
            parts.append(
                ReplaceableWord(
                    token.start,
                    tokens[at + n_words - 1].end,
                    " ".join(words[at : at + n_words]),
                    None,
                )
            )
            at += n_words
            continue
        is_in_noun_phrase = token.chunk.endswith("-NP")
        if (
            at in heads
            or (is_in_noun_phrase and token.tag in _MODIFIERS)
            or (not is_in_noun_phrase and token.tag.startswith("VB") and _is_main_verb(tokens, at))
        ):
            parts.append(ReplaceableWord(token.start, token.end, token.text, token.tag))
        at += 1
    return parts


_MODIFIERS = frozenset({"JJ", "JJR", "JJS", "VBN", "VBG"})
_BE = frozenset({"is", "are", "was", "were", "be", "been", "being", "am", "'s", "’s"})


def _head_noun_indices(tokens: Sequence[Token]) -> set[int]:
    heads: dict[int, int] = {}
    phrase = 0
    for i, token in enumerate(tokens):
        phrase += token.chunk == "B-NP"
        if token.chunk.endswith("-NP") and token.tag.startswith("NN"):
            heads[phrase] = i
    return set(heads.values())


def _is_infinitive_marker(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at].tag == "TO" and at + 1 < len(tokens) and tokens[at + 1].tag == "VB"


def _is_main_verb(tokens: Sequence[Token], at: int) -> bool:
    """Returns whether a verb is a main verb: the last of its group, and not a form of "be"."""
    next_tag = next((token.tag for token in tokens[at + 1 :] if not token.tag.startswith("RB")), "")
    return tokens[at].text.lower() not in _BE and not next_tag.startswith("VB")


def _n_alternatives(table: ReplacementTable, part: ReplaceableWord) -> int:
    return (
        len(other_prepositions(part.lowercase_text))
        if part.tag is None
        else table.count_alternatives((part.lowercase_text, part.tag))
    )


def _draw_replacement(table: ReplacementTable, part: ReplaceableWord, rng: Random) -> str:
    """Draws by weight; half of the time takes a second draw that differs from the first."""
    first_draw = _draw_by_weight(table, part, rng)
    if _n_alternatives(table, part) < 2 or rng.random() < 0.5:
        return first_draw
    while (second_draw := _draw_by_weight(table, part, rng)) == first_draw:
        pass
    return second_draw


def _draw_by_weight(table: ReplacementTable, part: ReplaceableWord, rng: Random) -> str:
    if part.tag is not None:
        return table.draw((part.lowercase_text, part.tag), rng)
    alternatives = other_prepositions(part.lowercase_text)
    return rng.choices(list(alternatives), list(alternatives.values()))[0]
