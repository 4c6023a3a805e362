"""WordNet through NLTK: what stands beside a word, as its antonyms and cousins do. Free of torch."""

import io
import warnings
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader, WordNetError

from zoo.errors import ZooError

DEBIAN = Path("/usr/share/wordnet")
HOW_TO_GET = "`python -m nltk.downloader wordnet` or Debian's package wordnet-base brings it"

Part = Literal["n", "v", "a"]
Hit = tuple[str, int]


class WordNet:
    """The WordNet of a folder of its database files, or else NLTK's own or Debian's.

    Raises ZooError that says how to get one where there is none, and names what is broken.
    """

    def __init__(self, folder: Path | None = None) -> None:
        root = _found() if folder is None else str(folder.resolve())
        self._grandchildren = cache(self._read_grandchildren)
        self._adjectives_below = cache(self._read_adjectives_below)
        try:
            if isinstance(root, str) and root not in nltk.data.path:
                nltk.data.path.append(
                    root
                )  # NLTK reads nothing that lies outside the folders named there
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The multilingual functions")
                self._reader = _Reader(root, None)
            self._counts = self._reader.counts()
        except (OSError, ValueError, WordNetError) as error:
            raise ZooError(
                f"{root} is no folder of WordNet's database files ({error}): {HOW_TO_GET}"
            ) from error

    @cached_property
    def version(self) -> str:
        return str(self._reader.get_version())

    def alternatives(
        self, word: str, part: Part, sense_prior: bool = False, min_count: int = 0
    ) -> dict[str, float]:
        """Returns the antonyms and cousins of all senses of a word, inflected or not, with their weights; FSC-CLIP, A.1.

        A cousin is reached by two steps up to a hypernym's hypernym and two down; an adjective's by way of the nouns that it is derived
        from, and back. Each path to one adds the times that WordNet's texts have it in that sense, at least one, so that a sense with many
        cousins has the most weight. Words that share a sense with the word are left out.
        sense_prior: whether a sense has weight by how often the word has it, plus one, however many cousins it has.
        min_count: how often WordNet's texts must have an alternative.
        """
        senses = self._reader.synsets(word, part)
        synonyms = {lemma.name().lower() for sense in senses for lemma in sense.lemmas()}
        weights: dict[str, float] = {}
        for sense in senses:
            hits = [
                (name, max(count, 1))
                for name, count in self._hits(sense)
                if name.lower() not in synonyms and count >= min_count
            ]
            scale = 1.0
            if sense_prior and hits:
                scale = (1 + self._frequency(word, sense)) / sum(weight for _, weight in hits)
            for name, weight in hits:
                weights[name] = weights.get(name, 0.0) + scale * weight
        return {name.replace("_", " "): weight for name, weight in weights.items()}

    def _frequency(self, word: str, sense: Any) -> int:
        forms = self._reader.base_forms(word, sense.pos())
        return sum(self._count(lemma) for lemma in sense.lemmas() if lemma.name().lower() in forms)

    def _count(self, lemma: Any) -> int:
        return self._counts.get(
            lemma.key(), 0
        )  # by key, since NLTK holds all lemmas that are spelt alike to be equal

    def _hits(self, sense: Any) -> Iterator[Hit]:
        for lemma in sense.lemmas():
            yield from ((antonym.name(), self._count(antonym)) for antonym in lemma.antonyms())
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
            (child, lemma.name(), self._count(lemma))
            for child in children
            for lemma in child.lemmas()
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
            (noun, form.synset(), form.name(), self._count(form))
            for noun, form in forms
            if form.synset().pos() in "as"
        ]


def _grandparents(synset: Any) -> Iterator[Any]:
    """Yields each as often as there are paths to it."""
    for parent in synset.hypernyms():
        yield from parent.hypernyms()


def _found() -> Any:
    """Returns a folder, or NLTK's pointer to its own data, which may lie inside a zip file."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name)
        except LookupError:
            continue
    if DEBIAN.is_dir():
        return str(DEBIAN)
    raise ZooError(f"no WordNet is found: {HOW_TO_GET}, or name its folder with --wordnet")


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """Reads Debian's files as well, which lack a table of the lexicographers' file names and what maps WordNet to its other versions;
    neither is needed here."""

    def open(self, file: str) -> Any:
        return (
            io.StringIO("".join(f"{i:02d} file{i:02d} 1\n" for i in range(45)))
            if file == "lexnames"
            else super().open(file)
        )

    def base_forms(self, word: str, part: str) -> list[str]:
        """Returns those that NLTK looks up for a word, itself among them."""
        forms: list[str] = self._morphy(word.lower(), part)
        return forms

    def counts(self) -> dict[str, int]:
        """Returns how often texts have each sense of a word that they have at all; NLTK searches the file anew for each."""
        with self.open("cntlist.rev") as file:
            return {key: int(count) for key, _, count in map(str.split, file.read().splitlines())}

    def map_wn(self, version: str = "wordnet") -> None:
        return None
