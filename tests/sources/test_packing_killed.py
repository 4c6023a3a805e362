"""A command that packs is killed at each change that it makes of the file system."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.support.mistakes import contents, said
from zoo.cli import main
from zoo.errors import ZooError
from zoo.sources.readers.guess import guess_reader

MOVES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}


def _changes(event: str, given: tuple[object, ...]) -> bool:
    """Returns whether Python is about to change the file system."""
    if event == "open":
        flags = given[2]
        return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in MOVES


def _killed(command: list[str], at: int) -> None:
    changes = count()

    def hear(event: str, given: tuple[object, ...]) -> None:
        if _changes(event, given) and next(changes) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    os._exit(main(command))


def kills(command: list[str]) -> Iterator[None]:
    """Runs a command again and again, killed one change later each time, until one is done."""
    for at in count():
        process = get_context("fork").Process(target=_killed, args=(command, at))
        process.start()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            assert process.exitcode == 0
            return
        yield


@pytest.mark.slow
@pytest.mark.parametrize("before", ["nothing", "other shards"])
def test_whenever_packing_is_killed_shards_are_whole_or_absent_and_then_made_as_ever(
    before: str, made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, old, new = tmp_path / "shards", tmp_path / "old", tmp_path / "new"
    captions, units = str(made_root / "captions.tsv"), str(made_root / "units.jsonl")
    command = ["data", "pack", captions, "--units", units, "--workers", "0", "--overwrite"]
    assert said([*command, "--per_shard", "7", "--out", str(old)]).status == 0
    command += ["--per_shard", "5", "--out"]
    assert said([*command, str(new)]).status == 0
    times = 0
    folder.mkdir()
    if before == "other shards":
        shutil.copytree(old, folder / "out")
    for _ in kills([*command, str(folder / "out")]):
        times += 1
        if (folder / "out").exists():
            assert contents(folder / "out") in (contents(old), contents(new))
        else:
            with pytest.raises(ZooError, match="No such file or directory"):
                guess_reader(folder / "out")
        assert said([*command, str(folder / "out")]).status == 0
        assert contents(folder) == {f"out/{name}": made for name, made in contents(new).items()}
        shutil.rmtree(folder / "out")
        if before == "other shards":
            shutil.copytree(old, folder / "out")
    assert times > 20
