"""Entity foil in place: the caption with one entity changed for its wrong twin. Free of torch."""

import re
from random import Random

from zoo.language.text import cased_like, mend_article, same_words
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import Entity, UnitRecord

_LEADING_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)


class EntityFoilInPlace(NegativeGenerator):
    """The caption with a foil of one of its entities in the entity's place.

    Entities with foils that stand in the caption word for word are equally likely, and so are the foils of one. Case follows what is
    replaced, an a or an before it follows the foil. None where the caption has no units or none of their foils fits.
    """

    name = "entity_foil"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
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
    """Returns the caption with caption[start:end] replaced by the foil; an article that the foil brings is dropped where the caption has
    its own right before."""
    own = re.search(r"\b(?:an?|the)\s+$", caption[:start], re.IGNORECASE)
    if own:
        foil = _LEADING_ARTICLE.sub("", foil, count=1) if _LEADING_ARTICLE.match(foil) else foil
    foil = cased_like(foil, caption[start:end])
    return mend_article(caption[:start] + foil + caption[end:], start)


def _places(entity: Entity, caption: str) -> list[tuple[int, int]]:
    words = r"\s+".join(map(re.escape, entity.text.split()))
    return (
        [match.span() for match in re.finditer(rf"(?<!\w){words}(?!\w)", caption, re.IGNORECASE)]
        if words
        else []
    )
