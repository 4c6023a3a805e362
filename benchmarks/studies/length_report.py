"""Compares the gains of `zoo study world_length` on half-truths with those on their control.

    python benchmarks/studies/length_report.py MEASURED > OUT.md

For each objective, it prints the gains over CLIP in A > A- and in A+ > A-, and the difference of
the gains. For the tower before tuning, it prints A+ > A- minus A > A- of entities and of relations.
Intervals of 95 % are those of 10,000 resamples of the images; seeds are averaged case by case.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

Answers = dict[tuple[str, str], float]

ENTITIES = frozenset({"+Obj", "+Attr", "+Rand"})
RESAMPLES, SEED = 10_000, 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measured", type=Path, help="the folder `measured` of the study")
    measured: Path = parser.parse_args().measured
    half_truths, controls = (
        {run.name: read_answers(run, metric) for run in sorted(measured.iterdir())}
        for metric in ("half_truth", "completion")
    )
    print("| objective | A > A- | A+ > A- | the second minus the first |\n|---|---|---|---|")
    for run in half_truths:
        if run not in ("clip", "start"):
            gains = [subtract(values[run], values["clip"]) for values in (half_truths, controls)]
            cells = [format_mean(values) for values in (*gains, subtract(gains[1], gains[0]))]
            print(f"| {run} | " + " | ".join(cells) + " |")
    gap = subtract(controls["start"], half_truths["start"])
    print("\n| the tower before tuning | A+ > A- minus A > A- | n |\n|---|---|---|")
    for name, is_entity in (("entities", True), ("relations", False)):
        part = {case: value for case, value in gap.items() if (case[0] in ENTITIES) is is_entity}
        print(f"| {name} | {format_mean(part)} | {len(part):,} |")


def read_answers(run: Path, metric: str) -> Answers:
    """Returns by condition and case how often the seeds of a run are right, from 0 to 1."""
    answers: dict[tuple[str, str], list[float]] = {}
    for seed in sorted(run.iterdir()):
        cases = parquet.read_table(seed / "cases.parquet", filters=[("metric", "=", metric)])
        for case in cases.select(["subset", "case", "right"]).to_pylist():
            answers.setdefault((case["subset"], case["case"]), []).append(float(case["right"]))
    return {case: sum(right) / len(right) for case, right in answers.items()}


def subtract(first: Answers, second: Answers) -> Answers:
    """Returns the differences of the answers to the same cases."""
    return {case: first[case] - second[case] for case in first}


def format_mean(differences: Answers) -> str:
    """Returns the mean of differences in percentage points, with its interval over images."""
    # the case "000000-4" is the fifth of scene 000000
    images = np.unique([case.rsplit("-", 1)[0] for _, case in differences], return_inverse=True)[1]
    values = 100 * np.array(list(differences.values()))
    sums, counts = np.bincount(images, values), np.bincount(images)
    rng = np.random.default_rng(SEED)
    means = [
        float(sums[drawn].sum() / counts[drawn].sum())
        for drawn in (rng.integers(len(sums), size=len(sums)) for _ in range(RESAMPLES))
    ]
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{values.mean():+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    main()
