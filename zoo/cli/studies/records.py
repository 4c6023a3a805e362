"""Record: what a run of a study was started from and how far it came."""

import hashlib
import importlib.util
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from zoo import __version__
from zoo.cli.fit import settings_of
from zoo.cli.studies.file import filled_in
from zoo.cli.studies.runs import Run, WorkFolder, fit_arguments, validate_arguments
from zoo.errors import ZooError
from zoo.results.report import CASES, HEADER
from zoo.support.files import write_bytes
from zoo.support.spec import differences
from zoo.support.text_files import sha256

BEGUN, TRAINED, WHOLE = "begun", "trained", "whole"
SHOWN = 3  # differences that a message names
# settings by which a run is not told from another: where it writes, what it shows
NOT_OF_A_RUN = ("config", "ckpt_path", "overwrite", "seed_everything", "last_checkpoint")
NOT_OF_ITS_TRAINER = ("logger", "enable_progress_bar", "enable_model_summary", "default_root_dir")
NOT_OF_ITS_DATA = ("workers",)
IMAGES = ("image_roots", "image_cache", "features")  # folders of which nothing is looked at
TOLD = ("settings", "data", "measured")  # that say what a run is, beside the code's version

Record = dict[str, Any]


class Records:
    """The records of a study's runs.

    Args:
        place: The work folder.
    """

    def __init__(self, place: WorkFolder) -> None:
        self.place = place
        self._settings: dict[str, dict[str, Any]] = {}

    def file(self, run: Run) -> Path:
        """Returns the file of a run's record."""
        return self.place.root / "records" / f"{run.folder}.json"

    def read_record(self, run: Run) -> Record:
        """Returns the record of a run, nothing where there is none that can be read."""
        try:
            found = json.loads(self.file(run).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def stage(self, run: Run) -> str:
        """Returns how far a run came: begun, trained, whole, or nothing.

        What was deleted of it is to be done again.
        """
        stage = str(self.read_record(run).get("stage", ""))
        if stage == WHOLE and not (self.place.results_folder(run) / CASES).is_file():
            stage = TRAINED
        if stage == TRAINED and not self.place.checkpoint(run).is_file():
            stage = BEGUN
        return stage

    def write(self, run: Run, said: Record) -> None:
        """Adds to the record of a run."""
        record = {**self.read_record(run), **said}
        write_bytes(self.file(run), (json.dumps(record, indent=1) + "\n").encode())

    def identity(self, run: Run) -> Record:
        """Returns what makes a run what it is: settings, data, how it is measured, code."""
        settings = self.settings(run)
        measured, first = validate_arguments(run, self.place), self.place.start_run(run)
        files = digests(self.place.fill_folders(settings["data"], run))
        return {
            "run": str(run),
            "seed": run.seed,
            "settings": settings,
            "first": None if first is None else self.settings(first),
            "data": self.place.name_folders(files),
            "measured": self.place.name_folders(measured),
            "code": code_version(settings),
        }

    def settings(self, run: Run) -> dict[str, Any]:
        """Returns all settings of a run but its seed, as plain values.

        Those of a row are parsed once, and differ in the run that they start from alone.
        """
        like = Run(run.row, 0, run.layers)
        parsed_for, first = self.place.start_run(like), self.place.start_run(run)
        found: dict[str, Any] = self._of_row(like)
        if parsed_for is not None and first is not None:
            paths = [
                self.place.name_folders(str(self.place.last_checkpoint(of)))
                for of in (parsed_for, first)
            ]
            found = filled_in(found, {paths[0]: paths[1]})
        return found

    def _of_row(self, run: Run) -> dict[str, Any]:
        if run.row not in self._settings:
            arguments = fit_arguments(run, self.place)
            try:
                parsed = settings_of(["fit", *arguments]).as_dict()
            except ZooError as error:
                raise ZooError(f"{self.place.study.name}, {run.row}: {error}") from error
            found = self.place.name_folders(json.loads(json.dumps(parsed, default=str)))
            for name in NOT_OF_A_RUN:
                found.pop(name, None)
            for name in NOT_OF_ITS_TRAINER:
                found["trainer"].pop(name, None)
            for name in NOT_OF_ITS_DATA:
                found["data"].get("init_args", {}).pop(name, None)
            self._settings[run.row] = found
        return self._settings[run.row]

    def differences(self, run: Run) -> tuple[list[str], bool]:
        """Compares a run that is there with what it would be now.

        Returns:
            What is different about settings, data and measuring, and whether the code is.
        """
        there = self.read_record(run)
        if not there:
            return [], False
        now = self.identity(run)
        found = [
            line
            for name in (*TOLD, "first")
            for line in differences(
                there.get(name), now[name], "" if name == "settings" else f"{name}."
            )
        ]
        if self.stage(run) == WHOLE:
            found += _changed_since(self.place.results_folder(run) / CASES)
        return found, there.get("code") != now["code"]


def refuse_others(records: Records, runs: Iterable[Run], any_version: bool) -> None:
    """Refuses runs that are there and were of another study file, other data or other code.

    Args:
        records: What is kept of the runs.
        runs: The runs.
        any_version: Whether runs of another version of the code are taken as they are.

    Raises:
        ZooError: There is one.
    """
    others, old = [], []
    for run in runs:
        changed, by_code = records.differences(run)
        if changed:
            others.append((run, changed))
        elif by_code:
            old.append(run)
    root = records.place.root
    if others:
        run, changed = others[0]
        more = f", and {len(others) - 1} more" if len(others) > 1 else ""
        raise ZooError(
            f"{root} holds {run}{more} of another file or other data "
            f"({'; '.join(changed[:SHOWN])}{'; ...' if changed[SHOWN:] else ''}): name another "
            "--work, or lose what is different by --again"
        )
    if old and not any_version:
        there = records.read_record(old[0]).get("code")
        raise ZooError(
            f"{root} holds {len(old)} runs of other code ({there}; this is "
            f"{records.identity(old[0])['code']}): take them as they are by --any_version, do them "
            "anew by --again, or name another --work"
        )


def _changed_since(cases: Path) -> Iterator[str]:
    """Yields the files of benchmarks that are not what they were when a run was measured.

    Args:
        cases: The file of its outcomes, which is passed over where it cannot be read.
    """
    try:
        header = json.loads((pq.read_schema(cases).metadata or {})[HEADER])
        files = [one for of in header["benchmarks"].values() for one in of["files"].items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # whoever compares the run says so
    for path, digest in dict.fromkeys(files):
        if not Path(path).is_file() or sha256(Path(path)) != digest:
            yield f"{path} changed since it was measured"


def digests(settings: Any) -> dict[str, str]:
    """Returns the digests of the files that settings name, and of what folders directly hold."""
    return dict(_files(settings))


def _files(settings: Any) -> Iterator[tuple[str, str]]:
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name not in IMAGES:
                yield from _files(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _files(value)
    elif isinstance(settings, str) and "/" in settings:
        path = Path(settings)
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in inside:
            if file.is_file() and not file.name.startswith("."):
                stat = file.stat()
                yield str(file), _digest(file, stat.st_size, stat.st_mtime_ns)


@cache
def _digest(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def code_version(settings: Any = None) -> str:
    """Returns zoo's version with a digest of its sources, and of classes that others bring.

    Args:
        settings: Settings whose classes are looked for.
    """
    digest = hashlib.sha256(_sources())
    for module in sorted(set(_modules_outside(settings))):
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin is not None and Path(spec.origin).is_file():
            digest.update(Path(spec.origin).read_bytes())
    return f"zoo {__version__}, sources {digest.hexdigest()[:12]}"


@cache
def _sources() -> bytes:
    digest, package = hashlib.sha256(), Path(__file__).parents[2]
    for file in sorted(package.rglob("*.py")):
        digest.update(str(file.relative_to(package)).encode() + file.read_bytes())
    return digest.digest()


def _modules_outside(settings: Any) -> Iterator[str]:
    """Yields the modules of classes that are of neither zoo nor Lightning."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "class_path" and isinstance(value, str):
                module = value.rpartition(".")[0]
                if module and module.partition(".")[0] not in ("zoo", "lightning", "torch"):
                    yield module
            else:
                yield from _modules_outside(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _modules_outside(value)
