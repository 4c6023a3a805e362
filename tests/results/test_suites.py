"""Names that stand for several benchmarks."""

from pathlib import Path

import pytest

from zoo.benchmarks import SugarCrepe
from zoo.errors import ZooError
from zoo.evaluation import Evaluation
from zoo.results.suites import expanded, published


def test_all_is_every_benchmark_that_needs_no_file_of_ones_own() -> None:
    names = published()
    assert {"aro", "sugarcrepe", "winoground", "retrieval"} <= set(names)
    assert not {"pairs", "half_truth"} & set(names)
    assert expanded(["all", "aro"]) == names


def test_a_suite_is_the_benchmarks_of_a_preset_each_once(tmp_path: Path) -> None:
    given = SugarCrepe()
    compo = expanded(["winoground", "suite:vl_compo", given])
    assert compo[:3] == ["winoground", "aro", "sugarcrepe"]
    assert compo[-1] is given
    assert "retrieval" in compo
    path = tmp_path / "mine.yaml"
    path.write_text(
        "says: x\nties: wrong\nidentical: kept\nnot_measured: [theirs]\n"
        "means: [{name: a, of: [bla/ap/i2t, theirs, bla/co/i2t]}]\n"
    )
    assert expanded([f"suite:{path}"]) == ["bla"]
    assert [one.name for one in Evaluation([f"suite:{path}"]).benchmarks] == ["bla"]


def test_a_suite_of_nothing_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"there is no preset 'vl_comp' .*near: vl_compo"):
        expanded(["suite:vl_comp"])
    path = tmp_path / "none.yaml"
    path.write_text("says: x\nties: wrong\nidentical: kept\n")
    with pytest.raises(ZooError, match="the preset none takes no mean, so that it names no bench"):
        expanded([f"suite:{path}"])
