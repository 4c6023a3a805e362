"""How often the shorter text is the true one in the half-truths of rendered scenes.

    python benchmarks/studies/shorter_text.py > benchmarks/results/shorter_text.md

The cases are those of `zoo scenes render --n 3000`, split test, preset paper, which the studies
`solids_objectives`, `small_with_scenes` and `small_scenes` evaluate. A guess reads no image, so
none is rendered.
"""

import argparse
from collections.abc import Sequence

from zoo.benchmarks.half_truth.benchmark import MAX_IMAGES
from zoo.benchmarks.half_truth.rules import CONDITIONS, PAPER, RULES
from zoo.scenes.related import HELD_OUT, RelatedScenes

LAYOUTS, SEED, SIZE = 3000, 0, 48


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    scenes = RelatedScenes(SEED, SIZE, (2, 2), HELD_OUT).scenes(LAYOUTS)
    records = [d.record for scene in scenes if scene.split == "test" for d in scene.descriptions]
    texts = RULES[PAPER](records, MAX_IMAGES, SEED, {})
    by_condition = [[text for text in texts if text.condition == name] for name in CONDITIONS]
    counts = [len(group) for group in by_condition]
    half_truths = [
        accuracy([(text.anchor, text.half_truth) for text in group]) for group in by_condition
    ]
    completions = [
        accuracy([(text.truth, text.half_truth) for text in group]) for group in by_condition
    ]
    print(
        "# Half-truths of rendered scenes guessed by the shorter text\n\n"
        f"`python benchmarks/studies/shorter_text.py`: `zoo scenes render --n {LAYOUTS}`, split "
        f"test,\npreset `{PAPER}`, seed {SEED}. In per cent; a guess between texts of one length "
        "counts half.\n"
    )
    print_row(["", *CONDITIONS, "mean of the 8 conditions"])
    print("|---|" + "---:|" * (len(CONDITIONS) + 1))
    print_row(["n", *(f"{count:,}" for count in (*counts, sum(counts)))])
    print_row(["A > A-", *with_mean(half_truths)])
    print_row(["A+ > A-", *with_mean(completions)])


def accuracy(pairs: Sequence[tuple[str, str]]) -> float:
    """Returns the per cent of pairs of a true and a false text whose shorter text is true."""
    right = sum((len(true) < len(false)) + (len(true) == len(false)) / 2 for true, false in pairs)
    return 100 * right / len(pairs)


def with_mean(values: list[float]) -> list[str]:
    """Returns values and their mean, formatted."""
    return [f"{value:.1f}" for value in (*values, sum(values) / len(values))]


def print_row(cells: list[str]) -> None:
    print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
