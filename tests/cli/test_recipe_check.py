"""`zoo doctor --config`: what a recipe needs, what of it is there, and what makes the rest."""

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.support.made import make_root
from tests.support.mistakes import said
from zoo.backbones.factory import cached_weights, parameters_of


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "220")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return make_root(tmp_path / "root")


def states(page: str) -> dict[str, str]:
    """Returns 'ok' or 'MISSING' by what is needed."""
    rows = (line.split("  ") for line in page.splitlines() if line.startswith(("ok ", "MISSING ")))
    fields = ([field.strip() for field in row if field.strip()] for row in rows)
    return {field[1]: field[0] for field in fields}


def test_a_recipe_that_has_all_is_told_so(root: Path) -> None:
    told = said(["doctor", "--config", str(root / "recipe.yaml")])
    assert set(states(told.out).values()) == {"ok"}, told.out
    assert {"training captions", "images", "units", "weights", "disk"} <= states(told.out).keys()
    assert "12 of 12" in told.out
    assert told.status == 0
    assert "made by" not in told.out


def test_what_is_missing_is_listed_with_the_commands_that_make_it(root: Path) -> None:
    (root / "units.jsonl").unlink()
    (root / "pictures/003.png").unlink()
    flags = ["--data.negatives", "Replace", "--data.negatives.table", "t.arrow"]
    flags[1] = "zoo.negatives.replace.Replace"
    told = said(["doctor", "--config", str(root / "recipe.yaml"), *flags])
    assert told.status == 1
    assert {what for what, state in states(told.out).items() if state == "MISSING"} == {
        "images",
        "units",
        "negatives (Replace)",
    }
    assert "11 of 12; first missing: file:" in told.out
    captions = root / "captions.tsv"
    assert f"\n  zoo units extract {captions} --out {root}/units.jsonl" in told.out
    assert f"\n  zoo negatives build {captions} --out t.arrow" in told.out


def test_a_units_file_of_other_captions_is_not_proposed(root: Path) -> None:
    (root / "other").mkdir()
    flags = ["--data.units.file", str(root / "other" / "units.jsonl")]
    told = said(["doctor", "--config", str(root / "recipe.yaml"), *flags])
    own = root / "units.jsonl"
    assert f"--data.units.file {own}" in " ".join(told.out.split()).replace("/ ", "/")
    assert f"\n  zoo units extract {root / 'captions.tsv'} --out {own}" in told.out


def test_each_reader_of_a_list_is_checked(root: Path) -> None:
    (root / "units.jsonl").unlink()
    (root / "b").mkdir()
    picture = root / "pictures" / "000.png"
    (root / "b" / "other.tsv").write_text(f"filepath\ttitle\n{picture}\ta red square\n")
    readers = [
        {"class_path": "CsvTable", "init_args": {"file": str(root / name)}}
        for name in ("captions.tsv", "b/other.tsv")
    ]
    flags = ["--data.train", json.dumps(readers), "--data.train_weights", "[1, 2]"]
    doctor = ["doctor", "--config", str(root / "recipe.yaml"), *flags]
    told = said(doctor)
    assert "13 captions of 12 images" in told.out
    assert "exist: set --data.units.file" in " ".join(told.out.split())
    for number, reader in enumerate(readers, start=1):
        out = root / "units" / f"units{number}.jsonl"
        assert f"zoo units extract {reader['init_args']['file']} --out {out}" in told.out
    for name in ("captions.tsv", "b/other.tsv"):
        (root / name).unlink()
    absent = "".join(said(doctor).out.split())
    assert all(f"{root / n}doesnotexist" in absent for n in ("captions.tsv", "b/other.tsv"))


def test_each_companion_of_the_captions_is_checked(root: Path) -> None:
    """Paraphrases and negative images are read from files, without which neither can be made."""
    (root / "empty").mkdir()
    told = said(["doctor", "--config", "triplet_clip.yaml", "--data_root", str(root / "empty")])
    missing = {what for what, state in states(told.out).items() if state == "MISSING"}
    assert missing == {
        "training captions",
        "negatives (Replay)",
        "negative images (NegativeImages)",
    }
    flags = []
    for name, kind in (("positives", "Paraphrases"), ("negative_images", "NegativeImages")):
        flags += [f"--data.{name}", kind, f"--data.{name}.file", str(root / "beside.jsonl")]
    companions = {"positives (Paraphrases)", "negative images (NegativeImages)"}
    doctor = ["doctor", "--config", str(root / "recipe.yaml"), *flags]
    found = states(said(doctor).out)
    assert {found[what] for what in companions} == {"ok"}
    (root / "beside.jsonl").unlink()
    found = states(said(doctor).out)
    assert {what for what, state in found.items() if state == "MISSING"} == companions


def test_every_thing_that_cs_clip_lacks_is_named_at_once(root: Path) -> None:
    (root / "empty").mkdir()
    told = said(["doctor", "--config", "cs_clip.yaml", "--data_root", str(root / "empty")])
    missing = {what for what, state in states(told.out).items() if state == "MISSING"}
    assert {"training captions", "validation captions", "units", "weights"} <= missing
    assert f"  zoo data get coco_captions --data_root {root / 'empty'}\n" in told.out
    assert f"--out {root}/empty/coco/units_train.jsonl" in told.out
    assert "open_clip.create_model('ViT-B-32-quickgelu', pretrained='openai')" in told.out


def test_published_images_that_are_missing_come_with_their_archives(root: Path) -> None:
    image = {"id": 7}
    (root / "coco/annotations").mkdir(parents=True)
    content = {"images": [image], "annotations": [{"image_id": 7, "id": 1, "caption": "a dog"}]}
    (root / "coco/annotations/captions_train2017.json").write_text(json.dumps(content))
    flags = ["--config", "finetune_coco.yaml", "--data_root", str(root)]
    told = said(["doctor", *flags])
    assert "first missing: coco:7" in told.out
    assert f"  zoo data get coco_train2014,coco_val2014 --data_root {root}\n" in told.out
    (root / "coco/train2017").mkdir()
    Image.new("RGB", (8, 8)).save(root / "coco/train2017/000000000007.jpg")
    assert states(said(["doctor", *flags]).out)["images"] == "ok"


def test_a_data_root_that_is_nowhere_is_told_before_any_weights_are_fetched(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "zoo.backbones.construction.build", lambda *_: pytest.fail("weights are fetched")
    )
    tuned = ["--config", "cs_clip.yaml", "--data_root", "/nowhere"]
    model = ["--model.backbone.name", "ViT-B-32-quickgelu", "--model.backbone.pretrained", "openai"]
    measured = [*model, "--benchmarks", "sugarcrepe", "--data_root", "/nowhere"]
    for command in (["fit", *tuned], ["validate", *measured]):
        assert "data root /nowhere is not a folder" in said(command).sentence
    empty = ["validate", *model, "--benchmarks", "sugarcrepe", "--data_root", str(root)]
    assert "nothing can be scored" in said(empty).sentence


def test_parameters_are_counted_without_room_for_them() -> None:
    assert parameters_of("ViT-B-32-quickgelu") == 151_277_313


def test_weights_are_looked_for_in_the_cache_alone(root: Path) -> None:
    assert cached_weights("ViT-B-32-quickgelu", "metaclip_400m") is None
