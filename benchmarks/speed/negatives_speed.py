"""Captions a second of each generator of sentence negatives on one core, tagging included.

How many captions get a negative is counted as well.

    python benchmarks/speed/negatives_speed.py --data coco_karpathy_test.json.gz

--data: ARO's caption file, `[{"image", "caption": [..]}]`, or anything that `zoo negatives preview`
takes. Nothing is remembered from one caption to the next; loading the tagger is timed apart. Each
metric is the best of --repeats runs by this one process's time, which a busy machine stretches
little. The table of replacements is built of the same captions first, and needs a WordNet.
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from zoo.benchmarks.blip_captions import read_blip_captions
from zoo.language.tagger import Tagger
from zoo.language.taggers import recorded_tagger
from zoo.language.text import equal_when_normalized
from zoo.language.wordnet import WordNet
from zoo.negatives.aro import PERTURBATIONS, AROShuffle, perturbations
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.bigram_shuffle import BigramShuffle
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.negatives.replace import Replace
from zoo.negatives.table import ReplacementTable
from zoo.negatives.word_table import build_table, replaceable_vocabulary, replacements
from zoo.sources.readers.guess import guess_reader

GOAL = 5_000
RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Measures, prints and writes negatives_speed.json and .md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="a file of captions")
    parser.add_argument("--tagger", default="textblob", help="textblob or spacy")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    parser.add_argument(
        "--wordnet", type=Path, help="folder of WordNet's database files (NLTK's own, or Debian's)"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the two files")
    arguments = parser.parse_args()

    captions = captions_of(arguments.data)
    start = time.process_time()
    loaded = recorded_tagger(arguments.tagger, "the table")
    loaded.analyse("a dog")
    loading = time.process_time() - start

    folder = TemporaryDirectory()
    table_file = Path(folder.name) / "replacements.arrow"
    built = time_table(captions, loaded, WordNet(arguments.wordnet), table_file)
    rows: list[dict[str, Any]] = [
        {"what": "tagging and chunking alone", **timed(loaded.analyse, captions, arguments.repeats)}
    ]
    generators: dict[str, NegativeGenerator] = {
        "negclip_swap": NegCLIPSwap(loaded),
        "replace": Replace(table_file),
        "bigram_shuffle": BigramShuffle(),
        "aro_shuffle": AROShuffle(tagger=loaded),
    }
    mixed = [generators[name] for name in ("negclip_swap", "replace", "bigram_shuffle")]
    generators |= {
        f"aro_shuffle, {kind} alone": AROShuffle([kind], loaded) for kind in PERTURBATIONS
    }
    for what, generator in generators.items():
        rows.append(
            {
                "what": what,
                **timed(
                    drawn_anew(generator),
                    captions,
                    arguments.repeats,
                ),
                **yielded(generator, captions),
            }
        )
    rows.append(
        {
            "what": "ARO's four perturbations at once",
            **timed(
                lambda text: perturbations(text, Random(0), loaded), captions, arguments.repeats
            ),
        }
    )

    rows.append(
        {
            "what": "FSC-CLIP's three at once: negclip_swap, replace, bigram_shuffle",
            **timed(
                lambda text: [generator.negative(text, Random(0)) for generator in mixed],
                captions,
                arguments.repeats,
            ),
        }
    )
    folder.cleanup()

    result = {
        "data": arguments.data.name,
        "captions": len(captions),
        "words": sum(len(caption.split()) for caption in captions) / len(captions),
        **loaded.describe(),
        "loading_s": round(loading, 2),
        "goal": GOAL,
        "python": platform.python_version(),
        "zoo": version("clip-zoo"),
        "machine": f"one core of {processor()}",
        "table": built,
        "rows": rows,
        "identities": identities(captions, loaded),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "negatives_speed.json").write_text(
        json.dumps(result, indent=1) + "\n", "utf-8"
    )
    (arguments.out / "negatives_speed.md").write_text(table(result), "utf-8")
    print(table(result))


def captions_of(path: Path) -> list[str]:
    """Returns the captions of ARO's file, or of any other that is known."""
    if path.name.endswith((".json.gz", "_test.json")):
        return [caption for record in read_blip_captions(path) for caption in record.captions]
    return [sample.caption for sample in guess_reader(path).read()]


def time_table(captions: list[str], tagger: Tagger, wordnet: WordNet, file: Path) -> dict[str, Any]:
    """Writes the table of replacements and returns what it took."""
    start = time.process_time()
    keys = replaceable_vocabulary(captions, tagger)
    build_table(
        keys,
        lambda key: replacements(key, wordnet),
        file,
        wordnet=wordnet.version,
        tagger=tagger.name,
        tagger_version=tagger.version,
    )
    seconds = time.process_time() - start
    table = ReplacementTable(file)
    counts = [table.count_alternatives(key) for key in keys]
    return {
        "wordnet": wordnet.version,
        "build_s": round(seconds, 1),
        "words": len(keys),
        "words_with_alternatives": sum(count > 0 for count in counts),
        "alternatives": sum(counts),
        "bytes": file.stat().st_size,
    }


def drawn_anew(generator: NegativeGenerator) -> Callable[[str], object]:
    """Returns the generator as a function of a text alone, which draws alike for every text."""
    return lambda text: generator.negative(text, Random(0))


def timed(work: Callable[[str], object], captions: list[str], repeats: int) -> dict[str, float]:
    """Returns captions a second of processor time, the best of `repeats` runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        for caption in captions:
            work(caption)
        best = min(best, time.process_time() - start)
    return {"captions_per_s": round(len(captions) / best)}


def yielded(generator: NegativeGenerator, captions: list[str]) -> dict[str, float]:
    """Returns the share of captions with a negative, and of negatives that several captions get."""
    made = [generator.negative(caption, Random(f"0/{i}")) for i, caption in enumerate(captions)]
    negatives = [negative for negative in made if negative is not None]
    return {
        "yield": len(negatives) / len(captions),
        "duplicates": 1 - len(set(negatives)) / max(len(negatives), 1),
    }


def identities(captions: list[str], tagger: Tagger) -> dict[str, float]:
    """Returns, by perturbation, the share of ARO's draws that leave the caption as it was.

    The benchmark keeps them, negatives never do.
    """
    same = dict.fromkeys(PERTURBATIONS, 0)
    for i, caption in enumerate(captions):
        for kind, text in zip(
            PERTURBATIONS, perturbations(caption, Random(f"0/{i}"), tagger), strict=True
        ):
            same[kind] += equal_when_normalized(caption, text)
    return {kind: count / len(captions) for kind, count in same.items()}


def processor() -> str:
    """Returns the processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = (
        [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if info.exists()
        else []
    )
    return names[0] if names else platform.machine()


def table(result: dict[str, Any]) -> str:
    """Returns the result as a page of Markdown."""
    tagged = (
        f"tagger {result['tagger']} {result['tagger_version']} (loaded in {result['loading_s']} s)"
    )
    made = result["table"]
    lines = [
        "# Sentence negatives: speed and yield",
        "",
        f"`python benchmarks/speed/negatives_speed.py`: {result['captions']:,} captions of "
        f"{result['words']:.1f} words ({result['data']}), {tagged}, Python {result['python']}, "
        f"{result['machine']}. Goal: {result['goal']:,} captions a second on one core for swap, "
        "replace and shuffle, tagging included.",
        "",
        f"The table that replace reads was built of WordNet {made['wordnet']} in "
        f"{made['build_s']:.0f} s: {made['words']:,} words, of which "
        f"{made['words_with_alternatives']:,} have "
        f"{made['alternatives'] / made['words_with_alternatives']:,.0f} alternatives in the mean, "
        f"{made['bytes'] / 2**20:.0f} MiB on disk, mapped and not copied by the processes that "
        "read it.",
        "",
        "| what | captions a second | captions with a negative | negatives that repeat another |",
        "|---|---:|---:|---:|",
    ]
    for row in result["rows"]:
        shares = [f"{row[key]:.2%}" if key in row else "" for key in ("yield", "duplicates")]
        lines.append(f"| {row['what']} | {row['captions_per_s']:,} | {shares[0]} | {shares[1]} |")
    lines += [
        "",
        "Draws of ARO's perturbations that leave the caption's words as they were (kept by the "
        "benchmark, never a negative):",
        "",
    ]
    lines += [f"- `{kind}` {share:.2%}" for kind, share in result["identities"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
