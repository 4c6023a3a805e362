"""Table and plot of the ranks of methods on all bindings and on those that training never had."""

from pathlib import Path
from typing import Any

import matplotlib
from scenes_training import write_json

from zoo.results.ranks import SIGNIFICANT, Flip, SplitTest, compute_split_tests, find_flips
from zoo.results.reader import read_results

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SPLITS = ("full", "seen", "mixed", "unseen")


def write_report(work: Path, plan: dict[str, Any], methods: tuple[str, ...], out: Path) -> str:
    """Writes familiar_ranks.json, .md and .png of the runs that are there, and returns the text."""
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
    lines += ["", "![ranks](familiar_ranks.png)", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "familiar_ranks.md").write_text("\n".join(lines))
    write_json(out / "familiar_ranks.json", kept)
    _plot({seed: _values(found) for seed, found in tests.items()}, methods, out)
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


def _plot(
    seeds: dict[int, dict[str, dict[str, float]]], methods: tuple[str, ...], out: Path
) -> None:
    """Draws accuracy by split; one panel per seed, one line per method."""
    figure, axes = plt.subplots(
        1, max(len(seeds), 1), figsize=(5 * max(len(seeds), 1), 4.5), sharey=True, squeeze=False
    )
    for axis, (seed, values) in zip(axes[0], seeds.items(), strict=False):
        splits = [split for split in SPLITS if split in values]
        for color, method in enumerate(methods):
            line = [values[split].get(method, float("nan")) for split in splits]
            axis.plot(splits, line, marker="o", color=f"C{color}", label=method)
            for split, value in zip(splits, line, strict=True):
                if method in values[split]:
                    rank = str(_rank(values[split], method))
                    axis.annotate(rank, (split, value), (5, -3), textcoords="offset points")
        axis.axhline(50, color="gray", linewidth=0.8, linestyle="--")
        axis.set_title(f"seed {seed}")
    axes[0][0].set_ylabel("swaps, % (number: rank)")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="lower center",
        ncols=3 if len(seeds) < 2 else 5,
    )
    figure.suptitle("Swaps by how familiar their bindings are (dashed: chance)")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(out / "familiar_ranks.png", dpi=110)
    plt.close(figure)
