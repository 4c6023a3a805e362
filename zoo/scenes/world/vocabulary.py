"""The words of the world, and CLIP's tokenizer cut to the merges that these words need."""

import gzip
import re
from itertools import pairwise
from pathlib import Path

from zoo.scenes.world.captions import MORE, TEMPLATES
from zoo.scenes.world.kinds import (
    COLORS,
    GENERAL_NOUNS,
    KINDS,
    NUMBERS,
    PATTERNS,
    PLACES,
    SIZES,
    WOODEN,
    plural,
)
from zoo.scenes.world.phrases import GARMENTS

WORD_END = "</w>"


def words() -> list[str]:
    """Returns all words of captions, units and foils, sorted."""
    texts = [template for templates in TEMPLATES.values() for template in templates]
    texts += [*TEMPLATES, *PLACES.values(), *COLORS, *PATTERNS, WOODEN, *SIZES, *NUMBERS.values()]
    texts += [*KINDS, *map(plural, KINDS), *GENERAL_NOUNS, *map(plural, GENERAL_NOUNS)]
    texts += [*GARMENTS, *GARMENTS.values()]
    texts += ["a an in and is are it them him her his their holding riding inside", MORE]
    texts += ["no not without"]  # of negations
    bare = (re.sub(r"\{\w+\}", " ", text) for text in texts)
    return sorted({word for text in bare for word in re.findall(r"[a-z]+", text)})


def cut_merges(full: Path) -> list[str]:
    """Returns the merges of a byte-pair encoding that the words of the world need, in its order.

    Every word gets the same pieces as with all merges.

    Args:
        full: The compressed merges of CLIP's tokenizer, as open_clip installs them.
    """
    lines = gzip.decompress(full.read_bytes()).decode("utf-8").split("\n")[1 : 49152 - 256 - 2 + 1]
    ranks = {tuple(line.split()): rank for rank, line in enumerate(lines)}
    used: set[tuple[str, ...]] = set()
    for word in words():
        pieces = [*word[:-1], word[-1] + WORD_END]
        while len(pieces) > 1:
            pairs = list(pairwise(pieces))
            pair = min(pairs, key=lambda p: ranks.get(p, len(ranks)))
            if pair not in ranks:
                break
            used.add(pair)
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == pair:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            pieces = merged
    return [" ".join(pair) for pair in sorted(used, key=ranks.__getitem__)]


def write_merges(full: Path, out: Path) -> int:
    """Writes the cut merges in open_clip's format, and returns the size of the vocabulary.

    Args:
        full: The compressed merges of CLIP's tokenizer.
        out: The file to write, `.txt.gz`.
    """
    merges = cut_merges(full)
    text = "\n".join(["#version: zoo scenes world", *merges])
    out.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
    return 2 * 256 + len(merges) + 2
