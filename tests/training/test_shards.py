"""A run on shards: killed in mid-epoch and resumed, it has the losses of an unbroken one."""

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import in_process, losses, variant
from tests.support.shards import write_tar
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
    """With an index that is made anew and one that is kept, without workers and with four."""
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
    for workers in ("0", "4"):
        broken = tmp_path / f"workers{workers}"
        broken.mkdir()
        monkeypatch.setenv("XDG_CACHE_HOME", str(broken / "cache"))
        loading = [*arguments, "--data.workers", workers]
        kill = ["--trainer.callbacks+=tests.support.runs.Killed", "--trainer.callbacks.steps"]
        kept = ["--last_checkpoint.every_n_steps", str(KEPT_EVERY)]
        killed = in_process(broken, [*loading, *kill, str(KILLED_AFTER), *kept])
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
        in_process(broken, [*loading, "--ckpt_path", "last"]).join()
        assert losses(broken, version=1) == after
