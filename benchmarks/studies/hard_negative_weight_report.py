"""Table and plot of composition against recall, by the weight of hard negatives."""

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from scenes_training import write_json

from zoo.results.drawing import INK, PAPER, STYLE, render_figure, run_styles

COMPOSITION = {"swaps": "attribute swaps", "half_truth": "half-truths, mean of 8"}
KEPT = {"retrieval": "retrieval, R@1", "zero-shot": "zero-shot, R@1"}

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], losses: tuple[str, ...], out: Path) -> str:
    """Writes hard_negative_weight.json, .md and .svg of the runs, and returns the text."""
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
    lines += ["", "![trade-off](hard_negative_weight.svg)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "hard_negative_weight.md").write_text("\n".join(lines))
    write_json(out / "hard_negative_weight.json", {"plan": plan, "runs": runs})
    (out / "hard_negative_weight.svg").write_bytes(render_figure(draw({"runs": runs}), "svg"))
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


def draw(data: dict[str, Any]) -> Figure:
    """Draws recall against composition as differences from CLIP of the same seed.

    One line per loss over the weights of its hard negatives, which are printed; bars are one
    standard deviation over seeds.

    Args:
        data: The content of hard_negative_weight.json.
    """
    runs: list[Run] = data["runs"]
    losses = [x for x in dict.fromkeys(r["loss"] for r in runs) if x not in ("before", "CLIP")]
    clip = {run["seed"]: run["metrics"] for run in runs if run["loss"] == "CLIP"}

    def differences(point: tuple[str, float, float], name: str) -> list[float]:
        return [
            run["metrics"][name]["value"] - clip[run["seed"]][name]["value"]
            for run in _of(runs, *point)
        ]

    # the global loss is that of NegCLIP, and has its colour
    styles = {**run_styles(losses), "global": run_styles(["NegCLIP"])["NegCLIP"]}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.5, 3.9), layout="constrained")
        panels = figure.subplots(1, len(KEPT), sharex=True)
        for axes, (kept, kept_name) in zip(panels, KEPT.items(), strict=True):
            for loss in losses:
                colour, marker = styles[loss]
                own = [p for p in _points(runs, ("before", "CLIP", *losses)) if p[0] == loss]
                tuned, merged = ([p for p in own if (p[2] == 1) == at_one] for at_one in (1, 0))
                x, y = ([differences(p, name) for p in tuned] for name in ("swaps", kept))
                axes.errorbar(
                    [mean(d) for d in x],
                    [mean(d) for d in y],
                    [stdev(d) for d in y],
                    [stdev(d) for d in x],
                    fmt=f"{marker}-",
                    color=colour,
                    elinewidth=0.6,
                    capsize=2,
                    label=loss,
                )
                for (_, weight, _), x_values, y_values in zip(tuned, x, y, strict=True):
                    at = mean(x_values), mean(y_values)
                    label = axes.annotate(
                        f"{weight:g}", at, (5, 4), textcoords="offset points", fontsize=8
                    )
                    label.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 0.5})
                axes.plot(
                    [mean(differences(p, "swaps")) for p in merged],
                    [mean(differences(p, kept)) for p in merged],
                    marker,
                    color=colour,
                    markerfacecolor=PAPER,
                    markersize=4,
                    label=f"{loss}, WiSE-FT",
                )
            axes.axvline(0, color=INK, linewidth=0.6)
            axes.axhline(0, color=INK, linewidth=0.6)
            axes.set_xlabel("attribute swaps: points vs CLIP")
            axes.set_ylabel(f"{kept_name}: points vs CLIP")
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=4,
            frameon=False,
            fontsize=8,
            title="numbers: weight of the negatives; bars: one standard deviation over seeds",
            title_fontsize=8,
        )
    return figure
