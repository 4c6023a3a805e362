"""Table of all recipes side by side."""

from pathlib import Path
from statistics import mean
from typing import Any

from scenes_training import write_json

from zoo.benchmarks.half_truth.rules import CONDITIONS
from zoo.results.statistics import wilson

SUGARCREPE = ("replace", "swap", "add")

Run = dict[str, Any]


def write_report(runs: list[Run], plan: dict[str, Any], left_out: dict[str, str], out: Path) -> str:
    """Writes recipes_table.json, .md of the script's runs and returns the text."""
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
    lines += [""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipes_table.md").write_text("\n".join(lines))
    write_json(out / "recipes_table.json", {"plan": plan, "runs": runs})
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
