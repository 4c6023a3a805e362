"""A report as files: what it counts, copies, links and refuses."""

import csv
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pyarrow as pa
import pytest
from PIL import Image
from pytest_httpserver import HTTPServer

from tests.results.site.conftest import PRESET, only
from tests.support.compared import brittle_outcomes, outcomes
from tests.support.compared import results as results_of
from zoo.cli import main
from zoo.errors import ZooError
from zoo.familiarity.images import SeenImages
from zoo.results.html_pages import describe_model
from zoo.results.report import CASES, Results, finish_results
from zoo.results.report import write_results as write_results
from zoo.results.site.answers import UNSCORED, collect_answers
from zoo.results.site.images import ImageLocation, PageImages
from zoo.results.site.numbers import Links, metric_rows
from zoo.results.site.write import word_meanings, write_report
from zoo.sources.images import ImageFinder


def script(path: Path) -> list[Any]:
    """Returns the arguments of the call that a file of data is."""
    told = re.fullmatch(r"zoo\.\w+\((.*)\);\n", path.read_text("utf-8"), re.DOTALL)
    assert told is not None
    return list(json.loads(f"[{told[1]}]"))


def counted(cases: pa.Table) -> Results:
    """Returns outcomes as the results of a run, counted."""
    return results_of(cases).recount(PRESET[:1])


@pytest.fixture
def alone() -> dict[str, Results]:
    """A run about twelve images under COCO's names, of which nothing is drawn."""
    return {"alone": counted(outcomes([True, False] * 6, range(1, 13)))}


@pytest.mark.parametrize("limited", [False, True])
def test_the_page_says_whether_a_limit_left_cases_out(
    limited: bool, alone: dict[str, Results], tmp_path: Path
) -> None:
    if limited:
        alone["alone"].header["scoring"]["limit"] = 12
    write_report(alone, PRESET[:1], tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    note = "at most 12 cases per subset were measured (--limit): a test, not a result."
    assert (f'<p class="warning">{note}</p>' in page) == limited
    assert ("; the images of the others are missing" in page) != limited
    assert ("; the others are beyond --limit, or their images are missing" in page) == limited


def test_the_answers_of_a_metric_come_to_its_value(results: dict[str, Results]) -> None:
    runs = list(results.values())
    found = collect_answers(runs, PRESET[0].rules)
    for number, run in enumerate(runs):
        values = {(m.benchmark_run, m.subset, m.metric): m for m in run.metrics}
        for part in found.metric_ranges:
            right = found.right[number, part.start : part.start + part.n]
            metric = values[part.key]
            assert metric.n == (right != UNSCORED).sum() == part.n
            assert metric.value == pytest.approx(100 * right.mean())


def test_answers_stand_by_margin_and_have_the_texts_and_scores_of_their_case(
    results: dict[str, Results],
) -> None:
    runs = list(results.values())
    found = collect_answers(runs, PRESET[0].rules)
    kept = [
        {(r["benchmark"], r["subset"], r["case"], r["metric"]): r for r in run.cases.to_pylist()}
        for run in runs
    ]
    part = next(part for part in found.metric_ranges if part.key[0].benchmark == "half_truth")
    margins = []
    for i, answer in enumerate(found.read(runs, part.start, part.start + part.n), part.start):
        for number, of in enumerate(kept):
            row = of[part.key[0].benchmark, part.key[1], answer.case, part.key[2]]
            assert (answer.texts, answer.images) == (row["texts"], row["images"])
            assert answer.scores[number] == row["scores"]
            assert found.margin[number, i] == pytest.approx(row["scores"][0] - row["scores"][1])
            assert found.right[number, i] == row["right"]
        margins.append(found.margin[0, i])
    assert margins == sorted(margins)


def test_runs_of_other_cases_lie_together_where_they_are_the_same() -> None:
    first, second = outcomes([True, False, True]), outcomes([None, True, False, True])
    found = collect_answers([counted(first), counted(second)], PRESET[0].rules)
    assert found.right.tolist() == [[0, 1, 1, UNSCORED], [1, UNSCORED, 0, 1]]


def test_margins_and_scores_are_those_before_the_heads_scale() -> None:
    run = counted(outcomes([True, False]))
    run.header["scoring"] = {**run.header["scoring"], "scale": 2.0}
    found = collect_answers([run], PRESET[0].rules)
    assert found.margin.tolist() == [[-0.25, 0.25]]
    assert [answer.scores for answer in found.read([run], 0, 2)] == [[[0.0, 0.25]], [[0.5, 0.25]]]


def test_metrics_that_are_means_of_grades_are_marked(tmp_path: Path) -> None:
    whole, half = counted(outcomes([True, False])), outcomes([True, False], subset="graded")
    at = half.schema.get_field_index("value")
    half = half.set_column(at, half.schema.field(at), pa.array([0.5, 0.0]))
    both = counted(pa.concat_tables([whole.cases, half]))
    found = collect_answers([both], PRESET[0].rules)
    assert [(part.key[1], part.graded) for part in found.metric_ranges] == [
        ("swap_att", False),
        ("graded", True),
    ]


def test_each_image_is_copied_once_and_small(site: Path, results: dict[str, Results]) -> None:
    (index,) = script(site / "data" / "index.js")
    asked = {i for run in results.values() for of in run.cases["images"].to_pylist() for i in of}
    named = [name for name, _, _ in index["images"]]
    assert len(set(named)) == len(named)
    own = {name: f"pictures/{Path(name).name}" for name in asked if name.startswith("file:")}
    assert set(named) == {own.get(name, name) for name in asked if name != "coco:13"}
    files = [file for _, file, _ in index["images"]]
    assert sorted(files) == sorted(f"images/{path.name}" for path in (site / "images").iterdir())
    assert all(max(Image.open(site / file).size) <= 256 for file in files)


def test_every_chart_is_kept_in_three_formats(site: Path, results: dict[str, Results]) -> None:
    kept = {path.name for path in (site / "plots").iterdir()}
    names = {Path(name).stem for name in kept}
    assert {"capabilities", "capabilities_radar", "half_truths", "retrieval_0", "differences"} <= (
        names
    )
    assert kept == {f"{name}.{kind}" for name in names for kind in ("png", "svg", "csv")}
    page = (site / "index.html").read_text("utf-8")
    assert all(f'href="plots/{name}"' in page for name in kept)
    with open(site / "plots" / "capabilities.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    second = results["second"].recount([PRESET[1]]).averages
    told = {row["name"]: row["value"] for row in rows if row["series"] == "second"}
    assert told == {a.name: str(a.value) for a in second if a.value is not None}
    drawn = (site / "plots" / "capabilities.svg").read_text("utf-8")
    assert 'xlink:href="../cases.html#in=' in drawn


def shares(site: Path, address: str) -> list[float]:
    """Returns how many of the cases at an address the run has right, in per cent, by metric."""
    (index,) = script(site / "data" / "index.js")
    asks = dict(parse_qsl(unescape(address)))
    places = [",".join(part[:3]) for part in index["parts"]]
    wanted = (
        list(map(int, asks["in"].split(",")))
        if "in" in asks
        else [places.index(",".join(asks[of] for of in ("benchmark", "subset", "metric")))]
    )
    found = []
    for number in wanted:
        start, n = index["parts"][number][3:5]
        run = int(asks["a"])
        right = index["right"][run][start : start + n]
        if "leak" in asks:
            leak = index["leak"][run][start : start + n]
            right = "".join(one for one, of in zip(right, leak, strict=True) if of == asks["leak"])
        own = right.replace("-", "")
        found.append(100 * own.count("1") / len(own))
    return found


def test_numbers_of_charts_lead_to_the_cases_that_they_count(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    tables = re.findall(r'<details class="numbers">.*?</details>', page, re.DOTALL)
    titles = re.findall('aria-label="Numbers of ([^"]+)"', "".join(tables))
    assert {"By capability", "Half-truths by condition"} <= set(titles)
    assert any(title.startswith("Recall on") for title in titles)
    for title, table in zip(titles, tables, strict=True):
        cell = re.compile('<td data-value="([0-9.]+)">(?:<a href="cases.html#([^"]+)")?')
        rows = [found[-1] for row in table.split("</tr>") if (found := cell.findall(row))]
        assert rows, title
        for value, address in rows:
            of = shares(site, address)
            assert min(of) - 1e-6 <= float(value) <= max(of) + 1e-6, (title, address)


def test_leak_free_numbers_are_those_of_the_cases_that_they_lead_to(
    results: dict[str, Results], tmp_path: Path
) -> None:
    seen = SeenImages("named", frozenset(f"coco:{number}" for number in (1, 2, 3, 4, 5)))
    first, second = (only(run, "sugarcrepe") for run in results.values())
    run = finish_results(first, PRESET[:1], None, None, seen)
    write_report({"one": run, "other": second}, PRESET[:1], tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    (table,) = re.findall(r'aria-label="Numbers of Full vs.*?</table>', page, re.DOTALL)
    rows = re.findall('<td data-value="([0-9.]+)"><a href="cases.html#([^"]+)"', table)
    leak = next(leak for leak in run.by_preset[0].leaks if leak.n_seen)
    assert (leak.n, leak.n_seen, leak.n_without) == (84, 35, 49)
    (full, of_all), (free, without) = ((float(value), address) for value, address in rows)
    assert (full, free) == (leak.full, leak.without)
    assert [full, free] == pytest.approx(
        [sum(shares(tmp_path / "out", address)) / 7 for address in (of_all, without)]
    )


def test_differences_lead_to_the_cases_of_both_runs(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    table = page[page.index('id="apart"') :].partition("</table>")[0]
    rows = table.partition("<tbody>")[2].split("</tr>")[:-1]
    points = [
        re.search('data-value="[^"]+"><a href="cases.html#([^"]+)">[+−0]', row) for row in rows
    ]
    assert rows
    assert all(of is not None and "&amp;b=1" in of[1] and shares(site, of[1]) for of in points)
    assert not re.search('<td data-value="[1-9][0-9]*">[0-9]+</td>', table)  # counts of cases


def test_numbers_of_seeds_are_means_and_cases_those_of_the_first(
    results: dict[str, Results], tmp_path: Path
) -> None:
    few = [only(run, "sugarcrepe", "half_truth") for run in results.values()]
    runs = {"one/0": few[0], "one/1": few[1], "other": few[1]}
    groups = {"one": ["one/0", "one/1"], "other": ["other"]}
    write_report(runs, PRESET[:1], tmp_path / "out", groups=groups)
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    (index,) = script(tmp_path / "out" / "data" / "index.js")
    assert index["runs"] == ["one", "other"]
    first, second = ({str(m): m for m in run.metrics} for run in few)
    rows = page[page.index('id="all"') :].partition("</table>")[0].split("<tr>")[2:]
    assert len(rows) == len(first)
    for row, a, b in zip(rows, first.values(), second.values(), strict=True):
        mean, deviation = (a.value + b.value) / 2, abs(a.value - b.value) / 2**0.5
        values = re.findall('<td data-value="([^"]*)"><a href="cases.html#([^"]+)">', row)
        assert float(values[0][0]) == pytest.approx(mean)
        assert f"<small>± {deviation:.1f}</small>" in row
        assert float(values[1][0]) == pytest.approx(b.value)
        if a.metric != "macro":
            assert shares(tmp_path / "out", values[0][1]) == [pytest.approx(a.value)]
    assert "For one (2 seeds), averages and" in page
    first_alone = re.findall(
        r'<section id="(\w+)">(?=(?:(?!<section).)*first seed of each)', page, re.S
    )
    assert "half_truths" in first_alone
    assert "capabilities" not in first_alone
    assert "first seed of each run: one/0" in (tmp_path / "out" / "cases.html").read_text("utf-8")


def test_runs_that_stand_aside_are_introduced(results: dict[str, Results], tmp_path: Path) -> None:
    few = [only(run, "sugarcrepe", subsets=("swap_att",)) for run in results.values()]
    runs = {"first": few[0], "second": few[1], "start": few[0]}
    write_report(runs, PRESET[:1], tmp_path / "out", excluded_from_tests=["start"])
    assert "start is shown but excluded from tests" in (tmp_path / "out" / "index.html").read_text(
        "utf-8"
    )


def test_what_a_number_cannot_tell_is_said_beside_it() -> None:
    def notes(*runs: list[bool], asked: Callable[[list[bool]], pa.Table] = outcomes) -> list[str]:
        counted_runs = [counted(asked(right)) for right in runs]
        groups = {f"run {i}": [run] for i, run in enumerate(counted_runs)}
        links = Links(collect_answers(counted_runs, PRESET[0].rules))
        return next(row.note for row in metric_rows(groups, links)).split("; ")

    half = [i % 2 == 0 for i in range(200)]
    assert notes(half[:40]) == ["fewer than 100 queries", "no run differs from chance"]
    assert notes(half) == ["no run differs from chance"]
    assert notes(half, [True] * 150 + [False] * 50) == [""]
    assert notes(half, [False] * 150 + [True] * 50) == ["below chance: run 1"]
    brittle = [True] * 150 + [False] * 50, [True] * 10 + [False] * 190
    assert notes(*brittle, asked=brittle_outcomes) == ["lower is better", "above chance: run 0"]
    assert notes([True] * 200) == ["at the ceiling"]
    assert notes([False] * 200, [False] * 200) == ["at the floor", "below chance: run 0, run 1"]


def test_columns_that_no_row_fills_are_left_out(
    alone: dict[str, Results], site: Path, tmp_path: Path
) -> None:
    write_report(alone, PRESET[:1], tmp_path / "out", publish=True)
    found = []
    for folder in (tmp_path / "out", site):
        page = (folder / "index.html").read_text("utf-8")
        head, *rows = re.findall(
            r"<tr>.*?</tr>", page[page.index('id="all"') :].partition("</table>")[0], re.DOTALL
        )
        columns = re.findall(r"<button>(.*?)</button>", head)
        assert {len(re.findall(r"<t[hd]", row)) for row in rows} == {len(columns)}
        found.append(columns)
    assert [("ties" in columns, "B/32" in columns) for columns in found] == [
        (False, False),
        (True, True),
    ]


def test_words_are_explained_where_they_are_used(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    told = dict(re.findall("<dt>([^<]+)</dt><dd>([^<]+)</dd>", page[page.index('id="words"') :]))
    assert {"i2t", "t2i", "r@k", "half_truth", "completion", "+Attr"} <= set(told)
    assert "group" not in told
    assert word_meanings([("winoground", "all", "group")]) == {
        "group": "every image and every text of a case makes the right choice"
    }


def test_settings_of_training_are_described_only_of_a_model_that_was_trained_here() -> None:
    recipe = {
        "objective": {"class_path": "zoo.objectives.CSCLIP", "init_args": {"lambda_u": 0.5}},
        "optimizer": {"lr": 1e-5, "lr_head": None},
    }
    described = {"objective": "CSCLIP, lambda_u 0.5"}
    assert dict(describe_model({"recipe": recipe})) == described
    trained = {"recipe": recipe, "origin": {"data": {"batch_size": 64, "seed": 0}}}
    assert dict(describe_model(trained)) == described | {
        "optimizer": "lr 1e-05",
        "data": "batch_size 64, seed 0",
    }


def test_pages_name_nothing_outside_their_folder(site: Path) -> None:
    for page in site.glob("*.html"):
        for name in re.findall(r'(?:src|href)="([^"#]*)', page.read_text("utf-8")):
            assert not name or (site / name).is_file(), name


def test_a_published_report_links_images_of_others(
    alone: dict[str, Results], root: Path, tmp_path: Path
) -> None:
    said = write_report(alone, PRESET[:1], tmp_path / "out", roots=[root], publish=True)
    (index,) = script(tmp_path / "out" / "data" / "index.js")
    for name, *shown in index["images"]:
        number = int(name.removeprefix("coco:"))
        assert shown == ["", f"http://images.cocodataset.org/val2017/{number:012}.jpg"]
    assert not (tmp_path / "out" / "images").exists()
    assert said[0].startswith("12 of 12 images belong to others and are not copied")


def test_ones_own_images_are_published(root: Path, tmp_path: Path) -> None:
    images = PageImages(ImageFinder([root]), tmp_path, 10_000, publish=True)
    own = f"file:{root / 'pictures' / '000.png'}"
    for name in (own, "visual_genome:1", "flickr:1007129816"):
        images.add(name)
    assert images.locations[own] == ImageLocation(file="images/0.jpg")
    assert images.display_name(own) == "pictures/000.png"
    assert images.locations["visual_genome:1"] == ImageLocation()
    address = "https://www.flickr.com/photo.gne?id=1007129816"
    assert images.locations["flickr:1007129816"] == ImageLocation(link=address)


def test_an_image_that_is_gone_is_said(
    alone: dict[str, Results], root: Path, tmp_path: Path
) -> None:
    shutil.copytree(root / "coco", tmp_path / "coco")
    (tmp_path / "coco" / "val2017" / f"{3:012}.jpg").unlink()
    (tmp_path / "coco" / "val2017" / f"{4:012}.jpg").write_bytes(b"no image")
    (said,) = write_report(alone, PRESET[:1], tmp_path / "out", roots=[tmp_path])
    assert f"2 of 12 images are not below {tmp_path} (with links resolved), or cannot be" in said
    assert "--data_root" in said
    assert said in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_images_of_results_are_read_only_below_the_roots_that_are_given(
    alone: dict[str, Results], root: Path, tmp_path: Path, httpserver: HTTPServer
) -> None:
    given, outside = tmp_path / "given", tmp_path / "outside"
    given.mkdir()
    outside.mkdir()
    for folder in (given, outside):
        shutil.copy(root / "pictures" / "000.png", folder / "image.png")
    (given / "link.png").symlink_to(outside / "image.png")
    (given / "folder").symlink_to(outside)
    (tmp_path / "root").symlink_to(given)
    with tarfile.open(outside / "images.tar", "w") as tar:
        tar.add(outside / "image.png", "image.png")
    inside = [str(given / "image.png"), "image.png", f"{tmp_path}/root/image.png"]
    names = [
        *inside,
        str(outside / "image.png"),
        "../outside/image.png",
        str(given / "link.png"),
        "folder/image.png",
        f"tar:{outside}/images.tar#image.png",
        f"tar:{httpserver.url_for('/images.tar')}#image.png",
    ]
    images = pa.array([[names[i % len(names)]] for i in range(len(alone["alone"].cases))])
    cases = alone["alone"].cases
    cases = cases.set_column(cases.column_names.index("images"), "images", images)
    written = {"alone": replace(alone["alone"], cases=cases)}
    (said,) = write_report(written, PRESET[:1], tmp_path / "out", roots=[tmp_path / "root"])
    (index,) = script(tmp_path / "out" / "data" / "index.js")
    assert sum(bool(file) for _, file, _ in index["images"]) == len(inside)
    assert f"6 of 9 images are not below {tmp_path / 'root'}" in said
    assert httpserver.log == []


def test_without_a_data_root_pages_have_no_images_and_say_how_to_add_them(
    alone: dict[str, Results], tmp_path: Path
) -> None:
    (said,) = write_report(alone, PRESET[:1], tmp_path / "out")
    assert said == (
        "12 of 12 images are not shown, since no folder of images is given: add --data_root FOLDER"
    )
    assert said in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert not (tmp_path / "out" / "images").exists()


def test_images_are_copied_as_long_as_there_is_room(root: Path, tmp_path: Path) -> None:
    images = PageImages(ImageFinder([root]), tmp_path, 1, publish=False)
    for number in (1, 2, 3):
        images.add(f"coco:{number}")
    assert [bool(location.file) for location in images.locations.values()] == [True, False, False]
    (said,) = images.notes()
    assert said.startswith("2 of 3 images are not copied")
    assert "--max_size_mb" in said


def test_cases_that_alone_are_too_large_are_refused(
    alone: dict[str, Results], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.results.site.write.MB", 1000)
    with pytest.raises(
        ZooError, match=r"the cases of alone take \d MB .*more than --max_size_mb 1"
    ):
        write_report(alone, PRESET[:1], tmp_path / "big", max_size_mb=1)
    assert not (tmp_path / "big").exists()


@pytest.fixture
def given(runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with copies of both runs, and a run about other cases."""
    monkeypatch.chdir(tmp_path)
    for name, folder in runs.items():
        shutil.copytree(folder, tmp_path / name)
    write_results(results_of(outcomes([True, False])), tmp_path / "other")
    (tmp_path / "empty").mkdir()
    shutil.copytree(tmp_path / "first", tmp_path / "broken")
    (tmp_path / "broken" / CASES).write_bytes(b"PAR1 and no more")
    write_results(results_of(outcomes([None, None])), tmp_path / "unscored")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["first", "other"], "other has no case in common with first"),
        (["empty"], "empty has no cases.parquet. Give a folder that `zoo validate --out`"),
        (["a=first", "a=second"], "two runs are named a: give each a different name"),
        (["first", "first"], "first is named twice: name each run once"),
        (["broken"], "broken are damaged"),
        (["unscored"], "scored no case, so there is nothing to show"),
        (["first", "--data_root", "nowhere"], "data root nowhere is not a folder"),
        (["first", "--preset", "offical"], "official"),
        (
            ["first", "--exclude_from_tests", "first"],
            "--exclude_from_tests first: the other runs are compared with the first",
        ),
        (
            ["first", "second", "--exclude_from_tests", "sceond"],
            "--exclude_from_tests sceond is not one of the runs",
        ),
        (["first", "--out", "mine"], "mine exists and is not a report"),
    ],
)
def test_bad_input_is_a_sentence_and_leaves_nothing(
    given: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in given.iterdir())
    out = [] if "--out" in arguments else ["--out", "out"]
    assert main(["report", *arguments, *out]) == 1
    said = capsys.readouterr().err
    assert said.startswith("zoo: ")
    assert says in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in given.iterdir()) == before
    assert (given / "mine" / "notes.txt").read_text() == "mine"


def test_a_report_is_written_over_where_that_is_asked(
    given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_results(counted(outcomes([True, False])), Path("one"))
    assert main(["report", "one", "--out", "out"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "out/index.html"
    assert 'id="b"' not in Path("out/cases.html").read_text("utf-8")
    assert main(["report", "one", "--out", "out"]) == 1
    assert "out already contains a report" in capsys.readouterr().err
    assert main(["report", "named=other", "--out", "out", "--overwrite"]) == 0
    assert "<h1>named</h1>" in Path("out/index.html").read_text("utf-8")
