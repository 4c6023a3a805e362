"""`zoo doctor --config RECIPE`: lists what a recipe needs, what is missing and how to get it."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from zoo.backbones.factory import cached_weights, check_tag, parameters_of
from zoo.backbones.model_folders import HUB, LOCAL
from zoo.benchmarks.download_commands import download_command
from zoo.checkpoints.files import RUNS
from zoo.cli.fit import build_data, parse_settings
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.checks import check_negative_images
from zoo.datamodules.texts import ImageCaptions
from zoo.datamodules.units import extraction_commands, read_checked_units
from zoo.error_translation import to_user_error
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.negatives.base import NegativeGenerator
from zoo.positives.base import PositiveGenerator
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import NegativeImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef
from zoo.sources.sample_cache import cached_samples
from zoo.sources.source import Source, read_source, resolve_images

# sets of `zoo data get` by the end of the path of a file that they bring
CAPTION_SETS = {
    "coco/dataset_coco.json": "coco_captions",
    "flickr30k/dataset_flickr30k.json": "coco_captions",
    "coco/annotations/captions_*2017.json": "coco_annotations",
    "flickr8k/Flickr8k.token.txt": "flickr8k",
    "neg_clip/*_neg_clip.tsv": "neg_clip",
    "trohn_img/train-*.parquet": "trohn_img",
}
IMAGE_SETS = {"coco": "coco_train2014,coco_val2014", "visual_genome": "visual_genome"}
# companions of the captions: argument of the datamodule, and base class
COMPANIONS: dict[str, type] = {
    "negatives": NegativeGenerator,
    "positives": PositiveGenerator,
    "negative_images": NegativeImages,
}
# commands that create negatives, by the argument that names the file
NEGATIVES_COMMANDS = {
    "table": "zoo negatives build {captions} --out {file}",
    "file": "zoo negatives export {captions} --out {file}",
}
# bytes per parameter in a checkpoint: the weight, plus Adam's two moments if it is trained
FROZEN, TRAINED = 4, 12
CHECKPOINT_COUNT = 3  # last, best, and one that is being written
GIB = 1 << 30


@dataclass(frozen=True)
class RecipeNeed:
    """Something that a recipe needs.

    Attributes:
        name: Its name.
        status: What was found.
        ok: Whether the need is met.
        commands: Commands that provide it.
    """

    name: str
    status: str
    ok: bool = True
    commands: tuple[str, ...] = ()


def check_recipe(argv: list[str]) -> int:
    """Prints what a recipe needs and what was found.

    Args:
        argv: The flags of `zoo fit`.

    Returns:
        The exit status: 0, or 1 if something is missing.
    """
    settings = parse_settings(["fit", *argv])
    needs = [
        *_data_needs(settings.data),
        *_weights_need(settings.model.backbone),
        _disk_need(settings),
    ]
    table = Table(box=None, pad_edge=False)
    for column in ("", "needed", "found"):
        table.add_column(column, overflow="fold")
    for need in needs:
        table.add_row("ok" if need.ok else "MISSING", need.name, need.status)
    console = Console()
    console.print(table)
    commands = list(
        dict.fromkeys(command for need in needs if not need.ok for command in need.commands)
    )
    if commands:
        console.print("\nto get what is missing, run:")
    for command in commands:
        console.print(f"  {command}", highlight=False, markup=False, soft_wrap=True)
    return 0 if all(need.ok for need in needs) else 1


def _data_needs(settings: Namespace) -> Iterator[RecipeNeed]:
    arguments, stripped = settings.init_args, settings.clone()
    for name in COMPANIONS:
        if arguments.get(name) is not None:
            stripped.init_args[name] = None  # its file may be missing, and it is checked below
    try:
        data = build_data(stripped)
    except Exception as error:
        yield RecipeNeed("data", _error_message(error), False)
        return
    if not isinstance(data, CaptionDataModule):
        yield RecipeNeed(
            "data", f"{type(data).__name__} is not a CaptionDataModule and is not checked"
        )
        return
    roots = [Path(root) for root in data.roots]
    yield from (
        RecipeNeed("data root", f"{root} is not a folder", False)
        for root in roots
        if not root.is_dir()
    )
    sources: list[Source] = []
    for label, reader in (
        ("training captions", data.train_reader),
        ("validation captions", data.val_reader),
    ):
        if reader is not None:
            yield from _captions_need(label, reader, sources, data)
    finder = ImageFinder([root for root in roots if root.is_dir()], data.decoding)
    if sources:
        yield _images_need(sources, finder, roots)
    captions = " ".join(map(str, data.train_reader.files[:1]))
    if data.units is not None:
        yield _units_need(data, sources)
    for name, base in COMPANIONS.items():
        companions = arguments.get(name)
        for settings in (
            companions if isinstance(companions, list) else [companions] * (companions is not None)
        ):
            yield _companion_need(name, base, settings, sources, finder, data, captions)
    if data.evaluation is not None:
        yield _benchmarks_need(data.evaluation)


def _error_message(error: Exception) -> str:
    """Returns the message of an error that the user can fix, and re-raises any other error."""
    user_error = to_user_error(error)
    if user_error is None:
        raise error
    return str(user_error)


def _captions_need(
    what: str, reader: Reader, sources: list[Source], data: CaptionDataModule
) -> Iterator[RecipeNeed]:
    absent = [file for file in reader.files if not file.exists()]
    if absent:
        commands = tuple(dict.fromkeys(filter(None, map(_fetch_command, absent))))
        first_absent = [next((f for f in part.files if f in absent), None) for part in reader.parts]
        status = ", ".join(f"{file} does not exist" for file in first_absent if file is not None)
        yield RecipeNeed(what, status, False, commands)
        return
    try:
        source = read_source(reader)
    except ZooError as error:
        yield RecipeNeed(what, str(error), False)
        return
    sources.append(source)
    n, expected = len(source.image_ids), data.expected_images
    status = f"{len(source.kept):,} captions of {n:,} images"
    count_is_right = reader is not data.train_reader or expected in (None, n)
    yield RecipeNeed(
        what,
        status if count_is_right else f"{status}, but data.expected_images is {expected:,}",
        count_is_right,
    )


def _fetch_command(file: Path) -> str:
    """Returns the command that creates a file of captions, empty if there is none."""
    if file.name == "captions.jsonl":
        return f"zoo scenes render --out {file.parent}"
    pattern = next((pattern for pattern in CAPTION_SETS if file.match(pattern)), None)
    if pattern is None:
        return ""
    root = file.parents[len(Path(pattern).parts) - 1]
    return download_command(CAPTION_SETS[pattern], str(root)).strip("`")


def _images_need(sources: list[Source], finder: ImageFinder, roots: list[Path]) -> RecipeNeed:
    images: dict[ImageRef, None] = {}
    for source in sources:
        images.update(dict.fromkeys(resolve_images(source, finder).images))
    missing = finder.find_missing(images)
    status = f"{len(images) - len(missing):,} of {len(images):,}"
    if not missing:
        return RecipeNeed("images", status)
    set_names = IMAGE_SETS.get(missing[0].source)
    root = str(roots[0]) if roots else "DATA_ROOT"
    return RecipeNeed(
        "images",
        f"{status}; first missing: {missing[0]}, {finder.missing_image_advice(missing[0])}",
        False,
        (download_command(set_names, root).strip("`"),) if set_names else (),
    )


def _units_need(data: CaptionDataModule, sources: list[Source]) -> RecipeNeed:
    assert data.units is not None
    file = Path(data.units.file)
    if not file.exists() and data.train_reader.files:
        new_file, commands = extraction_commands(data.units, data.train_reader)
        advice = "" if new_file == file else f": set --data.units.file {new_file}"
        return RecipeNeed("units", f"{file} does not exist{advice}", False, tuple(commands))
    try:
        samples_by_source = (source.reader.all_splits() for source in sources)
        records = read_checked_units(
            data.units,
            (source.samples for source in sources),
            lambda: map(cached_samples, samples_by_source),
        )
    except ZooError as error:
        return RecipeNeed("units", str(error), False)
    return RecipeNeed("units", f"for {len(records):,} captions")


def _companion_need(
    name: str,
    base: type,
    settings: Namespace,
    sources: list[Source],
    finder: ImageFinder,
    data: CaptionDataModule,
    captions: str,
) -> RecipeNeed:
    """Builds a companion of the captions, checks it against them, and returns the need."""
    label = f"{name.replace('_', ' ')} ({settings.class_path.rpartition('.')[2]})"
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(base, "made")
    try:
        companion = parser.instantiate(Namespace(made=settings)).made
        if isinstance(companion, NegativeImages):
            found_images = companion.find_images(finder, data.tolerate_missing)
            for source in sources[:1]:
                list(check_negative_images(source, found_images, companion.file))
            return RecipeNeed(label, f"for {len(found_images.by_caption):,} captions")
        texts = sources[0].captions if sources else []
        if isinstance(companion, PositiveGenerator):
            companion.check(texts, ImageCaptions(sources))
        else:
            companion.check(texts)
    except Exception as error:
        files = {key.rpartition(".")[2]: file for key, file in vars(settings.as_flat()).items()}
        commands = tuple(
            command.format(captions=captions, file=files[argument])
            for argument, command in NEGATIVES_COMMANDS.items()
            if base is NegativeGenerator
            and argument in files
            and not Path(files[argument]).exists()
        )
        return RecipeNeed(label, _error_message(error), False, commands)
    return RecipeNeed(label, "can be created")


def _benchmarks_need(evaluation: Evaluation) -> RecipeNeed:
    try:
        evaluation.check_output_folder()
        evaluation.prepare()
    except ZooError as error:
        return RecipeNeed("benchmarks", str(error), False)
    return RecipeNeed("benchmarks", f"{len(evaluation.plan.cases):,} cases can be scored")


def _weights_need(backbone: Namespace) -> Iterator[RecipeNeed]:
    arguments = backbone.init_args
    name, pretrained = arguments.name, arguments.get("pretrained")
    if isinstance(pretrained, Namespace):  # published weights that have a loader
        path = Path(pretrained.init_args.get("path") or "")
        publication = pretrained.class_path.rpartition(".")[2]
        missing_note = "" if path.exists() else ", which does not exist"
        yield RecipeNeed("weights", f"{publication} from {path}{missing_note}", not missing_note)
    elif pretrained is None:
        yield RecipeNeed("weights", f"randomly initialized {name}")
    elif pretrained.startswith(HUB):
        yield RecipeNeed(
            "weights", f"{pretrained}: `zoo fit` downloads it, or finds it in the cache"
        )
    elif Path(pretrained).is_file():
        yield RecipeNeed(
            "weights", f"{pretrained}, {Path(pretrained).stat().st_size / GIB:.2f} GiB"
        )
    elif Path(pretrained.removeprefix(LOCAL)).is_dir():
        yield RecipeNeed("weights", f"the folder {pretrained}")
    else:
        try:
            check_tag(name, pretrained)
        except ZooError as error:
            yield RecipeNeed("weights", str(error), False)
            return
        cached = cached_weights(name, pretrained)
        command = (
            'python -c "import open_clip; '
            f"open_clip.create_model('{name}', pretrained='{pretrained}')\""
        )
        status = (
            str(cached)
            if cached
            else f"{pretrained} of {name} is not in the cache: `zoo fit` downloads it"
        )
        yield RecipeNeed("weights", status, cached is not None, (command,))


def _disk_need(settings: Namespace) -> RecipeNeed:
    arguments = settings.model.backbone.init_args
    logger = settings.trainer.get("logger")
    folder = (
        Path(logger.init_args.save_dir)
        if isinstance(logger, Namespace) and "init_args" in logger
        else RUNS
    )
    existing_folder = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir()
    )
    free = shutil.disk_usage(existing_folder).free
    tuning = arguments.tuning
    groups = tuning.get("image_groups") or tuning.get("text_groups")
    trained = (tuning.towers != "none" or groups is not None) and tuning.lora is None
    try:
        size = parameters_of(arguments.name) * (TRAINED if trained else FROZEN) * CHECKPOINT_COUNT
    except ZooError as error:
        return RecipeNeed("disk", str(error), False)
    status = (
        f"{free / GIB:.1f} GiB free at {existing_folder}, checkpoints need up to {size / GIB:.1f}"
    )
    return RecipeNeed("disk", status, size < free)
