"""Cases are split by the familiarity of their bindings, counted by split, and released as files."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.benchmarks.base import Case
from zoo.cli import main
from zoo.errors import ZooError
from zoo.evaluation import Evaluation
from zoo.familiarity.bindings import Binding
from zoo.familiarity.table import BindingTable
from zoo.results.familiarity import Familiarity, add_bucket_column, count_overlaps
from zoo.results.metrics import Reference
from zoo.results.outcomes import outcome_rows, outcome_table
from zoo.results.presets.preset import Official
from zoo.results.reader import read_results
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import compute_split_metrics
from zoo.sources.sample import ImageRef

COUNTS = {
    **{Binding(*b.split()): (2, 1) for b in ("white wall", "blue sky", "white sky", "blue wall")},
    **{Binding(*b.split()): (1, 0) for b in ("red car", "old sky", "blue man")},
    **{Binding(*b.split()): (0, 3) for b in ("old man", "tired man")},
}
TABLE = BindingTable(COUNTS, {"version": 1, "captions": "made"})
CASES = {
    "definitely_seen": ("blue sky", "white walls"),
    "amb_perfect_close": ("blue sky", "old man"),
    "amb_mixed": ("red car", "old man"),
    "amb_perfect_none": ("blue sky", "red car"),
    "amb_close_only": ("old man", "tired men"),
    "amb_close_none": ("old man", "purple fork"),
    "definitely_unseen": ("purple cloud", "melted fork"),
    "excluded": ("brown dining table", "red car"),
}
SPLIT = {"full": 7, "seen": 1, "mixed": 4, "unseen": 1, "excluded": 1}
ARO = BenchmarkRun("aro")


def swapped(first: str, second: str) -> tuple[str, str]:
    """The caption of VG-Attribution and its twin with the attributes swapped."""
    (a, *one), (b, *other) = first.split(), second.split()
    return (
        f"the {first} and the {second}",
        f"the {b} {' '.join(one)} and the {a} {' '.join(other)}",
    )


def case(texts: tuple[str, ...], i: int, protocol: str = "i2t") -> Case:
    images = (ImageRef("coco", str(i)),)
    match = np.array([[True] + [False] * (len(texts) - 1)])
    return Case(images, texts, match, protocol, "VG-Attribution", str(i))


def answered(right: list[bool], run: BenchmarkRun = ARO) -> Any:
    """Outcomes of CASES in order, right where `right` says so."""
    made = [case(swapped(*words), i) for i, words in enumerate(CASES.values())]
    return outcome_table(
        row
        for one, is_right in zip(made, right, strict=True)
        for row in outcome_rows(
            run, one, one.judge(np.array([[is_right, 0.5]], np.float32)), frozenset()
        )
    )


def test_each_case_has_the_bucket_of_its_four_labels() -> None:
    cases = answered([True] * len(CASES))
    overlaps = Familiarity(TABLE).overlaps(cases)[ARO, "VG-Attribution"]
    assert [overlap.bucket for overlap in overlaps] == list(CASES)
    assert overlaps[3].right == ((("blue", "sky"), "perfect"), (("red", "car"), "perfect"))
    assert overlaps[3].wrong == ((("red", "sky"), "none"), (("blue", "car"), "none"))


def test_a_split_counts_its_own_cases_and_full_of_vg_attribution_those_that_were_parsed() -> None:
    """Mixed leaves out the case of close matches alone, full and the buckets have it."""
    right = [True, True, False, False, True, True, False, True]
    cases = answered(right)
    familiarity = Familiarity(TABLE)
    split = add_bucket_column(cases, familiarity.overlaps(cases))
    known = {(ARO, "VG-Attribution"): Reference(published={"i2t": 63.2, "macro": 63.2})}
    found = {
        metric.split: metric for metric in compute_split_metrics(split, Official().rules, known)
    }
    assert {name: metric.n for name, metric in found.items()} == SPLIT
    assert found["full"].value == pytest.approx(100 * 4 / 7)
    assert (found["seen"].value, found["unseen"].value) == (100, 0)
    assert found["mixed"].value == pytest.approx(100 * 2 / 4)
    assert found["excluded"].value == 100
    assert [f.chance for f in found.values()] == pytest.approx([50] * 5)
    assert {f.published for f in found.values()} == {None}
    assert {f.metric for f in found.values()} == {"i2t"}


def test_buckets_labels_and_both_rules_are_counted() -> None:
    cases = answered([True] * len(CASES))
    counts = count_overlaps(Familiarity(TABLE).overlaps(cases))["aro/VG-Attribution"]
    assert (counts["split"], counts["excluded"]) == (7, 1)
    assert set(counts["buckets"].values()) == {1}
    assert counts["strict"] == {"seen": 1, "unseen": 3}
    assert counts["loose"] == {"seen": 3, "unseen": 1}
    assert counts["labels, full"] == {
        "right": {"perfect": 6, "close": 5, "none": 3},
        "wrong": {"perfect": 4, "close": 2, "none": 8},
    }


def test_free_captions_are_split_by_units_and_counted_in_full() -> None:
    run = BenchmarkRun("pairs")
    texts = [
        ("a blue sky over white walls", "a white sky over blue walls"),
        ("a purple cloud", "a purple fork"),
        ("a red car", "a car"),
    ]
    cases = outcome_table(
        row
        for i, pair in enumerate(texts)
        for row in outcome_rows(run, case(pair, i), case(pair, i).queries(), frozenset())
    )
    split = add_bucket_column(cases, Familiarity(TABLE).overlaps(cases))
    assert split["bucket"].to_pylist() == ["definitely_seen", "definitely_unseen", "excluded"]
    counts = {
        metric.split: metric.n_total
        for metric in compute_split_metrics(split, Official().rules, {})
    }
    assert counts == {"full": 3, "seen": 1, "mixed": 0, "unseen": 1, "excluded": 1}


def test_outcomes_without_bindings_cannot_be_split() -> None:
    run = BenchmarkRun("pairs")
    one = case(("a man", "a dog"), 0)
    cases = outcome_table(outcome_rows(run, one, one.queries(), frozenset()))
    with pytest.raises(
        ZooError, match="pairs has no case with an attribute-object binding in each"
    ):
        Familiarity(TABLE).overlaps(cases)


@pytest.fixture
def root(shared_data: Path, tmp_path: Path) -> Path:
    """Records of VG-Attribution's form, and pairs of VL-CheckList, on photographs of vg160."""
    photographs = shared_data / "vg160" / "visual_genome"
    (tmp_path / "visual_genome").symlink_to(photographs)
    names = sorted(path.name for path in (photographs / "images").iterdir())
    records = []
    for name, words in zip(names, CASES.values(), strict=False):
        true, false = swapped(*words)
        attributes = [word.split()[0] for word in words]
        box = {"bbox_x": 0, "bbox_y": 0, "bbox_w": 90, "bbox_h": 90}
        texts = {"true_caption": true, "false_caption": false, "attributes": attributes}
        records.append({"image_path": name, **texts, **box})
    (tmp_path / "aro").mkdir()
    (tmp_path / "aro" / "visual_genome_attribution.json").write_text(json.dumps(records))
    asked = shared_data / "benchmarks" / "vl_checklist_vg" / "Attribute" / "vg" / "color.json"
    with (tmp_path / "checklist.csv").open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["image", "caption", "foil"])
        for path, texts in json.loads(asked.read_text())[:40]:
            image = photographs / "images" / Path(path).name
            written.writerow([image, texts["POS"][0], texts["NEG"][0]])
    lines = ["attr,obj_lemma,perfect_count,close_count"]
    lines += [f"{b.attribute},{b.object},{p},{c}" for b, (p, c) in COUNTS.items()]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def measured(root: Path, *arguments: str) -> int:
    return main(
        [
            *("validate", "--data_root", str(root), "--model.backbone.name", "zoo-tiny"),
            *("--trainer.accelerator", "cpu", "--data.init_args.workers", "0", *arguments),
        ]
    )


def test_validate_splits_real_photographs_and_writes_the_three_released_files(
    root: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = f"aro:VG-Attribution,pairs:{root / 'checklist.csv'}"
    out = root / "out"
    asked = ["--familiar_with", str(root / "table.csv"), "--out", str(out)]
    assert measured(root, "--benchmarks", names, *asked) == 0
    shown = capsys.readouterr().out
    assert "strict: all seen 14.3%, all unseen 42.9%; loose: all seen 42.9%" in shown
    results = read_results(out)
    (counted,) = results.by_preset
    splits = {m.split: (m.n, m.n_total) for m in counted.splits if m.benchmark == "aro"}
    assert splits == {name: (n, n) for name, n in SPLIT.items()}
    assert results.recount([Official()]).by_preset == results.by_preset
    assert results.header["familiarity"]["training_captions"]["table"] == "table.csv"
    released = out / "familiarity"
    assert (released / "train_pair_counts.csv").read_text() == "\n".join(
        ["attr,obj_lemma,perfect_count,close_count"]
        + [f"{b.attribute},{b.object},{p},{c}" for b, (p, c) in COUNTS.items()]
        + [""]
    )
    own = released / "aro" / "VG-Attribution"
    overlap = list(csv.DictReader((own / "per_sample_overlap.tsv").open(), delimiter="\t"))
    assert [row["bucket"] for row in overlap] == list(CASES)[:-1]
    assert overlap[3] == {
        "case": "3",
        "bucket": "amb_perfect_none",
        "positive": "blue sky; red car",
        "positive_labels": "perfect; perfect",
        "negative": "red sky; blue car",
        "negative_labels": "none; none",
    }
    lists = {path.stem: path.read_text().split() for path in (own / "splits").iterdir()}
    alone = {name: [str(i)] for i, name in enumerate(list(CASES)[:-1])}
    ambiguous = ["1", "2", "3", "4", "5"]
    assert lists == {**alone, "ambiguous": ambiguous, "any_overlap": ["0", *ambiguous]}
    checklist = [m for m in counted.splits if m.benchmark == "pairs"]
    assert checklist[0].n == 40
    assert sum(m.n for m in checklist[1:]) <= 40


def test_a_run_is_split_afterwards_as_it_would_have_been(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmarks = ["--benchmarks", "aro:VG-Attribution"]
    captions = root / "captions.txt"
    captions.write_text("A blue sky over a white wall.\nA white sky.\nBlue walls.\n")
    assert measured(root, *benchmarks, "--out", str(root / "plain")) == 0
    assert "splits" not in capsys.readouterr().out
    assert read_results(root / "plain").by_preset[0].splits == ()
    asked = ["--familiar_with", str(captions)]
    assert measured(root, *benchmarks, *asked, "--out", str(root / "split")) == 0
    again = ["rescore", str(root / "plain"), *asked, "--out", str(root / "again")]
    assert main(again) == 0
    first, second = read_results(root / "split"), read_results(root / "again")
    assert first.by_preset[0].splits == second.by_preset[0].splits
    assert first.cases.equals(second.cases)
    assert [m.n for m in first.by_preset[0].splits] == [7, 1, 2, 4, 1]
    files = [
        {path.relative_to(run): path.read_text() for path in run.rglob("*.t??")}
        for run in (root / "split" / "familiarity", root / "again" / "familiarity")
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 10
    assert main([*again[:-3], str(root / "table.csv"), *again[-2:], "--overwrite"]) == 0
    assert [m.n for m in read_results(root / "again").by_preset[0].splits] == list(SPLIT.values())
    seen = root / "again" / "familiarity" / "aro" / "VG-Attribution" / "splits"
    assert (seen / "amb_perfect_close.txt").read_text() == "1\n"


def test_a_folder_of_one_s_own_in_the_place_of_the_released_files_is_kept(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = root / "out" / "familiarity" / "notes.txt"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    asked = ["--benchmarks", "aro:VG-Attribution", "--out", str(root / "out")]
    split = ["--familiar_with", str(root / "table.csv")]
    for overwrite in ([], ["--overwrite"]):
        assert measured(root, *asked, *split, *overwrite) == 1
        assert (
            "out/familiarity, which exists and has no train_pair_counts.csv"
            in capsys.readouterr().err
        )
        assert not (root / "out" / "results.json").exists()
    assert measured(root, *asked) == 0
    rescored = ["rescore", str(root / "out"), *split, "--out", str(root / "out"), "--overwrite"]
    assert main(rescored) == 1
    assert "Move it, or choose another folder with --out" in capsys.readouterr().err
    assert own.read_text() == "mine"


def test_released_files_count_as_results_and_do_not_outlive_them(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = root / "out"
    asked = ["--benchmarks", "aro:VG-Attribution", "--out", str(out)]
    assert measured(root, *asked, "--familiar_with", str(root / "table.csv")) == 0
    for name in ("results.json", "cases.parquet"):
        (out / name).unlink()
    capsys.readouterr()
    assert measured(root, *asked) == 1
    assert "out already holds results" in capsys.readouterr().err
    assert measured(root, *asked, "--overwrite") == 0
    assert sorted(path.name for path in out.iterdir()) == ["cases.parquet", "results.json"]


@pytest.mark.slow
def test_fit_splits_by_the_captions_that_it_trains_on_from_its_first_validation(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--benchmarks", f"pairs:{made_root / 'pairs.csv'}", "--epochs", "1", "--out", "out"]
    by = ["--data.evaluation.familiar_with", "training"]
    assert main(["fit", "--config", str(made_root / "recipe.yaml"), *asked, *by]) == 0
    said = read_results(tmp_path / "out").header
    assert said["familiarity"]["training_captions"]["captions"] == "captions.tsv"
    assert said["model"]["origin"]["data"]["train"]["files"].keys() == {"captions.tsv"}
    assert (tmp_path / "out" / "familiarity" / "train_pair_counts.csv").is_file()


def test_unknown_training_captions_are_said_before_a_case_is_scored(made_root: Path) -> None:
    asked = [f"pairs:{made_root / 'pairs.csv'}"]
    with pytest.raises(ZooError, match="the model does not state its training captions"):
        Evaluation(asked, familiar_with="training").run_plain_model(Unasked())


class Unasked:
    """A model that must not be reached."""

    def score(self, images: object, texts: object) -> object:
        raise AssertionError("scored")


@pytest.mark.slow
def test_rules_exclude_more_of_bivlc_than_the_paper_does(shared_data: Path) -> None:
    """The page on familiarity has the share. Which cases the paper excludes it does not say."""
    with gzip.open(shared_data / "golden" / "BiVLC_ViT-B-32.csv.gz", "rt", newline="") as file:
        texts = [(row["caption"], row["negative_caption"]) for row in csv.DictReader(file)]
    run = BenchmarkRun("bivlc")
    made = (case(pair, i) for i, pair in enumerate(texts))
    cases = outcome_table(
        row for one in made for row in outcome_rows(run, one, one.queries(), frozenset())
    )
    (counts,) = count_overlaps(Familiarity(TABLE).overlaps(cases)).values()
    assert counts["excluded"] / len(texts) == pytest.approx(0.263, abs=0.0005)


MISTAKES = {
    "a corpus without bindings": (
        ["aro:VG-Attribution", "captions.txt"],
        "captions.txt: none of the 1 captions gives an attribute to an object: ",
    ),
    "a benchmark without attributes": (
        ["pairs:plain.csv", "table.csv"],
        "pairs has no case with an attribute-object binding in each of its texts, so that ",
    ),
    "a table of another version": (
        ["aro:VG-Attribution", "newer.csv"],
        "newer.csv is a table of bindings of version 2, but this version of zoo uses version 1: ",
    ),
    "a model of unknown captions": (
        ["aro:VG-Attribution", "training"],
        "the model does not state its training captions: ",
    ),
    "no captions of COCO": (
        ["aro:VG-Attribution", "coco"],
        "COCO's training captions are not in ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_split_is_said_in_a_sentence_before_anything_is_measured(
    mistake: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(root)
    (root / "captions.txt").write_text("A man rides a horse.\n")
    (root / "newer.csv").write_text('# {"version": 2}\nattr,obj_lemma,perfect_count,close_count\n')
    image = next((root / "visual_genome" / "images").iterdir())
    (root / "plain.csv").write_text(f"image,caption,foil\n{image},a man,a dog\n")
    (benchmark, captions), sentence = MISTAKES[mistake]
    asked = ["--benchmarks", benchmark, "--familiar_with", captions, "--out", "out"]
    assert measured(root, *asked) == 1
    said = capsys.readouterr().err.splitlines()
    assert any(line.startswith(f"zoo: {sentence}") for line in said), said
    assert not (root / "out").exists()
