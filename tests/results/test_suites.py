"""Names that stand for several benchmarks."""

from dataclasses import replace
from pathlib import Path

import pytest

from zoo.benchmarks import EqBen, SugarCrepe
from zoo.benchmarks.half_truth.rules import CONDITIONS
from zoo.errors import ZooError
from zoo.evaluation import Evaluation
from zoo.results.averages import Average, Member
from zoo.results.half_truths import ENTITIES
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.preset_results import PresetResults
from zoo.results.presets.preset import preset_of
from zoo.results.report import Results
from zoo.results.suites import expand_suites, self_contained_benchmarks


def test_all_is_every_benchmark_that_needs_no_file_of_ones_own() -> None:
    names = self_contained_benchmarks()
    assert {"aro", "sugarcrepe", "winoground", "retrieval"} <= set(names)
    assert not {"pairs", "half_truth"} & set(names)
    assert expand_suites(["aro", "all"]) == ["aro", *(name for name in names if name != "aro")]
    assert expand_suites(["all", "aro"]) == [*(name for name in names if name != "aro"), "aro"]
    assert expand_suites(["aro", "aro"]) == ["aro", "aro"]  # which is refused, as without suites
    assert sorted(expand_suites(["suite:vl_compo", "all"])) == sorted(names)  # type: ignore[type-var]


def test_a_suite_is_the_benchmarks_of_a_preset_each_once(tmp_path: Path) -> None:
    given = SugarCrepe()
    compo = expand_suites(["winoground", "suite:vl_compo", given])
    assert compo[:3] == ["winoground", "aro", "sugarcrepe"]
    assert compo[-1] is given
    assert "retrieval" in compo
    path = tmp_path / "mine.yaml"
    path.write_text(
        "description: x\nties: wrong\nidentical: kept\nnot_measured: [theirs]\n"
        "means: [{name: a, members: [bla/ap/i2t, theirs, bla/co/i2t]}]\n"
    )
    assert expand_suites([f"suite:{path}"]) == ["bla"]
    assert [one.name for one in Evaluation([f"suite:{path}"]).benchmarks] == ["bla"]


def test_the_columns_of_cs_clips_ablations_are_all_conditions_and_the_sets_of_zs_7() -> None:
    columns = {mean.name: mean for mean in preset_of("cs_clip_ablations").means}
    zero_shot = next(mean for mean in preset_of("zs_7").means if mean.name == "ZS-7, acc@1")
    assert columns["ZS Avg"].members == zero_shot.members
    entities, relations = (
        [member.subset for member in columns[name].members if isinstance(member, Member)]
        for name in ("HT Ent", "HT Rel")
    )
    assert set(entities) == set(ENTITIES)
    assert sorted(entities + relations) == sorted(CONDITIONS)


def test_a_preset_gives_arguments_to_benchmarks_of_its_suite(tmp_path: Path) -> None:
    """FSC-CLIP caps EqBen at 20,000 cases per set; vl_compo and the default take all."""
    members = expand_suites(["suite:fsc_clip"])
    (eqben,) = (member for member in members if isinstance(member, EqBen))
    assert eqben.max_cases == 20_000
    assert "eqben" in expand_suites(["suite:vl_compo"])
    later = expand_suites(["suite:vl_compo", "suite:fsc_clip"])
    assert [member for member in later if "eqben" in str(getattr(member, "name", member))] == [
        "eqben"
    ]
    path = tmp_path / "wrong.yaml"
    path.write_text(
        "description: x\nties: wrong\nidentical: kept\nbenchmark_arguments: {bla: {most: 3}}\n"
        "means: [{name: a, members: [bla/ap/i2t]}]\n"
    )
    with pytest.raises(ZooError, match="preset wrong: benchmark_arguments of bla are wrong"):
        expand_suites([f"suite:{path}"])


def test_a_suite_of_nothing_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"there is no preset 'vl_comp' .*did you mean vl_compo"):
        expand_suites(["suite:vl_comp"])
    path = tmp_path / "none.yaml"
    path.write_text("description: x\nties: wrong\nidentical: kept\n")
    with pytest.raises(ZooError, match="preset none has no means and therefore no benchmarks"):
        expand_suites([f"suite:{path}"])


def test_a_report_over_many_benchmarks_stays_short() -> None:
    """A metric is shown once, images are told by benchmark, and much that is missing is counted."""
    subsets = ("add_att", "add_obj", "swap_att")
    metrics = tuple(
        Metric("sugarcrepe", s, "i2t", 50.0, 40.0, 60.0, "Wilson", 5, 9, 0, 5, 9, 0)
        for s in subsets
    )
    own = replace(metrics[2], value=40.0)
    average = Average(
        "b", "all", None, "equal", ("x",), tuple(f"a/{i}/i2t" for i in range(20)), 1, 1
    )
    counted = (
        PresetResults("a", "first", metrics, ()),
        PresetResults("b", "second", (*metrics[:2], own), (average,)),
        PresetResults("c", "third", metrics, ()),
    )
    header = {"benchmarks": {}, "absent": [], "scoring": {}, "model": {}}
    said = " ".join(repr(Results(header, counted, SCHEMA.empty_table())).split())
    assert said.count("add_att i2t") == 1
    assert said.count("swap_att i2t") == 2
    assert said.count("all other metrics are the same as under preset a") == 1
    assert said.count("all metrics are the same as under preset a") == 1
    assert "all is not reported; missing: a (20 metrics)" in said
    assert "sugarcrepe, images found: add_att 5 of 9, add_obj 5 of 9, swap_att 5 of 9" in said
