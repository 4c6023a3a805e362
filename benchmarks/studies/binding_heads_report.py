"""Table and plot of heads over towers that bind more or less."""

import math
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from scenes_training import write_json

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SUBSETS = {
    "seen": "both bindings seen in training",
    "partial": "one binding never seen",
    "unseen": "neither binding seen",
}
NAMES = {"i2t": "swaps, chance 50", "i2t_r@1": "right caption of 3,136, chance 0.06"}

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], methods: tuple[str, ...], out: Path) -> str:
    """Writes binding_heads.json, .md and .png of the runs that are there, and returns the text."""
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
    lines += ["", "![gain over cosine against what the cosine knew](binding_heads.png)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "binding_heads.md").write_text("\n".join(lines))
    write_json(out / "binding_heads.json", {"plan": plan, "runs": runs})
    _plot(runs, methods, shares, out / "binding_heads.png")
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


def _plot(runs: list[Run], methods: tuple[str, ...], shares: list[float], path: Path) -> None:
    """Draws the gain over the cosine against the cosine; one dot per tower, one line per method."""
    figure, axes = plt.subplots(1, len(SUBSETS), figsize=(14, 5), sharey=True)
    for axis, (subset, name) in zip(axes, SUBSETS.items(), strict=True):
        for color, method in enumerate(methods[1:]):
            by_share = [gains(runs, method, subset, share) for share in shares]
            points = [point for some in by_share for point in some]
            if not points:
                continue
            axis.plot(*zip(*points, strict=True), ".", color=f"C{color}", markersize=7)
            means = sorted(
                (mean(x for x, _ in some), mean(y for _, y in some)) for some in by_share if some
            )
            axis.plot(*zip(*means, strict=True), color=f"C{color}", label=method, linewidth=1.2)
        axis.axhline(0, color="gray", linewidth=0.8, linestyle="--")
        axis.set_title(name)
        axis.set_xlabel("the tower's cosine on swaps, %")
    axes[0].set_ylabel("gain over the cosine, points")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False)
    figure.suptitle("What heads add to frozen towers, against what the cosine knew (dot: a tower)")
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
