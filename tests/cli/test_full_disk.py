"""A disk that is full at the n-th byte, for any n.

What was being written is absent or whole, what was there before stays, and a sentence says so.
"""

import os
import signal
from collections.abc import Callable
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, setrlimit
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.made import make_root
from tests.support.mistakes import contents, full_after, said
from tests.support.shards import write_shards
from zoo.benchmarks.pairs import Pairs
from zoo.checkpoints.files import AtomicCheckpointIO
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.sources.images import ImageFinder
from zoo.sources.packing import PackingSettings, pack_samples
from zoo.sources.readers.guess import guess_reader
from zoo.sources.sample_cache import cached_samples
from zoo.sources.tar_index import find_or_build_tar_index
from zoo.support.compiled_tables import FOLDER_VARIABLE

CAPTIONS = "a red dog beside two blue cats\ntwo cats chase three small dogs\n"
SOME = settings(max_examples=12, deadline=None)


class Guess:
    """Scores without a model."""

    def score(self, images: list[object], texts: list[str]) -> np.ndarray:
        return np.array([[len(text) for text in texts] for _ in images], dtype=np.float32)


@cache
def made() -> tuple[TemporaryDirectory[str], Path]:
    """A folder with captions and the results of a run."""
    keep = TemporaryDirectory()
    folder = Path(keep.name)
    (folder / "captions.txt").write_text(CAPTIONS)
    root = make_root(folder / "root")
    Evaluation(
        [Pairs(str(root / "pairs.csv"))], str(root), out=str(folder / "run"), workers=0
    ).run_plain_model(Guess())
    return keep, folder


COMMANDS: dict[str, Callable[[Path, Path], list[str]]] = {
    "units": lambda source, out: [
        "units",
        "extract",
        str(source / "captions.txt"),
        "--out",
        str(out / "u.jsonl"),
        "--tagger",
        "TextBlobTagger",
    ],
    "negatives": lambda source, out: [
        *(
            "negatives",
            "export",
            str(source / "captions.txt"),
            "--out",
            str(out / "n.jsonl"),
            "--tagger",
            "TextBlobTagger",
        )
    ],
    "results": lambda source, out: [
        "rescore",
        str(source / "run"),
        "--preset",
        "strict",
        "--out",
        str(out),
    ],
    "cases": lambda source, out: [
        *("halftruth", "build", str(source / "root" / "units.jsonl"), "--images", "12"),
        *("--out", str(out / "c.jsonl")),
    ],
    "scenes": lambda _, out: [
        "scenes",
        "render",
        "--out",
        str(out),
        "--n",
        "2",
        "--workers",
        "0",
        "--size",
        "24",
        "--samples",
        "2",
    ],
}


@cache
def whole(command: str) -> dict[str, bytes]:
    """What a command leaves where there is room."""
    _, source = made()
    with TemporaryDirectory() as folder:
        assert said(COMMANDS[command](source, Path(folder))).status == 0
        return contents(Path(folder))


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "scenes"])
@SOME
@given(share=st.floats(0, 1, exclude_max=True), old=st.booleans())
def test_a_file_is_whole_or_as_before(command: str, share: float, old: bool) -> None:
    _, source = made()
    room = int(share * min(map(len, whole(command).values())))
    with TemporaryDirectory() as name:
        out = Path(name)
        before = dict.fromkeys(whole(command), b"old") if old else {}
        for file, content in before.items():
            (out / file).write_bytes(content)
        with full_after(room):
            lost = ["--overwrite"] if old else []
            sentence = said([*COMMANDS[command](source, out), *lost]).sentence
        assert name in sentence
        assert "File too large" in sentence
        assert contents(out) == before


@SOME
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_cache_of_scenes_holds_whole_files_alone_and_is_gone_on_with(
    renderer: None, share: float
) -> None:
    _, source = made()
    room = int(share * max(map(len, whole("scenes").values())))
    with TemporaryDirectory() as name:
        out = Path(name)
        with full_after(room):
            assert "File too large" in said(COMMANDS["scenes"](source, out)).sentence
        assert contents(out).items() <= whole("scenes").items()
        assert said(COMMANDS["scenes"](source, out)).status == 0
        assert contents(out) == whole("scenes")


@pytest.mark.parametrize("kind", ["captions in tables", "an index of a tar", "packed shards"])
@SOME
@given(share=st.floats(0, 1, exclude_max=True))
def test_what_is_made_of_captions_is_whole_or_absent_and_then_made(kind: str, share: float) -> None:
    _, source = made()
    work = COMPILED[kind]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        for place in ("XDG_CACHE_HOME", FOLDER_VARIABLE):
            patch.setenv(place, f"{name}/{place}")
        room = int(share * compiled_size(kind))
        with full_after(room), pytest.raises(ZooError, match="File too large") as error:
            work(source, Path(name))
        assert "\n" not in str(error.value)
        assert {Path(file).suffix for file in contents(Path(name))} <= {".lock"}
        work(source, Path(name))


def _shards(source: Path) -> Path:
    if not (source / "shards").exists():
        write_shards(source / "shards", n=40, per_shard=40)
    return source / "shards" / "00000.tar"


COMPILED: dict[str, Callable[[Path, Path], object]] = {
    "captions in tables": lambda source, out: cached_samples(
        guess_reader(source / "root" / "captions.tsv")
    ),
    "an index of a tar": lambda source, out: find_or_build_tar_index(str(_shards(source))),
    "packed shards": lambda source, out: pack_samples(
        guess_reader(source / "root" / "captions.tsv").read(),
        range(12),
        out / "packed",
        PackingSettings(ImageFinder([])),
    ),
}


@cache
def compiled_size(kind: str) -> int:
    """Returns the size of the largest file that is made."""
    _, source = made()
    _shards(source)
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        for place in ("XDG_CACHE_HOME", FOLDER_VARIABLE):
            patch.setenv(place, f"{name}/{place}")
        COMPILED[kind](source, Path(name))
        return max(map(len, contents(Path(name)).values()))


STATE = {"state_dict": {"weight": torch.arange(1000.0)}, "epoch": 3}


@cache
def checkpoint_size() -> int:
    with TemporaryDirectory() as name:
        AtomicCheckpointIO().save_checkpoint(STATE, Path(name) / "last.ckpt")
        return (Path(name) / "last.ckpt").stat().st_size


@SOME
@given(share=st.floats(0, 1, exclude_max=True), old=st.booleans())
def test_a_checkpoint_is_whole_or_the_one_before(share: float, old: bool) -> None:
    with TemporaryDirectory() as name:
        path = Path(name) / "checkpoints" / "last.ckpt"
        if old:
            AtomicCheckpointIO().save_checkpoint({"epoch": 2}, path)
        with (
            full_after(int(share * checkpoint_size())),
            pytest.raises(ZooError, match=r"last\.ckpt could not be written \(File too large\)"),
        ):
            AtomicCheckpointIO().save_checkpoint(STATE, path)
        assert [file.name for file in path.parent.iterdir()] == ["last.ckpt"] * old
        if old:
            assert torch.load(path, weights_only=True) == {"epoch": 2}


def save_and_be_killed(path: str, room: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    setrlimit(RLIMIT_FSIZE, (room, RLIM_INFINITY))
    AtomicCheckpointIO().save_checkpoint(STATE, path)
    os._exit(0)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_process_that_is_killed_while_it_writes_leaves_the_checkpoint_before(
    tmp_path: Path, share: float
) -> None:
    path = tmp_path / "last.ckpt"
    AtomicCheckpointIO().save_checkpoint({"epoch": 2}, path)
    process = get_context("fork").Process(
        target=save_and_be_killed, args=(str(path), int(share * checkpoint_size()))
    )
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGXFSZ
    assert torch.load(path, weights_only=True) == {"epoch": 2}
    AtomicCheckpointIO().save_checkpoint(STATE, path)
    assert [file.name for file in tmp_path.iterdir()] == [
        "last.ckpt"
    ]  # what was left beside it was written over
