"""RuleExtractor: units and foils from a tagger, patterns and word lists.

With it CS-CLIP can be trained without a language model.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.units.extractor import UnitExtractor
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord
from zoo.units.rules.clauses.triples import triples
from zoo.units.rules.corpus_counts import MIN_FOILS, default_counts, read_counts
from zoo.units.rules.filters import DUPLICATE, phrase_fault, relation_fault
from zoo.units.rules.foils.attributes import attribute_foils
from zoo.units.rules.foils.heads import drawn_head_foils, exchanged_head_foils
from zoo.units.rules.foils.relations import relation_foils
from zoo.units.rules.lexicon import NOUN_FOILS
from zoo.units.rules.phrases.entities import entity_phrases, full_name
from zoo.units.rules.phrases.grouping import phrases
from zoo.units.rules.phrases.phrase import Phrase


class RuleExtractor(UnitExtractor):
    """Finds units and makes their foils by rules, with a tagger and word lists.

    Entities are noun phrases (NP) without determiners. A relation connects two entities by a
    verb phrase (VP), a preposition (PP) or both: NP VP NP, NP PP NP or NP VP PP NP. Verbs take
    their -ing form ("man riding horse"). Foils pass the filters of CS-CLIP, Appendix B.6.

    Args:
        seed: The random seed of the foils.
        tagger: The tagger that finds words, part-of-speech tags and phrases. By default,
            `TextBlobTagger`.
        counts: A file of word counts from `zoo units count`. Words with high counts are frequent in
            foils, too. By default, zoo uses its counts of COCO's and Flickr8k's captions. If `zoo
            units extract` is given at least 5,000 captions, it uses the counts of these captions
            instead.

    Raises:
        ZooError: The file of counts cannot be read.
    """

    name: ClassVar[str] = "rule"
    # raised when the units of a caption change
    VERSION: ClassVar[int] = 5

    def __init__(
        self, seed: int = 0, tagger: Tagger | None = None, counts: str | None = None
    ) -> None:
        self.seed = seed
        self.tagger = tagger or default_tagger()
        self.counts = counts
        self._counts = default_counts() if counts is None else read_counts(Path(counts))
        self._source = {
            "extractor": self.name,
            "seed": seed,
            **self.tagger.describe(),
            "counts": self._counts.digest,
            "rules": self.VERSION,
        }

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns a caption's units. They depend only on the caption, seed, tagger and counts."""
        tokens = self.tagger.checked_tokens(caption)
        phrase_list = phrases(tokens)
        nouns = entity_phrases(phrase_list)
        relations = _relations(phrase_list, nouns)
        rng = Random(f"{self.seed}:{caption}")
        heads = {phrase.head_text for phrase in nouns.values()}
        words = {token.text.lower() for token in tokens}
        mentioned = frozenset((words | heads) & NOUN_FOILS.keys())
        used_texts = set(nouns) | {relation.text for relation in relations}
        entities = {
            text: Entity(text, foils)
            for text, foils in self._entity_foils(nouns, mentioned, used_texts, rng).items()
        }
        relations_with_foils = tuple(
            Relation(
                *(r.subject, r.predicate, r.object),
                foils=self._keep_relation_foils(
                    r,
                    relation_foils(
                        r,
                        (nouns[r.subject], entities[r.subject]),
                        (nouns[r.object], entities[r.object]),
                        mentioned,
                        self._counts,
                        rng,
                    ),
                    (nouns[r.subject].compound_text, nouns[r.object].compound_text),
                    used_texts,
                ),
            )
            for r in relations
        )
        return UnitRecord(
            caption_id,
            image_id,
            caption,
            tuple(entities.values()),
            relations_with_foils,
            self._source,
        )

    def describe(self) -> dict[str, Any]:
        """Returns the extractor's name and seed, and the description of its tagger."""
        return self._source

    def _entity_foils(
        self, nouns: dict[str, Phrase], mentioned: frozenset[str], used_texts: set[str], rng: Random
    ) -> dict[str, tuple[EntityFoil, ...]]:
        """Returns the foils of each noun phrase.

        Those that are exchangeable with the phrase in the corpus come first. Where they are fewer
        than `MIN_FOILS`, other heads follow. Phrases take turns in choosing them, so that of two
        similar phrases ("a man and a woman") the first does not use up all foils.
        """
        foils_by_text: dict[str, list[EntityFoil]] = {}
        for text, phrase in nouns.items():
            exchanged = chain(
                exchanged_head_foils(phrase, mentioned, self._counts, rng),
                attribute_foils(phrase, self._counts, rng),
            )
            foils_by_text[text] = list(self._keep_foils(phrase, exchanged, used_texts))
        other_heads = {
            text: drawn_head_foils(phrase, mentioned, self._counts, rng)
            for text, phrase in nouns.items()
        }
        for n_foils in range(MIN_FOILS):
            for text, foils in foils_by_text.items():
                if len(foils) <= n_foils:
                    foils += islice(self._keep_foils(nouns[text], other_heads[text], used_texts), 1)
        return {text: tuple(foils) for text, foils in foils_by_text.items()}

    def _keep_foils(
        self, phrase: Phrase, foils: Iterable[EntityFoil], used_texts: set[str]
    ) -> Iterator[EntityFoil]:
        return (
            foil
            for foil in foils
            if self._accept_foil(
                phrase_fault(
                    phrase.text, foil.text, (phrase.compound_text,), self._counts.compounds
                ),
                foil.text,
                used_texts,
            )
        )

    def _keep_relation_foils(
        self,
        relation: Relation,
        foils: Iterable[RelationFoil],
        compounds: tuple[str, str],
        used_texts: set[str],
    ) -> tuple[RelationFoil, ...]:
        return tuple(
            foil
            for foil in foils
            if self._accept_foil(
                relation_fault(relation, foil, compounds, self._counts.compounds),
                foil.text,
                used_texts,
            )
        )

    def _accept_foil(self, fault: str | None, text: str, used_texts: set[str]) -> bool:
        """Returns whether a foil is kept; if so, adds it to `used_texts`."""
        fault = fault or (DUPLICATE if text in used_texts else None)
        if fault:
            self.dropped_foils[fault] += 1
            return False
        used_texts.add(text)
        return True


def _relations(phrase_list: list[Phrase], entities: Collection[str]) -> list[Relation]:
    """Returns the relations between entities, each text once."""
    names = {phrase.text: full_name(phrase, phrase_list, entities) for phrase in phrase_list}
    relations = (
        Relation(names[s.text], predicate, names[o.text])
        for s, predicate, o in triples(phrase_list)
        if {names[s.text], names[o.text]} <= set(entities) and names[s.text] != names[o.text]
    )
    return list({relation.text: relation for relation in relations}.values())
