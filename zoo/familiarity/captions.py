"""Which captions a case is to be familiar from: a table, units, a file of captions, or a name."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.familiarity.table import BindingTable, count, is_table, read
from zoo.sources.readers.base import Reader
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.readers.parquet_table import parquet_file
from zoo.support.class_paths import refuse_code
from zoo.support.spec import class_path, from_config
from zoo.support.text_files import sha256, text_lines
from zoo.units.extract import UnitExtractor
from zoo.units.parquet import SUFFIX
from zoo.units.reader import read_units
from zoo.units.rules.rule import RuleExtractor

log = logging.getLogger(__name__)
# names that stand for captions
COCO, TRAINING = "coco", "training"
MEND = "name captions, or `coco`, by --familiar_with"
COCO_FILES = ("coco/annotations/captions_train2014.json", "coco/dataset_coco.json")


def familiar_table(
    named: str, roots: Sequence[Path] = (), trained: Mapping[str, Any] | None = None
) -> BindingTable:
    """Returns the bindings of the captions that are meant.

    Args:
        named: A table of bindings, a units file, a file of captions, `coco` for COCO's training
            captions under a data root, or `training` for those that the model was trained on.
        roots: Data roots.
        trained: What a checkpoint says of its training captions (`Source.describe`), None where it
            says nothing.

    Raises:
        ZooError: The captions are not there, are others than the model was trained on, or give no
            object an attribute.
    """
    if named == TRAINING:
        return of_captions(trained_reader(trained, MEND))
    if named == COCO:
        return of_captions(_coco(roots))
    path = Path(named)
    if path.is_file() and is_table(path):
        return read(path)
    if path.is_file() and _has_units(path):
        records = read_units(path)
        return count(records.values(), {"captions": path.name, "sha256": sha256(path)})
    return of_captions(guess_reader(path))


def training_captions(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns what results say of the captions that a model was trained on, None for nothing.

    Args:
        about: What results say of the model.
    """
    data: Mapping[str, Any] = about.get("origin", {}).get("data") or {}
    return data.get("train")


def of_captions(reader: Reader, extractor: UnitExtractor | None = None) -> BindingTable:
    """Counts the bindings of all captions of a reader.

    Args:
        reader: Reads the captions.
        extractor: Finds their units, by rule where None.

    Raises:
        ZooError: The captions give no object an attribute.
    """
    extractor = extractor or RuleExtractor()
    samples = reader.read()
    name = ", ".join(file.name for file in reader.files) or type(reader).__name__
    log.info("counting the bindings of %s captions of %s", f"{len(samples):,}", name)
    about = {
        "captions": name,
        "reader": class_path(type(reader)),
        "files": {file.name: sha256(file) for file in reader.files},
        **extractor.describe(),
    }
    captions = ((s.caption, s.caption_id, s.image_id) for s in samples)
    return count(extractor.extract_all(captions), about)


def _has_units(path: Path) -> bool:
    if path.suffix == SUFFIX:
        return "entities" in parquet_file(path).schema_arrow.names
    first = next((line for line in text_lines(path) if line.strip()), "").lstrip()
    return first.startswith("[") or (first.startswith("{") and '"entities"' in first)


def _coco(roots: Sequence[Path]) -> Reader:
    for root in roots:
        published, karpathy = (root / name for name in COCO_FILES)
        if published.is_file():
            return CocoCaptions(published)
        if karpathy.is_file():
            return KarpathyJson(karpathy, ("train",))
    raise ZooError(
        f"COCO's training captions are not there: put {' or '.join(COCO_FILES)} under "
        f"{', '.join(map(str, roots)) or 'a data root'}, or name other captions by --familiar_with"
    )


def trained_reader(described: Mapping[str, Any] | None, mend: str) -> Reader:
    """Returns a reader of the captions that a model was trained on.

    Args:
        described: What it says of them (`Source.describe`), None where it says nothing.
        mend: What the user can do where they cannot be had.

    Raises:
        ZooError: It does not say, its reader is not trusted, or the file is not there or another
            one.
    """
    if described is None:
        raise ZooError(f"the model does not say which captions it was trained on: {mend}")
    refuse_code(described["reader"], Reader, "the record of the captions that were trained on")
    reader: Reader = from_config(described["reader"], Reader)  # type: ignore[type-abstract]
    for file in reader.files:
        there = file.is_file()
        if not there or sha256(file) != described["files"].get(file.name):
            found = "is not the file" if there else "is not there,"
            raise ZooError(
                f"{file} {found} that the model was trained on: put that file there, or {mend}"
            )
    return reader
