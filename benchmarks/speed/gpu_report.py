r"""Writes what `gpu.py` measured: gpu.json, gpu.md, gpu.svg, and a table of docs/guides/scaling.md.

    python benchmarks/speed/gpu_report.py [--results FOLDER]

writes gpu.md and gpu.svg of the folder's gpu.json again, and the table of the page from
benchmarks/results/gpu.json.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from gpu_rows import SECTIONS
from matplotlib.figure import Figure

from zoo.results.drawing import INK, PAPER, STYLE, render_figure, run_styles
from zoo.support.files import write_bytes

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "guides" / "scaling.md"
BEGIN, END = "<!-- rows of gpu.json -->\n", "<!-- end of the rows -->\n"
SPEED, RATIO = "images per second", "ratio to its base"
INTRODUCTIONS = {
    "correctness": "Losses, gradients, weights and scores: differences from the CPU, from steps "
    "without a process group, or from an unbroken run, relative except for scores; a gradient is "
    "compared as one vector. Of several heads the worst value is shown. A check holds if all "
    "values are within the bounds.",
    "throughput": "Images per second of `zoo fit` with loading, transfer and logging, in bf16. "
    "Bare towers: forward, backward and update of the towers alone, on batches of the same run. "
    "The ratio of open_clip's trainer is to `zoo fit` of plain CLIP.",
    "switches": "Steps of the trainer on batches in memory, without loading, in bf16 unless the "
    "row says fp32, and in two text groups unless it says otherwise; rows of workers are of "
    "`zoo fit`. The ratio of images per second is to the "
    "first row, that of TF32 to fp32. On a GPU the row bf16 repeats the first one: it shows the "
    "noise.",
    "devices": "Each rank has as many images as one GPU has alone. Efficiency is the ratio of "
    "images per second to that of the base, divided by the ratio of ranks.",
}


@dataclass(frozen=True)
class Claim:
    """A statement of the page that rows prove on GPUs.

    Attributes:
        text: The statement.
        test: The test that proves it on CPUs.
        rows: Names of rows, or the beginning that several names share.
    """

    text: str
    test: str
    rows: tuple[str, ...] = ()

    def covers(self, row: str) -> bool:
        """Returns whether a row is one of them; a beginning ends with a space."""
        return any(row == name or (name[-1] == " " and row.startswith(name)) for name in self.rows)


SHARDING_TEST = "tests/training/test_sharding.py"
PAIRS_TEST, CLI_TEST = "tests/device/test_bf16.py", "tests/cli/test_two_processes_cli.py"
CLAIMS = (
    Claim("objectives and heads in fp32 and bf16", PAIRS_TEST, ("pairs ",)),
    Claim("`zoo fit` on one device", "tests/test_module.py", ("CS-CLIP", "CLIP", "TF-Local")),
    Claim("resuming a run", "tests/training/test_resume.py", ("resume",)),
    Claim("a checkpoint of a GPU, loaded on a CPU", "", ("checkpoint",)),
    Claim("NCCL with one process", "", ("one rank",)),
    Claim(
        "`ddp` on 2, 4 and 8 devices",
        "tests/test_two_processes.py",
        ("torchrun, 2", "torchrun, 4", "torchrun, 8"),
    ),
    Claim("`sharded`", SHARDING_TEST, ("torchrun, sharded, 2",)),
    Claim("a lost process", CLI_TEST, ("one rank killed, 2",)),
    Claim("`torchrun` with two nodes", "tests/training/test_torchrun.py"),
    Claim("signals and requeueing of SLURM", "tests/training/test_stopping.py"),
)


def main() -> None:
    """Writes the files of a folder and the table of the page again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    data = read(given.results / "gpu.json")
    if data is not None:
        write_bytes(given.results / "gpu.svg", render_figure(draw(data), "svg"))
        rows = data.pop("rows")
        write(data, rows, given.results)
    PAGE.write_text(with_table(PAGE.read_text(), read(RESULTS / "gpu.json")))


def read(path: Path) -> dict[str, Any] | None:
    """Returns the content of a gpu.json, None if there is no such file."""
    if not path.exists():
        return None
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def write(about: dict[str, Any], rows: list[dict[str, Any]], out: Path) -> None:
    """Writes gpu.json and gpu.md, each at once.

    Args:
        about: The machine, its versions and the command.
        rows: The results so far.
        out: The folder.
    """
    data = json.dumps(about | {"rows": rows}, indent=1) + "\n"
    write_bytes(out / "gpu.json", data.encode())
    write_bytes(out / "gpu.md", page(about, rows).encode())


def page(about: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """Returns gpu.md."""
    if about["dry run"]:
        title = "# A dry run of gpu.py on a CPU"
        note = (
            "**No number on this page is of a GPU.** The rows ran on a CPU with zoo-tiny in place "
            "of ViT-B/32 and ViT-L/14, batches of 8 where a row names 256, fp32 where it names no "
            "precision, processes in place of GPUs, and gloo in place of NCCL. They prove that the "
            "rows run. Their times are of few steps of tiny towers and say nothing."
        )
    else:
        title = "# Correctness, throughput and switches on a GPU"
        note = "Images and captions are synthetic, and weights are random."
    facts = [f"{key} {value}" for key, value in about.items() if value not in (None, "", False)]
    lines = [title, "", note, "", f"{'; '.join(facts)}.", ""]
    for section, heading in SECTIONS.items():
        chosen = [with_ratio(row, rows) for row in rows if row["section"] == section]
        if chosen:
            lines += [f"## {heading}", "", INTRODUCTIONS[section], "", *table(chosen), ""]
    return "\n".join(lines)


def with_ratio(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a row with its images per second as a ratio to those of its base."""
    ratio = ratio_to_base(row, rows)
    if ratio is None:
        return row
    values = row["values"] | {RATIO: round(ratio, 3)}
    base = next(other for other in rows if other["row"] == row["base"])
    if row["section"] == "switches" and not row["row"].startswith("workers"):  # the same batches
        off = row["values"]["last loss"] - base["values"]["last loss"]
        values["last loss less its base's"] = f"{off:+.0e}" if off else "0"
    if "ranks" in row["values"]:
        of_base = ratio * base["values"]["ranks"]
        values["efficiency"] = round(of_base / row["values"]["ranks"], 3)
    return row | {"values": values}


def ratio_to_base(row: dict[str, Any], rows: list[dict[str, Any]]) -> float | None:
    """Returns the ratio of images per second to those of the row's base, if both are there."""
    found = [other["values"].get(SPEED) for other in rows if other["row"] == row["base"]]
    speed = row["values"].get(SPEED)
    if not found or not found[0] or speed is None:
        return None
    ratio: float = speed / found[0]
    return ratio


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the lines of a table; a row that was not measured has its reason."""
    columns = list(dict.fromkeys(name for row in rows for name in row["values"]))
    lines = [
        "| " + " | ".join(["row", "status", *columns, "seconds"]) + " |",
        "|---|---|" + "---:|" * (len(columns) + 1),
    ]
    for row in rows:
        reason = " ".join(
            filter(None, [row["message"], f"({row['error']})" if row["error"] else ""])
        )
        status = row["status"] + (f": {reason}" if reason else "")
        cells = [row["title"], status, *(cell(row["values"].get(name)) for name in columns)]
        lines.append("| " + " | ".join([*map(escape, cells), cell(row["seconds"])]) + " |")
    return lines


def escape(text: str) -> str:
    """Returns a text that does not end a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def cell(value: Any) -> str:
    """Returns a value as a table shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def draw(data: dict[str, Any]) -> Figure:
    """Draws images per second of the switches as ratios to their base.

    Args:
        data: The content of gpu.json.
    """
    rows = data["rows"]
    switches = [row for row in rows if row["section"] == "switches"]
    ratios = {row["title"]: ratio_to_base(row, rows) for row in switches}
    bars = {title: ratio for title, ratio in ratios.items() if ratio is not None}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 1 + 0.28 * len(bars)), layout="constrained")
        axes = figure.add_subplot()
        colour, _ = run_styles(["CS-CLIP"])["CS-CLIP"]
        axes.barh([title.replace("`", "") for title in bars], list(bars.values()), color=colour)
        axes.axvline(1, color=INK, linewidth=0.8, zorder=0)
        axes.invert_yaxis()
        for i, ratio in enumerate(bars.values()):
            is_inside = ratio > 0.2
            axes.annotate(
                f"{ratio:.2f}",
                (ratio, i),
                (-4 if is_inside else 4, 0),
                textcoords="offset points",
                color=PAPER if is_inside else INK,
                ha="right" if is_inside else "left",
                va="center",
            )
        axes.set_xlabel("images per second, ratio to the base row")
        where = "a dry run on a CPU: not a result" if data["dry run"] else data["device"]
        axes.set_title(f"Switches, CS-CLIP ({where})", loc="left", fontsize=9)
    return figure


def device_table(results: dict[str, Any] | None) -> str:
    """Returns the table of the page: what ran on GPUs, by a gpu.json that is not of a dry run.

    Args:
        results: The content of gpu.json; None if there is none.
    """
    if results is not None and (results["dry run"] or results["device type"] != "cuda"):
        results = None
    rows = [] if results is None else results["rows"]
    lines = ["|check|test on CPUs|on GPUs|", "|---|---|---|"]
    for claim in CLAIMS:
        chosen = [row for row in rows if claim.covers(row["row"])]
        cells = [
            claim.text,
            f"`{claim.test}`" if claim.test else "",
            outcome(results, chosen),
        ]
        lines.append(f"|{'|'.join(cells)}|")
    return "\n".join(lines) + "\n"


def outcome(results: dict[str, Any] | None, rows: list[dict[str, Any]]) -> str:
    """Returns what a cell of the page says of some rows."""
    measured = [row for row in rows if row["status"] == "measured"]
    failed = [row for row in rows if row["status"] in ("failed", "ended")]
    wrong = [row for row in measured if row["values"].get("holds") is False]
    if results is None or not (measured or failed):
        return "not run"
    parts = [f"{len(measured) - len(wrong)} of {len(rows)} passed"]
    parts += [f"does not hold: {row['row']}" for row in wrong]
    parts += [f"failed: {row['row']}" for row in failed]
    return f"{'; '.join(parts)} ({results['device']})"


def with_table(text: str, results: dict[str, Any] | None) -> str:
    """Returns the text of the page with its table made again."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{device_table(results)}{END}{after}"


if __name__ == "__main__":
    main()
