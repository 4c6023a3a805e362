"""Entity foil in place: the caption with one entity replaced by its foil."""

import re
from functools import lru_cache
from random import Random

from zoo.language.text import correct_article, equal_when_normalized, match_case
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import Entity, UnitRecord
from zoo.units.rules import kinds
from zoo.units.rules.kinds import head_of, is_kind
from zoo.units.rules.lexicon import PLURALS, SINGULARS, UNCOUNTED, singulars_and_plurals, word_set

_LEADING_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)


class EntityFoilInPlace(NegativeGenerator):
    """The caption with one entity replaced by its foil (a wrong version) from a units file.

    All entities that have foils and appear verbatim in the caption are equally likely, as are the
    foils of an entity. The foil takes the case of the entity. A preceding "a" or "an" is corrected,
    or left out before a plural or a mass noun ("chopsticks"). If a man becomes a woman,
    or the reverse, the caption's pronouns follow, unless they may mean someone else. A caption
    without units, or whose foils do not fit, has no negative.
    """

    name = "entity_foil"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with one entity replaced, or None if no foil fits."""
        entities = [entity for entity in record.entities if entity.foils] if record else []
        for entity in rng.sample(entities, len(entities)):
            places = list(_find_mentions(entity, caption))
            if not places:
                continue
            start, end = rng.choice(places)
            for foil in rng.sample(entity.foils, len(entity.foils)):
                negative = replace_in_caption(caption, start, end, foil.text)
                if not equal_when_normalized(negative, caption):
                    return negative
        return None


def replace_in_caption(caption: str, start: int, end: int, foil: str) -> str:
    """Returns the caption with a span replaced by a foil.

    The foil's article is dropped if the caption already has one right before the span.

    Args:
        caption: The caption.
        start: The position of the span's first character.
        end: The position after its last character.
        foil: The replacement.
    """
    entity = caption[start:end]
    before, after = caption[:start], caption[end:]
    caption_article = re.search(r"\b(?:an?|the)\s+$", before, re.IGNORECASE)
    if caption_article:
        foil = _LEADING_ARTICLE.sub("", foil, count=1)
        indefinite = caption_article[0].strip().lower() != "the"
        # "a few men", "a group of girls": the article is that of the quantity
        if indefinite and _takes_no_article(foil) and not _takes_no_article(entity):
            entity = caption[caption_article.start() : end]
            before = before[: caption_article.start()]
    start = len(before)
    before, after = _change_pronouns((before, after), caption[len(before) : end], foil)
    return correct_article(before + match_case(foil, entity) + after, start)


# mass nouns that name one thing as well: a basketball, a fire
_ALSO_COUNTED = word_set("football basketball volleyball baseball fire coffee beer soda ice_cream")


def _takes_no_article(foil: str) -> bool:
    """Returns whether a foil takes no a or an, as a plural or a mass noun."""
    head = head_of(foil.lower())
    return head in UNCOUNTED - _ALSO_COUNTED or head in PLURALS or head in SINGULARS


def _change_pronouns(parts: tuple[str, str], entity: str, foil: str) -> tuple[str, str]:
    """Returns the texts around an entity with the pronouns of the foil's sex."""
    old, new = _sex(entity), _sex(foil)
    other_words = re.findall(r"\w+", " ".join(parts).lower())
    if old is None or new in (None, old) or any(is_kind(w, kinds.PEOPLE) for w in other_words):
        return parts
    pronouns = _FEMALE_PRONOUNS if new == "female" else _MALE_PRONOUNS
    pattern = re.compile(rf"\b(?:{'|'.join(pronouns)})\b(\s+\w)?", re.IGNORECASE)

    def change(match: re.Match[str]) -> str:
        word = match[0].split()[0]
        following = match[1] or ""
        # "her" is "his" before a word, and otherwise "him"
        replacement = "him" if word.lower() == "her" and not following else pronouns[word.lower()]
        return match_case(replacement, word) + following

    before, after = (pattern.sub(change, part) for part in parts)
    return before, after


_FEMALE_PRONOUNS = {"he": "she", "his": "her", "him": "her", "himself": "herself"}
_MALE_PRONOUNS = {"she": "he", "her": "his", "hers": "his", "herself": "himself"}
_FEMALES = singulars_and_plurals(("woman", "girl", "lady", "bride", "bridesmaid"))
_MALES = singulars_and_plurals(("man", "boy", "guy", "gentleman", "groom"))


def _sex(text: str) -> str | None:
    head = head_of(text.lower())
    return "female" if head in _FEMALES else "male" if head in _MALES else None


def _find_mentions(entity: Entity, caption: str) -> list[tuple[int, int]]:
    pattern = _pattern(entity.text)
    return [match.span() for match in pattern.finditer(caption)] if pattern else []


@lru_cache(1 << 13)  # re caches only 512 patterns, and compiling dominates the time per row
def _pattern(text: str) -> re.Pattern[str] | None:
    """Returns a pattern that matches a text verbatim, or None for a text without words."""
    words = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE) if words else None
