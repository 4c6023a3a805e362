"""A run on shards: killed in mid-epoch and resumed, it has the losses of an unbroken one."""

import shutil
import signal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.mistakes import said
from tests.support.runs import in_process, losses, variant
from tests.support.shards import served, write_tar
from zoo.sources.readers.guess import guess_reader

KILLED_AFTER, KEPT_EVERY = 6, 5  # steps; an epoch has four


def shards(made_root: Path, folder: Path) -> Path:
    """Writes the made captions into two tars."""
    samples = guess_reader(made_root / "captions.tsv").read()
    for number in range(2):
        files = []
        for i, sample in list(enumerate(samples))[number * 6 : number * 6 + 6]:
            files.append((f"{i:09}.png", Path(sample.image.key).read_bytes()))
            files.append((f"{i:09}.txt", sample.caption.encode()))
        write_tar(folder / f"{number:05}.tar", files)
    return folder


@pytest.mark.slow
def test_a_killed_run_on_shards_goes_on_as_if_nothing_had_been(
    tmp_path: Path, made_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without workers and with four; index and tables are kept, or made anew by the second run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reader = {"class_path": "WebDataset", "init_args": {"path": str(tmp_path / "shards")}}
    data: dict[str, Any] = {"train": reader, "batch_size": 2, "units": None}
    model = {"objective": {"class_path": "zoo.objectives.NegCLIP"}}
    shards(made_root, tmp_path / "shards")
    arguments = ["fit", "--config", str(variant(tmp_path, made_root, model, data))]
    whole = tmp_path / "whole"
    whole.mkdir()
    in_process(whole, arguments).join()
    assert sorted(losses(whole)) == list(range(8))
    after = {step: loss for step, loss in losses(whole).items() if step >= KEPT_EVERY}
    for workers, cold in product(("0", "4"), (False, True)):
        broken = tmp_path / f"workers{workers}{cold}"
        broken.mkdir()
        places = {"XDG_CACHE_HOME": "cache", "ZOO_TABLES": "tables"}
        own = {name: str(broken / place) for name, place in places.items()}
        loading = [*arguments, "--data.workers", workers]
        kill = ["--trainer.callbacks+=tests.support.runs.Killed", "--trainer.callbacks.steps"]
        kept = ["--last_checkpoint.every_n_steps", str(KEPT_EVERY)]
        killed = in_process(broken, [*loading, *kill, str(KILLED_AFTER), *kept], own)
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
        assert any((broken / "tables").iterdir())
        if cold:
            shutil.rmtree(broken / "tables")
            shutil.rmtree(broken / "cache", ignore_errors=True)
            for index in (tmp_path / "shards").glob("*.arrow"):
                index.unlink()
        in_process(broken, [*loading, "--ckpt_path", "last"], own).join()
        assert losses(broken, version=1) == after


def fit(folder: Path, arguments: list[str]) -> int | None:
    """Runs the command in a process of its own, in a folder that is made; returns its status."""
    folder.mkdir(exist_ok=True)
    process = in_process(folder, arguments, {"XDG_CACHE_HOME": str(folder / "cache")})
    process.join()
    return process.exitcode


@pytest.mark.slow
def test_a_run_on_shards_at_a_url_is_that_on_the_disk_though_the_server_fails_and_it_is_killed(
    tmp_path: Path, made_root: Path
) -> None:
    captions, shards = str(made_root / "captions.tsv"), tmp_path / "shards"
    packing = ["data", "pack", captions, "--out", str(shards), "--workers", "0"]
    assert said([*packing, "--per_shard", "6"]).status == 0

    def on(path: str) -> list[str]:
        reader = {"class_path": "WebDataset", "init_args": {"path": path}}
        made = variant(tmp_path, made_root, data={"train": reader, "batch_size": 2})
        return ["fit", "--config", str(made), "--last_checkpoint.every_n_steps", str(KEPT_EVERY)]

    assert fit(tmp_path / "disk", on(str(shards))) == 0
    whole = losses(tmp_path / "disk")
    assert sorted(whole) == list(range(8))
    with served(shards, {2: "503", 9: "cut", 30: "503"}) as (url, asked):
        there = on(f"{url}/{{00000..00001}}.tar")
        assert fit(tmp_path / "url", there) == 0
        assert losses(tmp_path / "url") == whole
        validated = [losses(tmp_path / name, column="val/loss") for name in ("disk", "url")]
        assert validated[0] == validated[1] != {}
        assert sum(line.endswith(".tar") for line in asked) > 30
        kill = ["--trainer.callbacks+=tests.support.runs.Killed", "--trainer.callbacks.steps"]
        killed = fit(tmp_path / "killed", [*there, *kill, str(KILLED_AFTER)])
        assert killed == -signal.SIGKILL
        assert fit(tmp_path / "killed", [*there, "--ckpt_path", "last"]) == 0
    after = {step: loss for step, loss in whole.items() if step >= KEPT_EVERY}
    assert losses(tmp_path / "killed", version=1) == after
