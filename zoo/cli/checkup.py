"""`zoo doctor --config RECIPE`: what a recipe needs, what is missing, and what makes it."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from zoo.backbones.factory import cached_weights, check_tag, parameters_of
from zoo.checkpoints.files import RUNS
from zoo.cli.fit import data_of, settings_of
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.checks import check_negative_images
from zoo.datamodules.image_captions import ImageCaptions
from zoo.datamodules.units import check_units
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.mistakes import mistake
from zoo.negatives.base import NegativeGenerator
from zoo.positives.base import PositiveGenerator
from zoo.sources.images import ImageFinder
from zoo.sources.kept_samples import kept_samples
from zoo.sources.negative_images import NegativeImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef
from zoo.sources.source import Source, read, resolve_images

COCO = "http://images.cocodataset.org"
KARPATHY = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
ARO = "https://github.com/mertyg/vision-language-models-are-bows"
CAPTIONS = {
    "dataset_*.json": f"curl -LO {KARPATHY} && unzip caption_datasets.zip {{name}} -d {{folder}}",
    "captions_*2017.json": (
        f"curl -LO {COCO}/annotations/annotations_trainval2017.zip && unzip "
        f"annotations_trainval2017.zip -d {{above}}"
    ),
    "*_neg_clip.tsv": (
        f"git clone {ARO} && cp vision-language-models-are-bows/temp_data/{{name}} {{folder}}"
    ),
    "train-*.parquet": ("hf download --repo-type dataset imirandam/TROHN-Img --local-dir {folder}"),
    "captions.jsonl": "zoo scenes render --out {folder}",
}
IMAGES = {
    "coco": tuple(
        f"curl -LO {COCO}/zips/{part}.zip && unzip {part}.zip -d {{root}}/coco"
        for part in ("train2014", "val2014")
    )
}
# what stands beside captions, by the argument of the data and its class
BESIDE: dict[str, type] = {
    "negatives": NegativeGenerator,
    "positives": PositiveGenerator,
    "negative_images": NegativeImages,
}
# commands that make negatives, by the argument that names the file
TABLES = {
    "table": "zoo negatives build {captions} --out {file}",
    "file": "zoo negatives export {captions} --out {file}",
}
# bytes of a parameter: itself, and the two moments of Adam where it is trained
FROZEN, TRAINED = 4, 12
CHECKPOINTS = 3  # the last, the best and one that is being written
GIB = 1 << 30


@dataclass(frozen=True)
class Need:
    """Something that a recipe needs.

    Attributes:
        what: Its name.
        found: What there is of it.
        ok: Whether that is enough.
        make: Commands that make it.
    """

    what: str
    found: str
    ok: bool = True
    make: tuple[str, ...] = ()


def checkup(argv: list[str]) -> int:
    """Prints what a recipe needs and what there is of it.

    Args:
        argv: The flags of `zoo fit`.

    Returns:
        The exit status: 0, or 1 where something is missing.
    """
    settings = settings_of(["fit", *argv])
    needs = [*_data(settings.data), *_weights(settings.model.backbone), _disk(settings)]
    table = Table(box=None, pad_edge=False)
    for column in ("", "needed", "found"):
        table.add_column(column, overflow="fold")
    for need in needs:
        table.add_row("ok" if need.ok else "MISSING", need.what, need.found)
    console = Console()
    console.print(table)
    commands = list(
        dict.fromkeys(command for need in needs if not need.ok for command in need.make)
    )
    if commands:
        console.print("\nwhat is missing is made by:")
    for command in commands:
        console.print(f"  {command}", highlight=False, markup=False, soft_wrap=True)
    return 0 if all(need.ok for need in needs) else 1


def _data(settings: Namespace) -> Iterator[Need]:
    given, bare = settings.init_args, settings.clone()
    for name in BESIDE:
        if given.get(name) is not None:
            bare.init_args[name] = None  # whose file is missing cannot be made
    try:
        data = data_of(bare)
    except Exception as error:
        yield Need("data", _sentence(error), False)
        return
    if not isinstance(data, CaptionDataModule):
        yield Need("data", f"{type(data).__name__} is no CaptionDataModule, and is not checked")
        return
    roots = [Path(root) for root in data.roots]
    yield from (
        Need("data root", f"{root} is no folder", False) for root in roots if not root.is_dir()
    )
    sources: list[Source] = []
    for what, reader in (
        ("training captions", data.train_reader),
        ("validation captions", data.val_reader),
    ):
        if reader is not None:
            yield from _captions(what, reader, sources, data)
    finder = ImageFinder([root for root in roots if root.is_dir()], data.decoding)
    if sources:
        yield _images(sources, finder, roots)
    captions = " ".join(map(str, data.train_reader.files[:1]))
    if data.units is not None:
        yield _units(data, sources, captions)
    for name, base in BESIDE.items():
        made = given.get(name)
        for settings in made if isinstance(made, list) else [made] * (made is not None):
            yield _caption_companion_need(name, base, settings, sources, finder, data, captions)
    if data.evaluation is not None:
        yield _benchmarks(data.evaluation)


def _sentence(error: Exception) -> str:
    """Returns what a user did wrong. It raises what is no user's mistake."""
    found = mistake(error)
    if found is None:
        raise error
    return str(found)


def _captions(
    what: str, reader: Reader, sources: list[Source], data: CaptionDataModule
) -> Iterator[Need]:
    absent = [file for file in reader.files if not file.exists()]
    if absent:
        make = tuple(_fetch(file) for file in absent if _fetch(file))
        yield Need(what, f"{absent[0]} is not there", False, make)
        return
    try:
        source = read(reader)
    except ZooError as error:
        yield Need(what, str(error), False)
        return
    sources.append(source)
    n, expected = len(source.image_ids), data.expect_n
    found = f"{len(source.kept):,} of {n:,} images"
    right = reader is not data.train_reader or expected in (None, n)
    yield Need(what, found if right else f"{found}, where data.expect_n is {expected:,}", right)


def _fetch(file: Path) -> str:
    pattern = next((p for p in CAPTIONS if file.match(p)), None)
    return (
        CAPTIONS[pattern].format(name=file.name, folder=file.parent, above=file.parent.parent)
        if pattern
        else ""
    )


def _images(sources: list[Source], finder: ImageFinder, roots: list[Path]) -> Need:
    images: dict[ImageRef, None] = {}
    for source in sources:
        images.update(dict.fromkeys(resolve_images(source, finder).images))
    missing = finder.missing(images)
    found = f"{len(images) - len(missing):,} of {len(images):,}"
    if not missing:
        return Need("images", found)
    make = IMAGES.get(missing[0].source, ())
    root = roots[0] if roots else Path("DATA_ROOT")
    return Need(
        "images",
        f"{found}; first missing: {missing[0]}, {finder.hint(missing[0])}",
        False,
        tuple(command.format(root=root) for command in make),
    )


def _units(data: CaptionDataModule, sources: list[Source], captions: str) -> Need:
    assert data.units is not None
    file = Path(data.units.file)
    if not file.exists():
        make = f"zoo units extract {captions} --out {file}"
        return Need("units", f"{file} is not there", False, (make,))
    try:
        whole = (source.reader.all_splits() for source in sources)
        records = check_units(
            data.units, (source.samples for source in sources), lambda: map(kept_samples, whole)
        )
    except ZooError as error:
        return Need("units", str(error), False)
    return Need("units", f"of {len(records):,} captions")


def _caption_companion_need(
    name: str,
    base: type,
    settings: Namespace,
    sources: list[Source],
    finder: ImageFinder,
    data: CaptionDataModule,
    captions: str,
) -> Need:
    """Returns the need of what stands beside captions, which is made and held to the captions."""
    what = f"{name.replace('_', ' ')} of {settings.class_path.rpartition('.')[2]}"
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(base, "made")
    try:
        made = parser.instantiate(Namespace(made=settings)).made
        if isinstance(made, NegativeImages):
            found = made.find_images(finder, data.tolerate_missing)
            for source in sources[:1]:
                list(check_negative_images(source, found, made.file))
            return Need(what, f"of {len(found.by_caption):,} captions")
        texts = sources[0].captions if sources else []
        if isinstance(made, PositiveGenerator):
            made.check(texts, ImageCaptions(sources))
        else:
            made.check(texts)
    except Exception as error:
        files = {key.rpartition(".")[2]: file for key, file in vars(settings.as_flat()).items()}
        make = tuple(
            command.format(captions=captions, file=files[argument])
            for argument, command in TABLES.items()
            if base is NegativeGenerator
            and argument in files
            and not Path(files[argument]).exists()
        )
        return Need(what, _sentence(error), False, make)
    return Need(what, "can be made")


def _benchmarks(evaluation: Evaluation) -> Need:
    try:
        evaluation.check_out()
        evaluation.prepare()
    except ZooError as error:
        return Need("benchmarks", str(error), False)
    return Need("benchmarks", f"{len(evaluation.plan.questions):,} cases can be scored")


def _weights(backbone: Namespace) -> Iterator[Need]:
    given = backbone.init_args
    name, pretrained = given.name, given.get("pretrained")
    if isinstance(pretrained, Namespace):  # a publication
        path = Path(pretrained.init_args.get("path") or "")
        publication = pretrained.class_path.rpartition(".")[2]
        there = "" if path.exists() else ", which is not there"
        yield Need("weights", f"{publication} of {path}{there}", not there)
    elif pretrained is None:
        yield Need("weights", f"random ones of {name}")
    elif Path(pretrained).is_file():
        yield Need("weights", f"{pretrained}, {Path(pretrained).stat().st_size / GIB:.2f} GiB")
    else:
        try:
            check_tag(name, pretrained)
        except ZooError as error:
            yield Need("weights", str(error), False)
            return
        cached = cached_weights(name, pretrained)
        make = (
            'python -c "import open_clip; '
            f"open_clip.create_model('{name}', pretrained='{pretrained}')\""
        )
        found = (
            str(cached)
            if cached
            else f"{pretrained} of {name} is not in the cache: `zoo fit` fetches it"
        )
        yield Need("weights", found, cached is not None, (make,))


def _disk(settings: Namespace) -> Need:
    given = settings.model.backbone.init_args
    logger = settings.trainer.get("logger")
    folder = (
        Path(logger.init_args.save_dir)
        if isinstance(logger, Namespace) and "init_args" in logger
        else RUNS
    )
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    trained = given.tuning.towers != "none" and given.tuning.lora is None
    try:
        size = parameters_of(given.name) * (TRAINED if trained else FROZEN) * CHECKPOINTS
    except ZooError as error:
        return Need("disk", str(error), False)
    found = f"{free / GIB:.1f} GiB free at {there}, checkpoints take up to {size / GIB:.1f}"
    return Need("disk", found, size < free)
