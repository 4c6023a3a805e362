"""What a run leaves on disk, what is made of it again, and what is said on the screen."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import zoo
from tests.evaluation.fakes import (
    SHAPES,
    FakeBackbone,
    InMemory,
    cases,
    cosine,
    drawn_images,
    evaluation,
    measured,
)
from tests.support.made import draw, make_root
from tests.support.mistakes import contents, full_after
from zoo.benchmarks import Case, Outcome, Protocol, Query, Subset
from zoo.benchmarks.protocols.base import build_query, right_above_wrong
from zoo.cli.commands import main as command
from zoo.cli.rescore import main
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.results import report, summary_tables
from zoo.results.averages import summarize_runs
from zoo.results.comparison.alignment import align_runs
from zoo.results.comparison.common_metrics import common_metrics
from zoo.results.comparison.outcome_differences import outcome_differences
from zoo.results.comparison.paired_tests import compare_pair
from zoo.results.header import SCHEMA_VERSION, TRUNCATED
from zoo.results.metrics import Metric, find_tie_warnings
from zoo.results.outcomes import case_fingerprint
from zoo.results.preset_results import compute_preset_results
from zoo.results.presets.preset import Official, Strict, preset_of
from zoo.results.reader import read_results
from zoo.results.report import Results, print_results
from zoo.results.summary_tables import absent_file_lines, summary_table
from zoo.results.tables import TextTable

METRIC = Metric(
    *("b", "s", "i2t", 50.0, 40.0, 60.0, "Wilson"),
    *(100, 100, 0, 100, 100, 0),
)


@pytest.fixture
def run(tmp_path: Path) -> tuple[Path, Results]:
    images = drawn_images(tmp_path, 6)
    (tmp_path / "pictures" / "5.png").unlink()
    made = evaluation(
        tmp_path,
        cases(images),
        out=str(tmp_path / "out"),
        presets=["official", "strict"],
        trained_images=["file:pictures/0.png"],
    )
    return tmp_path / "out", measured(made, FakeBackbone(), cosine())


def test_what_is_written_is_read_again(run: tuple[Path, Results]) -> None:
    folder, results = run
    again = read_results(folder)
    assert again.by_preset == results.by_preset
    assert again.header == json.loads(json.dumps(results.header))
    assert again.cases.equals(results.cases)
    assert sorted(path.name for path in folder.iterdir()) == ["cases.parquet", "results.json"]


def test_results_say_what_made_them(run: tuple[Path, Results]) -> None:
    content = json.loads((run[0] / "results.json").read_text("utf-8"))
    assert content["schema"] == SCHEMA_VERSION
    assert content["protocols"] >= 1
    assert content["software"]["clip-zoo"] == version("clip-zoo")
    assert content["benchmarks"]["in_memory"]["version"] == 1
    assert {name: content["scoring"][name] for name in ("device", "image_batch", "text_batch")} == {
        "device": "cpu",
        "image_batch": 3,
        "text_batch": 5,
    }
    assert content["scoring"]["scale"] == pytest.approx(SHAPES.scale)
    assert [p["preset"] for p in content["presets"]] == ["official", "strict"]
    assert {
        "value",
        "low",
        "high",
        "n",
        "n_total",
        "ties",
        "trained_on",
        "chance",
        "published",
    } <= content["presets"][0]["metrics"][0].keys()


def test_texts_that_lose_their_tail_are_counted_by_subset_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = cases(drawn_images(tmp_path, 3), retrieval=False)
    long = " ".join("abcdef" for _ in range(5))
    made[0] = replace(made[0], texts=(long, made[0].texts[1]))
    made[4] = replace(made[4], texts=(long, f"{long} too"))
    results = measured(evaluation(tmp_path, made), FakeBackbone(), cosine())
    assert results.header["scoring"][TRUNCATED] == {"in_memory/pairs": 2}
    print_results(results)
    assert (
        "in_memory/pairs: 2 texts are longer than the context length and were truncated"
        in capsys.readouterr().out
    )


def test_one_row_an_outcome_null_where_not_scored(run: tuple[Path, Results]) -> None:
    rows = pq.read_table(run[0] / "cases.parquet").to_pylist()
    assert len({(r["subset"], r["case"], r["query"], r["metric"]) for r in rows}) == len(rows)
    missing = [r for r in rows if r["subset"] == "pairs" and "file:pictures/5.png" in r["images"]]
    assert [r["right"] for r in missing] == [None]
    assert all(len(r["scores"]) == len(r["match"]) for r in rows if r["scores"] is not None)


def test_failures_can_be_read_as_an_outcome_brings_the_texts_it_is_about(
    run: tuple[Path, Results],
) -> None:
    asked = {(c.subset, c.id): c for c in cases(drawn_images(run[0].parent, 6))}
    for row in pq.read_table(run[0] / "cases.parquet").to_pylist():
        if row["subset"] == "gallery":
            continue
        texts = asked[row["subset"], row["case"]].texts
        columns = {"half_truth": (0, 1), "completion": (2, 1)}.get(row["metric"])
        assert row["texts"] == [texts[j] for j in columns or range(len(texts))], row["metric"]


def test_a_gallery_is_not_repeated_in_each_of_its_outcomes(run: tuple[Path, Results]) -> None:
    """A text asks with itself, an image with its two right texts."""
    for row in pq.read_table(run[0] / "cases.parquet").to_pylist():
        if row["subset"] == "gallery":
            assert len(row["texts"]) == (1 if row["metric"].startswith("t2i") else 2)


def test_a_case_has_a_hash_of_its_images_texts_and_answers_and_of_nothing_else(
    tmp_path: Path,
) -> None:
    case = cases(drawn_images(tmp_path, 2))[0]
    image = case.images[0]
    named = replace(case, id="another", subset="another", group="another")
    assert case_fingerprint(named) == case_fingerprint(case)
    others = [
        replace(case, texts=case.texts[::-1]),
        replace(case, match=~case.match),
        replace(case, images=(replace(image, key="other.png"),)),
        replace(case, images=(replace(image, crop=(0, 0, 2, 2)),)),
        replace(case, protocol="half_truth"),
    ]
    assert len({case_fingerprint(c) for c in [case, *others]}) == 6


def test_results_of_a_newer_schema_are_refused_in_a_sentence(run: tuple[Path, Results]) -> None:
    folder, results = run
    newer = replace(results, header={**results.header, "schema": SCHEMA_VERSION + 1})
    report.write_results(newer, folder)
    with pytest.raises(ZooError, match=rf"reads schemas 9 and {SCHEMA_VERSION}. Update zoo"):
        read_results(folder)


def test_metrics_are_made_again_from_the_cases_alone(run: tuple[Path, Results]) -> None:
    folder, results = run
    assert read_results(folder).recount([preset_of("strict")]).by_preset == results.by_preset[1:]


def test_rescore_counts_under_another_preset_and_writes_it(
    run: tuple[Path, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, results = run
    assert main([str(folder), "--preset", "strict", "--out", str(folder / "again")]) == 0
    assert read_results(folder / "again").by_preset == results.by_preset[1:]
    printed = capsys.readouterr().out
    assert "preset strict" in printed
    assert "in_memory/pairs: 5 of 6 images found; the model was trained on 1 of them" in printed


def test_a_run_is_rescored_from_its_cases_alone(
    run: tuple[Path, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, results = run
    (folder / "results.json").unlink()
    again = read_results(folder)
    assert again.header == json.loads(json.dumps(results.header))
    assert again.by_preset == results.by_preset[:1]
    assert main([str(folder), "--presets", "strict"]) == 0
    assert "preset strict" in capsys.readouterr().out


def test_strict_says_which_protocols_keep_options_equal_to_the_right_text(
    run: tuple[Path, Results],
) -> None:
    official, strict = run[1].by_preset
    assert official.description == Official().description
    assert (
        strict.description
        == f"{Strict().description}, but kept by protocol group, half_truth, retrieval, t2i"
    )
    one_image_each = run[1].cases.filter(pc.equal(run[1].cases["protocol"], "i2t"))
    assert (
        compute_preset_results(one_image_each, [Strict()], run[1].header)[0].description
        == Strict().description
    )


def test_a_recall_among_some_images_is_said_to_be_easier(
    run: tuple[Path, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(run[1])
    assert (
        "in_memory/gallery: a gallery of 5 of 6 images: easier than the full gallery, "
        "not comparable" in capsys.readouterr().out
    )


def test_outcomes_that_differ_come_with_their_margins(
    tmp_path: Path, run: tuple[Path, Results]
) -> None:
    _, first = run
    other = FakeBackbone()
    other.image.weight.data *= -1
    images = drawn_images(tmp_path, 6)
    (tmp_path / "pictures" / "5.png").unlink()
    second = measured(evaluation(tmp_path, cases(images)), other, cosine())
    tables = align_runs([first.cases, second.cases]).tables
    found = outcome_differences(*tables)
    assert found
    pairs = [d for d in found if d.metric == "i2t"]
    assert all(
        (d.first_margin > 0) == d.first_right and (d.second_margin > 0) == d.second_right
        for d in pairs
    )
    rows = {str(row.name): row for row in common_metrics(tables, [Strict()], first.header)}
    i2t = rows["in_memory/pairs/i2t"]
    assert (i2t.n, sum(compare_pair(i2t, *i2t.values).right_only or ())) == (5, len(pairs))


def test_runs_over_other_cases_are_not_compared(tmp_path: Path, run: tuple[Path, Results]) -> None:
    other = measured(
        evaluation(tmp_path, cases(drawn_images(tmp_path, 3))), FakeBackbone(), cosine()
    )
    with pytest.raises(ZooError, match="has no case in common with"):
        align_runs([run[1].cases, other.cases])


@pytest.mark.parametrize("short_of", ["cases.parquet", "results.json", ""])
def test_a_write_that_fails_leaves_what_was_there(run: tuple[Path, Results], short_of: str) -> None:
    folder, results = run
    before = contents(folder)
    room = len(before[short_of]) - 1 if short_of else 0
    with (
        full_after(room),
        pytest.raises(
            ZooError, match=r"cannot be written to .*File too large.*: free some disk space"
        ),
    ):
        report.write_results(results, folder)
    assert contents(folder) == before


def test_broken_or_absent_results_are_named(tmp_path: Path, run: tuple[Path, Results]) -> None:
    with pytest.raises(ZooError, match=r"has no cases\.parquet"):
        read_results(tmp_path / "elsewhere")
    (run[0] / "cases.parquet").write_bytes(b"PAR1")
    with pytest.raises(ZooError, match="are damaged"):
        read_results(run[0])


def test_the_report_fits_100_columns(
    run: tuple[Path, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(run[1])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert any("95 % interval" in line for line in lines)


def test_scalars_are_the_first_presets_values(run: tuple[Path, Results]) -> None:
    scalars = run[1].scalars()
    assert scalars["in_memory/pairs/i2t"] == run[1].value("in_memory", "pairs", "i2t")
    with pytest.raises(ZooError, match="no metric in_memory/pairs/t2i"):
        run[1].value("in_memory", "pairs", "t2i")


def test_results_print_as_their_table(
    run: tuple[Path, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(run[1])
    shown = capsys.readouterr().out.rstrip()
    assert str(run[1]) == repr(run[1]) == shown


def test_a_row_a_metric_and_preset_goes_to_pandas(
    run: tuple[Path, Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = run[1]
    rows = results.records()
    assert [(r["preset"], r["subset"], r["metric"], r["value"]) for r in rows] == [
        (counted.preset, f.subset, f.metric, f.value)
        for counted in results.by_preset
        for f in counted.metrics
    ]
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert results.to_pandas() == rows
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ZooError, match=r"pandas is not installed: pip install pandas"):
        results.to_pandas()


def test_a_data_frame_has_them_in_columns(run: tuple[Path, Results]) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = run[1].to_pandas()
    assert len(frame) == len(run[1].records())
    assert {"preset", "benchmark", "subset", "metric", "value", "low", "high"} <= set(frame.columns)


def test_metrics_are_laid_out_in_markdown_latex_and_html(run: tuple[Path, Results]) -> None:
    results = run[1]
    pairs = next(f for f in results.metrics if f.subset == "pairs")
    value, ends = f"{pairs.value:.1f}", f"{pairs.low:.1f} to {pairs.high:.1f}"
    row = ["in_memory", "pairs", "i2t", value, ends, "5 / 6", "50.0"]
    assert f"| {' | '.join(row)} |" in results.to_markdown().splitlines()
    escaped = [cell.replace("_", r"\_") for cell in row]
    assert rf"{' & '.join(escaped)} \\" in results.to_latex().splitlines()
    assert "".join(f"<td>{cell}</td>" for cell in row) in results._repr_html_()
    assert "preset strict" in results.to_markdown("strict")
    with pytest.raises(ZooError, match="have no preset 'vl_compo'"):
        results.to_latex("vl_compo")
    floats = results.to_latex(caption="Ours", label="tab:a")
    assert floats.count(r"\begin{table}") == floats.count(r"\caption{Ours}") >= 1
    assert r"\label{tab:a-1}" in floats


def test_marks_of_the_format_stay_text() -> None:
    table = TextTable(("a|b", "5 %"), (("<x> & y_1", "\\~^{}"),), ("up & down",))
    assert table.markdown().splitlines()[2:] == [
        "| a\\|b | 5 % |",
        "|---|---|",
        "| <x> & y_1 | \\~^{} |",
    ]
    assert table.latex().splitlines()[3:7] == [
        r"\multicolumn{2}{l}{up \& down} \\",
        r"a$|$b & 5 \% \\",
        r"\midrule",
        r"$<$x$>$ \& y\_1 & \textbackslash{}\textasciitilde{}\textasciicircum{}\{\} \\",
    ]
    assert "<td>&lt;x&gt; &amp; y_1</td>" in table.html()


def test_random_weights_are_said_above_every_table(run: tuple[Path, Results]) -> None:
    header = {**run[1].header, "model": {"weights": {"image tower": "random"}}}
    results = replace(run[1], header=header)
    said = "random weights: the image tower was neither pretrained nor trained"
    for text in (str(results), results.to_markdown(), results.to_latex(), results._repr_html_()):
        assert said in text


def test_what_is_absent_has_a_line_for_each_way_of_getting_it() -> None:
    lacking = [
        {"benchmark": "b", "run": "", "subset": subset, "files": [f"{subset}.json"]}
        | {"instructions": how}
        for subset, how in (("one", "clone it"), ("two", "clone it"), ("three", "ask for it"))
    ]
    assert list(absent_file_lines({"absent": lacking}, long=False)) == [
        "absent: b/one and 1 more (one.json): clone it",
        "absent: b/three (three.json): ask for it",
    ]


class Flat:
    """Scores every image and text alike, so that every answer is a tie."""

    def score(self, images: list[object], texts: list[str]) -> np.ndarray:
        return np.zeros((len(images), len(texts)), np.float32)


@pytest.fixture
def tied(tmp_path: Path) -> Results:
    """Results of ties alone, which count as right in one subset and as wrong in two."""
    made = [
        replace(case, right_listed_first=case.subset == "pairs")
        for case in cases(drawn_images(tmp_path, 3), retrieval=False)
        if case.subset in ("pairs", "choices")
    ]
    return evaluation(tmp_path, made, presets=["official", "strict"]).run_plain_model(Flat())


def test_a_benchmark_of_ties_is_named_with_its_share_and_the_preset_that_counts_them_wrong(
    tied: Results,
) -> None:
    assert tied.value("in_memory", "pairs", "i2t") == 100.0
    said = (
        "in_memory: 100.0% of the i2t answers are ties, which preset official counts as right; "
        "`zoo rescore RUN --preset strict` counts every tie as wrong"
    )
    shown = " ".join(repr(tied).split())
    assert said in shown
    assert said in tied.to_markdown()
    assert said.replace("%", r"\%").replace("_", r"\_") in tied.to_latex()
    assert said in tied._repr_html_()
    strict = "in_memory: 100.0% of the i2t answers are ties, which count as wrong"
    assert strict in shown
    assert strict in tied.to_markdown("strict")


def test_ties_of_a_few_answers_are_counted_and_not_warned_of() -> None:
    made = replace(METRIC, ties=50, ties_right=50)
    assert list(find_tie_warnings([made], "official")) == []
    mostly = replace(METRIC, ties=51, ties_right=20)
    (said,) = find_tie_warnings([mostly], "official")
    assert "51.0% of the i2t answers are ties, 20 of which preset official counts as right" in said
    (of_old,) = find_tie_warnings([replace(METRIC, ties=51)], "official")
    assert "which preset official may count as right" in of_old


def test_ties_are_a_column_of_the_condensed_table_too(
    tied: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_tables, "MANY", 1)
    short = repr(tied).splitlines()
    head = next(line for line in short if line.startswith("benchmark metric subsets"))
    assert "scored / total ties chance" in " ".join(head.split())
    assert "in_memory i2t 1 100.0 43.9 to 100.0 3 / 3 3 50.0" in " ".join(" ".join(short).split())


def test_a_comparison_says_which_runs_answer_by_ties(tied: Results) -> None:
    notes = zoo.compare({"a": tied, "b": tied}, resamples=10).notes
    for name in "ab":
        assert any(note.startswith(f"{name}: in_memory: 100.0% of the i2t") for note in notes)
    strict = zoo.compare({"a": tied, "b": tied}, presets=["strict"], resamples=10).notes
    assert any(note.endswith("are ties, which count as wrong") for note in strict)


class FirstImage(Protocol):
    """Of two images and two texts, the first image has to choose its text."""

    name = "first_image"

    def queries(self, match: np.ndarray) -> Iterator[Query]:
        yield build_query("text", 0, match, (0, 1), (0, 1))

    def judge(self, match: np.ndarray, scores: np.ndarray) -> Iterator[Outcome]:
        for query in self.queries(match):
            yield query.to_outcome(scores.ravel(), *right_above_wrong(scores[0], match[0]))


class Declared(InMemory):
    """Declares a chance level of 50 % for all that it asks."""

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return tuple(
            replace(part, chance=dict.fromkeys(("text", "i2t"), 50.0)) for part in self._parts
        )


def test_a_benchmark_has_one_chance_level_in_every_table(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 3)
    eye = np.eye(2, dtype=bool)
    four = np.array([[True, False, False, False]])
    made = [
        *(
            Case((images[i], images[i - 1]), ("a b", "b a"), eye, FirstImage(), "own", str(i))
            for i in range(3)
        ),
        *(
            Case((images[i],), ("a b", "b a", "c", "d"), four, "i2t", "four", str(i))
            for i in range(3)
        ),
        *(
            Case((images[i], images[i - 1]), ("a b", "b a"), eye, "group", "pairs", str(i))
            for i in range(3)
        ),
    ]
    results = Evaluation([Declared(made)], str(tmp_path), workers=0).run_plain_model(Flat())
    blind = results.header["benchmarks"]["in_memory"]["ceilings"]
    chances = {(m.subset, m.metric): m.chance for m in results.metrics}
    assert chances[("own", "text")] == 50.0  # as declared, for a protocol that says none
    assert chances[("four", "i2t")] == 25.0  # by the protocol, whatever is declared
    assert chances[("pairs", "text")] == 25.0
    assert {
        (subset, metric): of["chance"]
        for subset, by_metric in blind.items()
        for metric, of in by_metric.items()
        if subset != "*"
    } == pytest.approx(chances)
    assert blind["own"]["text"]["order_only"] == 50.0


def test_the_chance_of_a_benchmark_weighs_its_subsets_by_their_cases() -> None:
    few = replace(METRIC, subset="few", n_total=25, chance=50.0)
    many = replace(METRIC, subset="many", n_total=75, chance=10.0)
    mean = summarize_runs("official", (few, many), {})
    (row,) = summary_table(list(mean), (few, many), {"benchmarks": {}}).rows
    assert row[6] == "20.0"


@pytest.fixture
def incomplete(tmp_path: Path) -> Path:
    """A data root with pairs about four images, one of which is missing, and without Winoground."""
    make_root(tmp_path, 4)
    (tmp_path / "pictures" / "003.png").unlink()
    return tmp_path


def test_what_was_not_measured_is_said_last(incomplete: Path) -> None:
    asked = [f"pairs:{incomplete / 'pairs.csv'}", "winoground"]
    results = zoo.evaluate(Flat(), asked, incomplete)
    said = (
        "not measured: winoground (no annotation file), 1 of 4 of pairs "
        "(--require makes this an error)"
    )
    assert " ".join(repr(results).split()).endswith(said)
    (incomplete / "pairs.csv").write_text(
        "".join((incomplete / "pairs.csv").read_text().splitlines(keepends=True)[:-1])
    )
    assert "not measured" not in repr(zoo.evaluate(Flat(), asked[0], incomplete))


def test_what_is_missing_is_an_error_where_everything_is_required(
    incomplete: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = f"pairs:{incomplete / 'pairs.csv'}"
    said = r"winoground \(no annotation file\); 1 of 4 cases of pairs \(images missing\)"
    with pytest.raises(ZooError, match=said):
        zoo.evaluate(Flat(), [pairs, "winoground"], incomplete, require=True)
    argv = ["validate", "--benchmarks", pairs, "--data_root", str(incomplete), "--require"]
    assert command([*argv, "--model.backbone.name", "zoo-tiny"]) == 1
    assert "files are missing: 1 of 4 cases" in capsys.readouterr().err
    draw("red", "square", "blue", "circle").save(incomplete / "pictures" / "003.png")
    assert zoo.evaluate(Flat(), pairs, incomplete, require=True).metrics[0].n == 4
