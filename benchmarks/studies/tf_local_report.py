"""Table and plot of TF-Local on rendered scenes."""

from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scenes_training import write_json

from zoo.results.drawing import INK, MARKERS, STYLE, render_figure, run_styles

ARMS = ("cosine", "MaxSim", "TF-Global", "TF-Local", "TF-Global + swaps", "TF-Local + swaps")
SPLITS = {"test": "held-out scenes", "held_out": "held-out colour-shape pairs"}
NAMES = {
    "swaps": "attribute swaps",
    "half_truth": "half-truths, mean",
    "completion": "control (A+ > A-), mean",
}

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], out: Path) -> str:
    """Writes tf_local_scenes.json, .md and .svg of the script's results and returns the text."""
    seeds = sorted({run["seed"] for run in runs})
    about = {run["arm"]: run for run in runs}
    lines = [
        "# TF-Local on rendered scenes: what frozen towers hold",
        "",
        f"CLIP towers of 48-px scenes ({plan['first_steps']} steps from nothing), frozen; seeds "
        f"{', '.join(map(str, seeds))}. Over each, the cross-modal transformer of "
        f"{plan['layers']} layers, width {plan['width']}, trained for {plan['steps']} steps of "
        f"all pairs of {plan['batch']} images and captions, rate {plan['rate']:g}. `+ swaps`: a "
        "caption with exchanged colours or arguments beside every caption, in smaller batches: "
        "as many pairs a step. Texts known to be true of an image are no candidates against it. "
        "Last loss: the mean of the last 50 steps, by seed.",
        "",
        "In per cent; ties are wrong, chance is 50. Brackets: 95 % intervals, Wilson's on "
        "the effective number of scenes, which is the noise of asking one seed; "
        "the noise of training is seen between seeds.",
    ]
    for split, split_name in SPLITS.items():
        lines += ["", f"## {split_name.capitalize()}", ""]
        lines += [
            "| | parameters | last loss | "
            + " | ".join(f"swaps, seed {seed}" for seed in seeds)
            + " | "
            + " | ".join(NAMES.values())
            + " |"
        ]
        lines += ["|" + "---|" * (3 + len(seeds) + len(NAMES))]
        for arm in (arm for arm in ARMS if arm in about):
            by_seed = _by_seed(runs, arm, split)
            swaps = [_shown(by_seed[seed]["swaps"]) if seed in by_seed else "" for seed in seeds]
            means = [f"{mean(f[name]['value'] for f in by_seed.values()):.1f}" for name in NAMES]
            trained = [
                f"{run['last_loss']:.2f}" for run in runs if run["arm"] == arm and run["steps"]
            ]
            lines.append(
                f"| {arm} | {about[arm]['parameters']:,} | {', '.join(trained)} | "
                + " | ".join([*swaps, *means])
                + " |"
            )
    lines += ["", "## What it shows", ""]
    for split, split_name in SPLITS.items():
        for arm, other in (
            ("TF-Local", "cosine"),
            ("TF-Local", "TF-Global"),
            ("TF-Local + swaps", "TF-Global + swaps"),
        ):
            one, two = (_by_seed(runs, name, split) for name in (arm, other))
            gains = [
                one[seed]["swaps"]["value"] - two[seed]["swaps"]["value"]
                for seed in seeds
                if seed in one and seed in two
            ]
            if gains:
                lines.append(
                    f"- {split_name}, swaps, {arm} less {other}: "
                    f"{', '.join(f'{gain:+.1f}' for gain in gains)}."
                )
    lines += ["", "![plot](tf_local_scenes.svg)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "tf_local_scenes.md").write_text("\n".join(lines))
    write_json(out / "tf_local_scenes.json", {"plan": plan, "runs": runs})
    (out / "tf_local_scenes.svg").write_bytes(render_figure(draw({"runs": runs}), "svg"))
    return "\n".join(lines)


def _by_seed(runs: list[Run], arm: str, split: str) -> dict[int, dict[str, dict[str, float]]]:
    return {run["seed"]: run["metrics"][split] for run in runs if run["arm"] == arm}


def _shown(metric: dict[str, float]) -> str:
    return f"{metric['value']:.1f} [{metric['low']:.1f}, {metric['high']:.1f}]"


def draw(data: dict[str, Any]) -> Figure:
    """Draws swaps, half-truths and their control by head: means over seeds, and each seed.

    Args:
        data: The content of tf_local_scenes.json.
    """
    styles = run_styles(arm for arm in ARMS if " + " not in arm)
    colours = {arm: colour for arm, (colour, _) in styles.items()}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 4), layout="constrained")
        panels = figure.subplots(1, len(SPLITS), sharey=True)
        for axes, (split, split_name) in zip(panels, SPLITS.items(), strict=True):
            for k, name in enumerate(NAMES):
                marker = MARKERS[k]
                for i, arm in enumerate(ARMS):
                    colour = colours[arm.partition(" + ")[0]]
                    found = [f[name] for f in _by_seed(data["runs"], arm, split).values()]
                    place = i + 0.24 * (k - 1)
                    for n, f in enumerate(found):
                        x = place + 0.06 * (n - 1)
                        axes.plot([x, x], [f["low"], f["high"]], color=colour, lw=1.5)
                        axes.plot(x, f["value"], ".", color=colour, markersize=3)
                    if found:
                        axes.plot(
                            place,
                            mean(f["value"] for f in found),
                            marker,
                            color=colour,
                            markersize=4,
                        )
            axes.axhline(50, color=INK, linewidth=0.8, linestyle="--")
            axes.set_title(split_name, fontsize=9)
            axes.set_xticks(range(len(ARMS)), [arm.replace(" + ", "\n+ ") for arm in ARMS])
            axes.tick_params(axis="x", labelsize=7)
            axes.set_ylim(0, 100)
            axes.set_xlabel("head")
        panels[0].set_ylabel("accuracy, %: mean, and interval\nof each seed (dashed: chance)")
        handles = [Line2D([], [], color=INK, marker=m, lw=0) for m in MARKERS[: len(NAMES)]]
        figure.legend(
            handles,
            list(NAMES.values()),
            loc="outside upper center",
            ncols=3,
            frameon=False,
        )
    return figure
