"""`zoo halftruth run`: captions to units, to cases, to a table of models (CS-CLIP, Section 3).

The folder of `--out` keeps what each step writes. An interrupted command resumes from there.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from rich.console import RenderableType

from zoo.benchmarks.half_truth.benchmark import MAX_IMAGES
from zoo.benchmarks.half_truth.rules import PAPER
from zoo.checkpoints.files import find_checkpoint
from zoo.cli.caption_arguments import add_caption_arguments
from zoo.cli.command_parser import CommandParser
from zoo.cli.half_truth_cases import check_units, write_case_file
from zoo.cli.studies.file import folder_name
from zoo.cli.units import add_extractor_arguments, extract, select_splits, with_own_counts
from zoo.errors import ZooError
from zoo.results.drawing import figure_format, render_figure
from zoo.results.half_truth_models import (
    MAX_MODELS,
    PICTURES,
    draw_model_accuracies,
    model_tables,
)
from zoo.results.half_truths import Diagnostic, diagnostics
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.report import RESULTS
from zoo.results.tables import TextTable, default_console, print_parts
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.sample import Sample
from zoo.support.configurable import to_config
from zoo.support.files import write_bytes
from zoo.support.ranges import PositiveInt
from zoo.support.ray_jobs import Ray
from zoo.support.text_files import sha256
from zoo.units.reader import read_units

# what the folder of `--out` has
SETTINGS = "settings.json"
UNITS = "units.jsonl"
CASES = "cases.jsonl"
MEASURED = "measured"
SOURCE = "source.json"  # in the folder of a model: which weights were measured
TABLES = ("table.md", "table.tex")


def run_parser() -> CommandParser:
    """Returns the parser of `zoo halftruth run`."""
    parser = CommandParser(
        description="Extract units (entities and relations) from captions, build half-truths from "
        "the units, evaluate models, and print a table. The folder --out keeps the result of each "
        "step. Repeat the command to resume an interrupted run or to add models."
    )
    add_caption_arguments(parser)
    parser.add_argument(
        "--models",
        type=str,
        nargs="+",
        required=True,
        metavar="MODEL",
        help="names of `zoo ls models`, or checkpoints; NAME=MODEL sets the name of a model in "
        "the table",
    )
    parser.add_argument(
        "--data_root", type=str, default=".", help="the folder of the images (default: .)"
    )
    parser.add_argument("--out", type=str, required=True, help="the folder to write")
    parser.add_argument(
        "--splits",
        type=str,
        nargs="+",
        help="splits to use, by their names in the captions file (default: all)",
    )
    parser.add_argument(
        "--units",
        type=str,
        help="use an existing units file of these captions, instead of extracting units",
    )
    add_extractor_arguments(parser)
    parser.add_argument(
        "--preset",
        type=str,
        default=PAPER,
        help="the rules for building half-truths: see `zoo halftruth build` (default: paper)",
    )
    parser.add_argument(
        "--images", type=PositiveInt, default=MAX_IMAGES, help="number of images to sample"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sampling")
    return parser


def run_diagnostic(arguments: Namespace) -> None:
    """Runs the steps whose files are missing, and prints the table of the models.

    Args:
        arguments: The arguments of `run_parser`, with its classes built.

    Raises:
        ZooError: The folder has files of other settings, or a step fails.
    """
    from zoo.checkpoints.model_sources import resolve_model  # importing torch takes seconds

    sources = _parse_models(arguments.models)
    for source in sources.values():
        resolve_model(source)
    out = Path(arguments.out)
    reader = (arguments.reader or guess_reader)(Path(arguments.captions))
    _check_settings(out, _describe_settings(arguments, reader))
    if not (out / CASES).exists():
        _write_cases(arguments, reader, out)
    for i, (name, source) in enumerate(sources.items(), start=1):
        _measure(name, source, out, arguments.data_root, f"{name} ({i} of {len(sources)})")
    by_name = {
        name: diagnostics(read_results(_model_folder(out, name)), preset_of("official"))[0]
        for name in sources
    }
    print_models(by_name)
    tables = model_tables(by_name)
    for file, render in zip(TABLES, (TextTable.markdown, TextTable.latex), strict=True):
        write_bytes(out / file, ("\n\n".join(map(render, tables)) + "\n").encode())
    if len(by_name) <= MAX_MODELS:
        write_model_pictures(by_name, [out / name for name in PICTURES])
    _print_lines(out / file for file in (UNITS, CASES, MEASURED, *TABLES) if (out / file).exists())


def print_models(by_name: Mapping[str, Diagnostic]) -> None:
    """Prints the tables of several models.

    Args:
        by_name: The diagnostic of each model, by the model's name.
    """
    first_diagnostic = next(iter(by_name.values()))
    parts: list[RenderableType] = [first_diagnostic.description.partition(";")[0]]
    for table in model_tables(by_name):
        parts += ["", table.rich()]
    print_parts(parts)


def write_model_pictures(by_name: Mapping[str, Diagnostic], paths: Sequence[Path]) -> None:
    """Writes the figure of several models, and prints its paths.

    Args:
        by_name: The diagnostic of each model, by the model's name.
        paths: The files to write, of any format of figures.
    """
    for path in paths:
        figure = draw_model_accuracies(by_name)
        write_bytes(path, render_figure(figure, figure_format(path)))
        _print_lines([path])


def _print_lines(lines: Iterable[object]) -> None:
    for line in lines:
        default_console().print(str(line), highlight=False, soft_wrap=True)


def _parse_models(given: Sequence[str]) -> dict[str, str]:
    """Returns the sources of the models by the names that the table gives them.

    Raises:
        ZooError: A name is empty, or two models would have the same folder.
    """
    sources: dict[str, str] = {}
    for text in given:
        name, joint, source = text.partition("=")
        if not joint or Path(text).exists():
            name = source = text
        if not folder_name(name) or not source:
            raise ZooError(f"--models {text}: write MODEL, or NAME=MODEL")
        if folder_name(name) in map(folder_name, sources):
            raise ZooError(f"--models names {name} twice: give each model its own name, NAME=MODEL")
        sources[name] = source
    return sources


def _describe_settings(arguments: Namespace, reader: Reader) -> dict[str, Any]:
    """Returns the settings that the units and the cases depend on."""
    units = None if arguments.units is None else Path(arguments.units)
    extractor = None if units is not None else dict(arguments.extractor.describe())
    return {
        "captions": {file.name: sha256(file) for file in reader.files if file.is_file()},
        "reader": to_config(reader)["class_path"],
        "splits": arguments.splits,
        "units": units and (sha256(units) if units.is_file() else str(units)),
        "extractor": extractor,
        "preset": arguments.preset,
        "images": arguments.images,
        "seed": arguments.seed,
    }


def _check_settings(out: Path, settings: Mapping[str, Any]) -> None:
    """Compares the settings with those that the folder was begun with, or writes them.

    Raises:
        ZooError: They differ.
    """
    path = out / SETTINGS
    plain_settings = json.loads(json.dumps(settings))
    try:
        previous = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        write_bytes(path, json.dumps(plain_settings, indent=1).encode())
        return
    except (OSError, ValueError) as error:
        raise ZooError(f"{path} cannot be read: choose another folder with --out") from error
    changed = next(
        (name for name in plain_settings if plain_settings[name] != previous.get(name)), None
    )
    if changed is not None:
        raise ZooError(
            f"{out} was begun with other {changed} ({previous.get(changed)}, now "
            f"{plain_settings[changed]}): choose another folder with --out"
        )


def _write_cases(arguments: Namespace, reader: Reader, out: Path) -> None:
    """Extracts units if there are none, and writes the case file."""
    samples = reader.read()
    if not samples:
        raise ZooError(f"{arguments.captions} has no captions: give a file with captions")
    chosen_samples = select_splits(samples, arguments.splits, arguments.captions)
    units = Path(arguments.units or out / UNITS)
    if arguments.units is None and not units.exists():
        extractor = with_own_counts(arguments.extractor, chosen_samples, units)
        extract(extractor, chosen_samples, units, Ray(), overwrite=False)
        _print_lines([f"{units}: units of {len(chosen_samples):,} captions"])
    records = list(read_units(units).values())
    check_units(units, records, arguments.images)
    corpus = _other_captions(samples, chosen_samples, arguments.images)
    write_case_file(
        units,
        records,
        out / CASES,
        None if arguments.units is None else reader,  # extracted units name their images
        (Path(arguments.captions).name, corpus) if corpus else None,
        preset=arguments.preset,
        max_images=arguments.images,
        seed=arguments.seed,
    )


def _other_captions(
    samples: Sequence[Sample], chosen_samples: Sequence[Sample], max_images: int
) -> Sequence[Sample]:
    """Returns the captions of splits that were not chosen, else all if some images are not drawn.

    The result is empty if each caption describes an image of the cases.
    """
    images = {sample.image_id for sample in chosen_samples}
    other_samples = [sample for sample in samples if sample.image_id not in images]
    return other_samples or (samples if len(images) > max_images else [])


def _model_folder(out: Path, name: str) -> Path:
    return out / MEASURED / folder_name(name)


def _measure(name: str, source: str, out: Path, data_root: str, title: str) -> None:
    """Evaluates a model on the cases, unless the folder has its results."""
    from zoo.api import evaluate, load  # importing torch takes seconds
    from zoo.evaluation.engine import Evaluation

    folder = _model_folder(out, name)
    weights = find_checkpoint(source)
    described = {"model": source, "sha256": sha256(weights) if weights.is_file() else None}
    if (folder / RESULTS).exists() and _read_source(folder) == described:
        _print_lines([f"{title}: evaluated before"])
        return
    _print_lines([f"{title}: evaluating"])
    benchmark = f"half_truth:{out / CASES}"
    Evaluation([benchmark], data_root).prepare()  # looks for the images before weights are loaded
    evaluate(load(source), benchmark, data_root, folder, overwrite=True, quiet=True)
    write_bytes(folder / SOURCE, json.dumps(described).encode())


def _read_source(folder: Path) -> Any:
    try:
        return json.loads((folder / SOURCE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
