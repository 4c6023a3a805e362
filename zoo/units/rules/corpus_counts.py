"""Counts of a caption corpus: heads, attributes, and the three parts of relations.

Foils are drawn by them, so that foils have the same distribution as true units.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from itertools import accumulate, combinations, groupby
from operator import itemgetter
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.units.rules.clauses.triples import triples
from zoo.units.rules.foils.exchange import balanced_weights
from zoo.units.rules.kinds import BACKDROPS, BODY_PARTS, is_kind, noun_class, sort_of
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    NOUN_FOILS,
    SINGULARS,
    other_heads,
    same_meaning,
)
from zoo.units.rules.phrases.entities import entity_phrases
from zoo.units.rules.phrases.grouping import phrases

Context = tuple[str, ...]
Table = Mapping[Context, Mapping[str, float]]
_HEADS, _ATTRIBUTES, _OBJECTS, _SUBJECTS = "heads", "attributes", "objects", "subjects"
_IMAGES, _TOGETHER, _COMPOUNDS = "images", "together", "compounds"
_TABLES = (_HEADS, _ATTRIBUTES, _OBJECTS, _SUBJECTS, _IMAGES, _TOGETHER, _COMPOUNDS)
# the number of foils that each entity should have
MIN_FOILS = 2
# the number of all images, in the table of images
_ALL = "[all]"
# contexts with fewer counts than this are replaced by a more general one
_MIN_TOTAL = 40
# subtracted from the counts that come with the package, since a value that was seen n times in them
# is seen less often in other captions
_DISCOUNT = 0.75
# compounds with smaller counts may be mistakes of the tagger
_MIN_COMPOUND = 3
# two heads are often in one image if they are this many times more often than by chance
_MIN_LIFT = 2.0
_MIN_TOGETHER = 2
# a head is expected in the image of a caption if another head has it in this share of its images
_EXPECTED = 0.15
# two heads are seldom in one image if they share less than this part of the number of images that
# chance predicts, and chance predicts at least `_MIN_EXPECTED`
_RARE = 0.4
_MIN_EXPECTED = 5


class CorpusCounts:
    """Counts of values by context.

    Args:
        text: The content of a file of counts.
        discount: A number that is subtracted from each count.

    Attributes:
        heads: The heads of entities.
        objects: The heads of objects, by class of the subject and predicate.
        subjects: The heads of subjects, by predicate and class of the object.
        compounds: The compounds that can be foils ("swimming pool").
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
        self._compounds = {
            head: {form: n for form, n in forms.items() if form == head or n >= _MIN_COMPOUND}
            for (head,), forms in tables[_COMPOUNDS].items()
        }
        self.compounds = frozenset(form for forms in self._compounds.values() for form in forms)
        self._images: Mapping[str, float] = tables[_IMAGES].get((), {})
        self._together: dict[str, dict[str, float]] = {}
        for (first,), others in tables[_TOGETHER].items():
            for second, count in others.items():
                self._together.setdefault(first, {})[second] = count
                self._together.setdefault(second, {})[first] = count
        self.digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def other_heads_of(self, head: str) -> tuple[str, ...]:
        """Returns the heads that can replace a head: of a similar sort, and seldom in one image."""
        return self._other_heads.get(head, ())

    @cached_property
    def _other_heads(self) -> dict[str, tuple[str, ...]]:
        return {
            head: tuple(h for h in other_heads(head) if not self.share_images(head, h))
            for head in NOUN_FOILS
        }

    def draw_compound(self, head: str, rng: Random) -> str:
        """Returns a head, or a compound that ends with it, as frequent as in the corpus."""
        forms = self._compounds.get(head)
        return rng.choices(list(forms), list(forms.values()))[0] if forms else head

    def heads_after(self, attributes: Sequence[str]) -> Mapping[str, float]:
        """Returns the counts of heads after the first of some attributes, or without attributes."""
        if not attributes:
            return self._bare_heads
        return self._heads_by_attribute.get(attributes[0], {})

    def with_attributes(
        self, heads: Mapping[str, float], attributes: Sequence[str]
    ) -> Mapping[str, float]:
        """Returns the counts of heads times the share of each head with the first attribute.

        Args:
            heads: The counts of heads in a place of a relation.
            attributes: The attributes. Without them, it is the share without attributes.
        """
        counts = self.heads_after(attributes)
        return {
            head: count * counts[head] / max(self.heads.get(head, 0), counts[head])
            for head, count in heads.items()
            if head in counts
        }

    @cached_property
    def _heads_by_attribute(self) -> dict[str, dict[str, float]]:
        table: dict[str, dict[str, float]] = {}
        for (head,), attributes in self._attributes.items():
            if not head.startswith("["):
                for attribute, count in attributes.items():
                    table.setdefault(attribute, {})[head] = count
        return table

    @cached_property
    def _bare_heads(self) -> dict[str, float]:
        return {
            head: max(count - sum(self._attributes.get((head,), {}).values()), 0.5)
            for head, count in self.heads.items()
        }

    def other_heads_of_sort(self, head: str) -> tuple[str, ...]:
        """Returns the heads of a head's sort that can replace it."""
        return self._other_heads_of_sort.get(head, ())

    @cached_property
    def _other_heads_of_sort(self) -> dict[str, tuple[str, ...]]:
        return {
            head: other_heads
            for alternatives in self._alternatives_by_sort.values()
            for head, other_heads in alternatives.items()
        }

    @cached_property
    def _alternatives_by_sort(self) -> dict[tuple[str, bool], dict[str, tuple[str, ...]]]:
        """The heads that can replace each head of a sort."""
        members: dict[tuple[str, bool], list[str]] = {}
        for head in sorted(self.heads.keys() & NOUN_FOILS.keys()):
            if not is_kind(head, BODY_PARTS, BACKDROPS):
                members.setdefault(sort_of(head), []).append(head)
        return {
            sort: {
                head: tuple(h for h in heads if h != head and self.can_replace(h, head))
                for head in heads
            }
            for sort, heads in members.items()
        }

    def weights_of_sort(self, head: str) -> tuple[Sequence[str], Sequence[float]]:
        """Returns heads of a head's sort, and the sums of the weights by which they are drawn.

        A head is drawn as often as it is true, as far as possible.
        """
        return self._weights_by_sort.get(sort_of(head), ((), ()))

    @cached_property
    def _weights_by_sort(self) -> dict[tuple[str, bool], tuple[Sequence[str], Sequence[float]]]:
        balanced: dict[tuple[str, bool], tuple[Sequence[str], Sequence[float]]] = {}
        for sort, alternatives in self._alternatives_by_sort.items():
            weights = balanced_weights(self.heads, alternatives, MIN_FOILS)
            balanced[sort] = (
                list(alternatives),
                list(accumulate(weights[head] for head in alternatives)),
            )
        # a single head has no alternatives
        return {sort: balance for sort, balance in balanced.items() if balance[1][-1] > 0}

    def can_replace(self, foil: str, head: str) -> bool:
        """Returns whether a head is false where another one is true."""
        return not same_meaning(foil, head) and not self.share_images(foil, head)

    def share_images(self, first: str, second: str) -> bool:
        """Returns whether two heads are in one image more often than by chance."""
        first, second = SINGULARS.get(first, first), SINGULARS.get(second, second)
        count = self._together.get(first, {}).get(second, 0)
        expected = self._images.get(first, 0) * self._images.get(second, 0)
        return count >= _MIN_TOGETHER and count * self._images[_ALL] > _MIN_LIFT * expected

    def is_expected_with(self, head: str, others: Iterable[str]) -> bool:
        """Returns whether images with one of the other heads often have this one too."""
        singular = SINGULARS.get(head, head)
        return any(
            self._together.get(other, {}).get(singular, 0) > _EXPECTED * self._images.get(other, 0)
            and self.share_images(singular, other)
            for other in (SINGULARS.get(other, other) for other in others)
        )

    def is_rare_with(self, head: str, others: Iterable[str]) -> bool:
        """Returns whether images with one of the other heads seldom have this one."""
        singular = SINGULARS.get(head, head)
        share = self._images.get(singular, 0) / self._images.get(_ALL, 1)
        for other in (SINGULARS.get(other, other) for other in others):
            expected = share * self._images.get(other, 0)
            together = self._together.get(singular, {}).get(other, 0)
            if expected >= _MIN_EXPECTED and together < _RARE * expected:
                return True
        return False

    def swap_probability(self, subject: str, predicate: str, object_: str) -> float:
        """Returns the probability of swapping arguments that makes both directions as frequent.

        The frequency of a direction is estimated from those of its subject and of its object with
        the predicate, in which unseen heads count as half a case.

        Args:
            subject: The head of the subject.
            predicate: The predicate.
            object_: The head of the object.
        """

        def frequency(first: str, second: str) -> float:
            as_subject = self.subjects.get((predicate, noun_class(second)), {}).get(first, 0)
            as_object = self.objects.get((noun_class(first), predicate), {}).get(second, 0)
            return (as_subject + 0.5) * (as_object + 0.5)

        return min(1.0, frequency(object_, subject) / frequency(subject, object_))

    @cached_property
    def _predicates(self) -> Table:
        table: dict[Context, dict[str, float]] = {}
        for (subject_class, predicate), object_heads in self.objects.items():
            for head, count in object_heads.items():
                for object_ in (head, _class_key(head)):
                    context = table.setdefault((subject_class, object_), {})
                    context[predicate] = context.get(predicate, 0) + count
        return table

    def predicates_between(self, subject_class: str, object_: str) -> Mapping[str, float]:
        """Returns the counts of predicates between heads of a class and a head.

        A rare object is replaced by its class.

        Args:
            subject_class: The class of the subject's head.
            object_: The head of the object.
        """
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


def count_corpus(captions: Iterable[tuple[str, str]], tagger: Tagger, min_count: int = 1) -> str:
    """Counts heads, attributes and relations in captions, and heads in images.

    Args:
        captions: The captions with the ids of their images. Captions of one image are counted
            together where they follow each other.
        tagger: The tagger of the captions.
        min_count: The minimum count of a value in its context.

    Returns:
        The content of a file of counts.
    """
    tables: dict[str, dict[Context, Counter[str]]] = {name: {} for name in _TABLES}

    def count(table: str, context: Context, value: str) -> None:
        tables[table].setdefault(context, Counter())[value] += 1

    for _, captions_of_image in groupby(captions, key=itemgetter(1)):
        heads_of_image: set[str] = set()
        for caption, _ in captions_of_image:
            phrase_list = phrases(tagger.checked_tokens(caption))
            entities = entity_phrases(phrase_list)
            for phrase in entities.values():
                head = phrase.head_text
                count(_HEADS, (), head)
                if head in NOUN_FOILS:
                    heads_of_image.add(SINGULARS.get(head, head))
                    count(_COMPOUNDS, (head,), phrase.compound_text)
                for word in phrase.words[: phrase.head[0]]:
                    if word in ATTRIBUTE_FOILS:
                        for key in (head, _class_key(head)):
                            count(_ATTRIBUTES, (key,), word)
            for subject, predicate, object_ in triples(phrase_list):
                if {subject.text, object_.text} <= entities.keys():
                    subject_head, object_head = subject.head_text, object_.head_text
                    count(_OBJECTS, (noun_class(subject_head), predicate), object_head)
                    count(_SUBJECTS, (predicate, noun_class(object_head)), subject_head)
        for head in (_ALL, *heads_of_image):
            count(_IMAGES, (), head)
        for first, second in combinations(sorted(heads_of_image), 2):
            count(_TOGETHER, (first,), second)
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
