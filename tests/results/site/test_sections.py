"""What sections of a report are drawn of: splits, leaks, logs of training, trajectories, cost."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tests.results.site.conftest import PRESET
from tests.support.compared import outcomes
from tests.support.compared import results as results_of
from zoo.errors import ZooError
from zoo.results.leaks import LeakMetric
from zoo.results.outcomes import SCHEMA
from zoo.results.report import Results
from zoo.results.site.answers import collect_answers
from zoo.results.site.familiarity import familiarity_section
from zoo.results.site.numbers import Links, ReportCell, ReportRow
from zoo.results.site.sections import (
    capability_section,
    cost_table,
    half_truth_section,
    read_logs,
    training_section,
    trajectory_section,
)

LOG = """epoch,step,train/loss,train/lr_head,train/lr_towers,train/missing_units,train/scale,\
train/texts_per_second,train/device_hours
0,0,2.0,0.1,0.1,0.25,10.0,100.0,0.5
0,1,,,,,,,
0,1,1.5,0.2,0.2,0.5,20.0,300.0,1.25
0,2,nan,0.3,0.3,0.0,50.0,200.0,2.0625
"""


def split(cases: pa.Table) -> pa.Table:
    """The first half is of bindings that training had, the rest of such that it had not."""
    half = len(cases) // 2
    buckets = ["definitely_seen"] * half + ["definitely_unseen"] * (len(cases) - half)
    at = SCHEMA.get_field_index("bucket")
    return cases.set_column(at, SCHEMA.field(at), pa.array(buckets, pa.string()))


def run(right: list[bool], model: dict[str, object] | None = None) -> Results:
    return results_of(split(outcomes(right)), model).recount(PRESET[:1])


def links(*runs: Results) -> Links:
    return Links(collect_answers(runs, PRESET[0].rules))


@pytest.fixture
def trained(tmp_path: Path) -> dict[str, Results]:
    """A run whose checkpoint lies in a folder with a log."""
    checkpoint = tmp_path / "version_0" / "checkpoints" / "last.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"")
    (tmp_path / "version_0" / "metrics.csv").write_text(LOG)
    return {"own": run([True, False], {"checkpoint": str(checkpoint)})}


def test_seen_stands_against_unseen_and_full_against_leak_free() -> None:
    one = run([True, True, False, True])
    leak = LeakMetric("sugarcrepe", "", "swap_att", "i2t", 75.0, 4, 50.0, 2, 100.0, 2, 0)
    unseen = replace(leak, subset="add_att", n_seen=0)
    one = Results(one.header, (replace(one.by_preset[0], leaks=(leak, unseen)),), one.cases)
    section = familiarity_section({"one": one}, {"one": one}, PRESET[0], links(one))
    assert section is not None
    told = {(r["series"], r["name"]): r["value"] for c in section.charts for r in c.records}
    assert told == {
        ("one, seen", "sugarcrepe/swap_att/i2t"): 100.0,
        ("one, unseen", "sugarcrepe/swap_att/i2t"): 50.0,
        ("one, full", "sugarcrepe/swap_att/i2t"): 75.0,
        ("one, leak-free", "sugarcrepe/swap_att/i2t"): 50.0,
    }
    assert [len(chart.draw().axes) for chart in section.charts] == [1, 1]


def test_full_and_leak_free_numbers_lead_to_their_cases() -> None:
    one = run([True, True, False, True])
    leak = LeakMetric("sugarcrepe", "", "swap_att", "i2t", 75.0, 4, 50.0, 2, 100.0, 2, 0)
    for subset, asks in (("swap_att", "subset=swap_att"), ("all", "in=0&name=sugarcrepe")):
        of = replace(one.by_preset[0], leaks=(replace(leak, subset=subset),))
        section = familiarity_section(
            {"one": Results(one.header, (of,), one.cases)}, {"one": one}, PRESET[0], links(one)
        )
        assert section is not None
        cases = {str(r["series"]): str(r["cases"]) for r in section.charts[1].records}
        assert asks in cases["one, full"]
        assert cases["one, leak-free"] == f"{cases['one, full']}&leak=free"


def test_capabilities_that_are_equal_in_every_number_share_a_spoke() -> None:
    def row(name: str, *values: float) -> ReportRow:
        cells = (ReportCell(value, None, None, 9, 9, "") for value in values)
        return ReportRow((name,), tuple(cells))

    rows = [row("a", 1, 2), row("b", 3, 4), row("c", 1, 2), row("d", 1, 4)]
    section = capability_section(rows, ["one", "other"])
    assert section is not None
    (axes,) = section.charts[0].draw().axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a, c", "b", "d"]
    assert "share one spoke of the radar" in section.description
    assert len(section.charts[0].records) == 8


def test_gaps_of_models_are_drawn_over_the_same_range(results: dict[str, Results]) -> None:
    section = half_truth_section(
        results, PRESET[0], Links(collect_answers(list(results.values()), PRESET[0].rules))
    )
    assert section is not None
    drawn = [chart.draw() for chart in section.charts if chart.name.startswith("gaps_")]
    assert len(drawn) == 2
    assert len({axes.get_xlim() for figure in drawn for axes in figure.axes}) == 1


def test_splits_are_counted_as_the_report_is_and_leaks_say_under_what_they_were() -> None:
    one = run([True, True, False, True])
    leak = LeakMetric("sugarcrepe", "", "swap_att", "i2t", 75.0, 4, 50.0, 2, 100.0, 2, 0)
    strict = replace(one.by_preset[0], preset="strict", leaks=(leak,), splits=())
    measured = Results(one.header, (strict,), one.cases)
    section = familiarity_section({"one": measured}, {"one": one}, PRESET[0], links(one))
    assert section is not None
    assert {record["series"] for chart in section.charts for record in chart.records} == {
        "one, seen",
        "one, unseen",
        "one, full, preset strict",
        "one, leak-free, preset strict",
    }
    both = Results(one.header, (strict, replace(one.by_preset[0], leaks=(leak,))), one.cases)
    section = familiarity_section({"one": both}, {"one": one}, PRESET[0], links(one))
    assert section is not None
    assert "one, full" in {record["series"] for record in section.charts[1].records}


def test_runs_that_nothing_tells_apart_by_training_have_no_such_section() -> None:
    plain = results_of(outcomes([True, False])).recount(PRESET[:1])
    assert familiarity_section({"plain": plain}, {"plain": plain}, PRESET[0], links(plain)) is None
    assert training_section(read_logs({"plain": plain}), {"plain": ""}) is None
    assert trajectory_section({"plain": plain}, {}) is None


def test_what_was_logged_is_drawn_over_steps(trained: dict[str, Results]) -> None:
    section = training_section(read_logs(trained), dict.fromkeys(trained, "CLIP"))
    assert section is not None
    told = {
        chart.name: [(r["curve"], r["step"], r["value"]) for r in chart.records]
        for chart in section.charts
    }
    assert told == {
        "training_loss": [("own, train/loss", 1, 2.0), ("own, train/loss", 2, 1.5)],
        "training_rate": [
            ("own, lr_head = lr_towers", i, rate) for i, rate in enumerate((0.1, 0.2, 0.3), 1)
        ],
        "training_temperature": [
            ("own, scale", i, 1 / scale) for i, scale in enumerate((10.0, 20.0, 50.0), 1)
        ],
        "training_missing": [
            ("own, missing_units", i, share) for i, share in enumerate((0.25, 0.5, 0.0), 1)
        ],
    }
    trained["own"].header["scoring"] = {"images": 1234, "device": "cpu"}
    found = cost_table(trained, read_logs(trained))
    assert found["evaluated on"] == ["cpu"]
    assert found["training steps (logged)"] == ["3"]
    assert found["texts per second, median over steps"] == ["200"]
    assert found["images encoded for evaluation"] == ["1,234"]
    assert found["device hours of training (logged)"] == ["2.06"]


def test_losses_of_different_objectives_have_a_chart_each(trained: dict[str, Results]) -> None:
    logs = read_logs(trained)
    both = {"own": logs["own"], "other": logs["own"]}
    section = training_section(both, {"own": "CLIP", "other": "CSCLIP"})
    assert section is not None
    titles = [chart.title for chart in section.charts if "Loss" in chart.title]
    assert titles == ["Loss of CLIP", "Loss of CSCLIP"]


def test_a_trajectory_beside_the_results_is_drawn(
    trained: dict[str, Results], tmp_path: Path
) -> None:
    points = [{"alpha": a, "scores": {"pairs/all/i2t": 50 + 10 * a}} for a in (0, 0.5, 1)]
    (tmp_path / "trajectory.json").write_text(json.dumps(points))
    section = trajectory_section(trained, {"own": tmp_path})
    assert section is not None
    (chart,) = section.charts
    assert [(r["alpha"], r["value"]) for r in chart.records] == [(0, 50), (0.5, 55), (1, 60)]
    (tmp_path / "trajectory.json").write_text('[{"alpha": 0}]')
    with pytest.raises(
        ZooError, match=r"trajectory.json is not a valid trajectory \(KeyError.*zoo merge"
    ):
        trajectory_section(trained, {"own": tmp_path})


def test_a_trajectory_is_not_that_of_a_run_which_lies_beside_it(
    trained: dict[str, Results], tmp_path: Path
) -> None:
    points = [{"alpha": a, "scores": {"pairs/all/i2t": 50}} for a in (0, 1)]
    (tmp_path / "trajectory.json").write_text(json.dumps(points))
    assert trajectory_section(trained, {"own": tmp_path / "another"}) is None


def test_a_broken_log_is_a_sentence(trained: dict[str, Results], tmp_path: Path) -> None:
    (tmp_path / "version_0" / "metrics.csv").write_text("epoch,step,train/loss\n0,0,much\n")
    with pytest.raises(ZooError, match=r"metrics.csv is not a valid training log .*move it away"):
        read_logs(trained)
