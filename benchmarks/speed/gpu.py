r"""Everything that a machine with GPUs has to prove, in one command, in less than ten minutes.

    python benchmarks/speed/gpu.py [--out FOLDER] [--only PART ...]
    python benchmarks/speed/gpu.py --dry_run --out FOLDER    # on a CPU: proves that the rows run

The rows are, in this order: correctness, throughput and memory of `zoo fit`, what each switch
changes, and several GPUs. Each row runs in a separate process, which ends at the row's deadline,
and is written to gpu.json and gpu.md as soon as it is measured. A row that fails, hangs or crashes
its process is written with its error, and the next one runs. No row begins after `--limit_s`. What
the rows print is in gpu.log, and gpu.svg draws the switches. `--only` takes parts of the names of
rows. The exit status is 1 if a row failed or a check does not hold.
"""

import argparse
import contextlib
import multiprocessing
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import gpu_report
from gpu_rows import Row, Setting, machine_row, plan, run_row

from zoo.results.drawing import render_figure
from zoo.support.files import write_bytes

RESULTS = Path(__file__).parents[1] / "results"
LIMIT_S = 540.0
EXIT_S = 10.0  # until a process ends that has sent its result
PRELOADED = ["zoo.cli.fit", "zoo.training", "open_clip", "textblob"]
FAILURES = ("failed", "ended")
Result = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the rows and writes gpu.json, gpu.md, gpu.svg and gpu.log."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dry_run", action="store_true", help="on a CPU, with tiny towers")
    parser.add_argument("--limit_s", type=float, default=LIMIT_S, help="seconds in all")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of rows")
    parser.add_argument("--out", type=Path, help="the folder of the files; benchmarks/results")
    given = parser.parse_args(argv)
    if given.dry_run and given.out is None:
        parser.error("--dry_run needs --out: its numbers are not results of a GPU")
    rows = [row for row in plan() if any(part in row.name for part in given.only)]
    if not rows:
        parser.error(f"--only {' '.join(given.only)}: no row has such a name")
    command = shlex.join(
        ["python", "benchmarks/speed/gpu.py", *(sys.argv[1:] if argv is None else argv)]
    )
    with tempfile.TemporaryDirectory(prefix="gpu-") as folder:
        place = Path(folder)
        setting = Setting.for_dry_run(place) if given.dry_run else Setting("cuda", place)
        results = run(rows, setting, given.out or RESULTS, given.limit_s, command)
    if not results:
        return 2
    bad = [r for r in results if r["status"] in FAILURES or r["values"].get("holds") is False]
    for result in bad:
        reason = result["message"] or "the check does not hold"
        print(f"{result['row']}: {reason} {result['error']}")
    return 1 if bad else 0


def run(
    rows: Sequence[Row], setting: Setting, out: Path, limit_s: float, command: str = ""
) -> list[Result]:
    """Runs rows one after another and writes each as soon as it is known.

    Args:
        rows: The rows.
        setting: What they share.
        out: The folder of the files.
        limit_s: Seconds in all, after which no row begins and a running one is ended.
        command: The command that the files name.

    Returns:
        The results, none where the device cannot be used.
    """
    began = time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    log = out / "gpu.log"
    log.unlink(missing_ok=True)
    # the libraries are imported once; if CUDA does not work in forked processes, in each of them
    for method in ("forkserver", "spawn"):
        machine = run_in_process(machine_row(), setting, log, method, limit_s)
        if machine["status"] == "measured":
            break
    else:
        print(f"the device cannot be used: {machine['message']} {machine['error']}")
        return []
    setting = replace(
        setting, devices=setting.devices if setting.dry_run else machine["values"]["GPUs"]
    )
    about = {"command": command, "dry run": setting.dry_run, "device type": setting.device}
    about |= machine["values"]
    results: list[Result] = []
    for row in rows:
        left = limit_s - (time.monotonic() - began)
        if left <= 0:
            result = result_without_values("not begun", "time was over")
        else:
            print(f"{row.name} ...", flush=True)
            result = run_in_process(row, setting, log, method, left)
        named = {"row": row.name, "section": row.section, "title": row.title, "base": row.base}
        results.append(named | result)
        about["seconds in all"] = round(time.monotonic() - began)
        gpu_report.write(about, results, out)
        print(f"  {result['status']}: {result['message'] or result['values']}", flush=True)
    figure = gpu_report.draw(about | {"rows": results})
    write_bytes(out / "gpu.svg", render_figure(figure, "svg"))
    return results


def run_in_process(row: Row, setting: Setting, log: Path, method: str, left: float) -> Result:
    """Runs a row in a separate process, and ends that with all processes that it started.

    Args:
        row: The row.
        setting: What all rows share.
        log: The file that its process prints to.
        method: How the process is started.
        left: Seconds until all rows have to be done.

    Returns:
        Status, message, error, values and seconds of the row.
    """
    began = time.monotonic()
    with log.open("a") as file:
        file.write(f"\n== {row.name}\n")
    start_method = multiprocessing.get_all_start_methods()[0]  # torch's loaders take the default
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=run_row, args=(row, setting, log, start_method, sender))
    process.start()
    sender.close()
    limit = min(row.limit_s, left)
    try:
        ready = wait([receiver, process.sentinel], timeout=limit)
        result = receive_result(receiver)
        if ready:
            process.join(EXIT_S)
        if result is not None:
            return result
        seconds = round(time.monotonic() - began, 1)
        if not ready:
            reason = "its deadline" if row.limit_s <= left else "the end of all rows"
            return result_without_values(
                "ended", f"ended after {limit:,.0f} s, {reason}", last_line(log), seconds
            )
        return result_without_values(
            "failed", exit_message(process.exitcode), last_line(log), seconds
        )
    finally:
        if process.exitcode is None:
            end_tree(process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # what outlived it
        process.join()
        receiver.close()


def receive_result(receiver: Any) -> Result | None:
    """Returns what a process sent, or None if it sent nothing."""
    with contextlib.suppress(EOFError):
        if receiver.poll():
            result: Result = receiver.recv()
            return result
    return None


def result_without_values(
    status: str, message: str, error: str = "", seconds: float = 0.0
) -> Result:
    """Returns the result of a row without values."""
    values: dict[str, Any] = {}
    return {"status": status, "message": message, "error": error, "values": values} | {
        "seconds": seconds
    }


def exit_message(status: int | None) -> str:
    """Returns how a process ended, by its exit status, None while it has not."""
    if status is None:
        return "its process closed its connection and did not end"
    if status >= 0:
        return f"its process ended with status {status}"
    return f"its process was ended by {signal.Signals(-status).name}"


def last_line(log: Path) -> str:
    """Returns the last line that the process of the last row printed."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "" if lines[-1].startswith("== ") else lines[-1][-300:]


def end_tree(pid: int) -> None:
    """Kills a process and its descendants, which may be in other process groups."""
    for each in [*descendants(pid), pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def descendants(pid: int) -> Iterator[int]:
    """Yields the processes that a process started, and those that they started, on Linux."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, tasks.read_text().split()):
                yield from descendants(child)
                yield child


if __name__ == "__main__":
    raise SystemExit(main())
