"""Table of the study of rendered scenes."""

from pathlib import Path
from statistics import mean
from typing import Any

from zoo.benchmarks.half_truth.rules import CONDITIONS

ARMS = ("CLIP", "NegCLIP", "NegCLIP + foils", "CS-CLIP")
RIVALS = ARMS[:-1]
SPLITS = {"test": "held-out scenes", "held_out": "held-out colour-shape pairs"}
BUDGETS = {"steps": "equal steps", "compute": "equal compute"}
GAIN, LOSS = (
    10.0,
    3.0,
)  # points: of mean half-truth accuracy to be gained, of swap accuracy that may be lost

Run = dict[str, Any]
Values = dict[str, dict[str, dict[str, list[float]]]]  # by split, arm and name, of each seed


def write_report(runs: list[Run], kept: dict[str, Any], out: Path) -> str:
    """Writes scenes_study.md and returns the text.

    `runs` are results as the study writes them, and `kept` has its plan and paces.
    """
    seeds = sorted({run["seed"] for run in runs})
    plan = kept["plan"]
    lines = [
        "# Half-truths on rendered scenes",
        "",
        f"{plan['scenes']} scenes of two objects, 48 px; seeds {', '.join(map(str, seeds))}. One "
        f"tower a seed: CLIP from nothing for {plan['first_steps']} steps of {plan['batch']} "
        f"images, then each objective for {plan['steps']} steps (equal steps) or for the "
        "processor time of CS-CLIP's (equal compute). `NegCLIP + foils` has the foils that "
        "CS-CLIP has, inside its sentences. Texts known to be true of an image are no candidates "
        "against it, in every arm.",
        "",
        "Half-truth accuracy: how often the anchor scores above itself with a wrong detail "
        "added; ties are wrong; chance is 50 %, also of completions (the true completion above "
        "the false one) and of attribute swaps. Brackets: 95 % intervals, Wilson's on the "
        "effective number of scenes, which is the noise of asking one seed; "
        "the noise of training is seen between seeds.",
        "",
        "Processor seconds a step: "
        + ", ".join(f"{arm} {seconds:.2f}" for arm, seconds in kept["seconds_a_step"].items())
        + ".",
    ]
    for budget, budget_name in BUDGETS.items():
        for split, split_name in SPLITS.items():
            lines += [
                "",
                f"## {budget_name.capitalize()}, {split_name}",
                "",
                *_by_condition(runs, budget, split),
            ]
            lines += ["", *_by_seed(runs, budget, split, seeds)]
    lines += [
        "",
        "## What it shows",
        "",
        *_verdicts(runs, seeds),
        "",
        "",
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "scenes_study.md").write_text("\n".join(lines))
    return "\n".join(lines)


def _of(runs: list[Run], arm: str, budget: str) -> list[Run]:
    """Returns an arm's runs by seed.

    CS-CLIP's one run and the tower before tuning stand under both budgets.
    """
    return [
        run
        for run in runs
        if run["arm"] == arm and (run["budget"] == budget or arm in ("CS-CLIP", "before"))
    ]


def _by_condition(runs: list[Run], budget: str, split: str) -> list[str]:
    """Means over seeds, in per cent."""
    names = (*CONDITIONS, "half_truth", "completion", "swaps")
    lines = [
        "| mean over seeds, % | steps | "
        + " | ".join(CONDITIONS)
        + " | half-truths, mean | completions, mean | swaps |",
        "|" + "---|" * (len(names) + 2),
    ]
    for arm in ("before", *ARMS):
        if some := _of(runs, arm, budget):
            values = [mean(run["metrics"][split][name]["value"] for run in some) for name in names]
            lines.append(
                f"| {arm} | {some[0]['steps']} | "
                + " | ".join(f"{value:.1f}" for value in values)
                + " |"
            )
    n = [runs[0]["metrics"][split][name]["n"] for name in names]
    return [*lines, "| n | | " + " | ".join(map(str, n)) + " |"]


def _by_seed(runs: list[Run], budget: str, split: str, seeds: list[int]) -> list[str]:
    lines = [
        "| half-truths, mean; swaps, % | " + " | ".join(f"seed {seed}" for seed in seeds) + " |",
        "|" + "---|" * (len(seeds) + 1),
    ]
    for arm in ARMS:
        by_seed = {run["seed"]: run["metrics"][split] for run in _of(runs, arm, budget)}
        cells = [
            "; ".join(
                f"{f['value']:.1f} [{f['low']:.1f}, {f['high']:.1f}]"
                for f in (by_seed[seed]["half_truth"], by_seed[seed]["swaps"])
            )
            if seed in by_seed
            else ""
            for seed in seeds
        ]
        lines.append(f"| {arm} | " + " | ".join(cells) + " |")
    return lines


def _verdicts(runs: list[Run], seeds: list[int]) -> list[str]:
    """CS-CLIP less each other arm, seed by seed, and whether the goal set beforehand is met."""
    lines = [
        f"Goal: CS-CLIP {GAIN:g} points above in mean half-truth accuracy in every seed, swaps no "
        f"more than {LOSS:g} points lower.",
        "",
    ]
    for budget, budget_name in BUDGETS.items():
        for split, split_name in SPLITS.items():
            for rival in RIVALS:
                own, others = (
                    {run["seed"]: run["metrics"][split] for run in _of(runs, arm, budget)}
                    for arm in ("CS-CLIP", rival)
                )
                both = [seed for seed in seeds if seed in own and seed in others]
                if not both:
                    continue
                gains, swaps = (
                    [own[seed][name]["value"] - others[seed][name]["value"] for seed in both]
                    for name in ("half_truth", "swaps")
                )
                met = "met" if min(gains) >= GAIN and min(swaps) >= -LOSS else "not met"
                told = [", ".join(f"{value:+.1f}" for value in values) for values in (gains, swaps)]
                lines.append(
                    f"- {budget_name}, {split_name}, against {rival}: half-truths {told[0]}; "
                    f"swaps {told[1]}: {met}."
                )
    return lines
