"""Table and plot of all recipes side by side."""

from collections.abc import Callable
from math import hypot
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from scenes_training import write_json

from zoo.benchmarks.half_truth.rules import CONDITIONS
from zoo.results.statistics import wilson

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

SUGARCREPE = ("replace", "swap", "add")

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], left_out: dict[str, str], out: Path) -> str:
    """Writes recipes_table.json, .md and .png of the script's runs and returns the text."""
    lines = [
        "# Every recipe, in small",
        "",
        f"One tower a world, trained with clip.yaml from nothing for {plan['first_steps']} steps; "
        f"each recipe below tunes it for {plan['steps']} steps of {plan['rows']} rows "
        f"({plan['rows_of_pairs']} where a transformer reads every pair), peak rate "
        f"{plan['rate']:g} ({plan['head_rate']:g} for heads), one seed. This shows that recipes "
        "run and what they pull at, in minutes on a CPU; it is no ranking of methods, whose own "
        "rates, batches and pretrained towers it does not have. The transformers of TF-Local and "
        "TF-Global start from nothing, over towers that have learnt little.",
        "",
        "In per cent, ties wrong, chance 50. Brackets: 95 % intervals, of swaps Wilson's on the "
        "effective number of scenes, of SugarCrepe Wilson's over cases. Left out: "
        + "; ".join(f"{name} ({why})" for name, why in left_out.items())
        + ".",
    ]
    for world, title, header, row in (
        ("scenes", "Rendered scenes, held out", _SCENES, _scenes),
        ("flickr8k", "Flickr8k", _FLICKR8K, _flickr8k),
    ):
        if some := [run for run in runs if run["world"] == world]:
            lines += ["", f"## {title}", ""]
            if world == "flickr8k":
                lines += [f"SugarCrepe's {cases(some[0]):,} cases whose image is there.", ""]
            lines += [header, "|" + "---|" * (header.count("|") - 1)]
            lines += [
                f"| {run['recipe']} | {run['trained']:,} | {run['seconds']:.0f} | {row(run)} |"
                for run in in_order(some)
            ]
    lines += ["", "![plot](recipes_table.png)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipes_table.md").write_text("\n".join(lines))
    write_json(out / "recipes_table.json", {"plan": plan, "runs": runs})
    _plot(runs, out / "recipes_table.png")
    return "\n".join(lines)


_SCENES = (
    f"| recipe | trained | seconds | {' | '.join(CONDITIONS)} | half-truths, mean | swaps | swaps, "
    "unseen pairs |"
)
_FLICKR8K = f"| recipe | trained | seconds | {' | '.join(SUGARCREPE)} | SugarCrepe, all |"


def _scenes(run: Run) -> str:
    conditions = [_value(run, "half_truth", name, "half_truth") for name in CONDITIONS]
    cells = [f"{value:.1f}" for value in (*conditions, mean(conditions))]
    return " | ".join(
        [*cells, *(_interval(run, "scene_swaps", subset) for subset in ("test", "held_out"))]
    )


def _flickr8k(run: Run) -> str:
    return " | ".join(_shown(*pooled(run, "sugarcrepe", kind)) for kind in (*SUGARCREPE, ""))


def cases(run: Run) -> int:
    """Returns how many cases of SugarCrepe a run was asked."""
    return sum(
        f["n"] for f in run["metrics"] if (f["benchmark"], f["metric"]) == ("sugarcrepe", "i2t")
    )


def in_order(runs: list[Run]) -> list[Run]:
    """Returns the first tower, then recipes by name."""
    return sorted(runs, key=lambda run: (not run["recipe"].endswith("tower"), run["recipe"]))


def pooled(run: Run, benchmark: str, prefix: str) -> tuple[float, float, float]:
    """Returns the share of right cases in the subsets with that prefix, and its 95 % interval."""
    found = [
        f
        for f in run["metrics"]
        if f["benchmark"] == benchmark
        and f["metric"] == "i2t"
        and f["subset"].startswith(prefix)
        and f["n"]
    ]
    n = sum(f["n"] for f in found)
    right = sum(f["value"] * f["n"] / 100 for f in found)
    low, high = wilson(round(right), n)
    return 100 * right / n, 100 * low, 100 * high


def _value(run: Run, benchmark: str, subset: str, metric: str) -> float:
    return float(
        next(
            f["value"]
            for f in run["metrics"]
            if (f["benchmark"], f["subset"], f["metric"]) == (benchmark, subset, metric)
        )
    )


def _interval(run: Run, benchmark: str, subset: str) -> str:
    found = next(
        f
        for f in run["metrics"]
        if (f["benchmark"], f["subset"], f["metric"]) == (benchmark, subset, "i2t")
    )
    return _shown(found["value"], found["low"], found["high"])


def _shown(value: float, low: float, high: float) -> str:
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


# recipes of one family stand together, by how their names begin
FAMILIES = {
    "CLIP": ("clip", "siglip", "finetune"),
    "NegCLIP": ("negclip",),
    "CS-CLIP": ("cs_clip",),
    "FSC-CLIP": ("fsc_clip",),
    "heads over frozen towers": ("labclip", "tf_"),
    "others": ("",),
}
REFERENCE = "clip.yaml"

Measure = Callable[[Run], tuple[float, float, float]]


def _half_truths(run: Run) -> tuple[float, float, float]:
    """Returns the mean over conditions, and the means of the ends of their intervals."""
    found = [
        next(
            f
            for f in run["metrics"]
            if (f["benchmark"], f["subset"], f["metric"]) == ("half_truth", name, "half_truth")
        )
        for name in CONDITIONS
    ]
    value, low, high = (mean(f[end] for f in found) for end in ("value", "low", "high"))
    return value, low, high


def _swaps(run: Run) -> tuple[float, float, float]:
    found = next(
        f
        for f in run["metrics"]
        if (f["benchmark"], f["subset"], f["metric"]) == ("scene_swaps", "test", "i2t")
    )
    return found["value"], found["low"], found["high"]


def _sugarcrepe(run: Run) -> tuple[float, float, float]:
    return pooled(run, "sugarcrepe", "")


PANELS: dict[str, tuple[str, Measure]] = {
    "half-truths, mean of 8 conditions\n(rendered scenes)": ("scenes", _half_truths),
    "attribute swaps\n(rendered scenes)": ("scenes", _swaps),
    "SugarCrepe\n(Flickr8k)": ("flickr8k", _sugarcrepe),
}


def difference(
    one: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Returns one value less another, with an interval that takes them for independent.

    Runs are asked the same questions, so that a paired interval would be narrower.
    """
    less = one[0] - other[0]
    below = hypot(one[0] - one[1], other[2] - other[0])
    above = hypot(one[2] - one[0], other[0] - other[1])
    return less, less - below, less + above


def _plot(runs: list[Run], path: Path) -> None:
    """Draws differences to CLIP, tuned as long, by family; each data set has a panel."""
    names = {run["recipe"] for run in runs} - {REFERENCE}
    rows: list[tuple[str, str]] = []  # label, and the recipe where the row is one
    for family, starts in FAMILIES.items():
        own = sorted(name for name in names if name.startswith(starts))
        names -= {*own}
        if own:
            rows += [(family, ""), *((_plain(name), name) for name in own)]
    figure, axes = plt.subplots(
        1, len(PANELS), figsize=(12, 0.3 * len(rows) + 1.9), sharey=True, layout="constrained"
    )
    for axis, (title, (world, measure)) in zip(axes, PANELS.items(), strict=True):
        found = {run["recipe"]: run for run in runs if run["world"] == world}
        axis.axvline(0, color="black", linewidth=0.8)
        if REFERENCE in found:
            base = measure(found[REFERENCE])
            axis.set_title(f"{title}\nCLIP: {base[0]:.1f} %", fontsize=10)
            for place, (_, name) in enumerate(rows):
                if name in found:
                    _point(axis, place, *difference(measure(found[name]), base))
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
    axes[0].set_yticks(range(len(rows)), [label for label, _ in rows])
    for label, (_, name) in zip(axes[0].get_yticklabels(), rows, strict=True):
        label.set_fontweight("normal" if name else "bold")
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    figure.supxlabel(
        "difference to CLIP tuned as long, in points, with 95 % intervals of runs taken for "
        "independent\nin colour: the interval leaves out 0; one seed, so that the noise of "
        "training is in none of them",
        fontsize=9,
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plain(recipe: str) -> str:
    """Returns a recipe without its ending; the tower before tuning says so."""
    return "before tuning" if recipe.endswith("tower") else recipe.removesuffix(".yaml")


def _point(axis: Axes, place: int, value: float, low: float, high: float) -> None:
    apart = low > 0 or high < 0
    axis.errorbar(
        value,
        place,
        xerr=[[value - low], [high - value]],
        fmt="o",
        color=("C0" if value > 0 else "C3") if apart else "0.55",
        markersize=5,
        linewidth=1.2,
    )
