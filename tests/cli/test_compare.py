"""`zoo compare` as a user types it: names, formats, pictures, outcomes, ranks on splits."""

import csv
import json
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image

from tests.support.compared import outcomes, results
from zoo.cli import main
from zoo.cli.compare import parse_run_folders
from zoo.results.outcomes import SCHEMA
from zoo.results.report import write_results


def split(cases: pa.Table) -> pa.Table:
    """The first half is of bindings that training had, the rest of such that it had not."""
    half = len(cases) // 2
    buckets = ["definitely_seen"] * half + ["definitely_unseen"] * (len(cases) - half)
    at = SCHEMA.get_field_index("bucket")
    return cases.set_column(at, SCHEMA.field(at), pa.array(buckets, pa.string()))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders of two runs: one is right in the first half, one in the second."""
    monkeypatch.chdir(tmp_path)
    first, second = ([i < 20 for i in range(40)], [i >= 18 for i in range(40)])
    write_results(results(split(outcomes(first))), tmp_path / "seen")
    write_results(results(outcomes(second)), tmp_path / "unseen")
    return ["seen", "unseen"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert main(["compare", *arguments]) == 0
    said = capsys.readouterr()
    return said.out, said.err


def test_the_table_has_values_differences_and_splits(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(capsys, *runs)
    words = " ".join(out.split())
    assert "sugarcrepe swap_att i2t 40 50.0~ 55.0*" in words
    assert "right only right only" in words
    assert "in seen in unseen" in words
    assert "sugarcrepe/swap_att/i2t, seen -90.0" in words
    assert "sugarcrepe/swap_att/i2t, unseen +100.0" in words
    assert "seen is ahead on seen, unseen on unseen" in words


def test_runs_are_named_on_the_command_line(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = runs
    out, _ = printed(capsys, f"CLIP={first}", f"Ours={second}", "--metrics", "sugarcrepe/*")
    assert "vs CLIP" in out
    assert "Ours" in out


def test_a_run_without_a_name_has_that_of_its_folder_where_others_are_named(
    runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list(parse_run_folders(["A=seen", f"{tmp_path}/unseen/", "."])) == [
        "A",
        "unseen",
        tmp_path.name,
    ]
    out, _ = printed(capsys, "seen", "Ours=unseen", "--format", "json", "--resamples", "9")
    assert json.loads(out)["runs"] == ["seen", "Ours"]


def test_two_runs_of_one_name_are_refused_before_a_run_is_read(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "nowhere/a", "b=nowhere/b", "elsewhere/a"]) == 1
    assert "two runs are named a: give each a different name" in capsys.readouterr().err


def test_runs_are_compared_without_torch() -> None:
    program = "import sys, zoo.cli.compare, zoo.cli.report; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_csv_is_on_its_own_and_notes_go_to_the_screen(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = printed(capsys, *runs, "--format", "csv")
    read = list(csv.DictReader(StringIO(out)))
    assert {row["run"] for row in read} == {"seen", "unseen"}
    assert {row["split"] for row in read} == {"", "full", "seen", "unseen"}
    assert "q: p adjusted over all pairs of runs and all metrics, per split" in err


@pytest.mark.parametrize(
    ("kind", "begins"),
    [("latex", r"% \usepackage{booktabs"), ("md", "| benchmark"), ("json", "{")],
)
def test_the_other_formats_are_printed_alone(
    runs: list[str], kind: str, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = printed(capsys, *runs, "--format", kind)
    assert out.startswith(begins)
    assert err == ""
    if kind == "json":
        assert len(json.loads(out)["lines"]) == 4


def test_a_caption_and_label_make_floats_and_need_latex(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    titles = ["--caption", "Ours", "--label", "tab:a"]
    out, _ = printed(capsys, *runs, "--format", "latex", *titles)
    assert r"\caption{Ours. Metrics" in out
    assert r"\label{tab:a-metrics}" in out
    assert main(["compare", *runs, *titles]) == 1
    assert "add --format latex" in capsys.readouterr().err


def test_outcomes_that_differ_are_listed_by_their_margins(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(capsys, *runs, "--outcomes", "3")
    assert (
        "38 outcomes of unseen differ from those of seen, and scores by at most 1; smallest" in out
    )
    assert out.count("margin 0.5 in seen and -0.5 in unseen") == 3


@pytest.mark.parametrize(
    ("patterns", "counts"),
    [
        (["sugarcrepe/replace_*/i2t"], (5, {"replace_rel"})),
        (["Relational Structure"], (5, {"replace_rel"})),
        (["sugarcrepe/*, unseen"], (8, {"swap_att"})),
        (["Binding", "*replace_rel*"], (15, {"replace_rel", "swap_att"})),
    ],
)
def test_outcomes_are_those_of_the_chosen_metrics(
    patterns: list[str],
    counts: tuple[int, set[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, swaps, relations in (("first", 10, 5), ("second", 20, 10)):
        subsets = (
            split(outcomes([i < swaps for i in range(24)])),
            outcomes([i < relations for i in range(20)], subset="replace_rel"),
        )
        write_results(results(pa.concat_tables(subsets)), tmp_path / name)
    flags = ["--preset", "official,capabilities", "--outcomes", "99", "--metrics", *patterns]
    out, _ = printed(capsys, "first", "second", *flags)
    n, names = counts
    assert f"\n{n} outcomes of second differ from those of first" in out
    listed = [line for line in out.splitlines() if ", case " in line]
    assert len(listed) == n
    assert {line.split("/")[1] for line in listed} == names


PICTURES = {
    "forest.png": ["--plot"],
    "ranks.png": ["--rank_shifts"],
    "splits.png": ["--by_split"],
    "scatter.png": ["--scatter", "sugarcrepe/swap_att/i2t, seen", "sugarcrepe/swap_att/i2t"],
}


def test_pictures_are_drawn_and_not_written_over(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {file: [*words, file] for file, words in PICTURES.items()}
    printed(capsys, *runs, *(word for words in flags.values() for word in words))
    for file, words in flags.items():
        assert Image.open(file).width > 600
        before = Path(file).read_bytes()
        assert main(["compare", *runs, *words]) == 1
        assert f"{file} exists: choose another file" in capsys.readouterr().err
        printed(capsys, *runs, *words, "--overwrite")
        assert Path(file).read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("file", PICTURES)
def test_every_picture_is_drawn_as_vectors_too(
    file: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for kind, begins in (("svg", b"<?xml"), ("pdf", b"%PDF")):
        printed(capsys, *runs, *PICTURES[file], f"picture.{kind}")
        assert Path(f"picture.{kind}").read_bytes().startswith(begins)
    assert main(["compare", *runs, *PICTURES[file], "picture.jpg"]) == 1
    assert "picture.jpg: the name of a figure ends in .png" in capsys.readouterr().err


def test_a_scatter_of_what_is_not_in_the_table_is_refused(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--scatter", "sugarcrepe/swap_at/i2t", "sugarcrepe/swap_att/i2t", "a.png"]
    assert main(["compare", *runs, *asked]) == 1
    said = capsys.readouterr().err
    assert "'sugarcrepe/swap_at/i2t' is not a metric or mean" in said
    assert "did you mean sugarcrepe/swap_att/i2t" in said
    assert not Path("a.png").exists()


def test_accuracies_by_split_need_splits(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--metrics", "sugarcrepe/swap_att/i2t", "--by_split", "a.png"]
    assert main(["compare", *runs, *asked]) == 1
    assert "no familiarity split: create one with `zoo rescore RUN" in capsys.readouterr().err
