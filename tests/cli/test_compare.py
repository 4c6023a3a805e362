"""`zoo compare` as a user types it: names, formats, pictures, outcomes, ranks on splits."""

import csv
import json
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image

from tests.support.compared import outcomes, results
from zoo.cli import main
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


def test_outcomes_that_differ_are_listed_by_their_margins(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(capsys, *runs, "--outcomes", "3")
    assert (
        "38 outcomes of unseen differ from those of seen, and scores by at most 1; smallest" in out
    )
    assert out.count("margin 0.5 in seen and -0.5 in unseen") == 3


def test_pictures_are_drawn_and_not_written_over(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    printed(capsys, *runs, "--plot", "forest.png", "--rank_shifts", "ranks.png")
    assert Image.open("forest.png").width > 800
    assert Image.open("ranks.png").width > 600
    for flag, file in (("--plot", "forest.png"), ("--rank_shifts", "ranks.png")):
        before = Path(file).read_bytes()
        assert main(["compare", *runs, flag, file]) == 1
        assert f"{file} exists: choose another file" in capsys.readouterr().err
        printed(capsys, *runs, flag, file, "--overwrite")
        assert Path(file).read_bytes() == before
