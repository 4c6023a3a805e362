"""Case files of half-truths from units, for `zoo halftruth build` and `zoo halftruth run`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.benchmarks.base import Contents
from zoo.benchmarks.half_truth.baselines import text_only_baselines
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.half_truth.case_file import write_cases
from zoo.errors import ZooError
from zoo.results.tables import TextTable, baselines_table, default_console
from zoo.sources.readers.base import Reader
from zoo.sources.sample import Sample
from zoo.units.record import UnitRecord


def check_units(units: Path, records: Sequence[UnitRecord], max_images: int) -> None:
    """Rejects units of too few images, and units without foils.

    Args:
        units: The units file.
        records: Its records.
        max_images: The number of images to sample.

    Raises:
        ZooError: The units cannot be used.
    """
    images = len({record.image_id for record in records})
    if images < max_images:
        raise ZooError(
            f"{units} has {images:,} images, fewer than the {max_images:,} to sample: set "
            f"--images {images}"
        )
    if not any(u.foils for r in records for units in (r.entities, r.relations) for u in units):
        raise ZooError(
            f"{units} has no foils, and every half-truth is built from one: extract the "
            "units with an extractor that creates foils, as `zoo units extract` does by default"
        )


def write_case_file(
    units: Path,
    records: list[UnitRecord],
    out: Path,
    captions: Reader | None,
    corpus: tuple[str, Sequence[Sample]] | None,
    **settings: Any,
) -> None:
    """Writes a case file, and prints its conditions and its text-only baselines.

    Args:
        units: The units file, or a folder of them.
        records: Its records.
        out: The file to write.
        captions: The captions from which the units were extracted, or None.
        corpus: The name and the captions of a corpus, whose captions of other images give a
            baseline; None for no such baseline.
        **settings: The preset, max_images and the seed, as in `HalfTruth`.

    Raises:
        ZooError: The units yield no cases, the corpus has no other captions, or a file is invalid.
    """
    contents = HalfTruth(str(units), captions=captions, **settings).build_cases(units, records)
    notes, corpus_captions = dict(contents.notes), None
    if corpus is not None:
        name, samples = corpus
        corpus_captions = _captions_of_other_images(samples, records, contents, name)
        notes["corpus"] = f"{name}, {len(corpus_captions):,} captions of other images"
    baseline_accuracies = text_only_baselines(contents.cases, corpus_captions)
    header = write_cases(
        out, contents.cases, contents.files, notes, baseline_accuracies, **settings
    )
    console = default_console()
    counts = TextTable(
        ("condition", "cases"), tuple((c, f"{n:,}") for c, n in header.conditions.items())
    )
    console.print(counts.rich())
    console.print("text-only baselines (without the image), %:", highlight=False)
    console.print(baselines_table(baseline_accuracies).rich())
    for line in (
        *(f"{subject}: {note}" for subject, note in notes.items()),
        f"{out}: {header.cases:,} cases of {header.images:,} images, SHA-256 {header.sha256}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _captions_of_other_images(
    samples: Sequence[Sample], records: Sequence[UnitRecord], contents: Contents, corpus: str
) -> list[str]:
    """Returns the captions of a corpus that do not describe an image of the cases."""
    case_ids = {case.id for case in contents.cases}
    images = {record.image_id for record in records if record.caption_id in case_ids}
    own_captions = {record.caption for record in records if record.image_id in images}
    other_captions = [sample.caption for sample in samples if sample.caption not in own_captions]
    if not other_captions:
        raise ZooError(
            f"--corpus {corpus} has only captions of the images in the cases: give a corpus with "
            "captions of other images, such as the training captions"
        )
    return other_captions
