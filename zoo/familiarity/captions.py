"""The reference captions for familiarity: a table, units, a file of captions, or a name."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.familiarity.table import BindingTable, count_bindings, is_binding_table, read_binding_table
from zoo.sources.readers.base import Reader
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.readers.parquet_table import parquet_file
from zoo.sources.source import hash_files
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.configurable import class_path, from_config
from zoo.support.text_files import sha256, text_lines
from zoo.units.extractor import UnitExtractor
from zoo.units.parquet import SUFFIX
from zoo.units.reader import read_units
from zoo.units.rules.rule import RuleExtractor

log = logging.getLogger(__name__)
# names of predefined captions
COCO, TRAINING = "coco", "training"
ADVICE = "choose captions or `coco` by --familiar_with"
COCO_FILES = ("coco/annotations/captions_train2014.json", "coco/dataset_coco.json")


def load_binding_table(
    captions: str, roots: Sequence[Path] = (), training_description: Mapping[str, Any] | None = None
) -> BindingTable:
    """Returns the table of bindings of the chosen captions.

    Args:
        captions: A table of bindings, a units file, a file of captions, `coco` for COCO's training
            captions under a data root, or `training` for the training captions of the model.
        roots: Data roots.
        training_description: The description of the training captions in a checkpoint
            (`Source.describe`), or None.

    Raises:
        ZooError: The captions do not exist, are not those that the model was trained on, or have no
            binding.
    """
    if captions == TRAINING:
        return count_caption_bindings(training_caption_reader(training_description, ADVICE))
    if captions == COCO:
        return count_caption_bindings(_coco_reader(roots))
    path = Path(captions)
    if path.is_file() and is_binding_table(path):
        return read_binding_table(path)
    if path.is_file() and _has_units(path):
        records = read_units(path)
        return count_bindings(records.values(), {"captions": path.name, "sha256": sha256(path)})
    return count_caption_bindings(guess_reader(path))


def training_captions_description(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the description of a model's training captions in results, or None.

    Args:
        about: The description of the model in results.
    """
    data: Mapping[str, Any] = about.get("origin", {}).get("data") or {}
    return data.get("train")


def count_caption_bindings(reader: Reader, extractor: UnitExtractor | None = None) -> BindingTable:
    """Counts the bindings of all captions of a reader.

    Args:
        reader: The reader of the captions.
        extractor: The extractor of their units. None is the rule-based one.

    Raises:
        ZooError: The captions have no binding.
    """
    extractor = extractor or RuleExtractor()
    samples = reader.read()
    name = ", ".join(file.name for file in reader.files) or type(reader).__name__
    log.info("counting the bindings of %s captions of %s", f"{len(samples):,}", name)
    description = {
        "captions": name,
        "reader": class_path(type(reader)),
        "files": hash_files(reader),
        **extractor.describe(),
    }
    captions = ((s.caption, s.caption_id, s.image_id) for s in samples)
    return count_bindings(extractor.extract_all(captions), description)


def _has_units(path: Path) -> bool:
    if path.suffix == SUFFIX:
        return "entities" in parquet_file(path).schema_arrow.names
    first_line = next((line for line in text_lines(path) if line.strip()), "").lstrip()
    return first_line.startswith("[") or (first_line.startswith("{") and '"entities"' in first_line)


def _coco_reader(roots: Sequence[Path]) -> Reader:
    for root in roots:
        published, karpathy = (root / name for name in COCO_FILES)
        if published.is_file():
            return CocoCaptions(published)
        if karpathy.is_file():
            return KarpathyJson(karpathy, ("train",))
    raise ZooError(
        f"COCO's training captions are not in {', '.join(map(str, roots)) or 'a data root'}: put "
        f"{' or '.join(COCO_FILES)} there, or name their folder with --data_root"
    )


def training_caption_reader(description: Mapping[str, Any] | None, advice: str) -> Reader:
    """Returns a reader of the captions that a model was trained on.

    Args:
        description: Their description in the checkpoint (`Source.describe`), or None.
        advice: Advice for the user if they are not available.

    Raises:
        ZooError: There is no description, its reader is not trusted, or the file is missing or has
            changed.
    """
    if description is None:
        raise ZooError(f"the model does not state its training captions: {advice}")
    reject_untrusted_classes(
        description["reader"], Reader, "the record of the captions that were trained on"
    )
    reader: Reader = from_config(description["reader"], Reader)  # type: ignore[type-abstract]
    recorded = set(description["files"].values())
    for file in reader.files:
        exists = file.is_file()
        if not exists or sha256(file) not in recorded:
            problem = "is not" if exists else "is missing; it is"
            raise ZooError(
                f"{file} {problem} the file that the model was trained on: restore it, or {advice}"
            )
    return reader
