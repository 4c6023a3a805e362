"""What a draw of units gives with replacement and without, by caption.

    python benchmarks/studies/unit_draws.py UNITS.jsonl --of 'Flickr8k.token.txt, units by rule'

UNITS.jsonl: what `zoo units extract` writes. Prints the table and writes unit_draws.md.
"""

import argparse
from pathlib import Path
from random import Random

from zoo.units.sampler import UnitSampler

RESULTS = Path(__file__).parents[1] / "results" / "unit_draws.md"
HEADER = (
    "| | draw | relation | entity | nothing | with a foil | relations, of both draws | the unit "
    "of draw 1 again |"
)


def main() -> None:
    """Draws two units a caption, with p_rel 1, and counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("units")
    parser.add_argument("--of", default="its own", help="what the captions are of, in words")
    given = parser.parse_args()
    file = given.units
    lines = [row for replaced in (True, False) for row in rows(file, replaced)]
    table = "\n".join([HEADER, "|" + "---|" * HEADER.count(" | ") + "---|", *lines])
    n = len(UnitSampler(file).records())
    about = f"Two draws a caption, p_rel 1, {n:,} captions of {given.of}; per cent of captions."
    RESULTS.write_text(f"# Units drawn with replacement, and without\n\n{about}\n\n{table}\n")
    print(table)


def rows(file: str, with_replacement: bool) -> list[str]:
    """Returns a line of the table for each of the two draws."""
    sampler = UnitSampler(file, n_units=2, p_rel=1.0, with_replacement=with_replacement)
    records = sampler.records().values()
    counts = [dict.fromkeys(("relation", "entity", "nothing", "foil"), 0) for _ in range(2)]
    again = 0
    for record in records:
        relations = {relation.text for relation in record.relations}
        first, second = pairs = sampler.draw_units(record, Random(record.caption_id))
        again += first is not None and second is not None and first[0] == second[0]
        for count, pair in zip(counts, pairs, strict=True):
            kind = "entity" if pair and pair[0] not in relations else "relation"
            count[kind if pair else "nothing"] += 1
            count["foil"] += pair is not None and pair[1] is not None
    both = sum(count["relation"] for count in counts) / 2
    lines = []
    for k, count in enumerate(counts):
        shares = [count[name] for name in ("relation", "entity", "nothing", "foil")]
        last = ["", ""] if k == 0 else [both, again]
        cells = [x if x == "" else f"{100 * float(x) / len(records):.1f}" for x in [*shares, *last]]
        way = "with replacement" if with_replacement else "without"
        lines.append(f"| {way} | {k + 1} | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    main()
