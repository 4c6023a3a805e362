"""`--fast_images`: images by torchvision, where they are encoded, kept and told."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from zoo.backbones.backbone import Backbone
from zoo.cli import main
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.heads.structure_guided import StructureGuided


@pytest.fixture
def table(tmp_path: Path, made_root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of pairs whose images are larger JPEGs, in the working directory."""
    monkeypatch.chdir(tmp_path)
    lines = ["image,caption,foil"]
    for i in range(3):
        made = Image.open(made_root / "pictures" / f"{i:03}.png").resize((150, 170))
        made.save(tmp_path / f"{i}.jpg", quality=90)
        lines.append(f"{i}.jpg,a red square,a blue circle")
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    return "pairs:pairs.csv"


def measured(table: str, out: str, *flags: str) -> tuple[dict, list[list[float]]]:
    """Returns what results say of the scoring, and the scores."""
    common = ["--data_root", ".", "--model.backbone.name", "zoo-tiny", "--data.workers", "0"]
    asked = ["validate", "--benchmarks", table, "--cache", "kept", "--out", out]
    assert main([*asked, *common, *flags, "--trainer.accelerator", "cpu"]) == 0
    rows = pq.read_table(f"{out}/cases.parquet").to_pylist()
    return json.loads(Path(out, "results.json").read_text())["scoring"], [r["scores"] for r in rows]


def test_they_are_told_and_kept_apart_from_those_by_pil(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, exact = measured(table, "plain")
    assert "image_decoder" not in plain
    capsys.readouterr()
    told, fast = measured(table, "fast", "--fast_images")
    assert told["image_decoder"] == "torchvision"
    assert told["cached_vectors"]["images"] == 0
    assert "images were decoded by torchvision" in capsys.readouterr().out
    assert fast != exact
    for found, wanted in zip(fast, exact, strict=True):
        assert found == pytest.approx(wanted, abs=0.05)
    again, same = measured(table, "again", "--fast_images")
    assert again["cached_vectors"]["images"] == 3
    assert same == fast
    assert main(["rescore", "fast", "--out", "rescored"]) == 0
    header = json.loads(Path("rescored/results.json").read_text())
    assert header["scoring"]["image_decoder"] == "torchvision"
    assert "images were decoded by torchvision" in capsys.readouterr().out


def test_who_gets_pil_s_images_refuses_them(table: str) -> None:
    evaluation = Evaluation([table], ".", workers=0, fast_images=True)
    with pytest.raises(ZooError, match="need images decoded by PIL: leave it out"):
        evaluation.run_plain_model(object())
    backbone, head = Backbone("zoo-tiny"), StructureGuided()
    head.attach(backbone.shapes)
    with pytest.raises(ZooError, match=r"StructureGuided makes views .*leave --fast_images out"):
        evaluation.build_loaders(backbone, head)
