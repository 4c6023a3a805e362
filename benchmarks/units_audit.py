"""Counts the sheets of rule-made units that were judged by hand, and writes the shares beside them: `python benchmarks/units_audit.py`.

Each sheet is a draw of `zoo units audit` on Flickr8k's captions: `before` from the rules as they were first, `after` from those that
stand, under a seed that no rule was mended by; `_swaps` are argument swaps alone. Three small mends came after the draw ("does a trick",
"a sled", "ribbon in her hair"), so `after` is a version that had them still wrong.
"""

from pathlib import Path

from zoo.evaluation.statistics import wilson
from zoo.units.audit import read_sheet, shares

RESULTS = Path(__file__).parent / "results"
SHEETS = {
    "units_audit_before.csv": "before",
    "units_audit_after.csv": "after",
    "units_audit_before_swaps.csv": "before, swaps alone",
    "units_audit_after_swaps.csv": "after, swaps alone",
}


def table() -> str:
    """Returns the shares of all sheets as a Markdown table."""
    lines = [
        "| rules | verdict | of | count | share | 95 % (Wilson) |",
        "|---|---|---|---|---|---|",
    ]
    for name, rules in SHEETS.items():
        for share in shares(read_sheet(RESULTS / name)):
            low, high = wilson(share.count, share.n)
            lines.append(
                f"| {rules} | {share.verdict} | {share.n} {share.of} | {share.count} "
                f"| {share.count / share.n:.1%} | {low:.1%} to {high:.1%} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (RESULTS / "units_audit.md").write_text(table(), encoding="utf-8")
