"""Files that are whole or absent, and what dead processes left of them."""

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from tests.support.made import make_root
from tests.support.mistakes import said
from zoo.benchmarks.pairs import Pairs
from zoo.checkpoints.files import AtomicCheckpointIO
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.support.files import remove_leftovers, write_atomically, write_bytes


def write_and_wait(path: str, folder: bool, begun: "object") -> None:
    with write_atomically(Path(path), folder=folder) as part:
        (part / "half" if folder else part).write_text("half")
        begun.send(True)  # type: ignore[attr-defined]
        signal.pause()


@contextmanager
def writing(path: Path, folder: bool = False) -> Iterator[int]:
    """A process in the middle of writing; yields its id, and kills it at the end."""
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=write_and_wait, args=(str(path), folder, theirs))
    process.start()
    try:
        assert ours.poll(60)
        assert process.pid is not None
        yield process.pid
    finally:
        process.kill()
        process.join(60)


def fail_to_write(path: Path, folder: bool) -> None:
    with write_atomically(path, folder=folder) as part:
        assert part.exists()
        raise ValueError("no")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_place_that_another_process_sweeps_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, swept = os.open, list[Path]()

    def swept_first(path: Path, flags: int, *others: int) -> int:
        if not swept and flags == os.O_RDONLY:
            swept.append(path)
            os.unlink(path)
        return opened(path, flags, *others)

    monkeypatch.setattr("zoo.support.files.os.open", swept_first)
    with write_atomically(tmp_path / "a.json", clean_up=False) as part:
        part.write_bytes(b"{}")
    assert swept == [part]
    assert (tmp_path / "a.json").read_bytes() == b"{}"


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_dead_process_left_is_swept_by_the_next_that_writes_the_same(
    tmp_path: Path, folder: bool
) -> None:
    with writing(tmp_path / "u", folder) as writer:
        assert names(tmp_path) == [f".u.{writer}.part"]
    assert names(tmp_path) == [f".u.{writer}.part"]
    (tmp_path / ".other.1.part").write_text("another file's")
    with write_atomically(tmp_path / "u", folder=folder) as part:
        assert names(tmp_path) == [".other.1.part", part.name]
        (part / "x" if folder else part).write_text("whole")
    assert names(tmp_path) == [".other.1.part", "u"]


@pytest.mark.parametrize("folder", [False, True])
def test_what_a_living_process_writes_is_left_alone(tmp_path: Path, folder: bool) -> None:
    with writing(tmp_path / "u", folder) as writer:
        remove_leftovers(tmp_path)
        write_bytes(tmp_path / "other", b"")
        assert names(tmp_path) == [f".u.{writer}.part", "other"]
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["other"]


@pytest.mark.parametrize("folder", [False, True])
def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path, folder: bool) -> None:
    (tmp_path / "u").write_text("old")
    with pytest.raises(ValueError, match="no"):
        fail_to_write(tmp_path / "u", folder)
    assert names(tmp_path) == ["u"]
    assert (tmp_path / "u").read_text() == "old"


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_takes_the_place_of_another_or_of_a_link_to_it(tmp_path: Path, link: bool) -> None:
    old = tmp_path / ("linked" if link else "u")
    old.mkdir()
    (old / "old").touch()
    if link:
        (tmp_path / "u").symlink_to(old)
    with write_atomically(tmp_path / "u", folder=True, overwrite=True) as part:
        (part / "new").touch()
        assert names(tmp_path / "u") == ["old"]
    assert names(tmp_path / "u") == ["new"]
    assert names(tmp_path) == (["linked", "u"] if link else ["u"])
    assert not link or names(old) == ["old"]


def test_what_the_system_refuses_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "u").mkdir()
    with pytest.raises(ZooError, match=r"u could not be written \(Is a directory\)"):
        write_bytes(tmp_path / "u", b"")
    assert names(tmp_path) == ["u"]


class Guess:
    def score(self, images: list[object], texts: list[str]) -> torch.Tensor:
        return torch.ones(len(images), len(texts))


def test_every_command_sweeps_what_it_left_when_it_was_killed(tmp_path: Path) -> None:
    root, out = make_root(tmp_path / "root"), tmp_path / "out"
    out.mkdir()
    left = ["u.jsonl", "n.jsonl", "cases.parquet", "results.json", "last.ckpt"]
    for name in left:
        (out / f".{name}.{2**22 + 1}.part").write_text("half")
    captions = str(root / "captions.tsv")
    units = [
        "units",
        "extract",
        captions,
        "--tagger",
        "TextBlobTagger",
        "--out",
        str(out / "u.jsonl"),
    ]
    assert said(units).status == 0
    negatives = ["negatives", "export", captions, "--tagger", "TextBlobTagger"]
    assert said([*negatives, "--out", str(out / "n.jsonl")]).status == 0
    Evaluation(
        [Pairs(str(root / "pairs.csv"))], str(root), out=str(out), workers=0
    ).run_plain_model(Guess())
    AtomicCheckpointIO().save_checkpoint({"epoch": 1}, out / "last.ckpt")
    assert names(out) == sorted([*left, "u.jsonl.counts"])


def test_a_resumed_run_sweeps_beside_its_checkpoint(tmp_path: Path) -> None:
    AtomicCheckpointIO().save_checkpoint({"epoch": 1}, tmp_path / "last.ckpt")
    (tmp_path / f".best.ckpt.{os.getpid()}.part").write_text("half")
    AtomicCheckpointIO().load_checkpoint(tmp_path / "last.ckpt")
    assert names(tmp_path) == ["last.ckpt"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free disk space"),
        (errno.EACCES, "change its permissions"),
        (errno.EROFS, "change its permissions"),
        (errno.ELOOP, "fix the circular link"),
        (errno.ENOENT, "choose another path"),
        (errno.EISDIR, "choose another path"),
    ],
)
def test_what_the_system_refuses_is_told_as_such(
    number: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(arguments: list[str]) -> int:
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr("zoo.cli.commands.dispatch", refuse)
    sentence = said([]).sentence
    assert sentence.startswith(f"zoo: /some/file cannot be used ({os.strerror(number)}): {advice}")
