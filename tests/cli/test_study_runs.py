"""What a study takes for done, what it does again, and what it refuses to go on with.

Commands are stood in for by a function that leaves the files which `zoo fit` and `zoo validate` do.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.compared import outcomes, results
from zoo.cli import main
from zoo.cli.studies import estimate, records, tables, work
from zoo.cli.studies.estimate import Estimate
from zoo.cli.studies.file import Study, read_study
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.records import BEGUN, WHOLE, refuse_mismatched_runs
from zoo.cli.studies.runs import Run, WorkFolder, model_arguments, study_runs
from zoo.cli.studies.trial import Pace
from zoo.cli.studies.work import RunFailed, StudyExecutor
from zoo.errors import ZooError
from zoo.results.report import write_results
from zoo.support.text_files import sha256

STUDY = """
recipes: {A: {model: {a: 1}}, B: {model: {b: 1}}}
seeds: [0, 1]
first: {model: {f: 1}}
with: {model: {from: "${first}"}, data: {train: "${data_root}/captions.tsv"}}
prepare:
  ${work}/units.jsonl: zoo units extract ${data_root}/captions.tsv --out ${work}/units.jsonl
validate: {benchmarks: sugarcrepe}
"""
SAID = ["study", "s.yaml", "--data_root", "the data", "--trial", "0"]
A, B = Run("A", 0, ()), Run("B", 0, ())
END = "the end"


def layers_of(argv: list[str]) -> list[dict[str, Any]]:
    return [json.loads(value) for flag, value in pairwise(argv) if flag == "--config"]


def parsed(argv: list[str]) -> SimpleNamespace:
    """Stands in for `parse_settings`: what the layers of a run say, but where it writes."""
    found: dict[str, Any] = {"trainer": {}, "data": {}, "model": {}}
    for layer in layers_of(argv)[:-1]:
        for part, own in layer.items():
            found[part].update(own)
    return SimpleNamespace(as_dict=lambda: found)


class Commands:
    """Leaves what commands leave, and remembers what they were and of which run."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []
        self.given: list[list[str]] = []
        self.fails: tuple[str, str] | None = None

    def __call__(self, arguments: list[str], log: Path, lock: int) -> int:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("zoo: there is no room\n")
        command = arguments[0]
        if command == "fit":
            logger = layers_of(arguments)[-1]["trainer"]["logger"]["init_args"]
            out = Path(logger["save_dir"], logger["name"], logger["version"])
        else:
            out = Path(arguments[arguments.index("--out") + 1])
        self.done.append((command, "/".join(out.parts[-2:])))
        self.given.append(arguments)
        if self.done[-1] == self.fails:
            return 1
        if command == "fit":
            (out / "checkpoints").mkdir(parents=True, exist_ok=True)
            (out / "checkpoints" / "last.ckpt").write_text(END)
        elif command == "validate":
            write_results(results(outcomes([True, False, True, False])), out)
        else:
            out.write_text("")
        return 0


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """A study `s.yaml` in the working directory, whose data root has a space in its name."""
    monkeypatch.chdir(tmp_path)
    Path("the data").mkdir()
    Path("the data/captions.tsv").write_text("a\n")
    Path("s.yaml").write_text(STUDY)
    made = Commands()
    monkeypatch.setattr(work, "run_zoo_command", made)
    monkeypatch.setattr(work, "_is_finished", lambda last: last.read_text() == END)
    monkeypatch.setattr(records, "parse_settings", parsed)
    monkeypatch.setattr(tables, "render_forest", lambda comparison, kind: b"a picture")
    monkeypatch.setattr("zoo.cli.study.check_rows", lambda place, runs, builds: None)
    monkeypatch.setattr("zoo.cli.study.report", lambda place, runs: place.root)
    return made


def study_work(study: Study | None = None) -> StudyExecutor:
    root = Path("studies/s").absolute()
    return StudyExecutor(
        WorkFolder(root, str(Path("the data").absolute()), study or read_study(["s.yaml"]))
    )


def run_of(done: StudyExecutor, name: str) -> Run:
    return next(run for run in study_runs(done.study) if str(run) == name)


def test_only_the_custom_classes_of_a_study_are_trusted_in_its_checkpoints(
    commands: Commands,
) -> None:
    place = study_work().place
    layers: list[Any] = [
        {"model": {"objective": "my_loss.First", "head": {"class_path": "Cosine"}}},
        {"model": {"objective": {"class_path": "my_loss.Second", "init_args": {"weight": 2}}}},
    ]
    arguments = model_arguments(Run("A", 0, tuple(layers)), place)
    assert arguments[2:] == ["--model.objective", "my_loss.Second"]
    assert len(model_arguments(A, place)) == 2


def test_a_first_run_that_fails_is_tried_once_and_not_for_every_row(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    commands.fails = ("fit", "first/seed_0")
    assert main(SAID) == 1
    assert commands.done.count(("fit", "first/seed_0")) == 1
    assert "B/seed_0 failed: first/seed_0, which it starts from, failed" in capsys.readouterr().err
    assert ("validate", "b/seed_1") in commands.done  # whose first tower is another


def test_an_interrupted_study_says_that_finished_runs_are_kept(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(arguments: list[str], log: Path, lock: int) -> int:
        if commands.done[-1:] == [("validate", "a/seed_0")]:
            raise KeyboardInterrupt
        return commands(arguments, log, lock)

    with monkeypatch.context() as patch:
        patch.setattr(work, "run_zoo_command", interrupt)
        assert main(SAID) == 130
    kept = "finished runs are kept, run the same command to continue"
    assert capsys.readouterr().err.splitlines()[-1] == f"zoo: interrupted: {kept}"
    assert main(SAID) == 0
    assert commands.done.count(("validate", "a/seed_0")) == 1


def test_a_run_whose_checkpoint_cannot_be_read_fails_alone(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "A/seed_0")
    done.records.update_record(run, {**done.records.identity(run), "stage": BEGUN})
    done.place.last_checkpoint(run).parent.mkdir(parents=True)
    done.place.last_checkpoint(run).write_text("cut")

    def broken(last: Path) -> bool:
        raise ZooError(f"{last} cannot be read")

    monkeypatch.setattr(work, "_is_finished", broken)
    assert main(SAID) == 1
    assert "A/seed_0 failed: " in capsys.readouterr().err
    assert ("validate", "b/seed_0") in commands.done


def test_a_run_folder_without_a_record_is_not_gone_on_with(commands: Commands) -> None:
    done = study_work()
    done.claim_work_folder()
    done.place.last_checkpoint(A).parent.mkdir(parents=True)
    done.place.last_checkpoint(A).write_text(END)
    done.execute_run(run_of(done, "A/seed_0"))
    assert ("fit", "a/seed_0") in commands.done
    assert "--overwrite" in commands.given[commands.done.index(("fit", "a/seed_0"))]


def test_a_run_that_goes_on_keeps_the_code_that_it_was_begun_with(commands: Commands) -> None:
    done = study_work()
    run = run_of(done, "A/seed_0")
    done.claim_work_folder()
    done.records.update_record(
        run, {**done.records.identity(run), "stage": BEGUN, "code": "of old"}
    )
    done.execute_run(run)
    assert done.records.read_record(run)["code"] == "of old"


@pytest.mark.parametrize(("also", "again"), [("", ["validate"]), ("runs", ["fit", "validate"])])
def test_what_was_deleted_of_a_whole_run_is_done_again(
    also: str, again: list[str], commands: Commands
) -> None:
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "A/seed_0")
    done.execute_run(run)
    before = len(commands.done)
    for folder in filter(None, ("measured", also)):
        (done.place.root / folder / "a/seed_0").rename(f"gone_{folder}")
    study_work().execute_run(run)
    assert [command for command, of in commands.done[before:]] == again
    assert done.records.stage(run) == WHOLE


def test_what_was_deleted_is_not_listed_as_whole(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SAID, "--run_number", "0"]) == 0
    Path("studies/s/measured/first/seed_0").rename("gone")
    capsys.readouterr()
    assert main([*SAID, "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["0", "first/seed_0", "trained"]


def test_runs_that_started_from_another_tower_are_refused(commands: Commands) -> None:
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "A/seed_1")
    done.execute_run(run)
    refuse_mismatched_runs(done.records, [run], False)
    once = study_work(replace(done.study, first_once=True))
    with pytest.raises(ZooError, match=r"seed_0/checkpoints/last\.ckpt, was "):
        refuse_mismatched_runs(once.records, [run], False)


def test_runs_are_refused_whose_benchmarks_changed_since_they_were_measured(
    commands: Commands,
) -> None:
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "A/seed_0")
    done.execute_run(run)
    asked = Path("swap_att.json")
    asked.write_text("{}")
    measured = results(outcomes([True]))
    measured.header["benchmarks"]["sugarcrepe"]["files"] = {str(asked): sha256(asked)}
    write_results(measured, done.place.results_folder(run))
    refuse_mismatched_runs(done.records, [run], False)
    asked.write_text('{"0": {}}')
    with pytest.raises(ZooError, match=r"swap_att\.json changed since it was measured"):
        refuse_mismatched_runs(done.records, [run], False)


def test_one_run_alone_is_refused_where_that_which_it_starts_from_is_of_another_file(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SAID, "--run_number", "0"]) == 0
    Path("s.yaml").write_text(STUDY.replace("f: 1", "f: 2"))
    assert main([*SAID, "--run_number", "2"]) == 1
    assert "has runs made from other settings or data, first/seed_0" in capsys.readouterr().err


def test_what_was_made_of_data_that_changed_is_refused(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    only = [*SAID, "--run_number", "0"]
    assert main(only) == 0
    captions = Path("the data/captions.tsv").absolute()
    assert commands.given[0][1:4] == ["extract", str(captions), "--out"]
    captions.write_text("b\n")
    assert main(only) == 1
    error = capsys.readouterr().err
    assert f"units.jsonl was made from {captions}, which has changed: delete" in error
    Path("studies/s/units.jsonl").unlink()
    assert main([*only, "--rerun_mismatched"]) == 0
    assert [command for command, _ in commands.done].count("units") == 2


def test_a_run_that_another_process_does_is_not_done_anew(commands: Commands) -> None:
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "A/seed_0")
    done.execute_run(run)
    lock = done.place.root / "locks" / run.folder
    with (
        lock_file(lock, wait=False),
        pytest.raises(ZooError, match="is being executed by another process"),
    ):
        done.delete_run(run)
    assert done.records.stage(run) == WHOLE


def test_the_table_of_runs_that_are_done_anew_is_deleted(commands: Commands) -> None:
    assert main(SAID) == 0
    Path("studies/s/report").mkdir()
    Path("s.yaml").write_text(STUDY.replace("b: 1", "b: 2"))
    commands.fails = ("fit", "b/seed_0")
    assert main([*SAID, "--rerun_mismatched", "--run_number", "3"]) == 1
    assert not list(Path("studies/s").glob("table.*"))
    assert not Path("studies/s/report").exists()


@pytest.mark.parametrize("name", ["preset", "reference_models"])
def test_names_that_the_table_wants_are_looked_up_before_any_run(
    name: str, commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(f"{STUDY}compare: {{{name}: nope}}\n")
    assert main(SAID) == 1
    assert "'nope'" in capsys.readouterr().err
    assert not commands.done


@pytest.mark.parametrize(("tolerance", "within"), [(27, False), (27.1, True)])
def test_a_row_is_set_against_what_was_published_of_its_model(
    tolerance: float, within: bool, commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = f"compare: {{published: {{A: negclip}}, tolerance: {tolerance}}}\n"
    Path("s.yaml").write_text(STUDY + asked)
    assert main(SAID) == 0
    found = json.loads(Path("studies/s/published.json").read_text())
    values = [value for value in found["values"] if value["source"].startswith("vl_compo")]
    (value,) = (value for value in values if value["metric"].endswith("swap_att/i2t"))
    assert (value["run"], value["model"], value["n"]) == ("A", "negclip", 4)
    assert (value["measured"], value["published"]) == (50, 77.03)  # two of four are right
    assert value["difference"] == pytest.approx(-27.03)
    assert value["within"] is within
    assert {value["run"] for value in found["values"]} == {"A"}
    printed = capsys.readouterr().out
    n = sum(value["within"] for value in found["values"])
    assert f"A: {n} of {len(found['values'])} within {tolerance:g} points" in printed
    assert "| 77.0 |" in Path("studies/s/published.md").read_text()


def test_all_missing_weights_are_named_with_their_addresses_before_data_is_fetched(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "published", "--data_root", "new", "--work_dir", "w"]) == 1
    message = capsys.readouterr().err
    assert "new/weights/cs_clip.ckpt (CS-CLIP) from https://drive.google.com" in message
    assert "new/weights/negclip.pth (NegCLIP) from https://drive.google.com" in message
    assert not commands.done


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("published: {C: negclip}", "published has 'C', which is not a row: the rows are A, B"),
        ("published: [negclip]", "give the name of a model for each row"),
        ("tolerance: -1", "tolerance is -1: give points of at least 0"),
    ],
)
def test_a_wrong_row_or_tolerance_is_refused(
    given: str, sentence: str, commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(f"{STUDY}compare: {{{given}}}\n")
    assert main(SAID) == 1
    assert sentence in capsys.readouterr().err
    assert not commands.done


def test_data_are_fetched_before_anything_is_prepared_and_not_again_once_all_is_measured(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []

    def fetch(words: list[str], check: bool) -> None:
        fetched.append((words[-4:], list(commands.done)))

    monkeypatch.setattr(work.subprocess, "run", fetch)
    Path("s.yaml").write_text(STUDY + "fetch: sugarcrepe,aro\n")
    assert main(SAID) == 0
    data = str(Path("the data").absolute())
    assert fetched == [(["get", "sugarcrepe,aro", "--data_root", data], [])]
    assert main(SAID) == 0
    assert len(fetched) == 1


Told = Callable[[dict[str, Any]], tuple[dict[str, float], str]]


def told(asked: list[dict[str, Any]], reason: str = "") -> Told:
    """Stands in for a trial's process, and remembers what it was asked."""

    def tells(question: dict[str, Any]) -> tuple[dict[str, float], str]:
        asked.append(question)
        return {"steps": 10.0, "seconds": 1.0, "bytes": 1.0}, reason

    return tells


def test_a_trial_of_other_settings_is_not_taken_for_that_of_a_row(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(estimate, "_trial_in_process", told(asked))
    for text, trials in ((STUDY, 4), (STUDY, 1), (STUDY.replace("b: 1", "b: 2"), 2)):
        Path("s.yaml").write_text(text)
        done = study_work()
        done.claim_work_folder()
        asked.clear()
        Estimate(done, study_runs(done.study)).print_and_check_estimate(5)
        assert len(asked) == trials  # of them one looks for the benchmarks


def test_what_cannot_be_measured_is_found_before_any_run(
    commands: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        estimate, "_trial_in_process", told([], "there is no benchmark 'sugarcrape'")
    )
    assert main(SAID[:-2]) == 1
    assert "nothing can be measured with the settings under `validate:`: there is no benchmark" in (
        capsys.readouterr().err
    )
    assert not [done for done in commands.done if done[0] == "fit"]


@pytest.mark.parametrize("steps", [1, 3])
def test_a_training_of_fewer_steps_than_a_trial_tells_its_pace_too(steps: int) -> None:
    pace = Pace(5)
    parts: Any = SimpleNamespace(parameters=list, buffers=list)
    trainer: Any = SimpleNamespace(
        global_step=0, estimated_stepping_batches=steps, should_stop=False
    )
    pace.on_train_start(trainer, parts)
    for step in range(steps):
        trainer.global_step = step + 1
        pace.on_train_batch_end(trainer, parts)
    assert pace.measurements["seconds"] > 0
    assert pace.measurements["steps"] == steps


def test_a_failure_of_a_run_is_raised_again_and_not_tried_twice(commands: Commands) -> None:
    commands.fails = ("validate", "a/seed_0")
    done = study_work()
    done.claim_work_folder()
    for _ in range(2):
        with pytest.raises(RunFailed, match="there is no room"):
            done.execute_run(run_of(done, "A/seed_0"))
    assert commands.done.count(("validate", "a/seed_0")) == 1


MODELS = """
models:
  Plain: openai/ViT-B-32
  Own: "negclip:${data_root}/captions.tsv"
  Layered: {model: {m: 1}}
"""


def test_a_model_that_is_not_trained_is_measured_once_and_is_the_first_column(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(STUDY + MODELS)
    assert main(SAID) == 0
    of_models = [arguments for arguments in commands.given if "--ckpt_path" not in arguments]
    validated = [arguments for arguments in of_models if arguments[0] == "validate"]
    data = Path("the data").absolute()
    assert [arguments[3:5] for arguments in validated] == [
        ["--model", "openai/ViT-B-32"],
        ["--model", f"negclip:{data}/captions.tsv"],
        ["--config", '{"model": {"m": 1}}'],
    ]
    names = ("plain", "own", "layered")
    assert not {("fit", f"{name}/seed_0") for name in names} & set(commands.done)
    columns = ["Plain", "Own", "Layered", "A", "B", "start"]
    assert any(line.split()[-6:] == columns for line in capsys.readouterr().out.splitlines())
    before = len(commands.done)
    assert main(SAID) == 0
    assert len(commands.done) == before


def test_a_model_whose_file_changed_since_it_was_measured_is_refused(
    commands: Commands, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(STUDY + MODELS)
    done = study_work()
    done.claim_work_folder()
    run = run_of(done, "Own/seed_0")
    done.execute_run(run)
    refuse_mismatched_runs(done.records, [run], False)
    Path("the data/captions.tsv").write_text("b, and more\n")
    with pytest.raises(ZooError, match=r"data.*captions\.tsv"):
        refuse_mismatched_runs(study_work().records, [run], False)


def test_a_model_with_the_name_of_a_recipe_is_refused(commands: Commands) -> None:
    Path("s.yaml").write_text(STUDY + "models: {a: openai/ViT-B-32}\n")
    with pytest.raises(ZooError, match="two runs are called A: give each recipe, model and"):
        read_study(["s.yaml"])


def test_a_model_is_measured_for_each_seed_where_the_cases_are_those_of_the_seed(
    commands: Commands,
) -> None:
    text = STUDY.replace("{benchmarks: sugarcrepe}", "{benchmarks: x, benchmarks.seed: '${seed}'}")
    Path("s.yaml").write_text(text + "models: {Plain: openai/ViT-B-32}\n")
    study = read_study(["s.yaml"])
    runs = [str(run) for run in study_runs(study) if run.row == "Plain"]
    assert runs == ["Plain/seed_0", "Plain/seed_1"]
