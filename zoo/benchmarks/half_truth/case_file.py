"""Case files: fixed sets of half-truth cases that can be published and cited.

The first line is a header with the sources, the number and the SHA-256 of the cases. Each further
line is a case.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from zoo import __version__
from zoo.benchmarks.base import Baselines, Case
from zoo.benchmarks.half_truth.rules import CONDITIONS, PUBLIC_CODE
from zoo.errors import ZooError
from zoo.sources.image_paths import OwnImages
from zoo.sources.sample import ImageRef
from zoo.support.files import write_atomically
from zoo.support.schema import Text, validate_record
from zoo.support.text_files import NotJson, open_bytes, parse_json, parse_json_line, sha256

FORMAT = 1
START = b'{"half_truths":'
MATCH = np.array([[True, False, True]])


class CaseFileHeader(Struct):
    """The header of a case file.

    Attributes:
        half_truths: The version of the file's format.
        zoo: The version of zoo that wrote the file.
        preset: The rule that built the cases.
        seed: The seed of the sampling.
        max_images: The maximum number of images.
        images: The number of images with cases.
        cases: The number of cases.
        conditions: The number of cases of each condition.
        sha256: The SHA-256 of all lines except this one.
        units: The SHA-256 of each units file, by file name.
        notes: Notes on the cases for the report.
        baselines: The scores of guesses without the image, as in `Contents`.
    """

    half_truths: int
    zoo: Text
    preset: Text
    seed: int
    max_images: int
    images: int
    cases: int
    conditions: dict[str, int]
    sha256: Text
    units: dict[str, str]
    notes: dict[str, str]
    baselines: dict[str, dict[str, dict[str, float]]]


class _CaseLine(Struct):
    condition: Literal["+Obj", "+Attr", "+Rand", "Rel:Attr", "Rel:Obj", "Ant", "Swap", "Subj"]
    caption_id: Text
    image: Text
    anchor: Text
    half_truth: Text
    truth: Text


def half_truth_case(
    condition: str, caption_id: str, image: ImageRef, texts: tuple[str, str, str], preset: str
) -> Case:
    """Returns the case of one half-truth.

    Args:
        condition: The condition.
        caption_id: The id of the caption that its texts were built from.
        image: The image.
        texts: The anchor, the half-truth and the true completion.
        preset: The rule that built it. With 'public_code', a tie is right.
    """
    return Case(
        images=(image,),
        texts=texts,
        match=MATCH,
        protocol="half_truth",
        subset=condition,
        id=caption_id,
        right_listed_first=preset == PUBLIC_CODE,
    )


def write_cases(
    path: Path,
    cases: Sequence[Case],
    units: Iterable[Path],
    notes: Mapping[str, str],
    baselines: Baselines,
    **settings: Any,
) -> CaseFileHeader:
    """Writes a case file atomically.

    Paths of images are relative to the folder of the case file.

    Args:
        path: The file to write.
        cases: The cases.
        units: The units files that they were built from.
        notes: Notes on the cases for the report.
        baselines: The scores of guesses without the image.
        **settings: The preset, the seed and max_images, as in the header.

    Returns:
        The header.

    Raises:
        ZooError: The file cannot be written.
    """
    folder = os.path.abspath(path.parent)
    lines = b"".join(
        json.dumps(
            {
                "condition": case.subset,
                "caption_id": case.id,
                "image": _image_name(case.images[0], folder),
                **dict(zip(("anchor", "half_truth", "truth"), case.texts, strict=True)),
            },
            ensure_ascii=False,
        ).encode()
        + b"\n"
        for case in cases
    )
    counts = Counter(case.subset for case in cases)
    header = CaseFileHeader(
        half_truths=FORMAT,
        zoo=__version__,
        **settings,
        images=len({case.images for case in cases}),
        cases=len(cases),
        conditions={name: counts[name] for name in CONDITIONS if counts[name]},
        sha256=hashlib.sha256(lines).hexdigest(),
        units={file.name: sha256(file) for file in units},
        notes=dict(notes),
        baselines={
            name: {subset: dict(metrics) for subset, metrics in subsets.items()}
            for name, subsets in baselines.items()
        },
    )
    fields = {name: getattr(header, name) for name in header.__struct_fields__}
    header_line = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
    with write_atomically(path) as part:
        part.write_bytes(header_line + b"\n" + lines)
    return header


def is_case_file(path: Path) -> bool:
    """Returns whether a file begins like a case file."""
    if path.is_dir():
        return False
    try:
        with open_bytes(path) as file:
            return file.read(len(START)) == START
    except OSError:
        return False  # reading it reports the error


def read_cases(path: Path) -> tuple[CaseFileHeader, list[Case]]:
    """Returns the header and the cases of a case file.

    Args:
        path: The file.

    Raises:
        ZooError: The file is truncated, was changed, or has a newer format.
    """
    with open_bytes(path) as file:
        header_line, _, lines = file.read().partition(b"\n")
    header = _parse_header(header_line, path)
    if hashlib.sha256(lines).hexdigest() != header.sha256:
        n = lines.count(b"\n")
        fault = (
            f"is truncated: it holds {n:,} complete cases of {header.cases:,}"
            if n < header.cases
            else "was changed: its cases do not match the SHA-256 in its first line"
        )
        raise ZooError(f"the case file {path} {fault}: download or build it again")
    images, cases = OwnImages(path.parent), []
    for number, text in enumerate(lines.decode().splitlines(), start=2):
        place = f"{path}:{number}"
        line = validate_record(parse_json_line(text, place), _CaseLine, place)
        cases.append(
            half_truth_case(
                line.condition,
                line.caption_id,
                images.ref(line.image),
                (line.anchor, line.half_truth, line.truth),
                header.preset,
            )
        )
    return header, cases


def _parse_header(first: bytes, path: Path) -> CaseFileHeader:
    try:
        value = parse_json(first.decode())
    except (NotJson, UnicodeDecodeError) as error:
        raise ZooError(
            f"the case file {path} is truncated in its first line: download or build it again"
        ) from error
    if isinstance(value["half_truths"], int) and value["half_truths"] > FORMAT:
        raise ZooError(
            f"the case file {path} has format {value['half_truths']}, "
            f"but this version of zoo reads formats up to {FORMAT}: update zoo"
        )
    return validate_record(value, CaseFileHeader, f"{path}:1")


def _image_name(image: ImageRef, folder: str) -> str:
    """Returns the name of an image in a case file of the folder."""
    if image.source != "file":
        return str(image)
    return os.path.relpath(image.key, folder) if os.path.isabs(image.key) else image.key
