"""Table and plot of the ranks of methods on all bindings and on those that training never had."""

from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from scenes_training import write_json

from zoo.results.drawing import INK, STYLE, render_figure, run_styles
from zoo.results.ranks import SIGNIFICANT, Flip, SplitTest, compute_split_tests, find_flips
from zoo.results.reader import read_results

SPLITS = ("full", "seen", "mixed", "unseen")


def write_report(work: Path, plan: dict[str, Any], methods: tuple[str, ...], out: Path) -> str:
    """Writes familiar_ranks.json, .md and .svg of the runs that are there, and returns the text."""
    tests: dict[int, list[SplitTest]] = {}
    for folder in sorted(work.glob("seed*")):
        there = {m: folder / m.lower() for m in methods if (folder / m.lower()).is_dir()}
        if len(there) > 1:
            cases = {method: read_results(run).cases for method, run in there.items()}
            tests[int(folder.name.removeprefix("seed"))] = compute_split_tests(cases)
    lines = [
        "# Ranks of methods on all bindings and on those that training never had",
        "",
        "Hypothesis and protocol stand in `benchmarks/studies/familiar_ranks.py`. Accuracy on "
        "swaps in per cent, and in brackets the rank. Ties are wrong, chance is 50.",
    ]
    kept: dict[str, Any] = {"plan": plan, "seeds": {}}
    for seed, found in tests.items():
        values, n = _values(found), {t.split: t.n for t in found}
        lines += ["", f"## Seed {seed}", ""]
        splits = [split for split in SPLITS if split in values]
        lines += ["| | " + " | ".join(f"{s}, n {n[s]:,}" for s in splits) + " |"]
        lines += ["|" + "---|" * (1 + len(splits))]
        for method in methods:
            cells = [_cell(values[s], method) for s in splits]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        flipped = find_flips(found)
        lines += ["", *_told(found, flipped, splits)]
        kept["seeds"][seed] = {"values": values, "n": n, "flips": [_plain(f) for f in flipped]}
    lines += ["", "![ranks](familiar_ranks.svg)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "familiar_ranks.md").write_text("\n".join(lines))
    write_json(out / "familiar_ranks.json", kept)
    if kept["seeds"]:
        (out / "familiar_ranks.svg").write_bytes(render_figure(draw(kept), "svg"))
    return "\n".join(lines)


def _values(tests: list[SplitTest]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for test in tests:
        for model, value in zip(test.models, test.values, strict=True):
            found.setdefault(test.split, {})[model] = 100 * value
    return found


def _rank(values: dict[str, float], method: str) -> int:
    return 1 + sum(value > values[method] for value in values.values())


def _cell(values: dict[str, float], method: str) -> str:
    return f"{values[method]:.1f} ({_rank(values, method)})" if method in values else ""


def _told(tests: list[SplitTest], flipped: list[Flip], splits: list[str]) -> list[str]:
    lines = []
    for split in splits:
        own = [test for test in tests if test.split == split]
        significant = sum(test.q <= SIGNIFICANT for test in own)
        lines.append(f"- {split}: {significant} of {len(own)} pairs differ significantly.")
    lines.append(f"- Significant flips between splits: {len(flipped)}.")
    lines += [
        f"  - {f.ahead} before {f.behind} on {' but not on '.join(f.splits)}" for f in flipped
    ]
    return lines


def _plain(flip: Flip) -> dict[str, Any]:
    return {"ahead": flip.ahead, "behind": flip.behind, "splits": flip.splits, "p": flip.p}


def draw(data: dict[str, Any]) -> Figure:
    """Draws accuracy by familiarity of the bindings: means over seeds, and each seed as a dot.

    Args:
        data: The content of familiar_ranks.json.
    """
    seeds = list(data["seeds"].values())
    splits = [split for split in SPLITS if split in seeds[0]["values"]]
    methods = list(seeds[0]["values"][splits[0]])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for k, (method, (colour, marker)) in enumerate(run_styles(methods).items()):
            places = [place + 0.11 * (k - (len(methods) - 1) / 2) for place in range(len(splits))]
            for seed in seeds:
                values = [seed["values"][split][method] for split in splits]
                axes.plot(places, values, ".", color=colour, alpha=0.45)
            means = [mean(seed["values"][split][method] for seed in seeds) for split in splits]
            axes.plot(places, means, marker, color=colour, markersize=7, label=method)
        n = seeds[0]["n"]
        axes.set_xticks(range(len(splits)), [f"{split}\nn {n[split]:,}" for split in splits])
        axes.set_ylabel("swap accuracy, %")
        axes.set_xlabel("bindings of the test case, seen or unseen in training")
        axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.6)
        axes.set_title(f"mean of {len(seeds)} seeds (small: each seed); chance is 50 %", fontsize=9)
        figure.legend(loc="outside right center", frameon=False)
    return figure
