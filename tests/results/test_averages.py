"""Averages against vl_compo's published tables.

A mean without one of its members is tried as well.
"""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.compared import published_bivlc
from zoo.benchmarks import Benchmark
from zoo.errors import ZooError
from zoo.results.averages import Average, Mean, Member, compute_available_averages
from zoo.results.metrics import Metric, compute_metrics
from zoo.results.presets.preset import preset_of
from zoo.results.published_values import published_values
from zoo.results.statistics import Observations, interval
from zoo.support.class_names import class_of

OFFICIAL = preset_of("official")
# its sub-tasks of EqBen are on 5,000 cases of two, and its table on all of them
OF_FEWER_CASES = ("ViT-B-32", "openai")
OF_EQBEN = {"eqben", "comp_avg"}

SIZES = {
    "replace_obj": 1652,
    "replace_att": 788,
    "replace_rel": 1406,
    "swap_obj": 245,
    "swap_att": 666,
    "add_obj": 2062,
    "add_att": 692,
}
PARTS = ("", " Replace", " Swap", " Add")
N = {**SIZES, "video": 1872, "static": 430}
MMVP = {
    "Orientation and Direction": "Orientation",
    "Presence of Specific Features": "Presence",
    "State and Condition": "State",
    "Quantity and Count": "Quantity",
    "Positional and Relational Context": "Spatial",
    "Color and Appearance": "Color",
    "Structural Characteristics": "Structural Character",
    "Texts": "Text",
    "Viewpoint and Perspective": "Camera Perspective",
}
EQBEN = {
    "ag": "AG",
    "youcook2": "YouCook2",
    "gebc": "GEBC",
    "kubric_loc": "Kubric location",
    "kubric_cnt": "Kubric count",
    "kubric_attr": "Kubric attribute",
    "sd": "Stable Diffusion",
}
WHATSUP = {
    "WhatsUp_A": "A",
    "WhatsUp_B": "B",
    "COCO_QA_ONE": "COCO-one",
    "COCO_QA_TWO": "COCO-two",
    "VG_QA_ONE": "VG-one",
    "VG_QA_TWO": "VG-two",
}
VALSE = (
    *("existence", "plurals", "counting-hard", "counting-small-quant", "counting-adversarial"),
    *("relations", "action-replacement", "actant-swap", "coreference-standard"),
    *("coreference-hard", "foil-it"),
)
SVO = {"subj_neg": "subject", "verb_neg": "verb", "obj_neg": "object"}
CHECKLIST = class_of("vl_checklist", "benchmarks", Benchmark).subset_names
COLUMNS = {
    **{f"sugarcrepe::{subset}": ("sugarcrepe", subset, "i2t") for subset in SIZES},
    "aro::VG_Relation": ("aro", "VG-Relation", "macro"),
    "aro::VG_Attribute": ("aro", "VG-Attribution", "macro"),
    "aro::COCO_Order": ("aro", "COCO-Order", "i2t"),
    "aro::Flickr30k_Order": ("aro", "Flickr30k-Order", "i2t"),
    **{
        f"winoground::{metric}": ("winoground", "winoground", metric)
        for metric in ("text", "image", "group")
    },
    **{
        f"{s}::{side}/R@1": ("retrieval", s, f"{side}_r@1")
        for s in ("coco_karpathy", "flickr30k")
        for side in ("i2t", "t2i")
    },
    "colorswap::group": ("colorswap", "test", "group"),
    **{f"crepe::{s}": ("crepe", s, "i2t") for s in ("atom", "swap", "negate")},
    **{f"eqben::eqben{s}::group": ("eqben", subset, "group") for s, subset in EQBEN.items()},
    **{
        f"imagecode::{s}": ("imagecode", subset, "t2i")
        for s, subset in (("videos", "video"), ("static", "static"))
    },
    **{f"mmvp_vlm::{s}::group": ("mmvp", subset, "group") for s, subset in MMVP.items()},
    **{f"svo_probes::{s}": ("svo_probes", subset, "t2i") for s, subset in SVO.items()},
    **{f"valse::{piece}": ("valse", piece, "i2t") for piece in VALSE},
    **{f"whatsup::{s}": ("whatsup", subset, "i2t") for s, subset in WHATSUP.items()},
}


def metric(benchmark: str, subset: str, name: str, value: float | None, of: int = 100) -> Metric:
    n = of if value is not None else 0
    return Metric(benchmark, subset, name, value, value, value, "Wilson", n, of, 0, n, of, 0)


def taken(preset: str, metrics: list[Metric]) -> dict[str, Average]:
    return {
        average.name: average
        for average in compute_available_averages(preset, preset_of(preset).means, metrics)
    }


def rows(path: Path) -> dict[tuple[str, str], dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return {(row["arch"], row["pretrained"]): row for row in csv.DictReader(file)}


def test_vl_compo_averages_are_those_of_its_published_table(shared_data: Path) -> None:
    single = rows(shared_data / "golden" / "vl_compo_individual_results.csv")
    published = rows(shared_data / "golden" / "vl_compo_results.csv")
    assert len(single) == len(published) == 201  # one checkpoint stands twice
    assert published.keys() == single.keys()
    for key in [OF_FEWER_CASES, *list(single)[::4]]:
        row = single[key]
        metrics = [
            metric(*place, float(row[column]), N.get(place[1], 100))
            for column, place in COLUMNS.items()
        ]
        # the table has one value of all corpora of a kind
        metrics += [
            metric("vl_checklist", subset, "i2t", float(row[f"vl_checklist::{kind}"]))
            for subset in CHECKLIST
            for kind in [subset.rpartition("/")[0].replace("/", "_")]
        ]
        found = taken("vl_compo", metrics)
        assert len(found) == 15
        for name, average in found.items():
            if key == OF_FEWER_CASES and name in OF_EQBEN:
                continue
            column = {"mmvp": "mmvp_vlm"}.get(name, name)
            # the table has numbers of eight decimals
            assert average.value == pytest.approx(float(published[key][column]), abs=5e-9), (
                key,
                name,
            )


def test_fsc_clip_s_average_is_that_of_its_published_table(shared_data: Path) -> None:
    """The table has one value a benchmark, which stands for all its subsets here."""
    members = dict.fromkeys(m for mean in preset_of("fsc_clip").means for m in leaves(mean))
    with (shared_data / "golden" / "fsc_clip_extended_results.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 12
    for row in published:
        metrics = [
            metric(m.benchmark, m.subset, m.metric, float(row[m.benchmark]))
            for m in members
            if m.benchmark in row
        ]
        found = taken("fsc_clip", metrics)
        assert found["Comp"].value == pytest.approx(float(row["Comp"]), abs=5e-9)
        assert "I2T Ret" not in found
    assert {"retrieval", "coco_cf"} < {m.benchmark for m in members}


def leaves(mean: Mean) -> list[Member]:
    """The metrics that enter a mean, directly or over others."""
    return [
        leaf for one in mean.members for leaf in (leaves(one) if isinstance(one, Mean) else [one])
    ]


def test_a_capability_is_the_mean_of_its_subsets_and_a_category_of_all_of_them() -> None:
    """Two subsets of syntax, of 10 and 30 %, and one of negation, of 80 %."""
    metrics = [
        metric("aro", "COCO-Order", "i2t", 10.0),
        metric("aro", "Flickr30k-Order", "i2t", 30.0, of=900),
        metric("negbench", "coco_mcq", "i2t", 80.0),
    ]
    found = taken("capabilities", metrics)
    assert found["Syntax"].value == pytest.approx(20.0)
    assert found["Negation"].value == pytest.approx(80.0)
    assert found["Linguistic"].value == pytest.approx(40.0)
    assert "bla/ap/i2t" in found["Syntax"].missing
    assert "Binding" not in found


def test_the_average_of_ten_capabilities_is_not_reported_without_one_of_them() -> None:
    """One subset of each capability: 10, 20, ... 100 %, so that the mean is 55 %."""
    subsets = [
        ("vismin", "object", "text"),
        ("vismin", "attribute", "text"),
        ("vismin", "counting", "text"),
        ("spec", "existence", "i2t"),
        ("vismin", "relation", "text"),
        ("whatsup", "A", "i2t"),
        ("cola", "multi", "text"),
        ("bla", "ap", "i2t"),
        ("valse", "coreference-hard", "i2t"),
        ("negbench", "coco_mcq", "i2t"),
    ]
    metrics = [metric(*names, 10.0 * (i + 1)) for i, names in enumerate(subsets)]
    assert taken("capabilities", metrics)["Avg of 10 capabilities"].value == pytest.approx(55.0)
    average = taken("capabilities", metrics[:-1])["Avg of 10 capabilities"]
    assert (average.value, average.missing) == (None, ("Negation",))


def test_averages_of_role_of_inference_are_those_of_its_tables(shared_data: Path) -> None:
    """From the published answers to BiVLC and the published subsets of SugarCrepe, for CLIP."""
    cases = published_bivlc(shared_data, "ViT-B-32").cases
    metrics = list(compute_metrics(cases, preset_of("official").rules, {}))
    row = rows(shared_data / "golden" / "vl_compo_individual_results.csv")["ViT-B-32", "openai"]
    metrics += [
        metric("sugarcrepe", subset, "i2t", float(row[f"sugarcrepe::{subset}"]), n)
        for subset, n in SIZES.items()
    ]
    found = taken("role_of_inference", metrics)
    published = {f.name: f.value for f in published_values("openai/ViT-B-32") if f.preset}
    names = [f"{name}{part}" for name in ("BiVLC", "SugarCrepe") for part in PARTS]
    assert [found[name].value for name in names] == pytest.approx(
        [published[name] for name in names], abs=0.1
    )


def test_sugarcrepe_has_both_of_its_averages(shared_data: Path) -> None:
    row = rows(shared_data / "golden" / "vl_compo_individual_results.csv")["ViT-B-32", "openai"]
    metrics = [
        metric("sugarcrepe", subset, "i2t", float(row[f"sugarcrepe::{subset}"]), n)
        for subset, n in SIZES.items()
    ]
    found = taken("official", metrics)
    assert found["sugarcrepe, mean of 7 subsets"].value == pytest.approx(73.05, abs=0.005)
    assert found["sugarcrepe, by cases"].value == pytest.approx(76.55, abs=0.005)


def test_a_mean_without_one_of_its_members_is_not_reported_and_names_it() -> None:
    metrics = [
        metric("sugarcrepe", subset, "i2t", 50.0)
        for subset in SIZES
        if subset not in ("swap_obj", "swap_att")
    ]
    metrics.append(metric("sugarcrepe", "swap_att", "i2t", None))
    average = taken("vl_compo", metrics)["sugarcrepe"]
    assert average.value is None
    assert set(average.missing) == {"sugarcrepe/swap_obj/i2t", "sugarcrepe/swap_att/i2t"}
    assert (average.n, average.n_total) == (500, 600)


def test_the_suite_of_cs_clip_names_the_benchmarks_that_are_not_there() -> None:
    metrics = [metric("winoground", "winoground", "text", 30.0)]
    suite = taken("cs_clip", metrics)["suite of 16"]
    assert suite.value is None
    assert "valse/existence/i2t" in suite.missing
    assert len(suite.members) == 16


def test_weighting_by_cases_uses_the_cases_of_the_file_not_those_scored() -> None:
    scored = [
        Metric("half_truth", s, "half_truth", v, v, v, "Wilson", 1, of, 0, 1, of, 0)
        for s, v, of in (("obj", 0.0, 30), ("swap", 100.0, 10))
    ]
    assert taken("official", scored)["half_truth, by cases"].value == pytest.approx(25.0)


def test_members_count_alike_or_by_their_cases_as_worked_by_hand() -> None:
    """SugarCrepe's seven subsets, of 10 to 70 cases, with 7 to 49 % right.

    Means are means of means, as in vl_compo.
    """
    subsets = ("add_obj", "add_att", "replace_obj", "replace_att", "replace_rel", "swap_obj")
    metrics = [
        metric("sugarcrepe", subset, "i2t", 7.0 * k, of=10 * k)
        for k, subset in enumerate((*subsets, "swap_att"), start=1)
    ]
    official, vl_compo = taken("official", metrics), taken("vl_compo", metrics)
    assert official["sugarcrepe, mean of 7 subsets"].value == pytest.approx(28.0)
    # 7 (1 + 4 + 9 + 16 + 25 + 36 + 49) / (1 + 2 + 3 + 4 + 5 + 6 + 7)
    assert official["sugarcrepe, by cases"].value == pytest.approx(35.0)
    # 7 (1 + 4) / 3, 7 (9 + 16 + 25) / 12 and 7 (36 + 49) / 13, each counted alike
    expected = 7 * (5 / 3 + 50 / 12 + 85 / 13) / 3
    assert vl_compo["sugarcrepe"].value == pytest.approx(expected)


def test_means_of_benchmarks_that_were_not_run_are_not_listed() -> None:
    assert set(taken("official", [metric("winoground", "winoground", "text", 1.0)])) == set()


def recall(subset: str, side: str, images: int) -> Metric:
    return Metric(
        "retrieval",
        subset,
        f"{side}_r@1",
        50.0,
        1.0,
        99.0,
        "Wilson",
        10,
        10,
        0,
        images,
        images,
        0,
        gallery_size=5000,
    )


def test_a_recall_in_a_part_of_the_gallery_is_in_no_average() -> None:
    found = taken(
        "vl_compo", [recall("coco_karpathy", "i2t", 14), recall("flickr30k", "i2t", 5000)]
    )
    assert found["i2t_avg"].value is None
    assert found["i2t_avg"].missing == (
        "retrieval/coco_karpathy/i2t_r@1 (a gallery of 14 of 5,000)",
    )
    whole = taken(
        "vl_compo", [recall("coco_karpathy", "i2t", 5000), recall("flickr30k", "i2t", 5000)]
    )
    assert whole["i2t_avg"].value == 50.0


def test_averages_have_an_interval_by_image_over_the_outcomes_of_their_members() -> None:
    subsets = list(SIZES)
    metrics = {
        metric("sugarcrepe", subset, "i2t", 100 * (k + 1) / 8): rate(k + 1, 8)
        for k, subset in enumerate(subsets)
    }
    (mean,) = [
        a
        for a in compute_available_averages("official", OFFICIAL.means, list(metrics), metrics)
        if a.name == "sugarcrepe, mean of 7 subsets"
    ]
    low, high, how = interval(list(metrics.values()), [1 / 7] * 7)
    assert (mean.low, mean.high, mean.interval) == (
        pytest.approx(100 * low),
        pytest.approx(100 * high),
        how,
    )
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < 50.0 < mean.high
    *samples, _ = metrics.items()
    for average in compute_available_averages(
        "official", OFFICIAL.means, list(metrics), dict(samples)
    ):
        assert (average.low, average.high, average.interval) == (None, None, "")


def rate(right: int, n: int) -> Observations:
    return Observations((np.arange(n) < right).astype(float), np.arange(n), np.zeros(n))


def test_a_benchmark_asked_for_twice_has_averages_of_its_own_for_each_run() -> None:
    both = [
        replace(metric("half_truth", "+Obj", "half_truth", value), run=f"preset={rule}")
        for rule, value in (("paper", 40.0), ("public_code", 60.0))
    ]
    others = [metric("sugarcrepe", subset, "i2t", 50.0) for subset in SIZES]
    found = {name: a.value for name, a in taken("official", [*both, *others]).items()}
    assert found == pytest.approx(
        {
            "half_truth, by cases (half_truth:preset=paper)": 40.0,
            "half_truth, mean of 8 conditions (half_truth:preset=paper)": None,
            "half_truth, by cases (half_truth:preset=public_code)": 60.0,
            "half_truth, mean of 8 conditions (half_truth:preset=public_code)": None,
            "sugarcrepe, mean of 7 subsets": 50.0,
            "sugarcrepe, by cases": 50.0,
        }
    )
    apart = [
        replace(metric("retrieval", s, "t2i_r@1", 40.0), run=s)
        for s in ("coco_karpathy", "flickr30k")
    ]
    assert {name: a.value for name, a in taken("vl_compo", apart).items()} == {"t2i_avg": 40.0}


def test_an_unknown_preset_gets_near_names() -> None:
    with pytest.raises(ZooError, match="did you mean official"):
        preset_of("offical")


def test_published_right_or_wrong_gives_the_published_metrics(shared_data: Path) -> None:
    """BiVLC's table of right and wrong, aggregated here, is vl_compo's row for the same weights.

    The table has each case of SugarCrepe.
    """
    import gzip

    with gzip.open(
        shared_data / "golden" / "SUGARCREPE_CORRECT_ViT-B-32.csv.gz", "rt", encoding="utf-8"
    ) as file:
        cases = list(csv.DictReader(file))
    row = rows(shared_data / "golden" / "vl_compo_individual_results.csv")["ViT-B-32", "openai"]
    for subset in SIZES:
        kind, sub = subset.split("_")
        right = [
            int(case["correct"]) for case in cases if (case["type"], case["subtype"]) == (kind, sub)
        ]
        assert 100 * np.mean(right) == pytest.approx(float(row[f"sugarcrepe::{subset}"]), abs=0.5)


def test_a_mean_of_a_metric_that_no_case_enters_is_not_taken() -> None:
    """VG-Attribution's average leaves out pairs of fewer than 25 cases, which may be all."""
    of_both = [
        metric("aro", "VG-Relation", "macro", 60.0),
        metric("aro", "VG-Attribution", "macro", None, of=0),
    ]
    found = taken("official", of_both)
    assert found["aro, mean of 4"].value is None
    assert "aro/VG-Attribution/macro" in found["aro, mean of 4"].missing
