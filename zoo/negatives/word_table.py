"""Builds the table for Replace: looks up every word of the captions in WordNet once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from zoo.errors import ZooError
from zoo.language.inflection import inflect
from zoo.language.tagger import Tagger
from zoo.language.text import equal_when_normalized
from zoo.language.wordnet import Part, WordNet
from zoo.negatives.replace import replaceable_words
from zoo.negatives.table import TaggedWord, write_table

_PART_OF_TAG: dict[str, Part] = {"N": "n", "V": "v", "J": "a"}


def replaceable_vocabulary(captions: Iterable[str], tagger: Tagger) -> list[TaggedWord]:
    """Returns every word and tag of the captions that Replace may change, sorted.

    Prepositions are excluded, since they are not looked up.

    Args:
        captions: The captions.
        tagger: The tagger for words and tags.
    """
    return sorted(
        {
            (part.lowercase_text, part.tag)
            for caption in captions
            for part in replaceable_words(tagger.checked_tokens(caption))
            if part.tag is not None
        }
    )


def replacements(key: TaggedWord, wordnet: WordNet, **rule: Any) -> dict[str, float]:
    """Returns the alternatives of a word, in the form of the word, with their weights.

    Args:
        key: The word and its tag.
        wordnet: The WordNet database.
        rule: Arguments of `WordNet.alternatives`.
    """
    word, tag = key
    weights: dict[str, float] = {}
    for base, weight in wordnet.alternatives(word, _PART_OF_TAG[tag[0]], **rule).items():
        form = inflect(base, tag)
        if not equal_when_normalized(form, word):
            weights[form] = weights.get(form, 0.0) + weight
    return weights


def build_table(
    keys: Sequence[TaggedWord],
    look_up: Callable[[TaggedWord], dict[str, float]],
    out: Path,
    progress: Callable[[int], object] = lambda done: None,
    **made_by: str,
) -> None:
    """Writes the table of some words.

    Results are stored next to the table until it is complete, so that an interrupted build is
    resumed. A build with other words or settings starts from scratch.

    Args:
        keys: The words and their tags.
        look_up: Returns the alternatives of a word with their weights.
        out: The table to write.
        progress: Called with the number of words that have just been completed.
        made_by: The description of the table for results.

    Raises:
        ZooError: The table cannot be written, or two builds wrote to the same file.
    """
    unfinished = out.with_name(f".{out.name}.unfinished")
    head = {
        "words": hashlib.blake2b(json.dumps(keys).encode(), digest_size=8).hexdigest(),
        **made_by,
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("a+b") as file:
            n_done = _resume_file(file, json.dumps(head).encode() + b"\n")
            progress(n_done)
            for key in keys[n_done:]:
                file.write(json.dumps([*key, look_up(key)]).encode() + b"\n")
                file.flush()
                progress(1)
            file.seek(0)
            file.readline()
            write_table(out, _read_entries(file, keys), **made_by)
        unfinished.unlink()
    except ValueError as error:
        raise ZooError(
            f"{unfinished} is damaged ({error}), perhaps because two builds wrote to it: delete it "
            "and build again"
        ) from error
    except OSError as error:
        raise ZooError(
            f"{unfinished} cannot be written ({error.strerror or error}): give --out a writable "
            "folder with free disk space"
        ) from error


def _resume_file(file: IO[bytes], head: bytes) -> int:
    """Prepares the file for resuming, and returns the number of complete lines after its head.

    An incomplete line is removed. All lines are removed if the head differs.
    """
    file.seek(0)
    if file.readline() != head:
        file.truncate(0)
        file.write(head)
        return 0
    end, n_lines = len(head), 0
    for line in file:
        if line.endswith(b"\n"):
            end += len(line)
            n_lines += 1
    file.truncate(end)
    return n_lines


def _read_entries(
    file: IO[bytes], keys: Sequence[TaggedWord]
) -> Iterator[tuple[TaggedWord, dict[str, float]]]:
    for key, line in zip(keys, file, strict=True):
        word, tag, alternatives = json.loads(line)
        if (word, tag) != key:
            raise ValueError(f"{word!r} was found instead of {key[0]!r}")
        yield key, alternatives
