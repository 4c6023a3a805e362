"""The exit codes of commands are those of the table in docs/guides/exit_codes.md."""

import os
import re
import signal
from pathlib import Path

import pytest

from zoo.cli import commands, main
from zoo.errors import Stopped, ZooError

PAGE = Path(__file__).parents[2] / "docs/guides/exit_codes.md"


def run_command_that_raises(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns the exit code of a command that ends with an exception."""

    def fail(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr(commands, "dispatch", fail)
    return main(["ls"])


def test_the_table_has_the_codes_that_these_tests_check() -> None:
    codes = re.findall(r"^\|([^|]*\d[^|]*)\|", PAGE.read_text(), re.M)
    assert codes == ["0", "1", "1", "1", "2", "130", "128 + N"]


def test_a_command_that_did_its_work_ends_with_0(tmp_path: Path) -> None:
    assert main(["--version"]) == 0
    assert main(["--help"]) == 0
    assert main(["doctor", "--benchmarks", "sugarcrepe", "--data_root", str(tmp_path)]) == 0


@pytest.mark.parametrize("error", [ZooError("no"), OSError(28, "No space left", "a.pt")])
def test_a_failure_ends_with_1_and_a_line_on_stderr(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command_that_raises(error, monkeypatch) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("zoo: ")


def test_what_require_asks_for_and_a_broken_file_end_with_1(tmp_path: Path) -> None:
    words = ["--benchmarks", "sugarcrepe:swap_obj", "--data_root", str(tmp_path)]
    assert main(["doctor", *words, "--require"]) == 1
    validate = ["validate", *words, "--model.backbone.name", "zoo-tiny", "--quiet"]
    assert main([*validate, "--require", "--out", str(tmp_path / "out")]) == 1
    (tmp_path / "sugarcrepe").mkdir()
    (tmp_path / "sugarcrepe/swap_obj.json").write_text("{")
    assert main(["doctor", *words]) == 1


@pytest.mark.parametrize("words", [["no_such_command"], ["ls", "--no_such_flag"], ["fit", "--x=1"]])
def test_wrong_arguments_end_with_2(words: list[str]) -> None:
    try:
        code = main(words)
    except SystemExit as stop:  # of argparse
        code = int(stop.code or 0)
    assert code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (Stopped(signal.SIGTERM), 143),
        (Stopped(signal.SIGUSR1), 128 + signal.SIGUSR1),
    ],
)
def test_a_signal_ends_with_128_and_its_number(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_command_that_raises(error, monkeypatch) == code


def test_a_signal_of_the_system_is_one_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    def receive_signal(argv: list[str]) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
        return 0

    monkeypatch.setattr(commands, "dispatch", receive_signal)
    assert main(["ls"]) == 143
