"""Published figures beside measured ones: a table of their own, with sources, mixed with none."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import zoo
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError
from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.published_values import published_table
from zoo.results.reader import read_results
from zoo.results.report import Results


def metric(subset: str, value: float | None = 50.0) -> Metric:
    n = 0 if value is None else 4
    return Metric("sugarcrepe", subset, "i2t", value, value, value, "Wilson", n, 4, 0, n, 4, 0)


def average(preset: str, name: str) -> Average:
    return Average(preset, name, 40.0, "equal", ("a",), (), 4, 4)


def zeros(images: list[Image.Image], texts: list[str]) -> NDArray[np.float32]:
    return np.zeros((len(images), len(texts)), np.float32)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sugarcrepe").mkdir()
    case = {"filename": "000000000001.jpg", "caption": "a", "negative_caption": "b"}
    (tmp_path / "sugarcrepe" / "swap_obj.json").write_text(json.dumps({"0": case}))
    (tmp_path / "coco" / "val2017").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "coco" / "val2017" / "000000000001.jpg")
    return tmp_path


def test_a_figure_stands_in_the_row_of_its_metric_and_in_the_column_of_its_model() -> None:
    models = ["openai/ViT-B-32", "negclip", "labclip_coco_b32"]
    table = published_table(models, "official", [metric("swap_obj"), metric("mine", None)], [])
    assert table.header[3:-1] == tuple(models)
    assert table.rows == (("sugarcrepe/swap_obj/i2t", "50.0", "4 / 4", "61.2", "75.9", "", "[1]"),)
    assert table.preamble[0].startswith("published values of other models")
    assert table.preamble[1].startswith("[1] vl_compo, github.com/ytaek-oh/vl_compo")
    assert table.preamble[2:] == ("no published values of labclip_coco_b32 for these metrics",)


def test_no_figure_stands_beside_another_gallery_or_other_options() -> None:
    own = replace(metric("coco_karpathy"), benchmark="retrieval", metric="t2i_r@1")
    wholes = [
        replace(own, images=5000, gallery_size=5000),
        replace(own, images=4, gallery_size=5000),
    ]
    told_apart = replace(wholes[0], run="coco_karpathy,clean=True")
    shown = [
        len(published_table(["negclip"], "official", [one], []).rows)
        for one in (*wholes, told_apart)
    ]
    assert shown[0] > 0
    assert shown[1:] == [0, 0]


def test_a_split_has_the_figures_of_the_same_split() -> None:
    full, seen = (
        replace(metric("*"), benchmark="vismin", metric="group", split=split)
        for split in ("full", "seen")
    )
    table = published_table(["bindsplit_ft_openai"], "official", [full, seen], [])
    assert [(row[0], row[3]) for row in table.rows] == [
        ("vismin/*/group, full", "35.3"),
        ("vismin/*/group, seen", "32.2"),
    ]


def test_an_average_has_the_figures_of_its_own_preset_a_row_for_each_source() -> None:
    averages = [average("fsc_clip", "ZS"), average("fsc_clip", "mine")]
    table = published_table(["fsc_clip_laioncoco_lora"], "fsc_clip", [], averages)
    assert [row[3] for row in table.rows] == ["55.9", "55.9"]
    assert [row[4] for row in table.rows] == ["[1]", "[2]"]
    assert "extended_results.csv" in table.preamble[1]
    assert "Table 9" in table.preamble[2]
    under_another = published_table(["negclip"], "cs_clip", [], [average("cs_clip", "sugarcrepe")])
    assert [row[3:] for row in under_another.rows] == [("82.5", "[1]")]
    assert "but scores them by each benchmark's official rules" in under_another.preamble[1]


def test_published_figures_are_shown_again_and_enter_no_average(root: Path, tmp_path: Path) -> None:
    asked = {"data_root": root, "presets": ["official", "vl_compo"]}
    alone: Results = zoo.evaluate(zeros, "sugarcrepe", **asked)  # type: ignore[arg-type]
    beside: Results = zoo.evaluate(
        zeros,
        "sugarcrepe",
        out=tmp_path / "out",
        reference_models="negclip",
        **asked,  # type: ignore[arg-type]
    )
    assert beside.by_preset == alone.by_preset
    assert beside.header["reference_models"] == ["negclip"]
    assert "reference_models" not in alone.header
    again = read_results(tmp_path / "out")
    for shown in (repr(beside), repr(again)):
        assert shown.count("sugarcrepe/swap_obj/i2t") == 1
        assert shown.count("published values of other models") == 2
    assert "published values of other models" not in repr(alone)
    assert "| 75.9 | [1] |" in again.to_markdown()


def test_a_model_without_figures_is_refused_before_anything_is_measured(root: Path) -> None:
    def never(images: list[Image.Image], texts: list[str]) -> None:
        raise AssertionError

    with pytest.raises(ZooError, match=r"no published values of 'negclap' \(did you mean neg"):
        zoo.evaluate(never, "sugarcrepe", data_root=root, reference_models=["negclap"])


def test_validate_takes_names_by_commas_and_only_with_benchmarks() -> None:
    given = [
        "validate",
        "--reference_models",
        "negclip,openai/ViT-B-32",
        "--model.backbone.name",
        "zoo-tiny",
    ]
    settings = parse_settings([*given, "--benchmarks", "sugarcrepe"])
    assert settings.data.init_args.reference_models == ["negclip", "openai/ViT-B-32"]
    with pytest.raises(ZooError, match="--reference_models requires --benchmarks"):
        parse_settings(given)
