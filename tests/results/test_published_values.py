"""Published figures: those of the tables that they are said to be of, under names of metrics."""

import csv
from functools import cache
from pathlib import Path

import pytest

from tests.results.test_averages import COLUMNS
from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.familiarity.buckets import SPLITS
from zoo.results.presets.preset import preset_of
from zoo.results.published_values import (
    FOLDER,
    PublishedValue,
    is_metric,
    published_models,
    published_values,
    read_published_values,
)
from zoo.results.splits import ALL_SUBSETS
from zoo.support.class_names import class_of

FILES = sorted(FOLDER.glob("*.yaml"))
VL_COMPO = {
    "negclip": ("NegCLIP", "coco-ft"),
    "ce_clip": ("CE-CLIP", "coco-ft"),
    "gnm_clip": ("GNM-CLIP", "coco-ft"),
    "clove": ("CLoVe", "laioncoco600m-ft"),
    "tsvlc_rb": ("TSVLC-Negs_RB", "cc3m-ft"),
    "tsvlc_rb_llm": ("TSVLC-Negs_RB_LLM", "cc3m-ft"),
    "dac_llm": ("DAC-LLM", "cc3m-ft"),
    "dac_sam": ("DAC-SAM", "cc3m-ft"),
    "openai/ViT-B-32": ("ViT-B-32", "openai"),
    "openai/ViT-B-16": ("ViT-B-16", "openai"),
    "openai/ViT-L-14": ("ViT-L-14", "openai"),
    "datacomp_xl_s13b_b90k/ViT-B-32": ("ViT-B-32", "datacomp_xl_s13b_b90k"),
}


def values(model: str, source: str) -> dict[str, float]:
    return {f.name: f.value for f in published_values(model) if source in f.source}


@cache
def subsets(benchmark: str) -> set[str]:
    made = class_of(benchmark, "benchmarks", Benchmark)
    return {*(getattr(made, "subset_names", ()) or (subset.name for subset in made().subsets))}


@cache
def averages(preset: str) -> set[str]:
    return {mean.name for mean in preset_of(preset).means}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_figure_has_the_name_of_a_metric_or_of_an_average(file: Path) -> None:
    for figure in read_published_values(file):
        assert 0 <= figure.value <= 100
        if is_metric(figure.name):
            benchmark, _, rest = figure.name.partition("/")
            assert figure.preset == ""
            assert rest.rpartition("/")[0] in {*subsets(benchmark), ALL_SUBSETS}
            if ", " in rest:
                assert rest.rpartition(", ")[2] in SPLITS
        else:
            assert figure.name in averages(figure.preset)


def test_vl_compos_figures_are_its_tables_in_two_decimals(shared_data: Path) -> None:
    golden = shared_data / "golden"
    with (golden / "vl_compo_individual_results.csv").open(encoding="utf-8") as file:
        single = {(row["arch"], row["pretrained"]): row for row in csv.DictReader(file)}
    with (golden / "vl_compo_results.csv").open(encoding="utf-8") as file:
        averaged = {(row["arch"], row["pretrained"]): row for row in csv.DictReader(file)}
    for model, row in VL_COMPO.items():
        found = values(model, "vl_compo")
        for column, place in COLUMNS.items():
            if "/".join(place) in found:
                assert found["/".join(place)] == pytest.approx(
                    float(single[row][column]), abs=0.006
                )
        assert found["sugarcrepe"] == pytest.approx(float(averaged[row]["sugarcrepe"]), abs=0.006)
        assert len(found) == (71 if model == "openai/ViT-B-32" else 75)


def test_eqbens_figures_over_a_part_of_its_cases_are_left_out() -> None:
    found = values("openai/ViT-B-32", "vl_compo")
    assert "eqben/Stable Diffusion/group" in found
    assert not {"eqben/AG/group", "eqben/YouCook2/group", "eqben", "comp_avg"} & found.keys()


def test_fsc_clips_figures_are_its_table_in_two_decimals(shared_data: Path) -> None:
    path = shared_data / "golden" / "fsc_clip_extended_results.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    data = {"openai_coco": "coco", "openai_cc3m": "cc3m", "openai_laioncoco": "laioncoco"}
    size = {"ViT-B-32": "", "ViT-B-16": "_b16", "ViT-L-14": "_l14"}
    for row in rows:
        tuned = data.get(row["Pretrained_Finetined"], "dcxl")
        lora = "_lora" if row["CLIP"].endswith("lora") else ""
        found = values(f"fsc_clip_{tuned}{size[row['Arch']]}{lora}", "extended_results.csv")
        assert found == {name: pytest.approx(float(row[name]), abs=0.006) for name in found}
        assert len(found) == 15
    assert len(rows) == 12


def test_cs_clips_figures_are_those_of_its_tables() -> None:
    assert values("cs_clip", "Table 11") | values("cs_clip", "Table 6") == {
        **{"aro": 86.9, "bla": 50.2, "coco_cf/pairs/text": 78.2, "cola/multi/text": 41.0},
        **{"colorfoil/colorfoil/i2t": 90.5, "whatsup": 43.5, "mmvp": 13.3, "negbench": 32.8},
        **{"spec": 36.1, "sugarcrepe": 82.2, "sugarcrepe_pp": 67.4, "valse": 74.8},
        **{"vl_checklist": 79.2, "vismin": 60.5, "winoground/winoground/text": 29.8},
        **{"suite of 16": 57.8, "half_truth/+Obj/half_truth": 68.9},
        **{"half_truth/+Attr/half_truth": 43.6, "half_truth/+Rand/half_truth": 92.2},
        **{"half_truth/Rel:Attr/half_truth": 40.1, "half_truth/Rel:Obj/half_truth": 66.6},
        **{"half_truth/Ant/half_truth": 66.8, "half_truth/Swap/half_truth": 64.1},
        "half_truth/Subj/half_truth": 75.7,
    }
    overall = {name: values(name, "(2026), Table 1")["HT All"] for name in ("negclip", "cs_clip")}
    assert overall == {"negclip": 56.5, "cs_clip": 69.3}
    negclip = values("negclip", "Table 13")
    assert negclip["winoground/winoground/image"] == 11.2
    assert (negclip["paired 7, I2T"], negclip["paired 7, group"]) == (43.1, 25.0)


def test_bindsplits_figures_are_those_of_its_tables() -> None:
    tuned = values("bindsplit_ft_openai", "BindSplit")
    assert [tuned[f"aro/VG-Attribution/i2t, {split}"] for split in SPLITS[:4]] == [
        *(71.5, 65.6, 73.2, 64.1)
    ]
    assert [tuned[f"bivlc/*/{metric}, seen"] for metric in ("group", "text", "image")] == [
        *(58.5, 79.2, 61.8)
    ]
    assert [tuned[f"vismin/*/{metric}, unseen"] for metric in ("group", "text", "image")] == [
        *(22.9, 47.2, 31.2)
    ]
    mapped = values("bindsplit_labclip_openai", "BindSplit")
    assert (mapped["pug_spare/seen/i2t"], mapped["pug_spare/unseen/i2t_r@1"]) == (93.1, 25.3)
    assert tuned["pug_spare/partial/i2t_r@1"] == 95.6
    assert "pug_spare/partial/i2t" not in tuned
    raw = values("openai/ViT-B-32", "BindSplit")
    assert [raw[f"vismin/*/group, {split}"] for split in SPLITS[:4]] == [29.5, 25.7, 35.8, 16.7]


@pytest.mark.parametrize(
    ("model", "source", "mean", "members"),
    [
        ("cs_clip", "Table 12", "Avg of 10 capabilities", 10),
        ("cs_clip", "Table 14", "ZS-7, acc@1", 7),
        ("fsc_clip_laioncoco", "Table 9", "ZS", 21),
        ("role_tf_local_coco", "Tables 9, 10", "BiSCoR-Ctrl", 4),
    ],
)
def test_a_published_mean_is_that_of_its_published_members(
    model: str, source: str, mean: str, members: int
) -> None:
    found = values(model, source)
    (preset,) = {f.preset for f in published_values(model) if f.name == mean and f.preset}
    (wanted,) = (one for one in preset_of(preset).means if one.name == mean)
    published = [found[str(member)] for member in wanted.members]
    assert len(published) == members
    assert sum(published) / members == pytest.approx(found[mean], abs=0.06)


def test_directions_that_a_table_exchanged_are_put_right() -> None:
    """Retrieving a text is easier than retrieving an image, as in the papers of both sets."""
    for model in published_models():
        found = values(model, "Table 15")
        if found:
            assert (
                found["retrieval/coco_karpathy/i2t_r@1"] > found["retrieval/coco_karpathy/t2i_r@1"]
            )


def test_a_figure_says_who_published_it_and_how_it_was_counted() -> None:
    first = next(f for f in published_values("negclip") if f.name == "bla")
    assert isinstance(first, PublishedValue)
    assert (first.model, first.source) == ("negclip", "Kargi et al., CS-CLIP (2026), Table 11")
    assert first.protocol.startswith("the paper's own scripts, image to text")


def test_a_model_without_figures_is_told_so_with_near_names() -> None:
    with pytest.raises(ZooError, match=r"no published values of 'neg_clip' .*did you mean negclip"):
        published_values("neg_clip")


def test_a_row_of_another_length_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "source: A\nprotocol: b\nnames: [aro/COCO-Order/i2t]\nmodels: {negclip: [1, 2]}"
    )
    with pytest.raises(
        ZooError, match=r"a.yaml: negclip has 2 values for 1 names. Correct its row"
    ):
        list(read_published_values(tmp_path / "a.yaml"))


def test_what_two_papers_counted_alike_agrees() -> None:
    for model, source in (("negclip", "results.csv"), ("fsc_clip_coco", "extended_results.csv")):
        theirs = values(model, source)["sugarcrepe"]
        assert values(model, "The Role of Inference")["SugarCrepe"] == pytest.approx(
            theirs, abs=0.1
        )
