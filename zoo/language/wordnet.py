"""WordNet via NLTK: antonyms and cousins of words."""

import io
import warnings
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

from zoo.errors import ZooError
from zoo.language.offensive_words import offensive_words

DEBIAN = Path("/usr/share/wordnet")
HOW_TO_GET = "run `python -m nltk.downloader wordnet` or install Debian's package wordnet-base"

Part = Literal["n", "v", "a"]
NameAndCount = tuple[str, int]

OFFENSIVE_DOMAINS = frozenset({"ethnic_slur", "disparagement", "obscenity"})


class WordNet:
    """The database of WordNet.

    Args:
        folder: The folder of its files. None uses NLTK's folder, or else Debian's.

    Attributes:
        reader: NLTK's reader of the database.

    Raises:
        ZooError: WordNet is not installed, or its files are damaged.
    """

    def __init__(self, folder: Path | None = None) -> None:
        root = _find_wordnet() if folder is None else str(folder.resolve())
        self._grandchildren = cache(self._read_grandchildren)
        self._adjectives_below = cache(self._read_adjectives_below)
        try:
            if isinstance(root, str) and root not in nltk.data.path:
                # NLTK only reads files in these folders
                nltk.data.path.append(root)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The multilingual functions")
                self.reader = _DatabaseReader(root, None)
            self._counts = self.reader.sense_frequencies()
        except (OSError, ValueError, WordNetError) as error:
            raise ZooError(
                f"{root} is not a folder of WordNet's database files ({error}): {HOW_TO_GET}"
            ) from error

    @cached_property
    def version(self) -> str:
        """The version of the database."""
        return str(self.reader.get_version())

    def alternatives(
        self, word: str, part: Part, sense_prior: bool = False, min_count: int = 0
    ) -> dict[str, float]:
        """Returns antonyms and cousins of all senses of a word, with their weights (FSC-CLIP, A.1).

        A cousin is reached by two steps up, to a hypernym's hypernym, and two steps down. Cousins
        of an adjective are found through the nouns from which it is derived. Each path to an
        alternative adds its frequency in that sense in WordNet's texts, at least 1, to its weight,
        so that a sense with many cousins has the most weight. Words that share a sense with the
        word are excluded, and so are offensive words (`is_offensive`).

        Args:
            word: The word, inflected or not.
            part: Its part of speech: `n`, `v` or `a`.
            sense_prior: Whether the total weight of a sense is the frequency of the word in that
                sense plus 1, regardless of its number of cousins.
            min_count: The minimum frequency of an alternative.
        """
        senses = self.reader.synsets(word, part)
        synonyms = {lemma.name().lower() for sense in senses for lemma in sense.lemmas()}
        weights: dict[str, float] = {}
        for sense in senses:
            # sorted, since NLTK stores pointers in sets, whose order changes between runs
            hits = sorted(
                (name, max(count, 1))
                for name, count in self._antonyms_and_cousins(sense)
                if name.lower() not in synonyms and count >= min_count
            )
            scale = 1.0
            if sense_prior and hits:
                scale = (1 + self._frequency(word, sense)) / sum(weight for _, weight in hits)
            for name, weight in hits:
                weights[name] = weights.get(name, 0.0) + scale * weight
        return {name.replace("_", " "): weights[name] for name in sorted(weights)}

    def is_offensive(self, lemma: Any) -> bool:
        """Returns whether a word is offensive in one sense.

        It is if WordNet marks the sense, or the word in this sense, as an ethnic slur, a
        disparagement or an obscenity, or if the reviewed list has it. Its other senses do not
        count.

        Args:
            lemma: The word in one sense, as NLTK has it.
        """
        reviewed, sense = offensive_words(), lemma.synset()
        domains = [*sense.usage_domains(), *(form.synset() for form in lemma.usage_domains())]
        return (
            any(not OFFENSIVE_DOMAINS.isdisjoint(domain.lemma_names()) for domain in domains)
            or lemma.key() in reviewed.senses
            or any(form.key() in reviewed.whole_senses for form in sense.lemmas())
            or reviewed.includes_text(lemma.name())
        )

    def _frequency(self, word: str, sense: Any) -> int:
        forms = self.reader.base_forms(word, sense.pos())
        return sum(
            self._lemma_frequency(lemma)
            for lemma in sense.lemmas()
            if lemma.name().lower() in forms
        )

    def _lemma_frequency(self, lemma: Any) -> int:
        # by key, since NLTK treats lemmas with the same spelling as equal
        return self._counts.get(lemma.key(), 0)

    def _antonyms_and_cousins(self, sense: Any) -> Iterator[NameAndCount]:
        for lemma in sense.lemmas():
            yield from (
                (antonym.name(), self._lemma_frequency(antonym))
                for antonym in lemma.antonyms()
                if not self.is_offensive(antonym)
            )
        if sense.pos() not in "as":
            yield from (
                (name, count) for synset, name, count in self._cousins(sense) if synset != sense
            )
            return
        derived = {
            form.synset()
            for lemma in sense.lemmas()
            for form in lemma.derivationally_related_forms()
        }
        for noun in sorted(synset for synset in derived if synset.pos() == "n"):
            for grandparent in _grandparents(noun):
                for synset, adjective, name, count in self._adjectives_below(grandparent):
                    if synset != noun and adjective != sense:
                        yield name, count

    def _cousins(self, sense: Any) -> Iterator[tuple[Any, str, int]]:
        for grandparent in _grandparents(sense):
            yield from self._grandchildren(grandparent)

    def _read_grandchildren(self, grandparent: Any) -> list[tuple[Any, str, int]]:
        children = [child for parent in grandparent.hyponyms() for child in parent.hyponyms()]
        return [
            (child, lemma.name(), self._lemma_frequency(lemma))
            for child in children
            for lemma in child.lemmas()
            if not self.is_offensive(lemma)
        ]

    def _read_adjectives_below(self, grandparent: Any) -> list[tuple[Any, Any, str, int]]:
        nouns = [child for parent in grandparent.hyponyms() for child in parent.hyponyms()]
        forms = [
            (noun, form)
            for noun in nouns
            for lemma in noun.lemmas()
            for form in lemma.derivationally_related_forms()
        ]
        return [
            (noun, form.synset(), form.name(), self._lemma_frequency(form))
            for noun, form in forms
            if form.synset().pos() in "as" and not self.is_offensive(form)
        ]


def _grandparents(synset: Any) -> Iterator[Any]:
    """Yields each hypernym's hypernym, once per path to it."""
    for parent in synset.hypernyms():
        yield from parent.hypernyms()


def _find_wordnet() -> Any:
    """Returns a folder, or NLTK's pointer to its data, which may be in a zip file."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    if DEBIAN.is_dir():
        return str(DEBIAN)
    raise ZooError(f"WordNet was not found: {HOW_TO_GET}, or give its folder with --wordnet")


class _DatabaseReader(WordNetCorpusReader):  # type: ignore[misc]
    """Also reads Debian's files.

    These do not have the names of the lexicographers' files and the maps to other versions of
    WordNet, which are not needed.
    """

    def open(self, file: str) -> Any:
        """Opens a file of the database; the names of lexicographers' files are placeholders."""
        return (
            io.StringIO("".join(f"{i:02d} file{i:02d} 1\n" for i in range(45)))
            if file == "lexnames"
            else super().open(file)
        )

    def base_forms(self, word: str, part: str) -> list[str]:
        """Returns the base forms that NLTK looks up for a word, including the word itself."""
        # the public `morphy` returns only the first form
        forms: list[str] = self._morphy(word.lower(), part)
        return forms

    def sense_frequencies(self) -> dict[str, int]:
        """Returns the frequency of each sense by key; NLTK would search the file for each one."""
        with self.open("cntlist.rev") as file:
            return {key: int(count) for key, _, count in map(str.split, file.read().splitlines())}

    def map_wn(self, version: str = "wordnet") -> None:
        """Does nothing, since maps to other versions are not needed."""
        return None
