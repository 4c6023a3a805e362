"""Extracts units with Ray, on one machine or many."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.support.configurable import from_config, to_config
from zoo.support.files import build_write_error
from zoo.support.ray_jobs import Ray, check_same_component
from zoo.units.counts import Counts, parse_counts
from zoo.units.extraction import parquet_counts, write_extracted_units
from zoo.units.extractor import CaptionRow, UnitExtractor
from zoo.units.llm.extractor import LanguageModelExtractor
from zoo.units.parquet import read_metadata
from zoo.units.reader import SUFFIXES

JOURNALS = "_journals"  # readers of Parquet folders skip names that begin with "_"
_PARTS = "part-*.parquet"
_HOW_TO_RESTART = "choose another folder, or add --overwrite to replace its parts"


@dataclass(frozen=True)
class CaptionPart:
    """Captions that one task extracts.

    Attributes:
        number: The index of the part, from 0.
        captions: Its captions, each as (caption, caption_id, image_id).
    """

    number: int
    captions: Sequence[CaptionRow]

    @property
    def file_name(self) -> str:
        """The name of its output file."""
        return f"part-{self.number:05d}.parquet"


def extract_on_ray(
    ray: Ray,
    extractor: UnitExtractor,
    captions: Sequence[CaptionRow],
    out: Path,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Writes a folder of Parquet parts with one record per caption.

    Each part appears only when it is complete. Each part has a journal of a language model's
    answers. The same command resumes from finished parts and journals.

    Args:
        ray: The Ray settings.
        extractor: Finds the units and makes their foils.
        captions: Captions, each as (caption, caption_id, image_id).
        out: The folder, on a file system that all machines share.
        overwrite: Whether existing parts may be overwritten.
        progress: Called with the number of captions that have just been completed.

    Returns:
        The counts of all parts.

    Raises:
        ZooError: The folder has other files, a worker failed, or Ray is missing.
    """
    _refuse_custom_journal(extractor)
    parts = split_into_parts(captions, ray.captions)
    notes = {"extractor": json.dumps(extractor.describe()), "captions": _digest(parts)}
    total, pending_parts = Counts(), []
    finished_counts = _read_or_delete_parts(out, notes, overwrite)
    for part in parts:
        part_counts = finished_counts.get(part.file_name)
        total += part_counts or Counts()
        pending_parts += [] if part_counts else [part]
    if progress:
        progress(total.captions)
    rows = [{"part": part.number, "captions": json.dumps(part.captions)} for part in pending_parts]
    worker_arguments = (to_config(extractor), str(out.absolute()), notes)
    for result in ray.run_parts(ExtractionWorker, worker_arguments, rows):
        counts = parse_counts(result["counts"])
        total += counts
        if progress:
            progress(counts.captions)
    return total


class ExtractionWorker:
    """Extracts parts in a Ray process.

    Args:
        config: The extractor's configuration, from `to_config`.
        out: The folder of the parts.
        notes: The metadata of each part.
    """

    def __init__(self, config: dict[str, Any], out: str, notes: dict[str, str]) -> None:
        self._config, self._out, self._notes = config, Path(out), notes
        self._open = ExitStack()
        self._extractor: UnitExtractor | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Extracts one part.

        Args:
            row: The part's number, and its captions as JSON.

        Returns:
            The part's number with its counts or an error message.
        """
        part = CaptionPart(
            int(row["part"]), [tuple(caption) for caption in json.loads(row["captions"])]
        )
        result = {"part": part.number, "fault": "", "counts": ""}
        destination = self._out / part.file_name
        try:
            journal_path = self._out / JOURNALS / part.file_name
            counts = write_extracted_units(
                self._build_extractor(), part.captions, destination, None, self._notes, journal_path
            )
        except ZooError as error:
            return {**result, "fault": str(error)}
        return {**result, "counts": counts.to_json()}

    def _build_extractor(self) -> UnitExtractor:
        """Returns the extractor, which is built once and keeps its resources open.

        Raises:
            ZooError: It differs from the requested extractor.
        """
        if self._extractor is None:
            extractor = from_config(self._config, UnitExtractor)  # type: ignore[type-abstract]
            check_same_component(json.dumps(extractor.describe()), self._notes["extractor"])
            self._open.enter_context(extractor.keep_open())
            self._extractor = extractor
        return self._extractor

    def __del__(self) -> None:
        self._open.close()


def split_into_parts(captions: Sequence[CaptionRow], size: int) -> list[CaptionPart]:
    """Splits captions into parts; the captions of one image stay together.

    Images keep the order of their first captions.

    Args:
        captions: Captions, each as (caption, caption_id, image_id).
        size: The number of captions at which a part is full.
    """
    captions_by_image: dict[str, list[CaptionRow]] = {}
    for captioned in captions:
        captions_by_image.setdefault(captioned[2], []).append(captioned)
    groups: list[list[CaptionRow]] = [[]]
    for image_captions in captions_by_image.values():
        if len(groups[-1]) >= size:
            groups.append([])
        groups[-1] += image_captions
    return [CaptionPart(number, image_captions) for number, image_captions in enumerate(groups)]


def _digest(parts: Sequence[CaptionPart]) -> str:
    content = json.dumps([part.captions for part in parts])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _read_or_delete_parts(out: Path, notes: dict[str, str], overwrite: bool) -> dict[str, Counts]:
    """Returns the counts of the finished parts by file name.

    Raises:
        ZooError: The folder contains other files or parts of another run.
    """
    if out.suffix in SUFFIXES or out.is_file():
        raise ZooError(f"--out {out} is a file name, but Ray writes a folder: give a folder")
    counts_by_name: dict[str, Counts] = {}
    if not out.exists():
        return counts_by_name
    for file in sorted(out.iterdir()):
        if not file.match(_PARTS):
            if file.suffix in SUFFIXES:
                raise ZooError(
                    f"{out} contains {file.name}, which would be read as a units file too: "
                    "choose another folder"
                )
        elif overwrite:
            try:
                file.unlink()
            except OSError as error:
                raise build_write_error(file, error) from error
        else:
            counts_by_name[file.name] = _read_finished_part(file, notes)
    return counts_by_name


def _read_finished_part(file: Path, notes: dict[str, str]) -> Counts:
    """Returns the counts of a part after checking that captions and extractor are the same."""
    part_notes, counts = read_metadata(file), parquet_counts(file)
    if counts is None or part_notes.get("captions") != notes["captions"]:
        raise ZooError(
            f"{file} has other captions, or was written with another part size: {_HOW_TO_RESTART}"
        )
    if part_notes.get("extractor") != notes["extractor"]:
        raise ZooError(
            f"{file} was extracted by {part_notes.get('extractor')}, not by "
            f"{notes['extractor']}: {_HOW_TO_RESTART}"
        )
    return counts


def _refuse_custom_journal(extractor: UnitExtractor) -> None:
    if isinstance(extractor, LanguageModelExtractor) and extractor.journal is not None:
        raise ZooError(
            f"--extractor.journal {extractor.journal} is one file, but Ray writes one journal per "
            f"part to the folder {JOURNALS} under --out: leave this option out"
        )
