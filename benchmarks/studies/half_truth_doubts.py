r"""How many foils of a units file another caption of the same image bears out.

The counts are by condition of half_truth, in a table in Markdown.

    zoo units extract DATA_ROOT/flickr8k/Flickr8k.token.txt --out units.jsonl
    python benchmarks/studies/half_truth_doubts.py units.jsonl --images 500 \
        > benchmarks/results/half_truth_doubts.md
"""

import argparse
from collections import Counter
from pathlib import Path

from zoo.benchmarks.half_truth.rules import without_doubtful_foils
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("units", type=Path)
    parser.add_argument("--images", type=int, default=500, help="the first so many of the file")
    given = parser.parse_args()
    print(report(list(read_units(given.units).values()), given.images))


def report(records: list[UnitRecord], images: int) -> str:
    """Counts the foils of the first images.

    Args:
        records: a units file in its order.
        images: how many of its images are looked at.

    Returns:
        A page in Markdown.
    """
    first = set(list(dict.fromkeys(record.image_id for record in records))[:images])
    asked = [record for record in records if record.image_id in first]
    _, counted = without_doubtful_foils(asked)
    makers = Counter(", ".join(f"{k} {v}" for k, v in r.source.items()) for r in asked)
    lines = [
        f"Foils of {len(asked):,} captions of {len(first):,} images ({'; '.join(makers)}) that "
        "bring a word",
        "which another caption of the same image has: they may be true of it.",
        "",
        "| condition | foils | supported | % |",
        "|---|---|---|---|",
        *(
            f"| {name} | {n.n_foils:,} | {n.n_omitted:,} | {100 * n.n_omitted / n.n_foils:.1f} |"
            for name, n in counted.items()
        ),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
