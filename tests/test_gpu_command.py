"""benchmarks/speed/gpu.py writes every row that can be measured, whatever happens to the others."""

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "scaling.md"
FAULTS = "tests.support.gpu_faults"
KINDS = {
    "fail": ("failed", "an error of type RuntimeError", "RuntimeError: device-side assert"),
    "exit_at_once": ("failed", "its process ended with status 3", "the last words"),
    "kill_itself": ("failed", "its process was ended by SIGKILL", ""),
    "segfault": ("failed", "its process was ended by SIGSEGV", ""),
    "hang": ("ended", "ended after 1 s, its deadline", ""),
}


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "speed"))


def module(name: str) -> Any:
    """Returns a module of benchmarks/speed."""
    return importlib.import_module(name)


def row(name: str, function: str, limit_s: float = 60, **arguments: Any) -> Any:
    return module("gpu_rows").Row(
        name, "throughput", name, f"{FAULTS}:{function}", arguments, limit_s
    )


def run(rows: list[Any], folder: Path, limit_s: float = 300) -> list[dict[str, Any]]:
    """Runs rows in a dry run, and makes sure that gpu.json has what is returned."""
    setting = module("gpu_rows").Setting.for_dry_run(folder / "work")
    results = module("gpu").run(rows, setting, folder, limit_s)
    assert json.loads((folder / "gpu.json").read_text())["rows"] == results
    return results


def test_a_row_that_fails_hangs_or_crashes_leaves_those_before_and_after_it(tmp_path: Path) -> None:
    rows = []
    for i, kind in enumerate(KINDS):
        rows += [row(f"good {i}", "measure", out=str(tmp_path)), row(kind, kind, limit_s=60)]
    rows[-1] = replace(rows[-1], limit_s=1)  # the one that hangs
    rows.append(row("last", "measure", out=str(tmp_path)))
    results = {result["row"]: result for result in run(rows, tmp_path)}
    for i, name in enumerate([*(f"good {i}" for i in range(len(KINDS))), "last"]):
        assert results[name]["status"] == "measured"
        assert results[name]["values"] == {"rows before": 2 * i}  # written before this one began
    for kind, (status, message, error) in KINDS.items():
        assert results[kind]["status"] == status
        assert message in results[kind]["message"]
        assert error in results[kind]["error"]
    page = (tmp_path / "gpu.md").read_text()
    assert "| hang | ended: ended after 1 s, its deadline |" in page


@pytest.mark.slow
def test_a_fault_in_any_row_of_the_plan_leaves_all_others(tmp_path: Path) -> None:
    kinds = ["fail", "exit_at_once", "kill_itself"]
    plan = module("gpu_rows").plan()
    assert len({each.name for each in plan}) == len(plan)
    for planted in (0, 1):
        rows = [
            replace(
                each,
                function=f"{FAULTS}:{kinds[i % 3] if i % 2 == planted else 'measure'}",
                arguments={},
            )
            for i, each in enumerate(plan)
        ]
        statuses = [result["status"] for result in run(rows, tmp_path)]
        assert statuses == ["failed" if i % 2 == planted else "measured" for i in range(len(plan))]


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_hanging_row_started_is_ended_with_it(tmp_path: Path) -> None:
    file = tmp_path / "child"
    run([row("hangs", "hang_with_a_child", limit_s=2, file=str(file))], tmp_path)
    child = int(file.read_text())
    wait_until(lambda: not is_running(child))


@pytest.mark.slow
def test_a_row_ends_when_the_command_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; import gpu, gpu_rows; place = Path(sys.argv[1]);"
        f"row = gpu_rows.Row('hangs', 'throughput', '', '{FAULTS}:write_pid_and_hang',"
        " {'file': sys.argv[2]}, 600);"
        "gpu.run([row], gpu_rows.Setting.for_dry_run(place), place, 600)"
    )
    file, paths = tmp_path / "row", [str(ROOT), str(ROOT / "benchmarks" / "speed")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(file)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    process.kill()
    process.wait()
    wait_until(lambda: not is_running(int(file.read_text())))


@pytest.mark.slow
def test_the_clock_ends_the_running_row_and_begins_none_after_it(tmp_path: Path) -> None:
    run([row("starts the server of processes", "measure")], tmp_path)
    began = time.monotonic()
    rows = [row("long", "hang", limit_s=500), row("next", "measure"), row("last", "measure")]
    results = run(rows, tmp_path, limit_s=6)
    assert time.monotonic() - began < 20
    assert results[0]["status"] == "ended"
    assert results[0]["message"].endswith("the end of all rows")
    for result in results[1:]:
        assert (result["status"], result["message"]) == ("not begun", "time was over")


@pytest.mark.slow
def test_a_dry_run_measures_and_says_that_its_numbers_are_of_a_cpu(tmp_path: Path) -> None:
    gpu = module("gpu")
    chosen = ["pairs CLIP", "base", "channels", "no row has this name"]
    assert gpu.main(["--dry_run", "--out", str(tmp_path), "--only", *chosen]) == 0
    data = json.loads((tmp_path / "gpu.json").read_text())
    assert (data["dry run"], data["device type"], data["GPUs"]) == (True, "cpu", 0)
    rows = {each["row"]: each for each in data["rows"]}
    assert list(rows) == ["pairs CLIP", "base", "channels_last"]
    assert rows["pairs CLIP"]["values"]["heads"] == 7
    assert rows["pairs CLIP"]["values"]["holds"] is True
    assert rows["base"]["values"]["images per second"] > 0
    page = (tmp_path / "gpu.md").read_text()
    assert "**No number on this page is of a GPU.**" in page
    assert "| channels_last | measured |" in page
    assert "<svg" in (tmp_path / "gpu.svg").read_text()
    with pytest.raises(SystemExit):  # without a folder it would lie among results
        gpu.main(["--dry_run"])


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_command_says_so_and_writes_no_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module("gpu").main(["--out", str(tmp_path)]) == 2
    assert "the device cannot be used" in capsys.readouterr().out
    assert not (tmp_path / "gpu.json").exists()


@pytest.mark.slow
def test_every_row_of_a_dry_run_is_measured_or_needs_what_this_machine_lacks(
    tmp_path: Path,
) -> None:
    assert module("gpu").main(["--dry_run", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "gpu.json").read_text())["rows"]
    assert len(rows) == len(module("gpu_rows").plan())
    reasons = {each["row"]: each["message"] for each in rows if each["status"] != "measured"}
    assert all(each["status"] in ("measured", "not run") for each in rows)
    assert reasons.pop("attention: memory-efficient") == "torch has no such kernel for these inputs"
    assert set(reasons.values()) <= {
        "needs 4 GPUs",
        "needs 8 GPUs",
        "a mode of inductor needs a GPU",
    }
    killed = next(each["values"] for each in rows if each["row"] == "one rank killed, 2")
    assert killed["alive after 45 s"] == 0
    assert killed["last line of the others"].startswith("zoo: process 0 of 2 ends")


def test_a_wrong_gradient_on_the_device_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    correctness = module("gpu_correctness")
    setting = module("gpu_rows").Setting.for_dry_run(tmp_path)
    plain, calls = correctness.step, []

    def wrong(*arguments: Any, **named: Any) -> Any:
        loss, gradient = plain(*arguments, **named)
        calls.append(named)
        if len(calls) % 3 == 2:  # CPU, device, device in bf16
            gradient = gradient * 1.01
        return loss, gradient

    monkeypatch.setattr(correctness, "step", wrong)
    few = correctness.heads()[:2]
    monkeypatch.setattr(correctness, "heads", lambda: few)
    values = correctness.every_head(setting, "zoo.objectives.CLIP")
    assert values["holds"] is False
    assert values["fp32 gradient"] == pytest.approx(0.01, rel=1e-3)
    assert len(values["beyond them"].split("; ")) == values["heads"] == 2


def test_a_loss_that_is_not_a_number_or_missing_does_not_hold() -> None:
    correctness = module("gpu_correctness")
    right = {"fp32 loss": 0.0, "fp32 gradient": 0.0, "bf16 loss": 0.0, "bf16 cosine": 1.0}
    assert correctness.is_within_bounds(right, "Cosine")
    for change in ({"fp32 loss": 2e-4}, {"bf16 loss": 1e-2}, {"bf16 cosine": 0.95}):
        assert not correctness.is_within_bounds(right | change, "Cosine")
    assert correctness.is_within_bounds(right | {"bf16 cosine": 0.95}, "MaxSim")
    nan = torch.tensor([float("nan")])
    assert correctness.relative_difference(nan, torch.ones(1)) == float("inf")
    assert correctness.largest_difference({1: 2.0}, {1: 2.0, 2: 1.0}) == float("inf")
    assert correctness.largest_difference({1: 2.0, 2: 1.1}, {1: 2.0, 2: 1.0}) == pytest.approx(0.1)


def result(name: str, status: str = "measured", **values: Any) -> dict[str, Any]:
    named = {"row": name, "section": "devices", "title": name, "base": None}
    return named | {
        "status": status,
        "message": "",
        "error": "",
        "values": values,
        "seconds": 1.0,
    }


def test_efficiency_is_the_speed_per_rank_against_the_base() -> None:
    report = module("gpu_report")
    one = result("torchrun, 1", **{"ranks": 1, "images per second": 1000.0})
    four = result("torchrun, 4", **{"ranks": 4, "images per second": 3000.0})
    four["base"] = "torchrun, 1"
    values = report.with_ratio(four, [one, four])["values"]
    assert (values["ratio to its base"], values["efficiency"]) == (3.0, 0.75)


def test_the_table_of_the_page_is_that_of_the_committed_results() -> None:
    report = module("gpu_report")
    text = PAGE.read_text()
    assert report.BEGIN in text
    assert text == report.with_table(text, report.read(report.RESULTS / "gpu.json"))


def test_only_results_of_a_gpu_fill_the_table_of_the_page() -> None:
    report = module("gpu_report")
    rows = [
        result("pairs CLIP", holds=True),
        result("pairs SigLIP", holds=False),
        result("resume", "failed"),
        result("one rank", "not run"),
        result("torchrun, 2", **{"ranks": 2, "images per second": 1.0}),
    ]
    about = {"dry run": False, "device type": "cuda", "device": "NVIDIA H100", "rows": rows}

    def outcomes(results: dict[str, Any] | None) -> dict[str, str]:
        lines = report.device_table(results).splitlines()[2:]
        rows = (line.removeprefix("|").removesuffix("|").split("|") for line in lines)
        return {what: outcome for what, _, outcome in rows}

    found = outcomes(about)
    pairs = "objectives and heads in fp32 and bf16"
    assert found[pairs] == "1 of 2 passed; does not hold: pairs SigLIP (NVIDIA H100)"
    assert found["resuming a run"] == "0 of 1 passed; failed: resume (NVIDIA H100)"
    assert found["NCCL with one process"] == "not run"
    assert found["`torchrun` with two nodes"] == "not run"
    assert found["`ddp` on 2, 4 and 8 devices"] == "1 of 1 passed (NVIDIA H100)"
    for other in (None, about | {"dry run": True}, about | {"device type": "cpu"}):
        assert set(outcomes(other).values()) == {"not run"}


def test_every_row_that_the_page_names_is_one_of_the_plan() -> None:
    names = [each.name for each in module("gpu_rows").plan()]
    for claim in module("gpu_report").CLAIMS:
        for name in claim.rows:
            assert any(replace(claim, rows=(name,)).covers(each) for each in names), name
        assert claim.test == "" or (ROOT / claim.test).is_file()


def wheel(folder: Path, name: str) -> None:
    """Writes an empty wheel."""
    stem = f"{name}-99.0"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 99.0\n"
        archive.writestr(f"{stem}.dist-info/METADATA", metadata)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{stem}.dist-info/WHEEL", tags)
        archive.writestr(f"{stem}.dist-info/RECORD", "")


def requirements(package: str, seen: set[str]) -> set[str]:
    """Returns the packages that a package requires, and those that they require."""
    for line in requires(package) or []:
        requirement = Requirement(line)
        name = re.sub(r"[-_.]+", "_", requirement.name).lower()
        needed = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", "signatures", "http")
        )
        if needed and name not in seen:
            seen.add(name)
            requirements(requirement.name, seen)
    return seen


@pytest.mark.slow
def test_wheels_are_carried_to_a_machine_without_a_network_as_the_page_says(
    tmp_path: Path,
) -> None:
    """The index is a folder of empty wheels, and what zoo requires is not installed again."""
    (block,) = (b for b in re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.S) if "pip " in b)
    commands = [
        shlex.split(line) for line in block.replace("\\\n", " ").splitlines() if line[:1] != "#"
    ]
    assert [words[:2] for words in commands] == [
        ["pip", "wheel"],
        ["pip", "download"],
        ["pip", "install"],
    ]
    index, target = tmp_path / "index", tmp_path / "installed"
    index.mkdir()
    packages = [word for word in commands[1][2:] if "-" not in word and word != "wheels"]
    usual = {"open_clip_torch", "ftfy", "wcwidth", "jsonargparse", "docstring_parser", "msgspec"}
    assert usual <= set(packages) <= requirements("clip-zoo", set())
    for package in packages:
        wheel(index, package)
    environment = os.environ | {
        "PIP_FIND_LINKS": str(index),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_DEPS": "1",
        "PIP_TARGET": str(target),
    }
    for words in commands:
        words = [str(ROOT) if word == "." else word for word in words]
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    names = {path.name.partition("-")[0] for path in (tmp_path / "wheels").iterdir()}
    assert names == {"clip_zoo", *packages}
    assert (target / "zoo" / "configs" / "cs_clip.yaml").is_file()
