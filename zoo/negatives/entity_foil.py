"""Entity foil in place: the caption with one entity replaced by its foil."""

import re
from functools import lru_cache
from random import Random

from zoo.language.text import correct_article, equal_when_normalized, match_case
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import Entity, UnitRecord

_LEADING_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


class EntityFoilInPlace(NegativeGenerator):
    """The caption with one of its entities replaced by one of its foils.

    Entities that have foils and appear verbatim in the caption are equally likely, and so are the
    foils of one entity. The foil takes the case of the entity, and an a or an before it is
    corrected. A caption without units, or whose foils do not fit, has no negative.
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
    caption_article = re.search(r"\b(?:an?|the)\s+$", caption[:start], re.IGNORECASE)
    if caption_article:
        foil = _LEADING_ARTICLE.sub("", foil, count=1) if _LEADING_ARTICLE.match(foil) else foil
    foil = match_case(foil, caption[start:end])
    return correct_article(caption[:start] + foil + caption[end:], start)


def _find_mentions(entity: Entity, caption: str) -> list[tuple[int, int]]:
    pattern = _pattern(entity.text)
    return [match.span() for match in pattern.finditer(caption)] if pattern else []


@lru_cache(1 << 13)  # re caches only 512 patterns, and compiling dominates the time per row
def _pattern(text: str) -> re.Pattern[str] | None:
    """Returns a pattern that matches a text verbatim, or None for a text without words."""
    words = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE) if words else None
