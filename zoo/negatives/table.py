"""ReplacementTable: the alternatives of each word of a vocabulary.

`zoo negatives build` writes it to disk.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from zoo.errors import ZooError
from zoo.support.files import write_bytes

VERSION = 1
OFFENSIVE_WORDS = "offensive_words"  # setting: the hash of the list of words that were left out
HOW_TO_MAKE = "run `zoo negatives build CAPTIONS --out TABLE` to make one"

TaggedWord = tuple[str, str]


class ReplacementTable:
    """The alternatives that `Replace` can put in the place of a word, with weights.

    A key is a word in lower case with its part-of-speech tag. Its alternatives have the same form,
    such as the plural. Words without alternatives are included, to distinguish them from words for
    which none were searched. The file is memory-mapped, so that all processes of a machine share
    its memory.

    Args:
        path: The file, written by `zoo negatives build`.

    Attributes:
        settings: The settings with which the table was built.

    Raises:
        ZooError: The file is not such a table.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
            self.settings: dict[str, str] = json.loads(content.schema.metadata[b"zoo"])
            if self.settings["version"] != str(VERSION):
                raise ZooError(
                    f"{path} is a table of version {self.settings['version']}, but this version of "
                    f"zoo reads version {VERSION}: {HOW_TO_MAKE}"
                )
            words, tags, lists, cumulative = (
                content.column(name) for name in ("word", "tag", "alternatives", "cumulative")
            )
        except FileNotFoundError as error:
            raise ZooError(f"{path} does not exist: {HOW_TO_MAKE}") from error
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise ZooError(
                f"{path} cannot be read as a table of replacements ({error}): {HOW_TO_MAKE}"
            ) from error
        self._rows = {
            key: row
            for row, key in enumerate(zip(words.to_pylist(), tags.to_pylist(), strict=True))
        }
        self._offsets = lists.offsets.to_pylist()
        self._ids, self._texts = lists.values.indices.to_numpy(), lists.values.dictionary
        self._cumulative = cumulative.values.to_numpy()

    def __contains__(self, key: TaggedWord) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def count_alternatives(self, key: TaggedWord) -> int:
        """Returns the number of alternatives of a word; 0 for a word that is not in the table."""
        row = self._rows.get(key)
        return 0 if row is None else self._offsets[row + 1] - self._offsets[row]

    def alternatives(self, key: TaggedWord) -> dict[str, float]:
        """Returns the alternatives of a word in the table, with their weights."""
        start, end = self._alternatives_range(key)
        weights = np.diff(self._cumulative[start:end], prepend=0.0)
        return {self._text(start + i): float(weight) for i, weight in enumerate(weights)}

    def draw(self, key: TaggedWord, rng: Random) -> str:
        """Draws an alternative of a word by weight; the word must have at least one."""
        start, end = self._alternatives_range(key)
        cumulative = self._cumulative[start:end]
        return self._text(
            start
            + int(np.searchsorted(cumulative, rng.random() * float(cumulative[-1]), side="right"))
        )

    def _alternatives_range(self, key: TaggedWord) -> tuple[int, int]:
        row = self._rows[key]
        return self._offsets[row], self._offsets[row + 1]

    def _text(self, at: int) -> str:
        return str(self._texts[int(self._ids[at])])


@cache
def open_table(path: Path) -> ReplacementTable:
    """Returns the table of a file, which is opened once per process."""
    return ReplacementTable(path)


def write_table(
    path: Path,
    entries: Mapping[TaggedWord, Mapping[str, float]]
    | Iterable[tuple[TaggedWord, Mapping[str, float]]],
    **made_by: str,
) -> None:
    """Writes a table. The file appears only when it is complete.

    Args:
        path: The file.
        entries: The alternatives with their weights, by word and tag.
        made_by: The description of the table for results, including the tagger's name.

    Raises:
        ZooError: The file cannot be written.
    """
    words, tags, ends = [], [], [0]
    ids, cumulative = array("i"), array("f")
    text_ids: dict[str, int] = {}
    digest = hashlib.blake2b(digest_size=8)
    for (word, tag), alternatives in entries.items() if isinstance(entries, Mapping) else entries:
        digest.update(json.dumps([word, tag, alternatives]).encode())
        words.append(word)
        tags.append(tag)
        ids.extend(text_ids.setdefault(text, len(text_ids)) for text in alternatives)
        cumulative.extend(accumulate(alternatives.values()))
        ends.append(len(ids))
    offsets = pa.array(ends, pa.int32())
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.asarray(ids)), pa.array(list(text_ids), pa.string())
    )
    columns = {
        "word": pa.array(words, pa.string()),
        "tag": pa.array(tags, pa.string()),
        "alternatives": pa.ListArray.from_arrays(offsets, texts),
        "cumulative": pa.ListArray.from_arrays(offsets, pa.array(np.asarray(cumulative))),
    }
    settings = {"version": str(VERSION), **made_by, "digest": digest.hexdigest()}
    table = pa.record_batch(columns, metadata={"zoo": json.dumps(settings)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_batch(table)
    write_bytes(path, sink.getvalue().to_pybytes())
