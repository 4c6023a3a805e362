"""`zoo halftruth` from the command line's side."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import zoo.api
from tests.support.made import make_root
from tests.support.mistakes import contents, said
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.half_truth.case_file import read_cases
from zoo.checkpoints import model_sources
from zoo.results.reader import read_results
from zoo.units.reader import read_units
from zoo.units.rules.corpus_counts import read_counts

OTHERS = "a blue square and a red circle\na red triangle below a green square\n"


def letters(images: list[object], texts: list[str]) -> list[list[float]]:
    """Finds shorter texts better."""
    return [[-len(text) for text in texts] for _ in images]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with images of twelve scenes, their units, and other captions."""
    monkeypatch.chdir(tmp_path)
    make_root(tmp_path)
    (tmp_path / "others.txt").write_text(OTHERS)
    return tmp_path


def build(*arguments: str) -> list[str]:
    return [
        "halftruth",
        "build",
        "units.jsonl",
        "--out",
        "cases.jsonl",
        "--images",
        "12",
        *arguments,
    ]


def test_what_is_built_is_measured_and_shown(root: Path) -> None:
    built = said(build("--preset", "paper", "--corpus", "others.txt", "--seed", "4"))
    assert built.status == 0, built.err
    header, cases = read_cases(root / "cases.jsonl")
    alone = HalfTruth("units.jsonl", "paper", 12, 4).read(root).cases
    assert [case.texts for case in cases] == [case.texts for case in alone]
    assert f"{len(cases)} cases of 12 images, SHA-256 {header.sha256}" in built.out
    assert "corpus: others.txt, 2 captions of other images" in built.out
    assert set(header.baselines) == {"longer text", "corpus"}

    results = zoo.evaluate(letters, "half_truth:cases.jsonl", ".", out="measured")
    report = " ".join(repr(results).split())
    assert f"half_truth, cases: {len(cases)}, SHA-256 {header.sha256}" in report
    assert "half_truth, text-only baselines, %:" in report
    for metric in ("half_truth", "completion"):
        assert f"longer text {metric}" in report
    assert results.value("half_truth", "Swap", "half_truth") == 100
    assert results.by_preset[0].averages[0].value == 100

    shown = said(["halftruth", "show", "measured", "--out", "page", "--cases_per_condition", "3"])
    assert shown.status == 0, shown.err
    assert "mean of 4" in shown.out
    assert sorted(contents(root / "page")) == ["accuracy.png", "gaps.png", "half_truths.html"]
    page = (root / "page" / "half_truths.html").read_text("utf-8")
    assert "No half-truth scores above its anchor" in page  # short texts win always
    assert "half_truths.html has no images: add --data_root FOLDER" in shown.out
    assert "data:image/jpeg" not in page


def test_a_page_has_only_images_below_the_data_root(root: Path) -> None:
    assert said(build()).status == 0
    longer = lambda images, texts: [[len(text) for text in texts] for _ in images]  # noqa: E731
    zoo.evaluate(longer, "half_truth:cases.jsonl", ".", out="measured")
    asked = ["halftruth", "show", "measured", "--out", "page", "--overwrite"]
    page = root / "page" / "half_truths.html"
    assert said([*asked, "--data_root", "."]).status == 0
    assert "data:image/jpeg" in page.read_text("utf-8")
    (root / "other").mkdir()
    assert "no image of the" in said([*asked, "--data_root", "other"]).sentence


def test_the_longer_text_gets_what_its_guess_says(root: Path) -> None:
    assert said(build()).status == 0
    header, _ = read_cases(root / "cases.jsonl")
    results = zoo.evaluate(
        lambda images, texts: [[len(text) for text in texts] for _ in images],
        "half_truth:cases.jsonl",
        ".",
    )
    for metric in results.metrics:
        guessed = header.baselines["longer text"][metric.subset][metric.metric]
        assert metric.value is not None
        # a guess is right on half of the ties, a model on none
        assert metric.value + 50 * metric.ties / metric.n == pytest.approx(guessed)


def test_captions_of_images_that_are_asked_about_are_no_corpus(root: Path) -> None:
    said(build("--corpus", "captions.tsv"))
    refused = said(build("--corpus", "captions.tsv")).sentence
    assert refused.startswith("zoo: --corpus captions.tsv has only captions of the images")
    own = (root / "captions.tsv").read_text()
    (root / "both.tsv").write_text(own + "elsewhere.png\ta blue square\n")
    assert "both.tsv, 1 captions of other images" in said(build("--corpus", "both.tsv")).out


def no_foils(root: Path) -> None:
    lines = [json.loads(line) for line in (root / "units.jsonl").read_text().splitlines()]
    for line in lines:
        for unit in (*line["entities"], *line["relations"]):
            unit["foils"] = []
    (root / "units.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_units_that_give_no_such_cases_are_refused_in_a_sentence(root: Path) -> None:
    few = said(["halftruth", "build", "units.jsonl", "--out", "c.jsonl"]).sentence
    assert few == (
        "zoo: units.jsonl has 12 images, fewer than the 5,000 to sample: set --images 12"
    )
    no_foils(root)
    assert "units.jsonl has no foils" in said(build()).sentence
    assert not (root / "cases.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--preset", "papers"), "no preset 'papers' (did you mean paper?)"),
        (("--reader", "CsvTable"), "--reader reads the file of --captions, which is not given"),
        (("--corpus", "nowhere.txt"), "nowhere.txt cannot be read"),
        (("--images", "0"), "--images"),
    ],
)
def test_wrong_arguments_are_named(root: Path, arguments: tuple[str, ...], named: str) -> None:
    assert named in said(build(*arguments)).sentence
    assert not (root / "cases.jsonl").exists()


def test_a_case_file_is_no_units_file(root: Path) -> None:
    assert said(build()).status == 0
    again = said(["halftruth", "build", "cases.jsonl", "--out", "c.jsonl"]).sentence
    assert "cases.jsonl is already a case file: evaluate on it with `zoo validate" in again


def test_a_file_that_is_there_is_kept(root: Path) -> None:
    (root / "cases.jsonl").write_text("made by hand")
    assert "add --overwrite" in said(build()).sentence
    assert (root / "cases.jsonl").read_text() == "made by hand"
    assert said(build("--overwrite")).status == 0


def validate(file: str) -> str:
    measured = ["validate", "--benchmarks", f"half_truth:{file}", "--data_root", "."]
    return said([*measured, "--model.backbone.name=zoo-tiny"]).sentence


def test_a_case_file_of_other_images_or_cut_off_is_one_sentence(root: Path) -> None:
    assert said(build()).status == 0
    shutil.move("cases.jsonl", "whole.jsonl")
    text = (root / "whole.jsonl").read_text()
    (root / "cut.jsonl").write_text(text[:-40])
    assert "the case file cut.jsonl is truncated: it holds" in validate("cut.jsonl")
    shutil.move("pictures", "elsewhere")
    other = validate("whole.jsonl")
    assert "nothing can be scored" in other
    assert "no case has its images under" in other


def test_show_names_what_it_lacks(root: Path) -> None:
    assert "has no cases.parquet" in said(["halftruth", "show", "nowhere"]).sentence
    zoo.evaluate(letters, "pairs:pairs.csv", ".", out="pairs")
    assert "have no scored half-truth" in said(["halftruth", "show", "pairs"]).sentence


def test_models_are_compared_on_the_same_half_truths(root: Path) -> None:
    assert said(build()).status == 0
    zoo.evaluate(letters, "half_truth:cases.jsonl", ".", out="measured")
    shutil.copytree("measured", "again")
    asked = ["halftruth", "compare", "measured", "again", "--out", "compared"]
    compared = said(asked)
    assert compared.status == 0, compared.err
    assert "mean of 4" in compared.out
    with Image.open("compared/models.png") as picture:
        assert picture.width > 600
    assert Path("compared/models.pdf").read_bytes().startswith(b"%PDF")
    assert "compared/models.png exists" in said(asked).sentence
    alone = said(["halftruth", "compare", "measured", "measured"]).sentence
    assert "measured cannot be compared alone" in alone


def test_show_keeps_what_has_the_name_of_its_files(root: Path) -> None:
    assert said(build()).status == 0
    zoo.evaluate(letters, "half_truth:cases.jsonl", ".", out="measured")
    (root / "page").mkdir()
    asked = ["halftruth", "show", "measured", "--out", "page"]
    for name in ("half_truths.html", "accuracy.png", "gaps.png"):
        (root / "page" / name).write_text("kept")
        assert f"page/{name} exists" in said(asked).sentence
        assert [path.read_text() for path in (root / "page").iterdir()] == ["kept"]
        (root / "page" / name).unlink()
    (root / "page" / "gaps.png").write_text("kept")
    assert said([*asked, "--overwrite"]).status == 0
    assert len(contents(root / "page")) == 3


def run(*arguments: str, models: tuple[str, ...] = ("zoo-tiny",)) -> list[str]:
    asked = ["halftruth", "run", "captions.tsv", "--images", "12", "--out", "diagnostic"]
    return [*asked, *arguments, "--models", *models]


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources of the models that a command evaluates; two towers take their place."""
    sources = list[str]()

    def load(source: str) -> Callable[[list[object], list[str]], list[list[float]]]:
        sources.append(source)
        return letters if source.startswith("shorter") else longer

    monkeypatch.setattr(zoo.api, "load", load)
    monkeypatch.setattr(model_sources, "resolve_model", lambda source: None)
    return sources


def longer(images: list[object], texts: list[str]) -> list[list[float]]:
    return [[len(text) for text in texts] for _ in images]


def test_one_command_goes_from_captions_to_the_table_of_models_and_takes_further_ones(
    root: Path, evaluated: list[str]
) -> None:
    assert said(run(models=("shorter",))).status == 0
    header, cases = read_cases(root / "diagnostic" / "cases.jsonl")
    assert (header.preset, header.images) == ("paper", 12)
    units = read_units(root / "diagnostic" / "units.jsonl")
    built = HalfTruth("diagnostic/units.jsonl", "paper", 12).read(root).cases
    assert [case.texts for case in cases] == [case.texts for case in built]
    assert len(units) == 12

    (root / "diagnostic" / "units.jsonl").unlink()  # not needed once there are cases
    done = said(run(models=("shorter", "Long=longer")))
    assert done.status == 0, done.err
    assert evaluated == ["shorter", "longer"]
    assert "shorter (1 of 2): evaluated before" in done.out
    assert "Long (2 of 2): evaluating" in done.out
    assert not (root / "diagnostic" / "units.jsonl").exists()
    assert sorted(contents(root / "diagnostic" / "measured")) == [
        f"{model}/{file}"
        for model in ("long", "shorter")
        for file in ("cases.parquet", "results.json", "source.json")
    ]
    table = (root / "diagnostic" / "table.md").read_text()
    assert table.count("| shorter | 100.0 | 100.0") == 1
    rows = [line for line in done.out.splitlines() if line.startswith(("shorter  ", "Long  "))]
    assert [row.split()[:3] for row in rows[:2]] == [
        ["shorter", "100.0", "100.0"],
        ["Long", "0.0", "0.0"],
    ]
    assert "longer text" in done.out
    for name in ("models.png", "models.pdf", "table.tex"):
        assert (root / "diagnostic" / name).is_file()


def test_many_captions_are_counted_as_extract_counts_them(
    root: Path, evaluated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.cli.units.MIN_CAPTIONS", 12)
    said(run())  # three shapes in three colours are too few words for foils
    units = read_units(root / "diagnostic" / "units.jsonl")
    (digest,) = {record.source["counts"] for record in units.values()}
    assert digest == read_counts(root / "diagnostic" / "units.jsonl.words").digest


@pytest.mark.slow
def test_a_model_that_was_interrupted_or_has_other_weights_is_evaluated_again(
    root: Path, evaluated: list[str]
) -> None:
    (root / "shorter.ckpt").write_bytes(b"one")
    assert said(run(models=("shorter.ckpt",))).status == 0
    assert said(run(models=("shorter.ckpt",))).status == 0
    assert evaluated == ["shorter.ckpt"]
    (root / "shorter.ckpt").write_bytes(b"two")
    assert said(run(models=("shorter.ckpt",))).status == 0
    (root / "diagnostic" / "measured" / "shorter_ckpt" / "source.json").unlink()
    assert said(run(models=("shorter.ckpt",))).status == 0
    assert evaluated == ["shorter.ckpt"] * 3


def test_a_corpus_is_taken_from_the_images_that_are_not_drawn(
    root: Path, evaluated: list[str]
) -> None:
    done = said(run("--images", "9", models=("longer",)))
    assert "corpus: captions.tsv, 3 captions of other images" in done.out
    header, _ = read_cases(root / "diagnostic" / "cases.jsonl")
    assert set(header.baselines) == {"longer text", "corpus"}


def test_units_of_a_language_model_are_taken_as_they_are(root: Path, evaluated: list[str]) -> None:
    done = said(run("--units", "units.jsonl", models=("longer",)))
    assert done.status == 0, done.err
    _, cases = read_cases(root / "diagnostic" / "cases.jsonl")
    built = HalfTruth("units.jsonl", "paper", 12).read(root).cases
    assert [case.texts for case in cases] == [case.texts for case in built]
    assert not (root / "diagnostic" / "units.jsonl").exists()


def test_other_settings_wrong_names_and_missing_images_are_refused_before_a_model_is_loaded(
    root: Path, evaluated: list[str]
) -> None:
    assert said(run(models=("shorter",))).status == 0
    for arguments, models, sentence in (
        (("--seed", "1"), ("zoo-tiny",), "diagnostic was begun with other seed (0, now 1): choose"),
        (
            ("--preset", "checked"),
            ("zoo-tiny",),
            "diagnostic was begun with other preset (paper, now checked)",
        ),
        (("--images", "13"), ("zoo-tiny",), "was begun with other images (12, now 13)"),
        ((), ("a", "A"), "--models names A twice: give each model its own name, NAME=MODEL"),
        ((), ("=a",), "--models =a: write MODEL, or NAME=MODEL"),
    ):
        assert sentence in said(run(*arguments, models=models)).sentence
    shutil.move("pictures", "elsewhere")
    assert "nothing can be scored" in said(run(models=("longer",))).sentence
    assert evaluated == ["shorter"]


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("openai/ViT-B-23", "'openai/ViT-B-23' is not a known model"),
        ("last", "the folder runs has no last.ckpt"),
    ],
)
def test_an_unknown_model_is_reported_before_anything_is_done(
    source: str, sentence: str, root: Path
) -> None:
    assert sentence in said(run(models=("zoo-tiny", source))).sentence
    assert not (root / "diagnostic").exists()


def test_too_few_images_and_unknown_splits_leave_no_cases(root: Path) -> None:
    few = said(run("--images", "13")).sentence
    assert "has 12 images, fewer than the 13 to sample: set --images 12" in few
    assert not (root / "diagnostic" / "cases.jsonl").exists()
    shutil.rmtree("diagnostic")
    assert "captions.tsv has no split 'val'" in said(run("--splits", "val")).sentence


@pytest.mark.slow
def test_the_command_of_the_page_runs_on_the_validation_images_of_coco(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/guides/half_truths.md").read_text("utf-8")
    command = next(line for line in page.splitlines() if line.startswith("zoo halftruth run DATA"))
    words = command.replace("DATA_ROOT", str(shared_data)).split()[1:]
    words[words.index("--models") + 1 : words.index("--data_root")] = ["zoo-tiny"]
    words[2] = words[2].replace("dataset_coco", "dataset_coco_sample")
    done = said([*words, "--images", "8"])
    assert done.status == 0, done.err
    header, cases = read_cases(tmp_path / "half_truths" / "cases.jsonl")
    assert header.images == 8  # of Karpathy's validation split, which has 8 of these photographs
    assert {case.images[0].source for case in cases} == {"coco"}
    assert "+Attr" in header.conditions
    assert "Swap" in header.conditions
    assert "captions of other images" in header.notes["corpus"]
    results = read_results(tmp_path / "half_truths" / "measured" / "zoo_tiny")
    assert sum(metric.n for metric in results.metrics) == 2 * len(cases)
    assert "| zoo-tiny |" in (tmp_path / "half_truths" / "table.md").read_text()
