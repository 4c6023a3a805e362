"""Counts the sheets of rule-made units that were judged by hand, and writes the shares beside them.

    python benchmarks/studies/units_audit.py

`before` is a draw from the rules as they were first, `after` one from those that stand, under a
seed that no rule was mended by; `_swaps` are argument swaps alone.
"""

import argparse
from pathlib import Path

from zoo.results.statistics import wilson
from zoo.units.audit import read_sheet, verdict_shares

RESULTS = Path(__file__).parents[1] / "results"
SHEETS = {
    "units_audit_before.csv": "before",
    "units_audit_after.csv": "after",
    "units_audit_before_swaps.csv": "before, swaps alone",
    "units_audit_after_swaps.csv": "after, swaps alone",
}
HEADER = """# Rule-made units, judged by hand

`zoo units extract Flickr8k.token.txt --out units.jsonl`, then
`zoo units audit units.jsonl --n 200 --seed 27182` and, for swaps,
`--n 100 --seed 27182 --edit argument_swap`: the sheets "after". Sheets drawn in between, of seeds
20261, 4711, 90210, 31415, 5551, 777, 778 and 60221, are not among these: rules were mended by them.
Who mended the rules judged as well. What was doubtful counts as wrong.

| rules | captions | with a unit | with a relation | with a unit that has a foil |
|---|---|---|---|---|
| before | 26,000 | 25,979 | 23,299 | 25,819 |
| after | 26,000 | 25,984 | 23,341 | 25,830 |

"""


def table() -> str:
    """Returns the page: how the sheets came about, and the shares of all of them."""
    lines = [
        "| rules | verdict | of | count | share | 95 % (Wilson) |",
        "|---|---|---|---|---|---|",
    ]
    for name, rules in SHEETS.items():
        for share in verdict_shares(read_sheet(RESULTS / name)):
            low, high = wilson(share.count, share.n)
            lines.append(
                f"| {rules} | {share.verdict} | {share.n} {share.group} | {share.count} "
                f"| {share.count / share.n:.1%} | {low:.1%} to {high:.1%} |"
            )
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    (RESULTS / "units_audit.md").write_text(table(), encoding="utf-8")
