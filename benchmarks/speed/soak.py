r"""Memory of every process of a long run: is it flat?

    python benchmarks/speed/start.py make --captions 600000 --data DATA_ROOT --out FOLDER
    python benchmarks/speed/soak.py --folder FOLDER --work_dir RUNS [--steps 10000] [--workers 2]

`zoo fit` trains zoo-tiny with CS-CLIP on a table of COCO's size, as many steps as asked for, and is
looked at from outside every few seconds: MiB of each of its processes that are its own (private)
and its share of all (PSS), by the kernel's `smaps_rollup`. The table has the mean of each tenth of
the steps. Flat is what grows by no more than noise from the second tenth to the last: the first one
fills caches. Written as soak.json, .md and .svg.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

from figures import draw_soak
from start import memory_of

from zoo.results.drawing import render_figure

RESULTS = Path(__file__).parents[1] / "results" / "soak"
EVERY = 5.0  # seconds
PARTS = 10
OVERLAY = {
    "model": {
        "backbone": {
            "class_path": "Backbone",
            "init_args": {"name": "zoo-tiny", "pretrained": None, "augmentation": None},
        },
        "optimizer": {"lr": 5e-4, "warmup_epochs": None, "warmup_share": 0.05},
    },
    "data": {"init_args": {"val": None, "expected_images": None}},
    "trainer": {"accelerator": "cpu", "precision": "32-true", "max_epochs": -1},
}


def main() -> None:
    """Trains, looks on, and writes what was seen."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--work_dir", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    looks = soak(chosen.folder, chosen.work_dir, chosen.steps, chosen.batch, chosen.workers)
    print(write(looks, vars(chosen), chosen.out))


def soak(folder: Path, work: Path, steps: int, batch: int, workers: int) -> list[dict[str, Any]]:
    """Returns what was seen: step, seconds, and the memory of each process by its name."""
    work.mkdir(parents=True, exist_ok=True)
    overlay, log = work / "soak.yaml", work / "version_soak" / "metrics.csv"
    overlay.write_text(json.dumps(OVERLAY))  # JSON is YAML
    command = [
        *(str(Path(sys.executable).with_name("zoo")), "fit", "--config", "cs_clip.yaml"),
        *("--config", str(overlay), "--data_root", str(folder)),
        *("--trainer.max_steps", str(steps), "--data.batch_size", str(batch)),
        *("--data.workers", str(workers), "--trainer.enable_progress_bar", "false"),
        *("--trainer.logger.save_dir", str(work.parent), "--trainer.logger.name", work.name),
        *("--trainer.logger.version", "version_soak"),
    ]
    looks, begun = [], time.time()
    with (work / "said.log").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            time.sleep(EVERY)
            step = last_step(log)
            if step is None:
                continue
            processes = {"main": process.pid}
            processes |= {f"worker {i}": pid for i, pid in enumerate(children(process.pid))}
            seen = {name: found for name, pid in processes.items() if (found := memory_at(pid))}
            if len(seen) > workers:  # once they end, what all shared is the main's own
                looks.append({"step": step, "seconds": time.time() - begun, "processes": seen})
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}: {work / 'said.log'} says why")
    return looks


def last_step(log: Path) -> int | None:
    """Returns the step that was logged last, None before the first."""
    if not log.exists():
        return None
    with log.open(newline="") as file:
        steps = [row["step"] for row in csv.DictReader(file) if row.get("step")]
    return int(steps[-1]) if steps else None


def children(pid: int) -> list[int]:
    """Returns the processes that a process started, in their order."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return sorted(map(int, found.stdout.split()))


def memory_at(pid: int) -> dict[str, float] | None:
    """Returns the memory of a process; None where it has ended or is no more than starting."""
    try:
        found = memory_of(pid)
    except (OSError, ValueError):
        return None
    return found if found.get("rss", 0) > 50 else None


def write(looks: list[dict[str, Any]], about: dict[str, Any], out: Path) -> str:
    """Writes data, table and picture, and returns the table."""
    out.with_suffix(".json").write_text(json.dumps({"looks": looks}) + "\n")
    names = list(dict.fromkeys(name for look in looks for name in look["processes"]))
    last = looks[-1]["step"]
    parts = [
        [look for look in looks if k * last < PARTS * look["step"] <= (k + 1) * last]
        for k in range(PARTS)
    ]
    head = ["steps", *(f"{name}, {what}" for name in names for what in ("private", "PSS"))]
    rows = [
        [
            f"{k * last // PARTS + 1:,} to {(k + 1) * last // PARTS:,}",
            *(
                f"{mean(found):.1f}" if (found := values(part, name, what)) else ""
                for name in names
                for what in ("private", "pss")
            ),
        ]
        for k, part in enumerate(parts)
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
    page = (
        "# Memory over a long run\n\n"
        f"`python benchmarks/speed/soak.py`: {about['steps']:,} steps of {about['batch']} "
        f"captions, {about['workers']} workers, {looks[-1]['seconds'] / 60:.0f} minutes. MiB, "
        f"means of {len(looks):,} looks.\n\n{table}\n"
    )
    out.with_suffix(".md").write_text(page)
    figure = draw_soak({"looks": looks})
    out.with_suffix(".svg").write_bytes(render_figure(figure, "svg"))
    return page


def values(part: list[dict[str, Any]], name: str, what: str) -> list[float]:
    """Returns what was seen of a process in some looks."""
    return [look["processes"][name][what] for look in part if name in look["processes"]]


if __name__ == "__main__":
    main()
