"""A study does each run once, goes on where it was killed, names what failed, and makes a table."""

import csv
import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
import yaml
from jsonargparse import Namespace

from tests.support.made import make_root
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.cli.recipes import shipped_recipes, shipped_studies
from zoo.cli.studies import checks, records, slurm, tables, work
from zoo.cli.studies.file import read_study
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.runs import (
    WorkFolder,
    evaluation_arguments,
    fit_arguments,
    model_arguments,
    study_runs,
)
from zoo.errors import ZooError
from zoo.results.comparison.comparison import Comparison
from zoo.results.site.charts import DrawnChart
from zoo.results.suites import expand_suites

STUDY = """
recipes:
  CLIP: [recipe.yaml, {model: {objective: {class_path: CLIP}}}]
  NegCLIP: [recipe.yaml, {model: {objective: {class_path: NegCLIP}}}]
seeds: [0, 1]
first:
  - recipe.yaml
  - trainer: {max_epochs: -1, max_steps: 1, limit_val_batches: 0, num_sanity_val_steps: 0}
first_once: true
with:
  model: {backbone: {class_path: Backbone, init_args: {pretrained: "${first}"}}}
  trainer: {max_epochs: -1, max_steps: 2, limit_val_batches: 0, num_sanity_val_steps: 0}
validate: {benchmarks: "pairs:pairs.csv", cache: false}
"""
WITHOUT_TRIAL = ["--trial", "0"]
# what is truly done: others are parsed, and get the checkpoint and the outcomes of these
REAL = {("fit", "first/seed_0"), ("validate", "first/seed_0")}


def said(arguments: list[str]) -> tuple[str, str]:
    """Returns a command, and the folder of the run that it is about."""
    about = arguments[arguments.index("--out") + 1] if "--out" in arguments else ""
    if not about:
        own = json.loads(arguments[len(arguments) - 1 - arguments[::-1].index("--config") + 1])
        logger = own["trainer"]["logger"]["init_args"]
        about = f"{logger['name']}/{logger['version']}"
    return arguments[0], "/".join(Path(about).parts[-2:])


@cache
def parsed(argv: tuple[str, ...]) -> Namespace:
    """Returns what `parse_settings` does; parsers take most of a study's time in this file."""
    return parse_settings(list(argv))


def done_like_another(arguments: list[str]) -> int:
    """Leaves what a command would, copied from a run that was truly done."""
    work_folder = Path("studies/two").absolute()
    command, about = said(arguments)
    if command == "validate":
        of_it = work_folder / "measured" / about
        shutil.copytree(work_folder / "measured/first/seed_0", of_it, dirs_exist_ok=True)
        return 0
    run = work_folder / "runs" / about
    shutil.copytree(work_folder / "runs/first/seed_0/checkpoints", run / "checkpoints")
    if about.startswith("clip/"):  # of which a test reads it
        config = json.dumps(parse_settings(arguments).as_dict(), default=str)
        (run / "config.yaml").write_text(yaml.safe_dump(json.loads(config)))
    return 0


class InProcess:
    """Runs the commands of a study in this process, and remembers them.

    Args:
        real: Those that are truly done.
    """

    def __init__(self, real: set[tuple[str, str]] = REAL) -> None:
        self.real = real
        self.done: list[tuple[str, str]] = []
        self.with_flags: list[list[str]] = []
        self.dies_at: tuple[str, str] | None = None
        self.fails_at: tuple[str, str] | None = None
        self.said = self.table = ""

    def __call__(self, arguments: list[str], log: Path, lock: int) -> int:
        if said(arguments) == self.dies_at:
            raise KeyboardInterrupt
        if said(arguments) == self.fails_at:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("epoch 0\nzoo: the loss is not a number: lower the rate\n")
            return 1
        self.done.append(said(arguments))
        self.with_flags.append(arguments)
        return main(arguments) if said(arguments) in self.real else done_like_another(arguments)


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patched:
        yield patched


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Path:
    """A working directory with made data, a recipe and a study."""
    folder = make_root(tmp_path_factory.mktemp("study"))
    (folder / "two.yaml").write_text(STUDY)
    patch.chdir(folder)
    patch.setattr("zoo.cli.study.report", lambda place, runs: place.root)  # its charts take seconds
    return folder


@pytest.fixture(scope="module")
def killed(folder: Path, patch: pytest.MonkeyPatch) -> InProcess:
    """A study that was killed as it measured its first run."""
    commands = InProcess()
    commands.dies_at = ("validate", "clip/seed_0")
    patch.setattr(work, "run_zoo_command", commands)
    patch.setattr(records, "parse_settings", lambda argv: parsed(tuple(argv)))
    patch.setattr(checks, "parse_settings", lambda argv: parsed(tuple(argv)))
    pictures: dict[str, bytes] = {}
    draw = tables.render_forest

    def drawn_once(comparison: Comparison, kind: str) -> bytes:
        return pictures.get(kind) or pictures.setdefault(kind, draw(comparison, kind))

    patch.setattr(tables, "render_forest", drawn_once)
    assert main(["study", "two.yaml", "--data_root", ".", *WITHOUT_TRIAL]) == 130
    return commands


@pytest.fixture(scope="module")
def gone_on(killed: InProcess) -> InProcess:
    """The same study, gone on with; a run fails."""
    before = len(killed.done)
    killed.dies_at, killed.fails_at = None, ("fit", "negclip/seed_1")
    errors = StringIO()
    with redirect_stderr(errors):
        assert main(["study", "two.yaml", "--data_root", ".", *WITHOUT_TRIAL]) == 1
    later = InProcess()
    later.said, later.table = errors.getvalue(), Path("studies/two/table.md").read_text()
    later.done, later.with_flags = killed.done[before:], killed.with_flags[before:]
    return later


@pytest.fixture(scope="module")
def whole(gone_on: InProcess, killed: InProcess) -> Path:
    """The folder of the study, when what failed was done as well."""
    killed.fails_at = None
    before = len(killed.done)
    assert main(["study", "two.yaml", "--data_root", ".", *WITHOUT_TRIAL]) == 0
    assert killed.done[before:] == [
        ("fit", "negclip/seed_1"),
        ("validate", "negclip/seed_1"),
    ]
    return Path("studies/two")


@pytest.mark.slow  # the same, with every run truly done
def test_a_study_of_real_runs_is_whole_and_has_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_root(tmp_path)
    (folder / "two.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)
    assert main(["study", "two.yaml", "--data_root", "."]) == 0
    with Path("studies/two/table.csv").open() as file:
        assert {row["run"] for row in csv.DictReader(file)} == {"CLIP", "NegCLIP", "start"}


def test_a_killed_study_goes_on_with_what_is_not_done_and_does_nothing_twice(
    gone_on: InProcess,
) -> None:
    assert gone_on.done == [
        ("validate", "clip/seed_0"),
        ("fit", "negclip/seed_0"),
        ("validate", "negclip/seed_0"),
        ("fit", "clip/seed_1"),
        ("validate", "clip/seed_1"),
    ]


def test_a_run_that_fails_loses_no_other_and_is_named_at_the_end(
    gone_on: InProcess, folder: Path
) -> None:
    assert gone_on.said.endswith(
        "NegCLIP/seed_1 failed: the loss is not a number: lower the rate (full log: "
        f"{folder.resolve()}/studies/two/logs/negclip/seed_1.log)\n"
    )
    assert ("validate", "clip/seed_1") in gone_on.done


def test_the_table_has_a_column_a_recipe_over_its_seeds_and_is_written_in_all_forms(
    whole: Path,
) -> None:
    with (whole / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["run"], row["seeds"]) for row in rows} >= {("CLIP", "2"), ("NegCLIP", "2")}
    assert "\\begin{tabular}" in (whole / "table.tex").read_text()
    assert (whole / "forest.png").read_bytes().startswith(b"\x89PNG")


def test_the_report_has_means_over_seeds_and_the_cases_of_the_first_of_every_row(
    whole: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_drawn = DrawnChart("", "", {}, [])
    monkeypatch.setattr("zoo.results.site.write.draw_chart", lambda chart, out: not_drawn)
    two = read_study(["two.yaml"])
    page = tables.report(WorkFolder(whole.absolute(), str(folder), two), study_runs(two))
    assert page == whole.absolute() / "report" / "index.html"
    index = (page.parent / "data" / "index.js").read_text()
    assert '"runs":["CLIP","NegCLIP","start"]' in index
    said = " ".join(page.read_text().split())
    assert "For CLIP (2 seeds), NegCLIP (2 seeds), averages and metrics are means" in said
    assert "are of the first seed only: CLIP/seed_0, NegCLIP/seed_0." in said
    with (whole / "table.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "metric"]
    shown = [float(value) for value in re.findall(r'<td data-value="([\d.]+)">', said)]
    for row in rows:
        assert any(value == pytest.approx(float(row["value"])) for value in shown)
        if row["run"] == "start":
            assert (row["best"], row["near_best"], row["p"]) == ("False", "False", "")


def test_a_table_says_which_rows_have_fewer_seeds_than_were_asked_for(
    gone_on: InProcess, whole: Path
) -> None:
    assert "incomplete: NegCLIP has 1 of its 2 seeds" in gone_on.table
    assert "incomplete" not in (whole / "table.md").read_text()


def test_runs_start_from_the_weights_of_the_first_and_differ_in_their_seed(whole: Path) -> None:
    configs = [
        yaml.safe_load((whole / f"runs/clip/seed_{seed}/config.yaml").read_text())
        for seed in (0, 1)
    ]
    first = (whole / "runs/first/seed_0/checkpoints/last.ckpt").absolute()
    for seed, config in enumerate(configs):
        assert config["model"]["backbone"]["init_args"]["pretrained"] == str(first)
        assert config["seed_everything"] == seed


def test_a_study_that_is_whole_does_nothing_and_prints_its_table(
    whole: Path, killed: InProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    before = list(killed.done)
    assert main(["study", "two.yaml", "--data_root", ".", "--table"]) == 0
    assert killed.done == before
    assert "NegCLIP" in capsys.readouterr().out


def test_runs_are_listed_by_number_with_how_far_they_are(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "two.yaml", "--data_root", ".", "--list"]) == 0
    lines = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert lines == [
        ["0", "first/seed_0", "whole"],
        ["1", "CLIP/seed_0", "whole"],
        ["2", "NegCLIP/seed_0", "whole"],
        ["3", "CLIP/seed_1", "whole"],
        ["4", "NegCLIP/seed_1", "whole"],
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("max_steps: 2", "max_steps: 3"), "trainer.max_steps 3, was 2"),
        (
            ("pairs:pairs.csv", "pairs:others.csv"),
            "`--benchmarks pairs:others.csv` (before: `--benchmarks pairs:pairs.csv`)",
        ),
        (("class_path: CLIP", "class_path: SigLIP"), "model.objective.class_path"),
    ],
)
def test_a_file_that_changed_under_its_runs_is_refused_with_what_changed(
    whole: Path,
    change: tuple[str, str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
) -> None:
    (folder / "changed").mkdir(exist_ok=True)
    (folder / "changed" / "two.yaml").write_text(STUDY.replace(*change))
    command = ["study", "changed/two.yaml", "--data_root", ".", "--work_dir", str(whole)]
    assert main([*command, *WITHOUT_TRIAL]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert "--rerun_mismatched" in error
    assert main([*command, "--table"]) == 1  # nor is a table made of them
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.out == ""


def test_runs_of_other_code_are_refused_unless_any_version_will_do(
    whole: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zoo.cli.studies.records._sources", lambda: b"of another day")
    command = ["study", "two.yaml", "--data_root", ".", *WITHOUT_TRIAL]
    assert main(command) == 1
    assert "5 runs of another version of the code" in capsys.readouterr().err
    assert main([*command, "--any_version"]) == 0


def test_a_work_folder_of_another_study_is_refused(
    whole: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other.yaml").write_text(STUDY)
    assert main(["study", "other.yaml", "--data_root", ".", "--work_dir", str(whole)]) == 1
    assert "is the work folder of the study two" in capsys.readouterr().err
    assert (
        main(["study", "other.yaml", "--data_root", ".", "--work_dir", str(whole), "--list"]) == 1
    )
    assert "is the work folder of the study two" in capsys.readouterr().err
    (folder / "full").mkdir()
    (folder / "full" / "thesis.tex").write_text("")
    assert main(["study", "other.yaml", "--data_root", ".", "--work_dir", "full"]) == 1
    assert "is not empty and not the work folder of a study" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("[recipe.yaml, {model", "[recipi.yaml, {model"), "recipi.yaml is neither a file nor"),
        (("seeds: [0, 1]", "seeds: [0, 1, 0]"), "the seed 0 is listed twice"),
        (("seeds: [0, 1]", "seeds: [a]"), "seeds has a: give integers"),
        (("  NegCLIP: [", "  clip: ["), "two runs are called clip"),
        (("  NegCLIP: [", "  CLIP: ["), "repeats the key 'CLIP' of line 3"),
        (("seeds:", "sedes:"), "unknown key 'sedes' (did you mean seeds"),
        (("first_once: true", "overlays: {small: small_one.yaml}"), "small_one.yaml is neither"),
        (("first_once: true", "first_once: 3"), "first_once must be true or false"),
        (("first_once: true", "checkpoint: middle"), "checkpoint is 'middle'"),
        (("first_once: true", "prepare: {x: rm}"), "prepare has 'rm' for x"),
        (
            ('validate: {benchmarks: "pairs:pairs.csv", cache: false}', ""),
            "wrong has no benchmarks",
        ),
        (("  NegCLIP: [", "  '+': ["), "a run is called '+', which cannot be made a folder"),
        (("  NegCLIP: [", "  First: ["), "a run is called First, the name reserved"),
        (("cache: false}", "ckpt_path: a.ckpt}"), "validate has 'ckpt_path'"),
        (("first_once: true", "data_root: 3"), "data_root is 3: give the path of a folder"),
        (
            ("first_once: true", "compare: {reference_models: 3}"),
            "compare.reference_models is 3: give names",
        ),
        (("first_once: true", "prepare: {x: 'zoo \"ls'}"), "prepare has 'zoo \"ls' for x"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_in_a_sentence(
    change: tuple[str, str], sentence: str, folder: Path
) -> None:
    changed = folder / "wrong.yaml"
    changed.write_text(STUDY.replace(*change))
    with pytest.raises(ZooError) as raised:
        read_study([str(changed)])
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("validate: {benchmarks: sugarcrap}", [], r"NegCLIP: .*sugarcrap"),
        ("", ["--objective", "os.system"], r"system: .*os\.system"),
        ("", ["--objective", "nope.X"], r"X: .*nope\.X"),
        (
            "recipes: {Twice: [recipe.yaml, {data: {init_args: {val_share: 0.5, val_images: 1}}}]}",
            [],
            r"Twice: val, val_share and val_images each define the validation data",
        ),
        (
            "recipes: {Bare: [recipe.yaml, {data: {init_args: {units: null}}}]}",
            [],
            r"Bare: CSCLIP needs .*units",
        ),
    ],
    ids=["benchmark", "no objective", "no module", "conflict", "missing units"],
)
def test_a_row_that_cannot_be_run_is_named_before_any_other_is_trained(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    done: list[list[str]] = []
    monkeypatch.setattr(
        work, "run_zoo_command", lambda arguments, log, lock: done.append(arguments) or 0
    )
    first = "[recipe.yaml, {model: {objective: {class_path: NegCLIP}}}]"
    below = f"recipes: {{NegCLIP: {first}}}\nvalidate: {{benchmarks: 'pairs:pairs.csv'}}\n"
    (tmp_path / "rows.yaml").write_text(below)
    (tmp_path / "over.yaml").write_text(text)
    files = [str(tmp_path / name) for name in (["rows.yaml"] + ["over.yaml"] * bool(text))]
    command = ["study", *files, *flags, "--data_root", ".", "--work_dir", str(tmp_path / "work")]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert re.search(rf"zoo: rows(\+over)?, {message}", error), error
    assert "Traceback" not in error
    assert done == []
    assert not (tmp_path / "work").exists()


def test_a_later_file_adds_to_mappings_takes_away_by_null_and_lies_over_layers(
    folder: Path,
) -> None:
    over = folder / "over.yaml"
    over.write_text(
        "recipes: {NegCLIP: null, CS: recipe.yaml}\nseeds: [5]\n"
        "with: {trainer: {max_steps: 9}}\noverlays: {a: [], b: {model: {seed: 1}}}\n"
    )
    study = read_study([str(folder / "two.yaml"), str(over)], ["a_package.MyLoss"])
    assert study.name == "two+over"
    assert list(study.row_layers()) == [
        f"{recipe}, {overlay}" for recipe in ("CLIP", "CS", "MyLoss") for overlay in ("a", "b")
    ]
    assert study.seeds == (5,)
    assert study.common[-1] == {"trainer": {"max_steps": 9}}
    assert len(study.common) == 2
    assert study.row_layers()["MyLoss, b"] == (
        {"model": {"objective": {"class_path": "a_package.MyLoss"}}},
        *study.common,
        {"model": {"seed": 1}},
    )


def test_what_a_later_file_prepares_is_made_after_what_earlier_ones_prepare(folder: Path) -> None:
    for name, made in (("low", "[units, table]"), ("high", "[scenes, units]")):
        commands = {of: f"zoo make {of}" for of in yaml.safe_load(made)}
        prepared = yaml.safe_dump({"prepare": commands}, sort_keys=False)
        (folder / f"{name}.yaml").write_text(STUDY + prepared)
    study = read_study([str(folder / "low.yaml"), str(folder / "high.yaml")])
    assert list(study.prepare) == ["table", "scenes", "units"]


def test_a_run_is_trained_and_measured_with_its_seed_where_the_file_names_it(folder: Path) -> None:
    text = STUDY.replace("cache: false}", "shuffle: '${seed}'}")
    (folder / "seeded.yaml").write_text(text.replace("max_steps: 2", "max_steps: '${seed}'"))
    study = read_study([str(folder / "seeded.yaml")])
    place = WorkFolder(Path("/work"), "/data", study)
    for run in study_runs(study):
        assert evaluation_arguments(run, place)[-2:] == ["--shuffle", str(run.seed)]
        if run.row != "first":
            assert f'"max_steps": "{run.seed}"' in " ".join(fit_arguments(run, place))


def test_jobs_are_sent_by_submitit_with_what_is_given_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert slurm.parse_slurm_settings(["slurm_partition=gpu", "timeout_min=60"]) == {
        "slurm_partition": "gpu",
        "timeout_min": 60,
    }
    with pytest.raises(ZooError, match="--slurm gpu: give NAME=VALUE"):
        slurm.parse_slurm_settings(["gpu"])
    kept = ["world_objectives", "--work_dir", "x"]
    assert slurm.without_slurm([*kept[:1], "--slurm", "a=b", "c=d", *kept[1:]]) == kept


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with lock_file(tmp_path / "run", wait=False) as lock:
        assert lock is not None
        with lock_file(tmp_path / "run", wait=False) as other:
            assert other is None
    with lock_file(tmp_path / "run", wait=False) as lock:
        assert lock is not None


@pytest.mark.parametrize(
    "names",
    [
        ["methods_on_coco"],
        ["methods_on_coco", "small_flickr8k"],
        ["methods_on_coco", "small_with_scenes"],
        *(
            [f"{paper}_table{number}", "small_flickr8k"]
            for paper, numbers in (("cs_clip", (2, 3, 4, 16, 17)), ("fsc_clip", (1, 2, 3, 4, 5, 7)))
            for number in numbers
        ),
        ["tf_depth", "small_flickr8k", "small_heads"],
        ["role_table2", "small_flickr8k", "small_role"],
        ["bindsplit_coco", "small_flickr8k", "small_bindings"],
        ["bindsplit_pug_spare"],
        ["fsc_clip_table1", "fsc_clip_table1_cc3m"],
        ["role_table4"],
        ["role_table4", "small_inference"],
        ["every_recipe", "small_flickr8k"],
        ["every_recipe", "small_scenes"],
        ["methods_on_coco", "small_scenes"],
        ["trained_as_published"],
        ["solids_objectives"],
        ["world_objectives", "scenes_first_try"],
        ["scenes_study"],
        ["tf_on_scenes"],
        ["world_heads"],
        ["world_ranks"],
        ["world_objectives"],
        ["world_units"],
        ["world_wise_ft"],
        ["world_length"],
        ["world_sentence_negatives"],
    ],
)
def test_a_shipped_study_names_recipes_and_places_that_there_are(names: list[str]) -> None:
    study = read_study(names)
    assert {f"{name}.yaml" for name in names} <= shipped_studies().keys()
    place = WorkFolder(Path("/work"), "/data", study)
    for run in study_runs(study):
        arguments = fit_arguments(run, place) if run.is_trained else model_arguments(run, place)
        named = [a for a in arguments if a.endswith(".yaml")]
        assert set(named) <= shipped_recipes().keys()
        assert "${work}" not in " ".join(arguments)
        assert "${first}" not in " ".join(arguments)


@pytest.mark.parametrize(
    ("preset", "number"),
    [("cs_clip_ablations", n) for n in (2, 3, 4, 16, 17)]
    + [("fsc_clip", n) for n in (1, 2, 3, 4, 5, 7)],
)
def test_a_table_of_a_paper_measures_all_its_columns(preset: str, number: int) -> None:
    paper = preset.removesuffix("_ablations")
    study = read_study([f"{paper}_table{number}"])
    assert preset in study.compare["preset"]
    given = study.validate["benchmarks"]
    entries = expand_suites([given] if isinstance(given, str) else given)
    measured = {str(getattr(entry, "name", entry)).partition(":")[0] for entry in entries}
    expected = expand_suites([f"suite:{preset}"])
    assert measured == {str(getattr(entry, "name", entry)) for entry in expected}


def test_a_lock_that_cannot_be_had_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    wrong = pytest.raises(ZooError, match=r"file/run could not be written .*: choose another path")
    with wrong, lock_file(tmp_path / "file" / "run", wait=False):
        pass

    def flock(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)
    with (
        pytest.raises(ZooError, match="run cannot be locked"),
        lock_file(tmp_path / "run", wait=False),
    ):
        pass
