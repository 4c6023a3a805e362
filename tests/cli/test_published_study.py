"""`zoo study published`, from a server with data to the row of the README, with made weights."""

import json
import runpy
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.support.file_server import mirrored_sugarcrepe, serve_files
from zoo.backbones.backbone import Backbone
from zoo.cli import main
from zoo.cli.studies import work
from zoo.module import ZooModule
from zoo.publishing.export import export

ROWS = ("CLIP", "NegCLIP", "FSC-CLIP", "CS-CLIP")
SMALL: dict[str, Any] = {
    "fetch": "sugarcrepe",
    "models": dict.fromkeys(ROWS, "models/made"),
    "validate": {"benchmarks": "sugarcrepe", "trainer.accelerator": "cpu"},
}
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "studies" / "published_status.py"


def test_the_study_fetches_from_a_server_measures_and_fills_the_status_table(
    shared_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    module = ZooModule(Backbone("zoo-tiny"))
    held = {"state_dict": module.state_dict(), "pytorch-lightning_version": "2.6.0"}
    module.on_save_checkpoint(held)
    torch.save(held, "made.ckpt")
    export(Path("made.ckpt"), Path("models/made"))
    Path("small.yaml").write_text(yaml.safe_dump(SMALL))
    served = mirrored_sugarcrepe(shared_data)

    def run_in_this_process(arguments: list[str], log: Path, lock: int) -> int:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file, redirect_stdout(file):
            return main(arguments)

    with serve_files(served) as server:

        def fetch(words: list[str], check: bool) -> None:
            main([*words[words.index("data") :], "--mirror", server.url])

        monkeypatch.setattr(work.subprocess, "run", fetch)
        monkeypatch.setattr(work, "run_zoo_command", run_in_this_process)
        words = ["study", "published", "small.yaml", "--data_root", "root", "--trial", "0"]
        status = main([*words, "--work_dir", "work"])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    images = {path.name for path in Path("root/coco/val2017").iterdir()}
    assert images
    assert images <= {Path(path).name for path in served}
    found = json.loads(Path("work/published.json").read_text())
    assert {value["run"] for value in found["values"]} == set(ROWS)
    within = sum(value["within"] for value in found["values"] if value["run"] == "NegCLIP")
    total = sum(value["run"] == "NegCLIP" for value in found["values"])
    Path("results").mkdir()
    Path("work/published.json").rename("results/published.json")
    table = runpy.run_path(str(SCRIPT))["status_table"](Path("results"))
    row = next(line for line in table.splitlines() if line.startswith("|NegCLIP|`negclip`"))
    assert f"|{within} of {total} within" in row
