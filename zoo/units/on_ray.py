"""Units by processes of Ray, on this machine or on many."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.support.files import not_written
from zoo.support.on_ray import Ray, refuse_other
from zoo.support.spec import from_config, to_config
from zoo.units.counts import Counts, counts_of
from zoo.units.extract import Captioned, UnitExtractor
from zoo.units.extraction import counts_within, extract
from zoo.units.llm.extractor import LanguageModelExtractor
from zoo.units.parquet import notes_of
from zoo.units.reader import SUFFIXES

JOURNALS = "_journals"  # readers of Parquet pass over what begins with "_"
_PARTS = "part-*.parquet"
_ANEW = "name another folder, or add --overwrite if its parts may be lost"


@dataclass(frozen=True)
class CaptionPart:
    """Captions that are extracted together.

    Attributes:
        number: Its place, from 0.
        captions: Its captions, each as (caption, caption_id, image_id).
    """

    number: int
    captions: Sequence[Captioned]

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"part-{self.number:05d}.parquet"


def extract_on_ray(
    ray: Ray,
    extractor: UnitExtractor,
    captions: Sequence[Captioned],
    out: Path,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Writes a folder of Parquet parts, which together hold one record a caption.

    Each part appears when it is whole. What a language model answers is kept in a journal a part.
    The same command goes on from both.

    Args:
        ray: Does the work.
        extractor: Finds the units and makes their foils.
        captions: Captions, each as (caption, caption_id, image_id).
        out: The folder, which all machines see.
        overwrite: Whether parts that are there may be lost.
        progress: Is told how many more captions are done.

    Returns:
        What was found and dropped in all parts.

    Raises:
        ZooError: The folder holds something else, a worker cannot go on, or Ray is missing.
    """
    _refuse_own_journal(extractor)
    parts = split_into_parts(captions, ray.captions)
    notes = {"extractor": json.dumps(extractor.describe()), "captions": _digest(parts)}
    total, left = Counts(), []
    there = _parts_there(out, notes, overwrite)
    for part in parts:
        kept = there.get(part.name)
        total += kept or Counts()
        left += [] if kept else [part]
    if progress:
        progress(total.captions)
    rows = [{"part": part.number, "captions": json.dumps(part.captions)} for part in left]
    given = (to_config(extractor), str(out.absolute()), notes)
    for said in ray.run_parts(ExtractionWorker, given, rows):
        counts = counts_of(said["counts"])
        total += counts
        if progress:
            progress(counts.captions)
    return total


class ExtractionWorker:
    """Extracts parts in a process of Ray.

    Args:
        described: The extractor, as `spec` describes it.
        out: The folder of the parts.
        notes: What the metadata of each part says.
    """

    def __init__(self, described: dict[str, Any], out: str, notes: dict[str, str]) -> None:
        self._described, self._out, self._notes = described, Path(out), notes
        self._open = ExitStack()
        self._extractor: UnitExtractor | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Extracts one part.

        Args:
            row: The part's number, and its captions as JSON.

        Returns:
            The part's number with its counts, or with what is wrong, in a sentence.
        """
        part = CaptionPart(
            int(row["part"]), [tuple(caption) for caption in json.loads(row["captions"])]
        )
        said = {"part": part.number, "fault": "", "counts": ""}
        out = self._out / part.name
        try:
            beside = self._out / JOURNALS / part.name
            found = extract(self._build_extractor(), part.captions, out, None, self._notes, beside)
        except ZooError as error:
            return {**said, "fault": str(error)}
        return {**said, "counts": found.text()}

    def _build_extractor(self) -> UnitExtractor:
        """Returns the extractor, which is made once, and keeps what it needs open.

        Raises:
            ZooError: It is not the one that was asked for.
        """
        if self._extractor is None:
            made = from_config(self._described, UnitExtractor)  # type: ignore[type-abstract]
            refuse_other(json.dumps(made.describe()), self._notes["extractor"])
            self._open.enter_context(made.kept_open())
            self._extractor = made
        return self._extractor

    def __del__(self) -> None:
        self._open.close()


def split_into_parts(captions: Sequence[Captioned], size: int) -> list[CaptionPart]:
    """Deals captions into parts that keep those of one image together.

    Images come in the order of their first captions.

    Args:
        captions: Captions, each as (caption, caption_id, image_id).
        size: From how many captions on a part is full.
    """
    of_image: dict[str, list[Captioned]] = {}
    for captioned in captions:
        of_image.setdefault(captioned[2], []).append(captioned)
    full: list[list[Captioned]] = [[]]
    for own in of_image.values():
        if len(full[-1]) >= size:
            full.append([])
        full[-1] += own
    return [CaptionPart(number, own) for number, own in enumerate(full)]


def _digest(parts: Sequence[CaptionPart]) -> str:
    told = json.dumps([part.captions for part in parts])
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def _parts_there(out: Path, notes: dict[str, str], overwrite: bool) -> dict[str, Counts]:
    """Returns what the finished parts hold, by name.

    Raises:
        ZooError: The folder holds something that is no part of this.
    """
    if out.suffix in SUFFIXES or out.is_file():
        raise ZooError(f"--out {out} is the name of a file, and Ray writes a folder: name a folder")
    found: dict[str, Counts] = {}
    if not out.exists():
        return found
    for file in sorted(out.iterdir()):
        if not file.match(_PARTS):
            if file.suffix in SUFFIXES:
                raise ZooError(
                    f"{out} holds {file.name}, which would be read as a units file too: name "
                    "another folder"
                )
        elif overwrite:
            try:
                file.unlink()
            except OSError as error:
                raise not_written(file, error) from error
        else:
            found[file.name] = _read_finished_part(file, notes)
    return found


def _read_finished_part(file: Path, notes: dict[str, str]) -> Counts:
    """Returns the counts of a part, once it is known to be of the same captions and extractor."""
    kept, counts = notes_of(file), counts_within(file)
    if counts is None or kept.get("captions") != notes["captions"]:
        raise ZooError(f"{file} is of other captions, or of parts of another size: {_ANEW}")
    if kept.get("extractor") != notes["extractor"]:
        raise ZooError(
            f"{file} was extracted by {kept.get('extractor')}, and {notes['extractor']} is asked "
            f"for: {_ANEW}"
        )
    return counts


def _refuse_own_journal(extractor: UnitExtractor) -> None:
    if isinstance(extractor, LanguageModelExtractor) and extractor.journal is not None:
        raise ZooError(
            f"--extractor.journal {extractor.journal} is one file, and Ray keeps a journal a part "
            f"in the folder {JOURNALS} under --out: leave it out"
        )
