"""Scripts of measurements and studies start on the code that stands."""

import argparse
import re
import runpy
import shlex
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(p for p in BENCHMARKS.glob("*/*.py") if "__main__" in p.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_tells_its_arguments(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr("sys.argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out


class _Parsed(Exception):
    """Ends a script as soon as its arguments are parsed."""


def _page_commands() -> list[str]:
    root = BENCHMARKS.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]
    text = "\n".join(page.read_text() for page in pages).replace("\\\n", " ")
    return sorted(set(re.findall(r"^python (benchmarks/\S+\.py.*)$", text, re.M)))


@pytest.mark.parametrize("command", _page_commands())
def test_a_script_understands_the_command_of_a_page(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, *arguments = shlex.split(command)
    path = BENCHMARKS.parent / script
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser: argparse.ArgumentParser) -> None:
        parse(parser, arguments)
        raise _Parsed

    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    with pytest.raises(_Parsed):
        runpy.run_path(str(path), run_name="__main__")
