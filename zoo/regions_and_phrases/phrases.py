"""Phrases of a text, which are encoded separately, together with the text itself.

Structure-guided inference (Role of Inference, section 3.2, B.1 and B.5) decomposes a caption into
phrases about objects plus the full caption.
"""

from functools import cached_property
from typing import Any

from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.regions_and_phrases.base import Segments
from zoo.units.extractor import UnitExtractor
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord
from zoo.units.rules.kinds import head_of
from zoo.units.rules.rule import RuleExtractor


class Chunks(Segments):
    """Noun phrases ("a man", "a red hat", "a brown horse"), and the whole text.

    Args:
        tagger: The tagger that finds noun phrases. By default, `TextBlobTagger`.
    """

    def __init__(self, tagger: Tagger | None = None) -> None:
        self.tagger = tagger

    @cached_property
    def _tagger(self) -> Tagger:
        return self.tagger or default_tagger()

    def phrases(self, text: str) -> list[str]:
        """Returns the noun phrases of the text, including their determiners."""
        spans: list[tuple[int, int]] = []
        for token in self._tagger.checked_tokens(text):
            if token.chunk == "B-NP":
                spans.append((token.start, token.end))
            elif token.chunk == "I-NP" and spans:
                spans[-1] = (spans[-1][0], token.end)
        return [text[start:end] for start, end in spans]

    def describe(self) -> dict[str, Any]:
        """Returns the description of the segments for results, with the tagger."""
        return {**super().describe(), **self._tagger.describe()}


class Coarse(Segments):
    """Entities with attributes ("red hat"), relations ("man in red hat"), and the whole text.

    If a text has at most two entities, relations are left out, since they would repeat the text.

    Args:
        units: One or several units files, in which texts are looked up.
        extractor: The extractor for texts that no units file contains. If `extractor` and `units`
            are both None, `RuleExtractor` is used. If only `extractor` is None, such a text is an
            error.
    """

    def __init__(
        self, units: str | list[str] | None = None, extractor: UnitExtractor | None = None
    ) -> None:
        self.files = [units] if isinstance(units, str) else list(units or ())
        self.extractor = extractor

    @cached_property
    def _records_by_caption(self) -> dict[str, UnitRecord]:
        """The first record of each caption in the units files."""
        records: dict[str, UnitRecord] = {}
        for file in self.files:
            for record in read_units(file).values():
                records.setdefault(record.caption, record)
        return records

    @cached_property
    def _extractor(self) -> UnitExtractor | None:
        return self.extractor or (None if self.files else RuleExtractor())

    def phrases(self, text: str) -> list[str]:
        """Returns the texts of entities and relations.

        Raises:
            ZooError: The units files do not contain the text, and no extractor is given.
        """
        record = self._records_by_caption.get(text)
        if record is None and self._extractor is None:
            raise ZooError(
                f"{' and '.join(self.files)}: units of {text!r} are missing, which "
                f"{type(self).__name__} needs: run `zoo units extract`, or set an extractor for "
                "such texts, for example --model.head.segments.extractor RuleExtractor"
            )
        return self.segments_of(record or self._extract(text))

    def segments_of(self, record: UnitRecord) -> list[str]:
        """Returns the texts of entities and, if there are more than two, those of relations."""
        entities = [entity.text for entity in record.entities]
        return entities + [relation.text for relation in record.relations if len(entities) > 2]

    def _extract(self, text: str) -> UnitRecord:
        assert self._extractor is not None
        return self._extractor.extract(text, text, "")

    def describe(self) -> dict[str, Any]:
        """Returns the description of the segments for results, with units files and extractor."""
        extractor = self._extractor.describe() if self._extractor else {}
        return {**super().describe(), **({"units": self.files} if self.files else {}), **extractor}


class Fine(Coarse):
    """The phrases of `Coarse`, and each entity without its attributes ("hat", "horse").

    Args:
        units: One or several units files, in which texts are looked up.
        extractor: The extractor for texts that no units file contains. If `extractor` and `units`
            are both None, `RuleExtractor` is used. If only `extractor` is None, such a text is an
            error.
    """

    def segments_of(self, record: UnitRecord) -> list[str]:
        """Returns the entities of a record without attributes, and the phrases of `Coarse`."""
        return [head_of(entity.text) for entity in record.entities] + super().segments_of(record)


class Triplets(Coarse):
    """Entities with attributes ("red hat"), predicates ("riding"), and the whole text.

    A predicate is a relation without its entities. For "a man riding a brown horse", the segments
    are "man", "brown horse", "riding" and the text, as in ComCLIP.

    Args:
        units: One or several units files, in which texts are looked up.
        extractor: The extractor for texts that no units file contains. If `extractor` and `units`
            are both None, `RuleExtractor` is used. If only `extractor` is None, such a text is an
            error.
    """

    def segments_of(self, record: UnitRecord) -> list[str]:
        """Returns the texts of a record's entities and the predicates of its relations."""
        entities = [entity.text for entity in record.entities]
        return entities + [relation.predicate for relation in record.relations]
