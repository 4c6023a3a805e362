"""Records of a study's runs: the settings, data and code of each run, and its stage."""

import hashlib
import importlib.util
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from zoo import __version__
from zoo.cli.fit import parse_settings
from zoo.cli.studies.file import fill_placeholders
from zoo.cli.studies.runs import (
    DATA_ROOT,
    Run,
    WorkFolder,
    fit_arguments,
    validate_arguments,
)
from zoo.errors import ZooError
from zoo.results.report import CASES, HEADER
from zoo.support.configurable import differences
from zoo.support.files import write_bytes
from zoo.support.text_files import sha256

BEGUN, TRAINED, WHOLE = "begun", "trained", "whole"
MAX_DIFFERENCES = 3  # that a message lists
# settings that do not identify a run: where it writes, what it prints
IGNORED_SETTINGS = ("config", "ckpt_path", "overwrite", "seed_everything", "last_checkpoint")
IGNORED_OF_TRAINER = ("logger", "enable_progress_bar", "enable_model_summary", "default_root_dir")
IGNORED_OF_DATA = ("workers",)
# flags of `zoo validate` that change neither its results nor which models it refuses to measure
IGNORED_FLAGS = ("--cache", "--get", "--long", "--quiet")
IMAGES = ("image_roots", "image_cache", "features")  # folders whose files get no digest
IDENTIFYING = ("settings", "data", "first")  # fields that identify a run, with flags and code

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
        """Returns the record of a run, empty if there is none that can be read."""
        try:
            record = json.loads(self.file(run).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def stage(self, run: Run) -> str:
        """Returns the stage that a run reached: begun, trained, whole, or empty.

        A stage whose files were deleted has to be repeated.
        """
        stage = str(self.read_record(run).get("stage", ""))
        if stage == WHOLE and not (self.place.results_folder(run) / CASES).is_file():
            stage = TRAINED
        if stage == TRAINED and run.is_trained and not self.place.checkpoint(run).is_file():
            stage = BEGUN
        return stage

    def update_record(self, run: Run, fields: Record) -> None:
        """Adds to the record of a run."""
        record = {**self.read_record(run), **fields}
        write_bytes(self.file(run), (json.dumps(record, indent=1) + "\n").encode())

    def identity(self, run: Run) -> Record:
        """Returns what identifies a run: its settings, data, evaluation and code."""
        settings = self.settings(run)
        measured, initial_run = validate_arguments(run, self.place), self.place.initial_run(run)
        named = settings["data"] if run.is_trained else _possible_paths(run.model or "")
        files = digests(self.place.expand_placeholders(named, run))
        return {
            "run": str(run),
            "seed": run.seed,
            "settings": settings,
            "first": None if initial_run is None else self.settings(initial_run),
            "data": self.place.restore_placeholders(files),
            "measured": self.place.restore_placeholders(measured),
            "code": code_version(settings),
        }

    def settings(self, run: Run) -> dict[str, Any]:
        """Returns all settings of a run except its seed, as plain values.

        A model that is not trained has only its name. The settings of a row are parsed once; its
        runs differ only in the run they start from.
        """
        if not run.is_trained:
            return {"model": run.model, "layers": list(run.layers)}
        row_run = Run(run.row, 0, run.layers)
        row_initial_run, initial_run = self.place.initial_run(row_run), self.place.initial_run(run)
        values: dict[str, Any] = self._row_settings(row_run)
        if row_initial_run is not None and initial_run is not None:
            paths = [
                self.place.restore_placeholders(str(self.place.last_checkpoint(initial)))
                for initial in (row_initial_run, initial_run)
            ]
            values = fill_placeholders(values, {paths[0]: paths[1]})
        return values

    def _row_settings(self, run: Run) -> dict[str, Any]:
        if run.row not in self._settings:
            arguments = fit_arguments(run, self.place)
            try:
                parsed = parse_settings(["fit", *arguments]).as_dict()
            except ZooError as error:
                raise ZooError(f"{self.place.study.name}, {run.row}: {error}") from error
            settings = self.place.restore_placeholders(json.loads(json.dumps(parsed, default=str)))
            for name in IGNORED_SETTINGS:
                settings.pop(name, None)
            for name in IGNORED_OF_TRAINER:
                settings["trainer"].pop(name, None)
            for name in IGNORED_OF_DATA:
                settings["data"].get("init_args", {}).pop(name, None)
            self._settings[run.row] = settings
        return self._settings[run.row]

    def differences(self, run: Run) -> tuple[list[str], bool]:
        """Compares the record of a run with what the run would be now.

        Returns:
            The differences in settings, data and evaluation, and whether the code differs.
        """
        record = self.read_record(run)
        if not record:
            return [], False
        current = self.identity(run)
        changes = [
            line
            for name in IDENTIFYING
            for line in differences(
                record.get(name), current[name], "" if name == "settings" else f"{name}."
            )
        ]
        changes += self._changed_flags(record, current)
        if record.get("stage") == WHOLE:
            changes += _changed_benchmark_files(self.place.results_folder(run) / CASES)
        return changes, record.get("code") != current["code"]

    def _changed_flags(self, record: Record, current: Record) -> Iterator[str]:
        """Yields the flags of `zoo validate` that differ, each with its value before."""
        before, now = (_words_by_flag(values.get("measured", [])) for values in (record, current))
        earlier_root = {DATA_ROOT: record.get("data_root", self.place.data_root)}
        for flag in dict.fromkeys([*now, *before]):
            if flag not in IGNORED_FLAGS and now.get(flag) != before.get(flag):
                earlier_words = fill_placeholders(before.get(flag, []), earlier_root)
                current_text, earlier_text = (
                    _quote_flag(flag, self.place.expand_placeholders(words))
                    for words in (now.get(flag, []), earlier_words)
                )
                yield f"{current_text} (before: {earlier_text})"


def refuse_mismatched_runs(records: Records, runs: Iterable[Run], any_version: bool) -> None:
    """Refuses existing runs that were made from other settings, data or code.

    Args:
        records: The records of the runs.
        runs: The runs.
        any_version: Whether to accept runs of another version of the code.

    Raises:
        ZooError: There is such a run.
    """
    different, other_versions = [], []
    for run in runs:
        changed, code_changed = records.differences(run)
        if changed:
            different.append((run, changed))
        elif code_changed:
            other_versions.append(run)
    place, root = records.place, records.place.root
    if different:
        run, changed = different[0]
        and_more = f", and {len(different) - 1} more" if len(different) > 1 else ""
        raise ZooError(
            f"{root} has runs made from other settings or data, {run}{and_more}: "
            f"{'; '.join(changed[:MAX_DIFFERENCES])}"
            f"{'; ...' if changed[MAX_DIFFERENCES:] else ''}. Choose another {place.folder_flag}, "
            f"or delete and repeat them with {place.repeat_flag}"
        )
    if other_versions and not any_version:
        recorded_code = records.read_record(other_versions[0]).get("code")
        is_study = place.folder_flag == WorkFolder.folder_flag
        accept = "accept them with --any_version, " if is_study else ""
        raise ZooError(
            f"{root} has {len(other_versions)} runs of another version of the code "
            f"({recorded_code}; this is {records.identity(other_versions[0])['code']}): {accept}"
            f"repeat them with {place.repeat_flag}, or choose another {place.folder_flag}"
        )


def _changed_benchmark_files(cases: Path) -> Iterator[str]:
    """Yields the benchmark files that changed since a run was measured.

    Args:
        cases: The run's cases.parquet; nothing is yielded if it cannot be read.
    """
    try:
        header = json.loads((pq.read_schema(cases).metadata or {})[HEADER])
        files = [
            file
            for benchmark in header["benchmarks"].values()
            for file in benchmark["files"].items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # the comparison reports an unreadable file
    for path, digest in dict.fromkeys(files):
        if not Path(path).is_file() or sha256(Path(path)) != digest:
            yield f"{path} changed since it was measured"


def _words_by_flag(words: Sequence[str]) -> dict[str, list[str]]:
    """Returns the words of each flag, including the flag itself each time that it is given."""
    by_flag: dict[str, list[str]] = {}
    flag = ""
    for word in words:
        flag = word if word.startswith("--") else flag
        by_flag.setdefault(flag, []).append(word)
    return by_flag


def _quote_flag(flag: str, words: Sequence[str]) -> str:
    return f"`{shlex.join(words)}`" if words else f"no `{flag}`"


def _possible_paths(model: str) -> list[str]:
    """Returns the parts of a model's name that may be a path: all of it, and what follows `:`."""
    return [model, model.partition(":")[2]]


def digests(settings: Any) -> dict[str, str]:
    """Returns digests of the files in settings, and of the files directly in their folders."""
    return dict(_iterate_file_digests(settings))


def _iterate_file_digests(settings: Any) -> Iterator[tuple[str, str]]:
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name not in IMAGES:
                yield from _iterate_file_digests(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _iterate_file_digests(value)
    elif isinstance(settings, str) and "/" in settings:
        path = Path(settings)
        candidates = sorted(path.iterdir()) if path.is_dir() else [path]
        for file in candidates:
            if file.is_file() and not file.name.startswith("."):
                stat = file.stat()
                yield str(file), _digest(file, stat.st_size, stat.st_mtime_ns)


@cache
def _digest(file: Path, size: int, mtime_ns: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def code_version(settings: Any = None) -> str:
    """Returns zoo's version with a digest of its sources and of custom classes.

    Args:
        settings: Settings, whose custom classes are included.
    """
    digest = hashlib.sha256(_sources())
    for module in sorted(set(_custom_modules(settings))):
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


def _custom_modules(settings: Any) -> Iterator[str]:
    """Yields the modules of classes from outside zoo, Lightning and torch."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if name == "class_path" and isinstance(value, str):
                module = value.rpartition(".")[0]
                if module and module.partition(".")[0] not in ("zoo", "lightning", "torch"):
                    yield module
            else:
                yield from _custom_modules(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _custom_modules(value)
