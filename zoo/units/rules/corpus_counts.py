"""Counts of a caption corpus: heads, attributes, and the subjects, predicates and objects of relations.

They are used to draw foils from the same distribution as true units.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from zoo.language.tagger import Tagger
from zoo.units.rules import words
from zoo.units.rules.clauses.triples import triples
from zoo.units.rules.kinds import noun_class
from zoo.units.rules.lexicon import ATTRIBUTE_FOILS
from zoo.units.rules.phrases.entities import entity_phrases
from zoo.units.rules.phrases.grouping import phrases
from zoo.units.rules.phrases.phrase import Phrase

Context = tuple[str, ...]
Table = Mapping[Context, Mapping[str, float]]
# counts below this are left out of the files
_MIN_COUNT = 2
# absolute discount, since a value that was seen n times is seen less often in other captions
_DISCOUNT = 0.75
# contexts with fewer counts than this are replaced by a more general one
_MIN_TOTAL = 40


class CorpusCounts:
    """Counts of values by context.

    Attributes:
        heads: The heads of entities.
        attributes: The attributes of entities by head, or by class of the head.
        objects: The heads of objects, by class of the subject and predicate.
        subjects: The heads of subjects, by predicate and class of the object.
        predicates: The predicates, by class of the subject and by head, or class, of the object.
    """

    def __init__(
        self,
        heads: Mapping[str, float],
        attributes: Table,
        objects: Table,
        subjects: Table,
    ) -> None:
        self.heads, self.objects, self.subjects = heads, objects, subjects
        self.attributes = attributes
        predicates: dict[Context, dict[str, float]] = {}
        for (subject_class, predicate), object_heads in objects.items():
            for head, count in object_heads.items():
                for object_ in {head, class_name(head)}:
                    context = predicates.setdefault((subject_class, object_), {})
                    context[predicate] = context.get(predicate, 0) + count
        self.predicates: Table = predicates

    def predicates_between(self, subject: str, object_: str) -> Mapping[str, float]:
        """Returns the counts of predicates between two heads.

        Rare objects are replaced by their class.
        """
        return _first_frequent(
            self.predicates, [(noun_class(subject), object_), (noun_class(subject), class_name(object_))]
        )

    def attributes_of(self, head: str) -> Mapping[str, float]:
        """Returns the counts of attributes of a head; a rare head is replaced by its class."""
        return _first_frequent(self.attributes, [(head,), (class_name(head),)])


def class_name(head: str) -> str:
    """Returns the key of a head's class in the tables; it is the class in brackets."""
    return f"[{noun_class(head)}]"


def _first_frequent(table: Table, contexts: Sequence[Context]) -> Mapping[str, float]:
    for context in contexts:
        counts = table.get(context, {})
        if sum(counts.values()) >= _MIN_TOTAL:
            return counts
    return {}


@cache
def corpus_counts() -> CorpusCounts:
    """Returns the counts that come with the package."""
    (heads,) = _parse_table(words.HEAD_COUNTS).values()
    return CorpusCounts(
        heads,
        _parse_table(words.ATTRIBUTE_COUNTS),
        _parse_table(words.OBJECT_COUNTS),
        _parse_table(words.SUBJECT_COUNTS),
    )


def _parse_table(text: str) -> dict[Context, dict[str, float]]:
    table: dict[Context, dict[str, float]] = {}
    for line in text.splitlines():
        context, _, values = line.partition(":")
        fields = [field.replace("_", " ") for field in values.split()]
        key = tuple(part.replace("_", " ") for part in context.split())
        table[key] = {
            value: int(count) - _DISCOUNT for value, count in zip(fields[::2], fields[1::2], strict=True)
        }
    return table


def count_corpus(captions: Iterable[str], tagger: Tagger) -> dict[str, str]:
    """Counts heads, attributes and relations in captions.

    Args:
        captions: The captions.
        tagger: The tagger of the captions.

    Returns:
        The texts of the word lists, by name: `head_counts` and so on.
    """
    heads: dict[Context, Counter[str]] = {(): Counter()}
    attributes: dict[Context, Counter[str]] = {}
    objects: dict[Context, Counter[str]] = {}
    subjects: dict[Context, Counter[str]] = {}
    for caption in captions:
        phrase_list = phrases(tagger.checked_tokens(caption))
        entities = entity_phrases(phrase_list)
        for phrase in entities.values():
            heads[()][phrase.head_text] += 1
            for attribute in _attributes(phrase):
                for context in ((phrase.head_text,), (class_name(phrase.head_text),)):
                    attributes.setdefault(context, Counter())[attribute] += 1
        for subject, predicate, object_ in triples(phrase_list):
            if {subject.text, object_.text} <= entities.keys():
                s, o = subject.head_text, object_.head_text
                objects.setdefault((noun_class(s), predicate), Counter())[o] += 1
                subjects.setdefault((predicate, noun_class(o)), Counter())[s] += 1
    tables = {
        "head_counts": heads,
        "attribute_counts": attributes,
        "object_counts": objects,
        "subject_counts": subjects,
    }
    return {name: "\n".join(_format_table(table)) for name, table in tables.items()}


def _attributes(phrase: Phrase) -> Iterator[str]:
    before_head = phrase.words[: phrase.head[0]]
    return (word for word in before_head if word in ATTRIBUTE_FOILS)


def _format_table(table: Mapping[Context, Counter[str]]) -> Iterator[str]:
    for context, counts in sorted(table.items()):
        values = [
            f"{value.replace(' ', '_')} {count}"
            for value, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if count >= _MIN_COUNT
        ]
        if values:
            names = (part.replace(" ", "_") for part in context)
            yield f"{' '.join(names)}: {' '.join(values)}"
