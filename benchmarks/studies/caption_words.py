"""How far the words of a caption identify its scene, whatever their order.

    python benchmarks/studies/caption_words.py scenes --n 50

Draws batches of images with one caption each from a folder of `zoo scenes world`, and prints

- the share of captions whose set of words no other caption of the batch has;
- the share of captions that identify their image if their words are shuffled: all of their nouns,
  attributes, places and relations apply to their image, and not all to any other of the batch. The
  words that apply to an image are taken from its graph;
- the same for the sets of nouns alone, and of nouns and attributes.
"""

import argparse
import json
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random

from zoo.scenes.cache import read_captions, read_lines
from zoo.scenes.world.captions import TEMPLATES
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.kinds import COLORS, KINDS, NUMBERS, PATTERNS, PLACES, SIZES, WOODEN, plural

NOUNS = {word for kind in KINDS for word in (kind, plural(kind))}
ATTRIBUTES = {*COLORS, *PATTERNS, WOODEN, *SIZES, *NUMBERS.values()}
PLACE_WORDS = {word for place in PLACES for word in place.split()}


def words_of(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(re.findall(r"[a-z]+", text))


def words_of_templates(predicate: str) -> frozenset[str]:
    """Returns the words of all templates of a relation."""
    bare = " ".join(re.sub(r"{\w+}", " ", template) for template in TEMPLATES[predicate])
    return words_of(bare)


RELATION_WORDS = frozenset[str]().union(
    *(words_of_templates(p) for p in TEMPLATES if p not in ("one", "two", "three"))
) - words_of_templates("two").union(words_of_templates("one"))
CONTENT = frozenset({*NOUNS, *ATTRIBUTES, *PLACE_WORDS, *RELATION_WORDS})
LEVELS = {
    "nouns": frozenset(NOUNS),
    "nouns and attributes": frozenset({*NOUNS, *ATTRIBUTES}),
    "all words": CONTENT,
}


def words_that_apply(graph: WorldGraph) -> frozenset[str]:
    """Returns all nouns, attributes, places and relations that apply to a scene."""
    words = set(graph.place.split())
    for object in graph.objects:
        words.add(object.kind if object.count == 1 else plural(object.kind))
        words |= {object.shown_color, object.pattern or "", object.size or ""}
        words.add(NUMBERS.get(object.count, ""))
    for _, predicate, _ in graph.relations():
        words |= words_of_templates(predicate)
    return frozenset(words) & CONTENT


def share(outcomes: Iterable[bool]) -> float:
    """Returns the share of true outcomes in per cent."""
    values = list(outcomes)
    return 100 * sum(values) / len(values)


def measure(folder: Path, n_batches: int, batch: int, seed: int) -> dict[str, float]:
    """Returns the shares, in per cent.

    Args:
        folder: A folder of `zoo scenes world`.
        n_batches: Number of batches.
        batch: Number of images in a batch.
        seed: The random seed.
    """
    captions: dict[str, list[str]] = {}
    for row in read_captions(folder):
        captions.setdefault(row.image_id, []).append(row.caption)
    rows = read_lines(folder, "scenes.jsonl")
    applying = dict(
        zip(captions, (words_that_apply(WorldGraph.from_dict(row)) for row in rows), strict=True)
    )
    rng = Random(seed)
    unique: list[bool] = []
    identified: dict[str, list[bool]] = {level: [] for level in LEVELS}
    for _ in range(n_batches):
        images = rng.sample(list(captions), batch)
        sets = [words_of(rng.choice(captions[image])) for image in images]
        unique += [sets.count(words) == 1 for words in sets]
        for level, vocabulary in LEVELS.items():
            for index, words in enumerate(sets):
                named = words & vocabulary
                others = (image for k, image in enumerate(images) if k != index)
                identified[level].append(not any(named <= applying[image] for image in others))
    return {
        "captions with a unique set of words": share(unique),
        **{f"identified by {level}": share(values) for level, values in identified.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a folder of `zoo scenes world`")
    parser.add_argument("--n", type=int, default=20, help="number of batches")
    parser.add_argument("--batch", type=int, default=256, help="images in a batch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    arguments = parser.parse_args()
    shares = measure(arguments.folder, arguments.n, arguments.batch, arguments.seed)
    for name, value in shares.items():
        print(f"{name}: {value:.1f} %")
    if arguments.out is not None:
        settings = {"batches": arguments.n, "batch": arguments.batch, "seed": arguments.seed}
        shares = {name: round(value, 1) for name, value in shares.items()}
        arguments.out.write_text(json.dumps(settings | shares, indent=2) + "\n")


if __name__ == "__main__":
    main()
