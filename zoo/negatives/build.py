"""Builds the table that Replace reads: every word of the captions is looked up in WordNet once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from zoo.errors import ZooError
from zoo.language.inflection import inflect
from zoo.language.tagger import Tagger
from zoo.language.text import same_words
from zoo.language.wordnet import Part, WordNet
from zoo.negatives.replace import parts_of
from zoo.negatives.table import Key, write_table

_PARTS: dict[str, Part] = {"N": "n", "V": "v", "J": "a"}


def vocabulary(captions: Iterable[str], tagger: Tagger) -> list[Key]:
    """Returns every word and tag of the captions that Replace may change, sorted.

    Prepositions are left out, since they are not looked up.

    Args:
        captions: The captions.
        tagger: Finds words and tags.
    """
    return sorted(
        {
            (part.word, part.tag)
            for caption in captions
            for part in parts_of(tagger.tokens(caption))
            if part.tag is not None
        }
    )


def replacements(key: Key, wordnet: WordNet, **rule: Any) -> dict[str, float]:
    """Returns the alternatives of a word with their weights, in the form of the word.

    Args:
        key: The word and its tag.
        wordnet: Where the word is looked up.
        rule: Arguments of `WordNet.alternatives`.
    """
    word, tag = key
    weights: dict[str, float] = {}
    for base, weight in wordnet.alternatives(word, _PARTS[tag[0]], **rule).items():
        form = inflect(base, tag)
        if not same_words(form, word):
            weights[form] = weights.get(form, 0.0) + weight
    return weights


def build(
    keys: Sequence[Key],
    look_up: Callable[[Key], dict[str, float]],
    out: Path,
    progress: Callable[[int], object] = lambda done: None,
    **made_by: str,
) -> None:
    """Writes the table of some words.

    What was looked up is kept beside the table until it is whole, so that a build that was stopped
    goes on. A build of other words, or one made otherwise, starts anew.

    Args:
        keys: The words and their tags.
        look_up: Returns the alternatives of a word with their weights.
        out: The table to write.
        progress: Is told how many more words are done.
        made_by: What results say of the table.

    Raises:
        ZooError: The table cannot be written, or two builds wrote to it.
    """
    unfinished = out.with_name(f".{out.name}.unfinished")
    head = {
        "words": hashlib.blake2b(json.dumps(keys).encode(), digest_size=8).hexdigest(),
        **made_by,
    }
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("a+b") as file:
            done = _resume_file(file, json.dumps(head).encode() + b"\n")
            progress(done)
            for key in keys[done:]:
                file.write(json.dumps([*key, look_up(key)]).encode() + b"\n")
                file.flush()
                progress(1)
            file.seek(0)
            file.readline()
            write_table(out, _entries(file, keys), **made_by)
        unfinished.unlink()
    except ValueError as error:
        raise ZooError(
            f"{unfinished} is broken ({error}), perhaps two builds wrote to it: delete it and "
            "build again"
        ) from error
    except OSError as error:
        raise ZooError(
            f"{unfinished} cannot be written ({error.strerror or error}): give --out a folder with "
            "room that you may write to"
        ) from error


def _resume_file(file: IO[bytes], head: bytes) -> int:
    """Prepares the file to go on and returns how many whole lines follow its head.

    A line that was cut off is removed. All lines are removed where the head is another.
    """
    file.seek(0)
    if file.readline() != head:
        file.truncate(0)
        file.write(head)
        return 0
    end, done = len(head), 0
    for line in file:
        if line.endswith(b"\n"):
            end += len(line)
            done += 1
    file.truncate(end)
    return done


def _entries(file: IO[bytes], keys: Sequence[Key]) -> Iterator[tuple[Key, dict[str, float]]]:
    for key, line in zip(keys, file, strict=True):
        word, tag, alternatives = json.loads(line)
        if (word, tag) != key:
            raise ValueError(f"{word!r} stands where {key[0]!r} should")
        yield key, alternatives
