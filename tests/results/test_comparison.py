"""Comparisons of published answers and of made runs: values, tests, marks, groups, notes."""

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import zoo
from tests.support.compared import (
    BIVLC,
    MODELS,
    Counting,
    brittle_outcomes,
    golden,
    outcomes,
    published_bivlc,
    published_sugarcrepe,
    results,
)
from zoo.benchmarks import Case
from zoo.errors import ZooError
from zoo.results import Rules
from zoo.results.averages import Mean, Member
from zoo.results.comparison.comparison import Comparison, format_p_value
from zoo.results.comparison.lines import ComparisonLine, summarise_differences
from zoo.results.comparison.run_names import group_across_seeds, shorten_paths
from zoo.results.number_formats import format_number, format_points
from zoo.results.outcomes import SCHEMA, outcome_rows, outcome_table
from zoo.results.report import Results, write_results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.write import write_report
from zoo.sources.sample import ImageRef


@pytest.fixture(scope="module")
def answers(shared_data: Path) -> dict[str, Results]:
    return {model: published_sugarcrepe(shared_data, model) for model in MODELS}


@pytest.fixture(scope="module")
def sugarcrepe(answers: dict[str, Results]) -> Comparison:
    return zoo.compare(answers, ["openai/ViT-B-32"], resamples=2000)


@pytest.fixture(scope="module")
def bivlc(shared_data: Path) -> Comparison:
    return zoo.compare(
        {model: published_bivlc(shared_data, model) for model in MODELS}, resamples=2000
    )


def lines(comparison: Comparison) -> dict[str, ComparisonLine]:
    return {str(line.name): line for line in comparison.lines}


def mid_p(first: list[bool], second: list[bool]) -> float:
    """McNemar's, by scipy's binomial law alone."""
    pairs = list(zip(first, second, strict=True))
    b, c = pairs.count((True, False)), pairs.count((False, True))
    law = stats.binom(b + c, 0.5)
    return min(1.0, float(2 * law.cdf(min(b, c)) - law.pmf(min(b, c))))


def by_exchanges(images: list[str], apart: list[int]) -> float:
    """The mid-p of exchanging answers image by image, image after image."""
    totals: dict[str, int] = {}
    for image, one in zip(images, apart, strict=True):
        totals[image] = totals.get(image, 0) + one
    most = sum(map(abs, totals.values()))
    law = np.zeros(2 * most + 1)
    law[most] = 1
    for step in totals.values():
        law = (np.roll(law, step) + np.roll(law, -step)) / 2
    observed = abs(sum(totals.values()))
    return float(2 * law[most + observed + 1 :].sum() + law[most + observed])


def test_published_answers_to_sugarcrepe_differ_and_are_tested_as_scipy_says(
    sugarcrepe: Comparison, shared_data: Path
) -> None:
    read = [golden(shared_data, f"SUGARCREPE_CORRECT_{model}.csv.gz") for model in MODELS]
    subsets = dict.fromkeys(f"{row['type']}_{row['subtype']}" for row in read[0])
    found = lines(sugarcrepe)
    for subset in subsets:
        own = [[r for r in rows if f"{r['type']}_{r['subtype']}" == subset] for rows in read]
        first, second = ([row["correct"] == "1" for row in rows] for rows in own)
        line = found[f"sugarcrepe/{subset}/i2t"]
        (test,) = line.tests
        assert line.n == len(first)
        assert [value.value for value in line.values] == pytest.approx(
            [100 * np.mean(first), 100 * np.mean(second)]
        )
        assert test.difference == pytest.approx(100 * (np.mean(second) - np.mean(first)))
        assert test.p_by_query == pytest.approx(mid_p(first, second), rel=1e-9)
        apart = [int(b) - int(a) for a, b in zip(first, second, strict=True)]
        images = [row["filename"] for row in own[0]]
        assert test.p == pytest.approx(by_exchanges(images, apart), rel=1e-6)
        totals = {image: [0, 0] for image in images}
        for image, one in zip(images, apart, strict=True):
            totals[image][0] += one
            totals[image][1] += 1
        expected = stats.bootstrap(
            tuple(np.array(list(totals.values())).T),
            lambda total, size, axis: total.sum(axis) / size.sum(axis),
            paired=True,
            vectorized=True,
            n_resamples=1500,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
        assert test.low is not None
        assert test.high is not None
        near = pytest.approx([100 * end for end in expected], abs=0.08 * (test.high - test.low))
        assert [test.low, test.high] == near


@pytest.mark.parametrize("metric", BIVLC)
def test_published_answers_to_bivlc_are_tested_as_mcnemar_does(
    metric: str, bivlc: Comparison, shared_data: Path
) -> None:
    """Every case has images of its own, so that images and questions are the same units."""
    rows = [golden(shared_data, f"BiVLC_{model}.csv.gz") for model in MODELS]
    right = [[row[f"{metric}_score"] == "True" for row in of] for of in rows]
    whole = lines(bivlc)[f"bivlc {metric}, by cases"]
    (test,) = whole.tests
    assert whole.n == 2933
    assert test.difference == pytest.approx(100 * (np.mean(right[1]) - np.mean(right[0])))
    assert [test.p, test.p_by_query] == pytest.approx([mid_p(*right)] * 2, rel=1e-6)
    swapped = [row["type"] == "swap" and row["subtype"] == "att" for row in rows[0]]
    first, second = ([r for r, own in zip(of, swapped, strict=True) if own] for of in right)
    (test,) = lines(bivlc)[f"bivlc/swap_att/{metric}"].tests
    assert [test.p, test.p_by_query] == pytest.approx([mid_p(first, second)] * 2, rel=1e-6)


def test_metrics_are_adjusted_over_all_pairs_and_averages_apart(sugarcrepe: Comparison) -> None:
    for of_means in (False, True):
        own = [line for line in sugarcrepe.lines if line.name.is_mean is of_means]
        tests = [test for line in own for test in line.tests]
        adjusted = stats.false_discovery_control([test.p for test in tests])
        assert [test.q for test in tests] == pytest.approx(adjusted.tolist())


def test_published_figures_stand_beside_what_they_are_of(sugarcrepe: Comparison) -> None:
    line = lines(sugarcrepe)["sugarcrepe/add_att/i2t"]
    assert line.values[0].value == pytest.approx(68.79, abs=0.01)
    assert [figure.value for figure in line.published] == [pytest.approx(68.79, abs=0.05)]
    record = next(r for r in sugarcrepe.records() if r["source"] is not None)
    assert (record["run"], record["difference"]) == ("openai/ViT-B-32", None)
    assert "(published)" in sugarcrepe.to_markdown()
    assert any(note.startswith("published: ") for note in sugarcrepe.notes)


def made(rates: dict[str, float], n: int = 400, **model: Any) -> dict[str, Results]:
    """Runs that are right in a share of questions, the better in all that the worse have right."""
    return {
        name: results(outcomes([i < rate * n for i in range(n)]), model)
        for name, rate in rates.items()
    }


def test_what_is_significant_alone_and_not_among_many_metrics_is_underlined() -> None:
    first, second = (
        results(
            pa.concat_tables(
                [
                    outcomes([i >= wrong for i in range(20)], subset="apart"),
                    *(outcomes([True] * 20, subset=f"alike {i}") for i in range(4)),
                ]
            )
        )
        for wrong in (6, 0)
    )
    compared = zoo.compare({"first": first, "second": second}, presets=["official"], resamples=50)
    line = next(line for line in compared.lines if line.name.subset == "apart")
    (test,) = line.tests
    assert test.p == pytest.approx(0.5**6)
    assert test.q == pytest.approx(5 * 0.5**6)
    assert [(value.best, value.near_best) for value in line.values] == [
        (False, True),
        (True, False),
    ]


def test_q_is_over_all_metrics_and_over_all_means_apart() -> None:
    first, second = (
        results(
            pa.concat_tables(
                [
                    outcomes([i >= wrong for i in range(20)], subset="swap_att"),
                    outcomes([True] * 20, subset="add_att"),
                ]
            )
        )
        for wrong in (6, 0)
    )
    members = [Member("sugarcrepe", subset) for subset in ("swap_att", "add_att")]
    means = (Mean("both", tuple(members)), Mean("one", (members[0],)))
    preset = Counting(Rules(official_ties=True, drop_identical=False), means)
    compared = zoo.compare({"first": first, "second": second}, presets=[preset], resamples=50)
    for means in (False, True):
        own = [test for line in compared.lines if line.name.is_mean is means for test in line.tests]
        assert len(own) > 1
        expected = stats.false_discovery_control([test.p for test in own])
        assert [test.q for test in own] == pytest.approx(list(expected))


def rates_of_subsets(right: dict[str, int]) -> Results:
    """Returns a run with so many right of 20 answers in each subset."""
    parts = [outcomes([i < n for i in range(20)], subset=name) for name, n in right.items()]
    return results(pa.concat_tables(parts))


def test_averages_of_capabilities_are_compared_where_they_are_asked_for_and_only_there() -> None:
    runs = {
        "a": rates_of_subsets({"swap_att": 6, "replace_rel": 14, "swap_obj": 9}),
        "b": rates_of_subsets({"swap_att": 15, "replace_rel": 15, "swap_obj": 9}),
    }
    assert not [line for line in zoo.compare(runs, resamples=50).lines if line.name.is_mean]
    asked = zoo.compare(runs, presets=["official", "capabilities"], resamples=50)
    means = {line.name.metric: line.tests[0] for line in asked.lines if line.name.is_mean}
    assert list(means) == [
        "Predicate Sensitivity",
        "Relational Structure",
        "Attribute Binding",
        "Binding",
    ]
    # each category has one capability here, so that four rows are two numbers
    binding, relations = means["Binding"], means["Relational Structure"]
    assert (means["Attribute Binding"].q, means["Predicate Sensitivity"].q) == (
        binding.q,
        relations.q,
    )
    expected = stats.false_discovery_control([binding.p, relations.p])
    assert [binding.q, relations.q] == pytest.approx(list(expected))
    assert binding.q < 2 * binding.p * (1 + 1e-9)


def test_the_best_is_bold_and_what_is_not_significantly_worse_underlined() -> None:
    comparison = zoo.compare(made({"a": 0.5, "b": 0.8, "c": 0.795, "d": 0.8}))
    (line,) = (line for line in comparison.lines if not line.name.is_mean)
    assert [(value.best, value.near_best) for value in line.values] == [
        (False, False),
        (True, False),
        (False, True),
        (True, False),
    ]
    assert "| 50.0 | **80.0** | <ins>79.5</ins> | **80.0** |" in comparison.to_markdown()
    assert "50.0 80.0* 79.5~ 80.0*" in " ".join(repr(comparison).split())
    assert [test.second for test in line.tests_against_first()] == ["b", "c", "d"]
    assert [(t.first, t.second) for t in line.tests] == list(combinations("abcd", 2))
    assert line.tests[0].right_only == (0, 120)


def test_latex_has_bold_only_what_is_significantly_better_than_all_other_runs() -> None:
    tied = zoo.compare(made({"a": 0.5, "b": 0.8, "c": 0.795}))
    assert r"50.0 & \underline{80.0} & \underline{79.5} \\" in tied.to_latex()
    ahead = zoo.compare(made({"a": 0.5, "b": 0.8, "c": 0.6}))
    assert r"50.0 & \textbf{80.0} & 60.0 \\" in ahead.to_latex()
    one = zoo.compare({name: r for name, r in seeded().items() if name[0] == "a"}, group="seed")
    assert r"\textbf" not in one.to_latex()


def test_latex_with_a_caption_is_floats_with_labels_and_names_of_papers(
    sugarcrepe: Comparison,
) -> None:
    text = sugarcrepe.to_latex("Swaps & more.", "tab:swaps")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 1
    assert r"\caption{Swaps \& more. Metrics in per cent" in text
    assert r"\label{tab:swaps-metrics}" in text
    assert r"\label{tab:swaps-differences}" in text
    assert "SugarCrepe &" in text
    assert "SugarCrepe, mean of" in text
    assert r"\begin{table}" not in sugarcrepe.to_latex()
    with pytest.raises(ZooError, match="use only letters"):
        sugarcrepe.to_latex(label="tab:a b")
    runs = zoo.compare(made({"clip": 0.5, "cs_clip": 0.6}))
    assert "CLIP & CS-CLIP" in runs.to_latex()
    same = zoo.compare(made({"cs_clip": 0.5, "CS-CLIP": 0.6}))
    assert r"cs\_clip & CS-CLIP" in same.to_latex()


def seeds(k: int, seed: int, objective: str = "clip") -> dict[str, Any]:
    return {
        "recipe": {"objective": objective, "seed": seed},
        "origin": {"data": {"seed": seed, "files": ["a"]}},
        "checkpoint": f"runs/{k}/last.ckpt",
        "weights_sha256": str(k),
    }


def seeded() -> dict[str, Results]:
    """Three seeds of one recipe and two of another, of which the second has more right."""
    found: dict[str, Results] = {}
    rates = {"a_1": 50, "b_1": 62, "a_2": 54, "b_2": 66, "a_3": 52}
    for k, (name, rate) in enumerate(rates.items()):
        objective = "clip" if name[0] == "a" else "negclip"
        right = outcomes([i < rate for i in range(100)])
        found[name] = results(right, seeds(k, int(name[2:]), objective))
    return found


def test_runs_that_differ_in_nothing_but_their_seeds_are_taken_together() -> None:
    runs = seeded()
    assert group_across_seeds(runs) == {"a": ["a_1", "a_2", "a_3"], "b": ["b_1", "b_2"]}
    comparison = zoo.compare(runs, group="seed")
    line = comparison.lines[0]
    assert comparison.runs == ("a", "b")
    assert [value.value for value in line.values] == pytest.approx([52, 64])
    assert [value.deviation for value in line.values] == pytest.approx([2, 8**0.5])
    assert [value.seeds for value in line.values] == [3, 2]
    (test,) = line.tests
    assert test.difference == pytest.approx(12)
    assert test.low < 12 < test.high
    assert test.right_only is None
    assert "52.0 ± 2.0" in repr(comparison)
    assert r"52.0 $\pm$ 2.0" in comparison.to_latex()
    said = " ".join(comparison.notes)
    assert "a: mean and standard deviation of 3 seeds (a_1, a_2, a_3)" in said
    assert "variation over images" in said


def test_seeds_of_one_recipe_alone_have_a_mean_and_no_differences() -> None:
    seeds_of_one = {name: run for name, run in seeded().items() if name.startswith("a")}
    comparison = zoo.compare(seeds_of_one, group="seed")
    assert comparison.runs == ("a",)
    assert comparison.lines[0].tests == ()
    assert "52.0 ± 2.0" in repr(comparison)
    assert "95 % interval |" not in comparison.to_markdown()
    with pytest.raises(ZooError, match="--plot: no run is left to compare with a"):
        comparison.figure()


@pytest.mark.parametrize(
    ("names", "group"),
    [
        (("clip_1", "clip_10"), "clip"),
        (("clip_10", "clip_11"), "clip"),
        (("clip/seed_0", "clip/seed_1"), "clip"),
        (("b32-s0", "b32-s1"), "b32"),
        (("seed0/clip", "seed1/clip"), "clip"),
        (("0", "1"), "0"),
        (("first", "second"), "first"),
    ],
)
def test_a_group_is_called_what_is_left_of_its_names_without_seeds(
    names: tuple[str, str], group: str
) -> None:
    runs = {name: results(outcomes([True]), seeds(k, k)) for k, name in enumerate(names)}
    assert list(group_across_seeds(runs)) == [group]


def test_runs_that_are_no_seeds_of_each_other_are_not_put_together() -> None:
    runs = seeded()
    alone = {name: runs[name] for name in ("a_1", "b_2")}
    with pytest.raises(ZooError, match=r"b_2 vs a_1: recipe.objective negclip"):
        zoo.compare(alone, group="seed")
    again = {"a_1": runs["a_1"], "again": runs["a_1"]}
    with pytest.raises(ZooError, match="a_1 and again have the same recipe, data and seed"):
        zoo.compare(again, group="seed")
    unknown = {name: results(outcomes([True])) for name in "ab"}
    with pytest.raises(ZooError, match="neither records how its model was trained"):
        zoo.compare(unknown, group="seed")
    with pytest.raises(ZooError, match="can only be grouped by `seed`"):
        zoo.compare(runs, group="objective")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["measured/clip", "measured/cs_clip"], ["clip", "cs_clip"]),
        (["a/clip/results", "a/negclip/results"], ["clip", "negclip"]),
        (["a/clip/1", "a/negclip/1", "a/clip/2"], ["clip/1", "negclip/1", "clip/2"]),
        (["runs", "runs/a"], ["runs", "runs/a"]),
        (["a/one", "b/one"], ["a", "b"]),
    ],
)
def test_runs_are_called_what_differs_in_their_paths(paths: list[str], names: list[str]) -> None:
    assert shorten_paths([Path(path) for path in paths]) == names


def test_cases_that_not_all_runs_have_are_left_out_and_counted() -> None:
    runs = {
        "a": results(outcomes([True] * 9)),
        "b": results(outcomes([True] * 6 + [None] * 2)),
    }
    comparison = zoo.compare(runs)
    assert (comparison.lines[0].n, comparison.lines[0].n_total) == (6, 8)
    assert "6 of 8" in repr(comparison)
    said = " ".join(comparison.notes)
    assert "swap_att: left out, since another run does not have them: 1 outcomes of a" in said
    assert "since not every run scored them: 2 outcomes not scored of b" in said
    assert "in any run" not in said


def test_metrics_are_chosen_by_patterns(
    sugarcrepe: Comparison, answers: dict[str, Results]
) -> None:
    swaps = zoo.compare(answers, metrics=["sugarcrepe/swap_*", "*mean of 7*"], resamples=100)
    assert [str(line.name) for line in swaps.lines] == [
        "sugarcrepe/swap_obj/i2t",
        "sugarcrepe/swap_att/i2t",
        "sugarcrepe, mean of 7 subsets",
    ]
    whole = lines(sugarcrepe)["sugarcrepe/swap_obj/i2t"].tests[0]
    assert swaps.lines[0].tests[0].p == whole.p
    with pytest.raises(ZooError, match=r"--metrics 'aro/\*' matches no metric or mean"):
        zoo.compare(answers, metrics=["aro/*"])


def test_a_further_preset_brings_the_metrics_that_it_counts_otherwise() -> None:
    ties = outcomes([True] * 10)
    tied = ties
    for name, value in (("right", False), ("tie", True), ("tie_is_right", True)):
        at = SCHEMA.get_field_index(name)
        tied = tied.set_column(at, SCHEMA.field(at), pa.array([value] * 10))
    runs = {"a": results(tied), "b": results(ties)}
    found = zoo.compare(runs, presets=["official", "strict"])
    assert [(line.name.preset, line.values[0].value) for line in found.lines] == [
        ("official", 100.0),
        ("strict", 0.0),
    ]
    same = zoo.compare({"a": results(ties), "b": results(ties)}, presets=["official", "strict"])
    assert [line.name.preset for line in same.lines] == ["official"]


def test_csv_and_json_hold_every_number_in_full(sugarcrepe: Comparison) -> None:
    read = list(csv.DictReader(StringIO(sugarcrepe.to_csv())))
    records = sugarcrepe.records()
    assert len(read) == len(records)
    for row, record in zip(read, records, strict=True):
        assert list(row) == list(record)
        for name, value in record.items():
            assert row[name] == ("" if value is None else str(value))
            if isinstance(value, float):
                assert float(row[name]) == value
    held = json.loads(sugarcrepe.to_json())
    assert held["runs"] == list(MODELS)
    assert held["lines"][0]["tests"][0]["p"] == sugarcrepe.lines[0].tests[0].p


def test_pandas_holds_a_row_for_each_run_and_number(sugarcrepe: Comparison) -> None:
    pytest.importorskip("pandas", reason="DataFrames are pandas': pip install pandas")
    assert len(sugarcrepe.to_pandas()) == len(sugarcrepe.records())


def test_without_pandas_a_sentence_says_what_to_install(
    sugarcrepe: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ZooError, match="pandas"):
        sugarcrepe.to_pandas()


def cells(line: str) -> Iterator[str]:
    return (cell.strip() for cell in line.removesuffix(r" \\").split(" & "))


def test_latex_is_whole_tabulars_whose_rows_have_a_cell_for_each_column() -> None:
    runs = made({"cs_clip & 100%": 0.5, "b{#}": 0.7, "c~^\\": 0.71})
    text = zoo.compare(runs).to_latex()
    body = [line for line in text.splitlines() if line and not line.startswith("%")]
    depth, opened, sides = 0, 0, ""
    for line in body:
        bare = line.replace(r"\\", "").replace(r"\{", "").replace(r"\}", "")
        opened += bare.count("{") - bare.count("}")
        if line.startswith("{\\footnotesize") or line == "}":
            assert opened == (0 if line == "}" else 1)
            continue
        assert opened == 1
        if line.startswith(r"\begin{tabular}"):
            depth, sides = depth + 1, line.removeprefix(r"\begin{tabular}{@{}")
            sides = sides.removesuffix("@{}}")
            assert set(sides) <= {"l", "r"}
        elif line.startswith(r"\end{tabular}"):
            depth -= 1
        elif not line.startswith(("\\toprule", "\\midrule", "\\bottomrule")):
            assert depth == 1
            assert line.endswith(r" \\")
            assert len(list(cells(line))) == len(sides)
            plain = line.removesuffix(r" \\").replace(" & ", " ")
            assert not re.search(r"(?<!\\)[&%#_~^]", plain)
            assert plain.count("$") % 2 == 0
    assert depth == 0
    assert r"cs\_clip \& 100\%" in text
    assert "+20.0" in text


@pytest.mark.parametrize("n", [2, 20], ids=["a page", "several pages"])
def test_latex_compiles_and_fits_a_page_of_paper(n: int, tmp_path: Path) -> None:
    latex = shutil.which("pdflatex")
    if latex is None:
        pytest.skip("pdflatex is not installed")
    runs = {
        name: results(
            pa.concat_tables(
                [outcomes([i < rate for i in range(40)], subset=f"sub_{k}") for k in range(n)]
            )
        )
        for name, rate in (("A & 5%", 20), ("NegCLIP_{#}", 22), ("C~^\\", 23), ("D$", 30))
    }
    text = zoo.compare(runs, resamples=50).to_latex()
    assert (r"\begin{longtable}" in text) == (n == 20)
    packages = text.splitlines()[0].removeprefix("% ").partition(";")[0]
    document = (
        r"\documentclass{article}\usepackage[a4paper,margin=2cm]{geometry}"
        f"{packages}\\begin{{document}}{text}\\end{{document}}"
    )
    (tmp_path / "table.tex").write_text(document.replace("{document}%", "{document}\n%"))
    told = subprocess.run(
        [latex, "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout
    assert "Overfull" not in told.stdout


def test_a_run_aside_is_shown_and_takes_part_in_no_test() -> None:
    runs = made({"a": 0.5, "b": 0.6, "start": 0.9})
    alone = zoo.compare({name: runs[name] for name in ("a", "b")})
    comparison = zoo.compare(runs, excluded_from_tests=["start"])
    for line, without in zip(comparison.lines, alone.lines, strict=True):
        assert line.tests == without.tests
        assert line.values[:2] == without.values
        assert line.values[2].value == pytest.approx(90)
        assert not line.values[2].best
        assert not line.values[2].near_best
    assert "start: shown only; excluded from best, p and q" in comparison.notes
    assert comparison.tested_runs == ("a", "b")
    for names, said in (
        (["sart"], "--exclude_from_tests sart is not one of the runs"),
        (["a"], "--exclude_from_tests a: the other runs are compared with the first run"),
        (["b", "start"], "--exclude_from_tests b,start leaves only a to test"),
    ):
        with pytest.raises(ZooError, match=said):
            zoo.compare(runs, excluded_from_tests=names)


def test_runs_of_which_only_the_first_cases_were_measured_are_a_note() -> None:
    by_name = {name: results(outcomes([True, False, True])) for name in "abc"}
    limited = "at most 3 cases per subset were measured (--limit): a test, not a result"
    assert not any("--limit" in note for note in zoo.compare(by_name).notes)
    for name in "bc":
        by_name[name].header["scoring"]["limit"] = 3
    assert f"b, c: {limited}" in zoo.compare(by_name).notes
    by_name["a"].header["scoring"]["limit"] = 3
    comparison = zoo.compare(by_name)
    assert limited in comparison.notes
    tables = (comparison.to_markdown(), comparison.to_latex(), comparison.to_json())
    assert all(limited in table for table in tables)


def test_what_no_run_scored_is_not_said_to_be_scored_by_another() -> None:
    first, second = outcomes([None, None, True, False]), outcomes([None, None, False, False])
    notes = zoo.compare({"a": results(first), "b": results(second)}).notes
    assert "sugarcrepe/swap_att: 2 outcomes were not scored in any run" in notes
    assert not any("not every run" in note for note in notes)


def test_what_one_run_scored_and_what_none_did_are_counted_apart() -> None:
    first = outcomes([None, None, None, True, False])
    second = outcomes([None, True, False, None, False])
    notes = zoo.compare({"a": results(first), "b": results(second)}).notes
    assert "sugarcrepe/swap_att: 1 outcomes were not scored in any run" in notes
    (said,) = (note for note in notes if "not every run scored them" in note)
    assert said.endswith("2 outcomes not scored of a, 1 outcomes not scored of b")


@pytest.mark.parametrize(
    ("number", "shown"), [(-0.04, "0.0"), (0.04, "0.0"), (-0.06, "-0.1"), (2.0, "+2.0")]
)
def test_a_difference_of_nothing_has_no_sign(number: float, shown: str) -> None:
    assert format_points(number) == shown


def test_one_number_is_rounded_alike_in_the_table_and_in_the_report(tmp_path: Path) -> None:
    rules = Counting(Rules(official_ties=True, drop_identical=False))
    runs = {
        name: results(outcomes([i < right for i in range(400)])).recount([rules])
        for name, right in (("a", 313), ("b", 311))
    }
    compared = zoo.compare(runs, presets=[rules], resamples=50)
    assert "400 78.3* 77.8~" in " ".join(repr(compared).split())
    assert [run.to_markdown().count("| 78.3 |") for run in runs.values()] == [1, 0]
    write_report(runs, [rules], tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert re.findall(r'data-value="7\d\.[^"]*"><a[^>]*>([\d.]+)</a>', page) == ["78.3", "77.8"]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0.05, "0.1"), (-0.25, "-0.3"), (78.24999999999999, "78.3"), (78.249, "78.2"), (-0.04, "0.0")],
)
def test_halves_are_rounded_away_from_zero(number: float, shown: str) -> None:
    assert format_number(number) == shown


@pytest.mark.parametrize(
    ("p", "shown"), [(5e-5, "< 0.0001"), (1e-30, "< 0.0001"), (1e-4, "0.0001"), (0.0471, "0.047")]
)
def test_a_small_p_is_said_to_be_under_one_in_ten_thousand(p: float, shown: str) -> None:
    assert format_p_value(p) == shown


def test_counts_of_each_alone_are_of_runs_and_not_of_seeds() -> None:
    runs = made({"a": 0.5, "b": 0.7, "c": 0.7})
    assert zoo.compare(runs).has_right_only_counts
    together = zoo.compare(runs, group={"a": ["a"], "both": ["b", "c"]})
    assert not together.has_right_only_counts
    assert "right in" not in together.to_markdown()


def test_a_run_that_falls_behind_has_a_minus_in_latex() -> None:
    assert "$-$20.0" in zoo.compare(made({"a": 0.7, "b": 0.5})).to_latex()


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "0 run given, at least 2 needed"),
        (["a"], "1 run given"),
        ("a", "compare takes a list of runs"),
        (["a", "b/../a"], "b/../a is named twice: name each run once"),
        (["a", "nowhere"], "nowhere has no cases.parquet"),
        (["a", "broken"], "broken are damaged"),
        (["a", "other"], "other has no case in common with a"),
        (["a", "unscored"], "a, unscored have no case that all of them scored"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(
    runs: list[str] | str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_results(results(outcomes([True, False])), tmp_path / "a")
    write_results(results(outcomes([True, False], subset="another")), tmp_path / "other")
    write_results(results(outcomes([None, None])), tmp_path / "unscored")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "cases.parquet").write_bytes(b"PAR1")
    (tmp_path / "b").mkdir()
    with pytest.raises(ZooError, match=said):
        zoo.compare(runs)


def test_results_without_names_are_refused() -> None:
    found = results(outcomes([True]))
    with pytest.raises(ZooError, match="give them by name"):
        zoo.compare([found, replace(found)])  # type: ignore[list-item]


@pytest.mark.parametrize("published", [6, 5000])
def test_a_recall_among_some_images_has_no_figure_beside_and_enters_no_mean(published: int) -> None:
    images = tuple(ImageRef("coco", str(i)) for i in range(6))
    asked = Case(images, tuple("abcdef"), np.eye(6, dtype=bool), "retrieval", "coco_karpathy", "0")
    runs = {}
    for name, scores in zip(
        "ab", np.random.default_rng(0).random((2, 6, 6), np.float32), strict=True
    ):
        judged = asked.judge(scores)
        runs[name] = results(
            outcome_table(outcome_rows(BenchmarkRun("retrieval"), asked, judged, frozenset()))
        )
        known = runs[name].header["benchmarks"]["retrieval"]["subsets"]["coco_karpathy"]
        known["published_n"] = published
    mean = Mean("both", (Member("retrieval", "coco_karpathy", "t2i_r@1"),))
    preset = Counting(Rules(official_ties=False, drop_identical=False), [mean])
    compared = zoo.compare(runs, ["negclip"], presets=[preset], resamples=50)
    found = lines(compared)
    whole = published == 6
    assert bool(found["retrieval/coco_karpathy/t2i_r@1"].published) == whole
    assert ("both" in found) == whole


@pytest.fixture(scope="module")
def brittle() -> Comparison:
    """Three runs, of which the second is least brittle, and the third hardly more."""
    shares = {"a": 500, "b": 200, "c": 203}
    means = (Mean("Brittle", (Member("hard_positives", "swap", "brittleness"),)),)
    preset = Counting(Rules(official_ties=True, drop_identical=False), means)
    runs = {
        name: results(
            pa.concat_tables(
                [brittle_outcomes(i < n for i in range(1000)), outcomes([True, False] * 20)]
            )
        )
        for name, n in shares.items()
    }
    return zoo.compare(runs, presets=[preset], resamples=100)


def test_the_lowest_is_best_where_the_protocol_says_so(brittle: Comparison) -> None:
    marks = [(False, False), (True, False), (False, True)]
    lower = [line for line in brittle.lines if line.lower_is_better]
    assert [str(line.name) for line in lower] == ["hard_positives/swap/brittleness", "Brittle"]
    for line in lower:
        assert [(value.best, value.near_best) for value in line.values] == marks
    assert "| 50.0 | **20.0** | <ins>20.3</ins> |" in brittle.to_markdown()
    assert summarise_differences(brittle.lines) == [
        "b is significantly better than a (q ≤ 0.05) on 1 of 2 metrics, and worse on 0",
        "c is significantly better than a (q ≤ 0.05) on 1 of 2 metrics, and worse on 0",
        "1 of 2 metrics has fewer than 100 queries, so that only large differences are "
        "significant there",
    ]


def test_tables_say_where_lower_is_better(brittle: Comparison) -> None:
    note = "lower is better: hard_positives/brittleness, Brittle (an answer that counts as right"
    assert note in " ".join(repr(brittle).split())
    assert note in brittle.to_markdown()
    captions = re.findall(r"\\caption\{(.*)\}", brittle.to_latex("A"))
    assert ["Lower is better: " in caption for caption in captions] == [True, True, True]
    assert "Lower is better: Hard Positives/brittleness." in captions[0]
    records = {record["metric"]: record["lower_is_better"] for record in brittle.records()}
    assert records == {"brittleness": True, "i2t": False, "Brittle": True}


def test_tables_without_such_a_metric_do_not_say_so(sugarcrepe: Comparison) -> None:
    assert "ower is better" not in repr(sugarcrepe) + sugarcrepe.to_latex("A")
