"""Tab completion: a script that the shell takes, with what can be typed in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli import main
from zoo.cli.commands import COMMANDS, LIGHTNING


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    printed = tmp_path_factory.mktemp("completion") / "zoo.bash"
    with printed.open("w") as out:
        code = "import sys; from zoo.cli import main; sys.exit(main(sys.argv[1:]))"
        subprocess.run(
            [sys.executable, "-c", code, "--print_completion", "bash"], stdout=out, check=True
        )
    return printed


def completed(script: Path, *words: str) -> list[str]:
    """Returns what bash offers for the last word."""
    typed = " ".join(f"'{word}'" for word in words)
    code = (
        f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; "
        f"_shtab_zoo {words[0]} '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    ran = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_the_script_is_bash_and_holds_every_command(script: Path) -> None:
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert set(completed(script, "zoo", "")) >= {*LIGHTNING, *COMMANDS}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("zoo", "fit", "--obj"), ["--objective"]),
        (("zoo", "validate", "--bench"), ["--benchmarks"]),
        (("zoo", "fit", "--model.optimizer.weight"), ["--model.optimizer.weight_decay"]),
        (("zoo", "fit", "--objective", "CSC"), ["CSCLIP"]),
        (("zoo", "fit", "--config", "tiny_from"), ["tiny_from_scratch.yaml"]),
        (("zoo", "units", "ext"), ["extract"]),
        (("zoo", "merge", "--alp"), ["--alphas"]),
    ],
)
def test_bash_completes_commands_flags_and_names(
    script: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    assert completed(script, *words) == offered


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print_completion", "cmd"]) == 1
    assert "name the shell, as in `zoo --print_completion bash`" in capsys.readouterr().err
