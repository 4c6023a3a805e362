"""Table and plot of composition against recall, by the weight of hard negatives."""

from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from scenes_training import write_json

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COMPOSITION = {"swaps": "attribute swaps", "half_truth": "half-truths, mean of 8"}
KEPT = {"retrieval": "retrieval, R@1", "zero-shot": "zero-shot, R@1"}

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], losses: tuple[str, ...], out: Path) -> str:
    """Writes hard_negative_weight.json, .md and .png of the runs, and returns the text."""
    names = {**COMPOSITION, "completion": "completions, mean", **KEPT}
    seeds = sorted({run["seed"] for run in runs})
    lines = [
        "# Composition against recall, by the weight of hard negatives",
        "",
        "Hypothesis and protocol stand in `benchmarks/studies/hard_negative_weight.py`. Scenes "
        f"that training never had; seeds {', '.join(map(str, seeds))}. In per cent: the mean, and "
        "each seed with its 95 % interval over scenes. Ties are wrong; swaps and half-truths are "
        "50 by chance.",
        "",
        "| | weight | of the way | " + " | ".join(names.values()) + " |",
        "|" + "---|" * (3 + len(names)),
    ]
    for loss, weight, alpha in _points(runs, ("before", "CLIP", *losses)):
        its = _of(runs, loss, weight, alpha)
        cells = [_cell(its, name) for name in names]
        lines.append(f"| {loss} | {weight:g} | {alpha:g} | {' | '.join(cells)} |")
    lines += ["", "![trade-off](hard_negative_weight.png)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "hard_negative_weight.md").write_text("\n".join(lines))
    write_json(out / "hard_negative_weight.json", {"plan": plan, "runs": runs})
    _plot(runs, losses, out / "hard_negative_weight.png")
    return "\n".join(lines)


def _points(runs: list[Run], losses: tuple[str, ...]) -> list[tuple[str, float, float]]:
    found = {(run["loss"], run["weight"], run["alpha"]) for run in runs}
    return sorted(found, key=lambda point: (losses.index(point[0]), point[1], point[2]))


def _of(runs: list[Run], loss: str, weight: float, alpha: float) -> list[Run]:
    wanted = loss, weight, alpha
    return [run for run in runs if (run["loss"], run["weight"], run["alpha"]) == wanted]


def _cell(runs: list[Run], name: str) -> str:
    found = [run["metrics"][name] for run in runs]
    each = ", ".join(f"{f['value']:.1f} [{f['low']:.1f}, {f['high']:.1f}]" for f in found)
    return f"{mean(f['value'] for f in found):.1f}: {each}"


def _plot(runs: list[Run], losses: tuple[str, ...], path: Path) -> None:
    """Draws recall against composition: a curve a loss over weights, means over seeds.

    Dots are seeds; dashed lines go from the tower over WiSE-FT's points to a run.
    """
    figure, axes = plt.subplots(len(KEPT), len(COMPOSITION), figsize=(12, 9), squeeze=False)
    for row, (kept, kept_name) in enumerate(KEPT.items()):
        for column, (gained, gained_name) in enumerate(COMPOSITION.items()):
            axis = axes[row][column]

            def mean_at(point: tuple[str, float, float]) -> tuple[float, float]:
                metrics = [run["metrics"] for run in _of(runs, *point)]
                x, y = ([m[name]["value"] for m in metrics] for name in (gained, kept))  # noqa: B023
                return mean(x), mean(y)

            for color, loss in enumerate(losses):
                points = _points(runs, ("before", "CLIP", *losses))
                own = [p for p in points if p[0] == loss and p[2] == 1]
                clip = [p for p in points if p[0] == "CLIP"]
                line = [mean_at(point) for point in (*clip, *own)]
                axis.plot(*zip(*line, strict=True), "o-", color=f"C{color}", label=loss)
                for (_, weight, _), at in zip(own, line[len(clip) :], strict=True):
                    axis.annotate(f"{weight:g}", at, (5, 4), textcoords="offset points")
                seeds = [
                    (run["metrics"][gained]["value"], run["metrics"][kept]["value"])
                    for point in own
                    for run in _of(runs, *point)
                ]
                axis.plot(*zip(*seeds, strict=True), ".", color=f"C{color}", alpha=0.4)
                between = [p for p in points if p[0] == loss and p[2] < 1]
                ends = [p for p in own if between and p[1] == between[0][1]]
                before = [p for p in points if p[0] == "before"]
                if ends:
                    way = [mean_at(point) for point in (*before, *between, *ends)]
                    axis.plot(
                        *zip(*way, strict=True),
                        "x--",
                        color=f"C{color}",
                        linewidth=0.9,
                        label=f"{loss}, WiSE-FT from the tower",
                    )
            axis.set_xlabel(f"{gained_name}, %")
            axis.set_ylabel(f"{kept_name}, %")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=4)
    figure.suptitle("What composition costs, by the weight of hard negatives (small dot: a seed)")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
