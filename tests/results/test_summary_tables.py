"""What a report over much is shortened to, and what it has at length."""

from typing import Any

import pytest

from zoo.benchmarks.ceilings import Ceiling, ceilings_to_dict
from zoo.results import summary_tables
from zoo.results.averages import Average, summarize_runs
from zoo.results.header import TEXT_PROBE
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.preset_results import PresetResults
from zoo.results.report import Results
from zoo.results.summary_tables import absent_file_lines, ceilings_table, notes

SUBSETS = ("add_att", "add_obj", "swap_att")
ORDER = Ceiling(300, 50.0, 96.0, {"longer": 40.0, "shorter": 60.0}, None)
NOTHING = Ceiling(20, 50.0, 100.0, {"longer": 45.0, "shorter": 55.0}, 50.0)


def metric(subset: str, value: float | None, of: int, **more: Any) -> Metric:
    n = 0 if value is None else of
    ends = (None, None) if value is None else (value, value)
    kept = {"chance": 50.0, **more}
    return Metric("b", subset, "i2t", value, *ends, "Wilson", n, of, 0, n, of, 0, **kept)


METRICS = (metric("add_att", 40.0, 30), metric("add_obj", 80.0, 10), metric("swap_att", None, 5))


def header(**more: Any) -> dict[str, Any]:
    subsets = {name: {"published_n": 30} for name in SUBSETS}
    ceilings = ceilings_to_dict({"*": {"i2t": ORDER}, "add_att": {"i2t": NOTHING}})
    b = {"benchmark": "b", "run": "", "subsets": subsets, "notes": {}, "ceilings": ceilings, **more}
    return {
        **{"benchmarks": {"b": b}, "absent": [], "scoring": {}, "model": {}},
        "data_root": ["here", "there"],
    }


def test_a_mean_of_a_benchmark_weighs_what_was_scored_by_its_cases() -> None:
    (mean,) = summarize_runs("official", METRICS, {})
    assert (mean.name, mean.value, mean.n, mean.n_total) == ("b/i2t", 50.0, 40, 40)
    assert (len(mean.members), mean.missing) == (3, ("b/swap_att/i2t",))


def test_a_gallery_that_lacks_images_enters_no_mean() -> None:
    whole, part = metric("w", 10.0, 9, gallery_size=9), metric("p", 90.0, 9, gallery_size=20)
    (mean,) = summarize_runs("official", (whole, part), {})
    assert mean.value == 10.0
    assert list(summarize_runs("official", (part,), {})) == []


def test_many_metrics_are_shown_by_benchmark_with_what_the_blind_get_and_each_at_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summary_tables, "MANY", 2)
    unreported = Average("a", "mean", None, "equal", ("x",), ("b/swap_att/i2t",), 1, 1)
    counted = PresetResults(
        "a", "first", METRICS, (unreported,), (), tuple(summarize_runs("a", METRICS, {}))
    )
    other = PresetResults("c", "x", METRICS, (), (), tuple(summarize_runs("c", METRICS, {})))
    results = Results(header(), (counted, other), SCHEMA.empty_table())
    short = " ".join(repr(results).split())
    assert "b i2t 2 of 3 50.0 40 / 40 50.0 96.0 60.0" in short
    assert short.count("2 of 3") == 1  # of the second preset they are the same
    assert "averages not reported: mean (1 missing)" in short
    assert "add_att" not in short
    assert "--long prints every subset" in short
    monkeypatch.setattr(summary_tables, "MANY", 3)
    whole = " ".join(repr(results).split())
    assert "add_att i2t 40.0" in whole
    assert "is not reported; missing: b/swap_att/i2t" in whole
    assert "b all i2t 300 50.0 96.0 60.0 shorter" in whole


def test_a_ceiling_is_shown_where_it_tells_of_more_than_chance() -> None:
    table = ceilings_table(header(), long=False)
    assert table.rows == (("b", "all", "i2t", "300", "50.0", "96.0", "60.0", "", "", "shorter"),)
    told = Ceiling(300, 50.0, 100.0, {"longer": 60.0, "shorter": 40.0}, None)
    placed = Ceiling(20, 50.0, None, {}, 90.0)
    plain = ceilings_to_dict({"one": {"i2t": told}, "two": {"i2t": NOTHING, "t2i": placed}})
    rows = ceilings_table(header(ceilings=plain), long=True).rows
    assert [row[1:3] for row in rows] == [("one", "i2t"), ("two", "t2i")]
    assert ceilings_table({"benchmarks": {"old": {}}}, long=True).rows == ()


def test_what_the_text_tower_tells_stands_beside_where_it_is_more_than_chance() -> None:
    plain = ceilings_to_dict({"one": {"i2t": NOTHING}, "two": {"i2t": NOTHING}})
    made = header(ceilings=plain)
    told = {"one": {"i2t": {"n": 100, "value": 80.0}}, "two": {"i2t": {"n": 100, "value": 55.0}}}
    made["scoring"] = {TEXT_PROBE: {"b": told}}
    (row,) = ceilings_table(made, long=True).rows
    assert (row[1], row[8]) == ("one", "80.0")


def test_notes_that_are_alike_about_subsets_share_a_line_but_at_length() -> None:
    said = {f"{name} cases": f"{i} in the file" for i, name in enumerate(SUBSETS)}
    made = header(notes={**said, "tagger": "spaCy"})
    assert list(notes(made, long=False)) == [
        "b, add_att cases: 0 in the file; the same applies to 2 more subsets",
        "b, tagger: spaCy",
    ]
    assert len(list(notes(made, long=True))) == 4


def test_much_that_is_absent_is_named_with_its_size_and_told_at_length() -> None:
    made = header()
    made["absent"] = [
        {
            "benchmark": "b",
            "run": "",
            "subset": name,
            "files": [f"{name}.json"],
            "instructions": name,
        }
        for name in (*SUBSETS, "unpublished")
    ]
    assert list(absent_file_lines(made, long=False)) == [
        "absent: b (4 subsets)",
        "`zoo doctor --data_root here there` explains how to get them",
    ]
    assert len(list(absent_file_lines(made, long=True))) == 4
    made["benchmarks"]["b"]["subsets"]["unpublished"] = {"published_n": 10}
    assert next(absent_file_lines(made, long=False)) == "absent: b (100 cases)"
