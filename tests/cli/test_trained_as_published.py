"""`zoo study trained_as_published`, from no data to the table, on made images and weights."""

import csv
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from tests.support.published import make_published, write_replacements
from zoo.backbones.backbone import Backbone
from zoo.benchmarks import SugarCrepe
from zoo.cli import main
from zoo.cli.studies import work

SMALL: dict[str, Any] = {
    "models": {"CLIP": "made.yaml:weights/made.pt"},
    "with": {
        "model": {"backbone": {"init_args": {"name": "zoo-tiny", "pretrained": "weights/made.pt"}}},
        "data": {"init_args": {"batch_size": 2, "expected_images": None, "workers": 0}},
        "trainer": {
            "max_epochs": -1,
            "max_steps": 2,
            "limit_val_batches": 1,
            "num_sanity_val_steps": 0,
            "accelerator": "cpu",
            "precision": "32-true",
            "enable_progress_bar": False,
        },
    },
    "validate": {"trainer.accelerator": "cpu"},
}
STARTS = ("units", "negatives")  # commands of two words
MADE_MODEL = """
description: random weights
paper: none
architecture: zoo-tiny
activation: gelu
file: made.pt
licence: none
trained_on: nothing
unknown: [sha256]
"""
CASES = {
    str(i): {
        "filename": f"{i:012d}.jpg",
        "caption": "a red square above a blue disc",
        "negative_caption": "a blue square above a red disc",
    }
    for i in range(4)
}


@pytest.mark.slow  # trains three rows and measures four, in this process
def test_the_study_fetches_prepares_trains_measures_and_fills_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("root").mkdir()
    Path("weights").mkdir()
    torch.manual_seed(0)
    torch.save(Backbone("zoo-tiny").model.state_dict(), "weights/made.pt")
    Path("made.yaml").write_text(MADE_MODEL)

    Path("small.yaml").write_text(yaml.safe_dump(SMALL))
    fetched, commands = list[str](), list[str]()

    def fetch(words: list[str], check: bool) -> None:
        fetched.extend(words[words.index("get") + 1].split(","))
        make_published(Path("root"))
        (Path("root/replacements.arrow")).unlink()  # is not published
        (Path("root/coco/units_train.jsonl")).unlink()
        Path("root/sugarcrepe").mkdir()
        for subset in SugarCrepe.subset_names:
            Path(f"root/sugarcrepe/{subset}.json").write_text(json.dumps(CASES))

    def run_in_this_process(arguments: list[str], log: Path, lock: int) -> int:
        commands.append(" ".join(arguments[:2]) if arguments[0] in STARTS else arguments[0])
        if arguments[0] == "negatives":  # its words are those of WordNet, which is not everywhere
            rows = csv.DictReader(Path(arguments[2]).read_text().splitlines(), delimiter="\t")
            write_replacements(Path(arguments[-1]), [row["title"] for row in rows])
            return 0
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file, redirect_stdout(file):
            print("$ zoo", shlex.join(arguments))
            return main(arguments)

    monkeypatch.setattr(work.subprocess, "run", fetch)
    monkeypatch.setattr(work, "run_zoo_command", run_in_this_process)
    words = ["study", "trained_as_published", "small.yaml", "--data_root", "root", "--trial", "0"]
    status = main([*words, "--work_dir", "work"])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert {"suite:cs_clip", "coco_captions", "neg_clip", "coco_train2014"} <= {*fetched}
    assert commands == ["units extract", "negatives build", "validate", *("fit", "validate") * 3]
    found = json.loads(Path("work/published.json").read_text())
    rows = {"CLIP", "NegCLIP", "FSC-CLIP", "CS-CLIP"}
    assert {value["run"] for value in found["values"]} == rows
    for value in found["values"]:
        assert "sugarcrepe" in value["metric"]
        assert value["measured"] in (0, 25, 50, 75, 100)  # of four cases, the same in all subsets
        assert value["difference"] == pytest.approx(value["measured"] - value["published"])
    table = Path("work/table.md").read_text()
    assert all(row in table for row in rows)
