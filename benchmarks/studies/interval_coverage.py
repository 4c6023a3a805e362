"""How often the 95 % intervals of metrics hold the true value, by simulation.

Writes results/interval_coverage.md.

`python benchmarks/studies/interval_coverage.py` takes about ten minutes on two cores.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from zlib import crc32

import numpy as np
from simulated_answers import answers, design, spread_chances

from zoo.benchmarks.protocols.recall import ranks
from zoo.results.statistics import Observations, interval

CHANCES = (0.02, 0.3, 0.5, 0.95)
CORRELATIONS = (0.0, 0.3)
GOAL = (93.0, 98.5)


@dataclass(frozen=True)
class Cell:
    """One setting.

    Attributes:
        kind: 'rate', 'macro' (groups of Zipf's sizes) or 'subsets' (the mean over equal subsets).
        n: How many questions are asked.
        per_image: How many of them are about one image.
        groups: How many groups or subsets there are.
        one_group: Whether an image is asked about one group alone.
        deviation: The deviation of the groups' chances on the logit scale.
        chance: The true rate.
        correlation: How two outcomes of one image correlate.
    """

    kind: str
    n: int
    per_image: str
    groups: int = 1
    one_group: bool = False
    deviation: float = 0.0
    chance: float = 0.5
    correlation: float = 0.0


@dataclass(frozen=True)
class Gallery:
    """One retrieval.

    Attributes:
        images: How many images there are.
        captions: How many captions each has.
        noise: The noise of a caption around its image.
        common: The share of the noise that an image's captions have in common.
    """

    images: int
    captions: int
    noise: float
    common: float


def settings() -> list[Cell]:
    """Returns the rows of the table: all but chance and correlation."""
    rows = [Cell("rate", n, m) for n in (100, 400) for m in ("1", "2", "3", "5", "1-5")]
    for kind, deviation, sizes in (
        ("macro", 0.0, (7, 20, 48)),
        ("subsets", 0.0, (7, 20)),
        ("macro", 1.0, (7, 20, 48)),
    ):
        asked = [("1", False), ("1-3", False), ("5", False), ("5", True)]
        for groups, n in product(sizes, (100, 400)):
            for m, one_group in asked[: 2 if deviation or kind == "subsets" else None]:
                rows.append(Cell(kind, n, m, groups, one_group, deviation))
    return rows


def cells(row: Cell) -> Iterator[Cell]:
    """Yields a row's settings.

    Only where an image is asked more than once, outcomes correlate inside images.
    """
    for chance in CHANCES:
        for correlation in CORRELATIONS[: 1 if row.per_image == "1" else None]:
            yield replace(row, chance=chance, correlation=correlation)


def coverage(cell: Cell, repeats: int) -> tuple[float, float]:
    """Returns how often the interval holds the true value, and its mean width, in per cent."""
    asked = design(
        cell.n, cell.per_image, cell.groups, zipf=cell.kind == "macro", same_group=cell.one_group
    )
    chances = spread_chances(cell.chance, int(asked.group.max()) + 1, cell.deviation)
    true, generator = float(chances.mean()), np.random.default_rng(crc32(repr(cell).encode()))
    held, width = 0, 0.0
    for _ in range(repeats):
        right = answers(generator, asked.image, chances[asked.group], cell.correlation)
        whole = Observations(right.astype(np.float64), asked.image, asked.group)
        samples = [whole]
        if cell.kind == "subsets":
            samples = [
                Observations(whole.right[own], whole.cluster[own], np.zeros(own.sum()))
                for own in (asked.group == g for g in range(len(chances)))
            ]
        low, high, _ = interval(samples, [1 / len(samples)] * len(samples))
        held += low - 1e-12 <= true <= high + 1e-12
        width += high - low
    return 100 * held / repeats, 100 * width / repeats


def recalls(gallery: Gallery, repeats: int) -> list[tuple[str, float, float]]:
    """Returns the true recall at 1 and the intervals' coverage, by direction.

    The true recall is the mean over galleries.
    """
    generator = np.random.default_rng(crc32(repr(gallery).encode()))
    images, captions = gallery.images, gallery.captions
    match = np.repeat(np.eye(images, dtype=bool), captions, axis=1)
    asked = {"text for image": np.arange(images), "image for text": match.argmax(0)}
    found: dict[str, list[tuple[float, float, float]]] = {side: [] for side in asked}
    for _ in range(repeats):
        x = generator.standard_normal((images, 16))
        own, common = (
            generator.standard_normal((images * captions, 16)),
            np.repeat(generator.standard_normal((images, 16)), captions, axis=0),
        )
        y = np.repeat(x, captions, axis=0) + gallery.noise * (
            np.sqrt(1 - gallery.common) * own + np.sqrt(gallery.common) * common
        )
        scores = (
            (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T
        ).astype(np.float32)
        for (side, about), rank in zip(
            asked.items(), ranks(match, scores.__getitem__), strict=True
        ):
            right = (rank.n_above + rank.n_tied < 1).astype(np.float64)
            low, high, _ = interval([Observations(right, about, np.zeros(len(right)))], [1.0])
            found[side].append((right.mean(), low, high))
    taken = []
    for side, draws in found.items():
        values, low, high = np.array(draws).T
        held = (low <= values.mean()) & (values.mean() <= high)
        taken.append((side, 100 * float(values.mean()), 100 * float(held.mean())))
    return taken


GALLERIES = [
    Gallery(100, captions, noise, common)
    for captions in (1, 5)
    for noise in (0.7, 1.3, 2.0, 8.0)
    for common in (0.0, 0.5)[: 1 if captions == 1 else None]
]


def main() -> None:
    """Simulates all settings and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    given = parser.parse_args()
    rows = settings()
    asked = [cell for row in rows for cell in cells(row)]
    with Pool(given.workers) as pool:
        taken = pool.starmap(coverage, [(cell, given.repeats) for cell in asked], chunksize=1)
        galleries = pool.starmap(recalls, [(gallery, given.repeats) for gallery in GALLERIES], 1)
    found = dict(zip(asked, taken, strict=True))
    given.out.mkdir(parents=True, exist_ok=True)
    text = report(rows, found, galleries, given.repeats)
    (given.out / "interval_coverage.md").write_text(text, encoding="utf-8")
    print(text)


def report(
    rows: list[Cell],
    found: dict[Cell, tuple[float, float]],
    galleries: list[list[tuple[str, float, float]]],
    repeats: int,
) -> str:
    """Returns the page."""
    heads = [f"{100 * p:g} %, {r:g}" for p in CHANCES for r in CORRELATIONS]
    lines = [
        "# How often a 95 % interval holds the true value",
        "",
        f"`python benchmarks/studies/interval_coverage.py`: {repeats:,} repetitions a setting "
        f"(standard error {100 * (0.95 * 0.05 / repeats) ** 0.5:.1f} points), "
        f"`zoo.results.statistics.interval`, scipy {version('scipy')}. Goal: {GOAL[0]:g} to "
        f"{GOAL[1]:g} of 100. Columns: "
        "the true rate, and the correlation of two outcomes of one image.",
    ]
    titles = {
        ("rate", 0.0): "Rates",
        ("macro", 0.0): "Macro averages over groups, the k-th 1/k as large as the first",
        ("subsets", 0.0): "Means over subsets of one benchmark, alike in size in the mean",
        ("macro", 1.0): "Macro averages over such groups whose rates differ",
    }
    for (kind, deviation), title in titles.items():
        own = [row for row in rows if (row.kind, row.deviation) == (kind, deviation)]
        values = [found[cell][0] for row in own for cell in cells(row)]
        lines += [
            "",
            f"## {title}",
            "",
            f"{len(values)} settings, {min(values):.1f} to {max(values):.1f}, mean "
            f"{np.mean(values):.1f}."
            + (" Rates: normal on the logit scale around the column's." if deviation else ""),
            "",
            f"| groups | questions | of an image | {' | '.join(heads)} |",
            "|" + "---:|" * (3 + len(heads)),
        ]
        for row in own:
            of_image = row.per_image + (", of one group" if row.one_group else "")
            taken = [replace(row, chance=p, correlation=r) for p in CHANCES for r in CORRELATIONS]
            shown = [f"{found[c][0]:.1f}" if c in found else "" for c in taken]
            lines.append(f"| {row.groups} | {row.n} | {of_image} | {' | '.join(shown)} |")
    lines += [
        "",
        "## Recalls at 1 in galleries of 100 images",
        "",
        "Vectors in 16 dimensions, a caption its image's with noise; the true value is the mean "
        "over all galleries, so that what queries share by sharing a gallery counts as well.",
        "",
        "| captions of an image | noise | of it common to them | asked | true recall | coverage |",
        "|---:|---:|---:|---|---:|---:|",
    ]
    for gallery, sides in zip(GALLERIES, galleries, strict=True):
        for side, value, held in sides:
            lines.append(
                f"| {gallery.captions} | {gallery.noise:g} | {100 * gallery.common:g} % | {side} | "
                f"{value:.1f} | {held:.1f} |"
            )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
