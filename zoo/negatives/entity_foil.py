"""Entity foil in place: the caption with one entity replaced by its foil."""

import re
from functools import lru_cache
from random import Random

from zoo.language.text import cased_like, correct_article, same_words
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import Entity, UnitRecord

_LEADING_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


class EntityFoilInPlace(NegativeGenerator):
    """The caption with a foil of one of its entities in the entity's place.

    Entities that have foils and stand in the caption word for word are equally likely, and so are
    the foils of one entity. The case of the foil follows what it replaces, and an a or an before it
    follows the foil. A caption without units, or whose foils do not fit, has no negative.
    """

    name = "entity_foil"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with one entity replaced, or None where no foil fits."""
        entities = [entity for entity in record.entities if entity.foils] if record else []
        for entity in rng.sample(entities, len(entities)):
            places = list(_places(entity, caption))
            if not places:
                continue
            start, end = rng.choice(places)
            for foil in rng.sample(entity.foils, len(entity.foils)):
                negative = in_place(caption, start, end, foil.text)
                if not same_words(negative, caption):
                    return negative
        return None


def in_place(caption: str, start: int, end: int, foil: str) -> str:
    """Returns the caption with a span replaced by a foil.

    An article that the foil brings is dropped where the caption has its own right before.

    Args:
        caption: The caption.
        start: The position of the span's first character.
        end: The position after its last character.
        foil: What replaces it.
    """
    own = re.search(r"\b(?:an?|the)\s+$", caption[:start], re.IGNORECASE)
    if own:
        foil = _LEADING_ARTICLE.sub("", foil, count=1) if _LEADING_ARTICLE.match(foil) else foil
    foil = cased_like(foil, caption[start:end])
    return correct_article(caption[:start] + foil + caption[end:], start)


def _places(entity: Entity, caption: str) -> list[tuple[int, int]]:
    pattern = _pattern(entity.text)
    return [match.span() for match in pattern.finditer(caption)] if pattern else []


@lru_cache(1 << 13)  # re's own holds 512, and making one takes longer than all else of a row
def _pattern(text: str) -> re.Pattern[str] | None:
    """Returns what finds a text word for word, None for a text without words."""
    words = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE) if words else None
