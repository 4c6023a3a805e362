"""Table and plot of heads over towers that bind more or less."""

import math
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scenes_training import write_json

from zoo.results.drawing import INK, MARKERS, STYLE, render_figure, run_styles

SUBSETS = {
    "seen": "both bindings seen in training",
    "partial": "one binding never seen",
    "unseen": "neither binding seen",
}
NAMES = {"i2t": "swaps, chance 50", "i2t_r@1": "right caption of 3,136, chance 0.06"}

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], methods: tuple[str, ...], out: Path) -> str:
    """Writes binding_heads.json, .md and .svg of the runs that are there, and returns the text."""
    seeds, shares = (sorted({run[name] for run in runs}) for name in ("seed", "share"))
    lines = [
        "# Heads over frozen towers that bind more or less",
        "",
        "Hypothesis and protocol stand in `benchmarks/studies/binding_heads.py`. Seeds "
        f"{', '.join(map(str, seeds))}. Values in per cent: the mean, and each seed; "
        "ties are wrong. Last loss: mean of the last 50 steps; guessing gives "
        f"{math.log(4):.2f} to the transformers.",
    ]
    for metric, name in NAMES.items():
        lines += ["", f"## {name[0].upper()}{name[1:]}"]
        for share in shares:
            lines += ["", f"### {share:g} of the captions shuffled", ""]
            lines += ["| | steps | last loss | " + " | ".join(SUBSETS.values()) + " |"]
            lines += ["|" + "---|" * (3 + len(SUBSETS))]
            for method in methods:
                its = [r for r in runs if (r["share"], r["method"]) == (share, method)]
                if its:
                    loss = f"{mean(r['last_loss'] for r in its):.2f}" if its[0]["steps"] else ""
                    cells = [_cell(its, subset, metric) for subset in SUBSETS]
                    lines.append(
                        f"| {method} | {its[0]['steps']:,} | {loss} | {' | '.join(cells)} |"
                    )
    lines += ["", "## Gain over the cosine on swaps, mean over seeds", ""]
    lines += ["| | " + " | ".join(f"{s}, {k:g} shuffled" for s in SUBSETS for k in shares) + " |"]
    lines += ["|" + "---|" * (1 + len(SUBSETS) * len(shares))]
    for method in methods[1:]:
        cells = [
            f"{mean(g):+.1f}" if (g := [y for _, y in gains(runs, method, subset, share)]) else ""
            for subset in SUBSETS
            for share in shares
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    lines += ["", "![gain over cosine against what the cosine knew](binding_heads.svg)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "binding_heads.md").write_text("\n".join(lines))
    write_json(out / "binding_heads.json", {"plan": plan, "runs": runs})
    (out / "binding_heads.svg").write_bytes(render_figure(draw({"runs": runs}), "svg"))
    return "\n".join(lines)


def gains(runs: list[Run], method: str, subset: str, share: float) -> list[tuple[float, float]]:
    """Returns what the cosine knows of swaps and what a method adds, for each seed."""

    def told(name: str, asked: str = "metrics") -> dict[int, float]:
        return {
            run["seed"]: run[asked][subset]["i2t"]["value"]
            for run in runs
            if (run["method"], run["share"]) == (name, share)
        }

    known, other = told("cosine"), told(method)
    compared = told("cosine", "of_few") if method == "SGI" else known
    return [(known[seed], other[seed] - compared[seed]) for seed in known if seed in other]


def _cell(runs: list[Run], subset: str, metric: str) -> str:
    found = [run["metrics"][subset][metric] for run in runs]
    each = ", ".join(f"{f['value']:.1f} [{f['low']:.1f}, {f['high']:.1f}]" for f in found)
    return f"{mean(f['value'] for f in found):.1f}: {each}"


def draw(data: dict[str, Any]) -> Figure:
    """Draws what each head adds to the cosine, one panel per subset: means over seeds, and seeds.

    Args:
        data: The content of binding_heads.json.
    """
    runs: list[Run] = data["runs"]
    methods = [m for m in dict.fromkeys(run["method"] for run in runs) if m != "cosine"]
    shares = sorted({run["share"] for run in runs})
    styles = run_styles(methods)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        panels = figure.subplots(1, len(SUBSETS), sharex=True, sharey=True)
        for axes, (subset, name) in zip(panels, SUBSETS.items(), strict=True):
            for row, method in enumerate(methods):
                colour, _ = styles[method]
                for k, share in enumerate(shares):
                    gained = [gain for _, gain in gains(runs, method, subset, share)]
                    if not gained:
                        continue
                    y = row + 0.24 * (k - (len(shares) - 1) / 2)
                    axes.plot([min(gained), max(gained)], [y, y], color=colour, linewidth=1)
                    axes.plot(mean(gained), y, MARKERS[k], color=colour, markersize=5)
            axes.axvline(0, color=INK, linewidth=0.8)
            axes.set_title(name, fontsize=9)
            axes.grid(axis="x", color=INK, alpha=0.15, linewidth=0.6)
        panels[0].set_yticks(range(len(methods)), methods)
        panels[0].invert_yaxis()
        figure.supxlabel(
            "swap accuracy minus that of the cosine, points: mean and range over seeds", fontsize=9
        )
        marks = [
            Line2D([], [], color=INK, marker=MARKERS[k], linewidth=0) for k in range(len(shares))
        ]
        figure.legend(
            marks,
            [f"{share:.0%}" for share in shares],
            title="share of captions whose words were shuffled in the tower's training",
            loc="outside upper center",
            ncols=3,
            frameon=False,
            fontsize=8,
            title_fontsize=8,
        )
    return figure
