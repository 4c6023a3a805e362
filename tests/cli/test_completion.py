"""Tab completion: a script that the shell takes, with what can be typed in it."""

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from zoo.cli import completion, main
from zoo.cli.registry import COMMANDS


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    printed = tmp_path_factory.mktemp("completion") / "zoo.bash"
    with printed.open("w") as out, contextlib.redirect_stdout(out):
        assert main(["--print_completion", "bash"]) == 0
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
    assert set(completed(script, "zoo", "")) >= {*COMMANDS}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("zoo", "fit", "--obj"), ["--objective"]),
        (("zoo", "validate", "--bench"), ["--benchmarks"]),
        (
            ("zoo", "fit", "--model.optimizer.weight"),
            ["--model.optimizer.weight_decay", "--model.optimizer.weight_decay_on"],
        ),
        (("zoo", "fit", "--model.seed"), ["--model.seed"]),
        (("zoo", "fit", "--model.backbone.tuning.to"), ["--model.backbone.tuning.towers"]),
        (("zoo", "fit", "--data.batch"), ["--data.batch_size"]),
        (("zoo", "validate", "--data.short"), ["--data.shortlist"]),
        (("zoo", "fit", "--data.short"), []),
        (("zoo", "validate", "--presets", "stri"), ["strict"]),
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


def test_zsh_takes_the_script_and_is_offered_recipes_names_and_settings() -> None:
    text = completion.completion_script("zsh")
    assert text.startswith("#compdef zoo\n")
    assert re.search(
        r"^_zoo_recipes\(\) \{ compadd -- .*tiny_from_scratch\.yaml.*_files", text, re.M
    )
    assert re.search(r'"--config\[.*\]:config:_zoo_recipes"', text)
    assert re.search(r'"--objective\[.*\]:objective:\(.*CSCLIP.*\)"', text)
    assert '"--data.batch_size[' in text
    zsh = shutil.which("zsh")
    if zsh is not None:
        subprocess.run([zsh, "-f", "-n"], input=text, text=True, check=True)
