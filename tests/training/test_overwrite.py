"""No command writes over what another has left, unless it is told to.

It refuses before it reads or computes anything.
"""

from pathlib import Path

import numpy as np
import pytest

import zoo
from tests.support.mistakes import contents
from tests.support.runs import variant
from zoo.cli import main
from zoo.errors import ZooError
from zoo.results.reader import read_results

NOT_THERE = "nowhere/captions.txt"
KEPT = "made by hand"
COMMANDS = {
    "a units file": (["units", "extract", NOT_THERE, "--out", "u.jsonl"], "u.jsonl"),
    "a page of units": (["units", "report", "nowhere", "--out", "p.html"], "p.html"),
    "negatives": (
        ["negatives", "export", NOT_THERE, "--generator", "BigramShuffle", "--out", "n.jsonl"],
        "n.jsonl",
    ),
    "a table of words": (["negatives", "build", NOT_THERE, "--out", "t.arrow"], "t.arrow"),
    "a sheet of scenes": (["scenes", "sheet", "nowhere", "--out", "s.png"], "s.png"),
    "half-truths": (["halftruth", "build", NOT_THERE, "--out", "c.jsonl"], "c.jsonl"),
    "a page of half-truths": (
        ["halftruth", "show", "nowhere", "--out", "p"],
        "p/half_truths.html",
    ),
    "results counted again": (["rescore", "nowhere", "--out", "r"], "r/results.json"),
    "results": (
        [*("validate", "--benchmarks", "aro", "--out", "r"), "--model.backbone.name=zoo-tiny"],
        "r/cases.parquet",
    ),
    "a merged checkpoint": (["merge", "--ckpt_path", "nowhere", "--out", "m"], "m/alpha_0.5.ckpt"),
    "what a merge measured": (
        ["merge", "--ckpt_path", "nowhere", "--out", "m"],
        "m/alpha_1/results.json",
    ),
    "a trajectory": (["merge", "--ckpt_path", "nowhere", "--out", "m"], "m/trajectory.json"),
}


class Blind:
    """Finds all texts alike."""

    def score(self, images: list, texts: list[str]) -> object:  # type: ignore[type-arg]
        return np.zeros((len(images), len(texts)))


@pytest.mark.parametrize(("command", "there"), COMMANDS.values(), ids=COMMANDS)
def test_what_is_there_is_kept(
    command: list[str],
    there: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / there
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(KEPT)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "--overwrite" in said
    assert str(Path(there).parent if "results" in command or "r" in command else there) in said
    assert file.read_text() == KEPT
    assert main([*command, "--overwrite"]) == 1
    assert "--overwrite" not in capsys.readouterr().err


def test_results_are_written_over_where_that_is_meant(made_root: Path, tmp_path: Path) -> None:
    asked = [f"pairs:{made_root / 'pairs.csv'}"]
    zoo.evaluate(Blind(), asked, made_root, out=tmp_path / "out")
    before = contents(tmp_path / "out")
    with pytest.raises(ZooError, match=r"already holds results\. Choose another folder"):
        zoo.evaluate(Blind(), asked, made_root, out=tmp_path / "out", presets=["strict"])
    assert contents(tmp_path / "out") == before
    zoo.evaluate(Blind(), asked, made_root, tmp_path / "out", ["strict"], overwrite=True)
    assert read_results(tmp_path / "out").by_preset[0].preset == "strict"


@pytest.mark.slow
def test_a_run_writes_over_its_own_results_and_not_over_those_of_another(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    measuring = {
        "class_path": "zoo.evaluation.engine.Evaluation",
        "init_args": {
            "benchmarks": [f"pairs:{made_root / 'pairs.csv'}"],
            "data_root": str(made_root),
            "out": "out",
            "workers": 0,
        },
    }
    recipe = variant(tmp_path, made_root, data={"evaluation": measuring})
    fit = ["fit", "--config", str(recipe), "--trainer.max_epochs"]
    assert main([*fit, "2"]) == 0
    before = contents(tmp_path / "out")
    assert main([*fit, "1"]) == 1
    assert "out already holds results" in capsys.readouterr().err
    assert contents(tmp_path / "out") == before
    assert main([*fit, "3", "--ckpt_path", "last"]) == 0
    assert contents(tmp_path / "out") != before
    assert main([*fit, "1", "--overwrite"]) == 0
