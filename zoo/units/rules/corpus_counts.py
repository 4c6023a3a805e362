"""Counts of a caption corpus: heads, attributes, and the three parts of relations.

Foils are drawn by them, so that foils have the same distribution as true units.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.units.rules.clauses.triples import triples
from zoo.units.rules.foils.exchange import balanced_weights
from zoo.units.rules.kinds import noun_class
from zoo.units.rules.lexicon import ATTRIBUTE_FOILS, NOUN_FOILS, other_heads
from zoo.units.rules.phrases.entities import entity_phrases
from zoo.units.rules.phrases.grouping import phrases

Context = tuple[str, ...]
Table = Mapping[Context, Mapping[str, float]]
_HEADS, _ATTRIBUTES, _OBJECTS, _SUBJECTS = "heads", "attributes", "objects", "subjects"
_TABLES = (_HEADS, _ATTRIBUTES, _OBJECTS, _SUBJECTS)
# contexts with fewer counts than this are replaced by a more general one
_MIN_TOTAL = 40
# subtracted from the counts that come with the package, since a value that was seen n times in them
# is seen less often in other captions
_DISCOUNT = 0.75


class CorpusCounts:
    """Counts of values by context.

    Args:
        text: The content of a file of counts.
        discount: A number that is subtracted from each count.

    Attributes:
        heads: The heads of entities.
        objects: The heads of objects, by class of the subject and predicate.
        subjects: The heads of subjects, by predicate and class of the object.
        digest: A hash of the text, for results.

    Raises:
        ValueError: The text does not contain counts.
    """

    def __init__(self, text: str, discount: float = 0.0) -> None:
        tables: dict[str, dict[Context, dict[str, float]]] = {name: {} for name in _TABLES}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                context, _, values = line.replace("\t", " ").partition(":")
                table, *key = (part.replace("_", " ") for part in context.split())
                fields = [field.replace("_", " ") for field in values.split()]
                pairs = zip(fields[::2], fields[1::2], strict=True)
                if table not in tables:
                    raise ValueError(f"unknown table {table!r}")
                tables[table][tuple(key)] = {value: int(n) - discount for value, n in pairs}
        if () not in tables[_HEADS]:
            raise ValueError("no heads")
        self.heads: Mapping[str, float] = tables[_HEADS][()]
        self.objects: Table = tables[_OBJECTS]
        self.subjects: Table = tables[_SUBJECTS]
        self._attributes: Table = tables[_ATTRIBUTES]
        self.digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @cached_property
    def head_weights(self) -> dict[str, float]:
        """Weights of heads, by which a head is drawn as often as it is true, where possible."""
        return balanced_weights(self.heads, {head: other_heads(head) for head in NOUN_FOILS})

    @cached_property
    def _predicates(self) -> Table:
        table: dict[Context, dict[str, float]] = {}
        for (subject_class, predicate), object_heads in self.objects.items():
            for head, count in object_heads.items():
                for object_ in (head, _class_key(head)):
                    context = table.setdefault((subject_class, object_), {})
                    context[predicate] = context.get(predicate, 0) + count
        return table

    def predicates_between(self, subject: str, object_: str) -> Mapping[str, float]:
        """Returns the counts of predicates between two heads.

        A rare object is replaced by its class.

        Args:
            subject: The head of the subject.
            object_: The head of the object.
        """
        subject_class = noun_class(subject)
        return _first_frequent(
            self._predicates, [(subject_class, object_), (subject_class, _class_key(object_))]
        )

    def attributes_of(self, head: str) -> Mapping[str, float]:
        """Returns the counts of attributes of a head; a rare head is replaced by its class."""
        return _first_frequent(self._attributes, [(head,), (_class_key(head),)])


def _class_key(head: str) -> str:
    return f"[{noun_class(head)}]"


def _first_frequent(table: Table, contexts: Sequence[Context]) -> Mapping[str, float]:
    for context in contexts:
        counts = table.get(context, {})
        if sum(counts.values()) >= _MIN_TOTAL:
            return counts
    return {}


@cache
def default_counts() -> CorpusCounts:
    """Returns the counts that come with the package; the file's header says of which captions."""
    file = files("zoo.units.rules").joinpath("corpus_counts.txt")
    return CorpusCounts(file.read_text("utf-8"), _DISCOUNT)


def read_counts(file: Path) -> CorpusCounts:
    """Reads counts written by `zoo units count`.

    Raises:
        ZooError: The file cannot be read, or is not a file of counts.
    """
    try:
        return CorpusCounts(file.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"{file} cannot be read ({error.strerror or error}): "
            "write it with `zoo units count CAPTIONS --out FILE`"
        ) from error
    except ValueError as error:
        raise ZooError(
            f"{file} is not a file of counts ({error}): "
            "write it with `zoo units count CAPTIONS --out FILE`"
        ) from error


def count_corpus(captions: Iterable[str], tagger: Tagger, min_count: int = 1) -> str:
    """Counts heads, attributes and relations in captions.

    Args:
        captions: The captions.
        tagger: The tagger of the captions.
        min_count: The minimum count of a value in its context.

    Returns:
        The content of a file of counts.
    """
    tables: dict[str, dict[Context, Counter[str]]] = {name: {} for name in _TABLES}

    def count(table: str, context: Context, value: str) -> None:
        tables[table].setdefault(context, Counter())[value] += 1

    for caption in captions:
        phrase_list = phrases(tagger.checked_tokens(caption))
        entities = entity_phrases(phrase_list)
        for phrase in entities.values():
            count(_HEADS, (), phrase.head_text)
            for word in phrase.words[: phrase.head[0]]:
                if word in ATTRIBUTE_FOILS:
                    for key in (phrase.head_text, _class_key(phrase.head_text)):
                        count(_ATTRIBUTES, (key,), word)
        for subject, predicate, object_ in triples(phrase_list):
            if {subject.text, object_.text} <= entities.keys():
                subject_head, object_head = subject.head_text, object_.head_text
                count(_OBJECTS, (noun_class(subject_head), predicate), object_head)
                count(_SUBJECTS, (predicate, noun_class(object_head)), subject_head)
    return "".join(
        f"{line}\n"
        for name, table in tables.items()
        for line in _format_table(name, table, min_count)
    )


def _format_table(
    name: str, table: Mapping[Context, Counter[str]], min_count: int
) -> Iterator[str]:
    for context, counts in sorted(table.items()):
        values = [
            f"{value.replace(' ', '_')} {n}"
            for value, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if n >= min_count
        ]
        if values:
            key = " ".join(part.replace(" ", "_") for part in (name, *context))
            yield f"{key}: {' '.join(values)}"
