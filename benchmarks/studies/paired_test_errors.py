"""How often tests of two models find a difference, by simulation.

Writes results/paired_test_errors.md.

`python benchmarks/studies/paired_test_errors.py` takes about two minutes.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from simulated_answers import answers

from zoo.results.statistics import paired_test

LEVEL = 0.05
CORRELATIONS = (0.0, 0.1, 0.3, 0.5)


def found(
    images: int, per_image: int, correlation: float, gain: float, repeats: int
) -> tuple[float, float]:
    """Returns how often a difference is found, by image and by McNemar's test.

    McNemar's test takes the answers as if no image came twice. Each model's answers about an image
    correlate. `gain` is by how much the second model's chance is above the first's, 0.5.
    """
    generator = np.random.default_rng(11)
    image = np.repeat(np.arange(images), per_image)
    by_image = mcnemar = 0
    for _ in range(repeats):
        first, second = (
            answers(generator, image, np.full(len(image), chance), correlation)
            for chance in (0.5, 0.5 + gain)
        )
        by_image += paired_test(first, second, image) < LEVEL
        mcnemar += paired_test(first, second, np.arange(len(image))) < LEVEL
    return by_image / repeats, mcnemar / repeats


def main() -> None:
    """Simulates all settings and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    given = parser.parse_args()
    error = (LEVEL * (1 - LEVEL) / given.repeats) ** 0.5
    lines = [
        "# How often two models that are right equally often are told to differ",
        "",
        f"`python benchmarks/studies/paired_test_errors.py`: {given.repeats:,} repetitions a "
        f"setting (standard error {error:.3f}), level {LEVEL:g}, "
        "`zoo.results.statistics.paired_test`: the exact mid-p of exchanging both models' "
        "answers image by image. Beside it McNemar's mid-p over questions, as if each were about "
        "an image of its own. Either model is right in half of its answers, and two answers of a "
        "model about one image correlate. Power: "
        "the share found where the second model is right in 58 of 100.",
        "",
        "| images | questions of each | correlation | by image | McNemar | power by image |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for images, per_image, correlation in product((40, 200), (1, 5), CORRELATIONS):
        if per_image == 1 and correlation:
            continue
        by_image, mcnemar = found(images, per_image, correlation, 0.0, given.repeats)
        power, _ = found(images, per_image, correlation, 0.08, given.repeats)
        lines.append(
            f"| {images} | {per_image} | {correlation:g} | {by_image:.3f} | {mcnemar:.3f} | "
            f"{power:.2f} |"
        )
        print(lines[-1], flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "paired_test_errors.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
