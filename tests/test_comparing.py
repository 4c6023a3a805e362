"""docs/guides/comparing.md does what it says.

Its commands run one after the other, in small, on real images of COCO.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import blocks, commands
from zoo.cli import main

PAGE = "docs/guides/comparing.md"
METHODS = ("clip", "cs_clip")
SMALL = {
    "model": {
        "backbone": {
            "class_path": "zoo.backbones.backbone.Backbone",
            "init_args": {"name": "zoo-tiny", "pretrained": None},
        }
    },
    "data": {
        "class_path": "zoo.datamodules.captions.CaptionDataModule",
        "init_args": {"batch_size": 8, "workers": 0, "expected_images": None},
    },
    "trainer": {
        "max_epochs": 1,
        "limit_train_batches": 2,
        "limit_val_batches": 1,
        "num_sanity_val_steps": 0,
        "accelerator": "cpu",
        "enable_progress_bar": False,
        "enable_model_summary": False,
    },
}


@pytest.fixture
def coco(shared_data: Path, tmp_path: Path) -> Path:
    """A data root with the images of COCO that are there, and their captions.

    Most are Karpathy's restval.
    """
    root = tmp_path / "root"
    (root / "coco").mkdir(parents=True)
    (root / "coco" / "val2017").symlink_to(shared_data / "coco" / "val2017")
    karpathy = (shared_data / "coco" / "dataset_coco_sample.json").read_text()
    (root / "coco" / "dataset_coco.json").write_text(karpathy)
    (root / "sugarcrepe").symlink_to(shared_data / "sugarcrepe")
    return root


@pytest.mark.slow
def test_its_commands_train_evaluate_and_compare_two_methods(
    coco: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [
        [word.replace("DATA_ROOT", str(coco)) for word in arguments]
        for language, mark, content in blocks(PAGE)
        if (language, mark) == ("bash", "small")
        for arguments in commands(content)
    ]
    assert [arguments[0] for arguments in asked].count("fit") == len(METHODS)
    printed = []
    for arguments in asked:
        small = ["--config", json.dumps(SMALL)] if arguments[0] == "fit" else []
        assert main([*arguments, *small]) == 0, capsys.readouterr().err
        printed.append(capsys.readouterr().out)
    compared, latex = printed[-2:]
    assert "sugarcrepe/swap_obj/i2t" in compared
    assert all(name in compared for name in ("CLIP ", "CS-CLIP "))
    (code,) = (content for language, _, content in blocks(PAGE) if language == "python")
    names: dict[str, Any] = {}
    exec(compile(code, PAGE, "exec"), names)
    assert names["comparison"].lines
    for text in (latex, names["latex"]):
        assert "\\begin{tabular}" in text or "\\begin{longtable}" in text
    assert Path("methods.png").is_file()
    assert sorted(path.name for path in Path("runs").iterdir()) == list(METHODS)
    described = {
        method: json.loads(Path("measured", method, "results.json").read_text())
        for method in METHODS
    }
    data = [results["model"]["origin"]["data"] for results in described.values()]
    assert all(other == data[0] for other in data), "the methods were not trained on the same data"
