"""Run: one training of a study, where it lies, and the commands that do it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.checkpoints.files import CHECKPOINTS, LAST
from zoo.cli.recipes import as_yaml
from zoo.cli.studies.file import FIRST, Layers, Study, filled_in, folder_name

DATA_ROOT = "${data_root}"


@dataclass(frozen=True)
class Run:
    """One training, measured when it is done.

    Args:
        row: The row of the table that it is a seed of.
        seed: Its seed.
        layers: Names and settings that `--config` is given, one over the other.
    """

    row: str
    seed: int
    layers: Layers

    def __str__(self) -> str:
        return f"{self.row}/seed_{self.seed}"

    @property
    def folder(self) -> str:
        """Its folder, under that of all runs."""
        return f"{folder_name(self.row)}/seed_{self.seed}"


@dataclass(frozen=True)
class WorkFolder:
    """The work folder of a study.

    Args:
        root: The folder, an absolute path.
        data_root: The data root.
        study: The study.
    """

    root: Path
    data_root: str
    study: Study

    def run(self, run: Run) -> Path:
        """Returns the folder of a run, as `zoo fit` fills it."""
        return self.root / "runs" / run.folder

    def results_folder(self, run: Run) -> Path:
        """Returns the folder of what a run came to, as `zoo validate` fills it."""
        return self.root / "measured" / run.folder

    def log(self, run: Run) -> Path:
        """Returns the file of what its commands print."""
        return self.root / "logs" / f"{run.folder}.log"

    def last_checkpoint(self, run: Run) -> Path:
        """Returns the checkpoint that a run goes on from."""
        return self.run(run) / CHECKPOINTS / LAST

    def checkpoint(self, run: Run) -> Path:
        """Returns the checkpoint that is measured."""
        return self.run(run) / CHECKPOINTS / f"{self.study.checkpoint}.ckpt"

    def start_run(self, run: Run) -> Run | None:
        """Returns the run that another starts from, None where there is none."""
        if not self.study.first or run.row == FIRST:
            return None
        return Run(FIRST, self.study.first_seed(run.seed), self.study.first)

    def fill_folders(self, value: Any, run: Run | None = None) -> Any:
        """Returns a value of the study file with its places filled.

        Args:
            value: The value.
            run: The run whose first tower `${first}` is.
        """
        first = self.last_checkpoint((run and self.start_run(run)) or Run(FIRST, 0, ()))
        places = {"${work}": str(self.root), DATA_ROOT: self.data_root, "${first}": str(first)}
        return filled_in(value, places)

    def name_folders(self, value: Any) -> Any:
        """Returns plain settings in which the folders are places again, wherever they lie."""
        places = {str(self.root): "${work}"}
        if self.data_root != str(self.root):
            places = {self.data_root: DATA_ROOT, **places}
        return filled_in(value, places)


def with_firsts(runs: Sequence[Run], place: WorkFolder) -> list[Run]:
    """Returns runs with those that they start from before them, each once."""
    firsts = [first for run in runs if (first := place.start_run(run)) is not None]
    return list({str(run): run for run in (*firsts, *runs)}.values())


def runs_of(study: Study) -> list[Run]:
    """Returns the runs of a study in the order in which they are done, those to start from first.

    A seed of all rows comes before the next seed, so that a table can be looked at early.
    """
    seeds = dict.fromkeys(study.first_seed(seed) for seed in study.seeds)
    firsts = [Run(FIRST, seed, study.first) for seed in seeds] if study.first else []
    rows = study.cells().items()
    return firsts + [Run(row, seed, of) for seed in study.seeds for row, of in rows]


def fit_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo fit` that train a run."""
    row, _, version = run.folder.rpartition("/")
    logger = {"save_dir": str(place.root / "runs"), "name": row, "version": version}
    own = {
        "trainer": {"logger": {"class_path": "zoo.training.MetricsLog", "init_args": logger}},
    }
    arguments = ["--data_root", place.data_root]
    for layer in (*run.layers, own):
        filled = place.fill_folders(layer, run)
        arguments += ["--config", filled if isinstance(filled, str) else as_yaml(filled)]
    return [*arguments, "--seed_everything", str(run.seed)]


def validate_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo validate` that measure a run."""
    checkpoint, measured = str(place.checkpoint(run)), str(place.results_folder(run))
    asked = asked_of(run, place)
    return [*asked[:2], "--ckpt_path", checkpoint, *asked[2:], "--out", measured]


def asked_of(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo validate` that say what is measured of a run."""
    return ["--data_root", place.data_root, *flags(place.fill_folders(place.study.validate, run))]


def flags(given: Mapping[str, Any]) -> list[str]:
    """Returns flags as they are typed; a list is joined by commas, and true stands alone."""
    made = []
    for name, value in given.items():
        made.append(f"--{name}")
        if value is not True:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            made.append("off" if value is False else text)
    return made
