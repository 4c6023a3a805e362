"""`zoo data get` and `zoo data ls`: fetch published data sets, and list them."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table

from zoo.benchmarks.annotations import find_annotation_file
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import benchmark_names, build_benchmarks
from zoo.benchmarks.roots import read_benchmark, resolve_case_images
from zoo.cli.command_parser import CommandParser
from zoo.downloads.files import PublishedFile, format_bytes
from zoo.downloads.hub import HubUnreachable, describe_unreachable
from zoo.downloads.images import ImageFolder, plan_images
from zoo.downloads.plan import (
    SetPlan,
    check_disk_space,
    fetch_files,
    fetch_sets,
    plan_set,
)
from zoo.downloads.sets import (
    ANY_COCO,
    PublishedSet,
    fetchable_names,
    find_benchmark_sets,
    find_sets,
    published_sets,
)
from zoo.errors import Stopped, ZooError
from zoo.results.suites import expand_suites
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.arguments import split_list
from zoo.support.ranges import PositiveInt

if TYPE_CHECKING:
    from zoo.evaluation.engine import Evaluation

log = logging.getLogger(__name__)

MIRROR_VARIABLE = "ZOO_MIRROR"
RESUME_HINT = "finished files are kept, run the same command to resume"
ImageChoice = Literal["needed", "all", "none"]


@dataclass(frozen=True)
class DownloadSettings:
    """How data sets are downloaded.

    Args:
        root: The data root. It is created if it does not exist.
        images: Which images are fetched: those that the cases need, all of their folders, or none.
        mirror: A server that has each file under its publisher's host and path; empty for the
            publishers. By default it is `MIRROR_VARIABLE`.
        jobs: The number of parallel downloads.
        overwrite: Whether local files that differ from the published ones are replaced.
        dry_run: Whether to report only what would be fetched.
        report: Prints a line about what is fetched.
        roots: All data roots, if images of others are used as well.
    """

    root: Path
    images: ImageChoice = "needed"
    mirror: str = field(default_factory=lambda: os.environ.get(MIRROR_VARIABLE, ""))
    jobs: int = 8
    overwrite: bool = False
    dry_run: bool = False
    report: Callable[[str], None] = print
    roots: tuple[Path, ...] = ()


def get_parser() -> CommandParser:
    """Returns the parser of `zoo data get`."""
    parser = CommandParser(
        description="Download benchmarks, captions and images from their publishers. Licences, "
        "sizes and the needed disk space are printed first. The same command resumes an "
        "interrupted download."
    )
    parser.add_argument(
        "names",
        type=str,
        help="what to download, separated by commas: benchmarks, data sets (names of `zoo data "
        "ls`), or `suite:PRESET` for the benchmarks of a preset",
    )
    parser.add_argument("--data_root", type=str, default=".", help="the folder to write")
    parser.add_argument(
        "--images",
        type=ImageChoice,
        default="needed",
        help="images of COCO and Visual Genome to download: `needed` (those that the benchmarks "
        "need), `all` (whole folders) or `none`",
    )
    parser.add_argument(
        "--mirror",
        type=str,
        default=os.environ.get(MIRROR_VARIABLE, ""),
        metavar="URL",
        help=f"the URL of a mirror server (default: ${MIRROR_VARIABLE}). The mirror must have "
        "each file under the host and path of its publisher, such as "
        "URL/raw.githubusercontent.com/... For files of the Hugging Face hub, set $HF_ENDPOINT "
        "instead",
    )
    parser.add_argument("--jobs", type=PositiveInt, default=8, help="number of parallel downloads")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace local files that differ from the published ones",
    )
    parser.add_argument(
        "--dry_run", action="store_true", help="only print what would be downloaded"
    )
    return parser


def get_data_sets(names: Sequence[str], settings: DownloadSettings) -> None:
    """Fetches what is missing of data sets, then the missing images of benchmarks.

    Args:
        names: Benchmarks, with subsets as for `zoo validate`, suites, or names of `zoo data ls`.
        settings: How they are downloaded.

    Raises:
        ZooError: A name is unknown, the disk is too small, or something could not be fetched.
            Everything else was fetched.
    """
    if settings.root.exists() and not settings.root.is_dir():
        raise ZooError(f"--data_root {settings.root} is not a folder: choose another one")
    if settings.mirror and not settings.mirror.startswith(("http://", "https://")):
        raise ZooError(
            f"mirror {settings.mirror!r} is not the address of a server: begin with https://"
        )
    sets, benchmark_entries = list[PublishedSet](), list[str]()
    for name in map(str, expand_suites(names)):
        head = name.partition(":")[0]
        if name not in names and head not in fetchable_names():
            settings.report(f"{head}: cannot be fetched, `zoo doctor` explains how to get it")
            continue
        named_sets = find_sets(name)
        if head in benchmark_names():
            benchmark_entries.append(name)
        else:
            sets += named_sets
    benchmarks = build_benchmarks(benchmark_entries)
    for benchmark in benchmarks:
        sets += _find_needed_sets(benchmark, settings)
    if errors := _get_sets_and_images(sets, benchmarks, settings):
        raise ZooError("; ".join(errors))


def _find_needed_sets(benchmark: Benchmark, settings: DownloadSettings) -> list[PublishedSet]:
    """Returns the sets of a benchmark, without those in whose place other files are read."""
    needed = list[PublishedSet]()
    for item in find_benchmark_sets(benchmark.name, [s.name for s in benchmark.subsets]):
        read_files = [
            find_annotation_file(settings.root, subset)
            for subset in benchmark.subsets
            if {benchmark.name, f"{benchmark.name}:{subset.name}"} & {*item.benchmarks}
        ]
        if all(file and not item.includes(file.relative_to(settings.root)) for file in read_files):
            settings.report(f"{item.name}: not needed, {read_files[0]} is read in its place")
        else:
            needed.append(item)
    return needed


def fetch_missing_files(
    evaluation: "Evaluation", root: Path, report: Callable[[str], None]
) -> None:
    """Fetches what is missing of an evaluation's benchmarks, and warns of what cannot be fetched.

    Benchmarks whose annotations are all there need no server.

    Args:
        evaluation: The evaluation.
        root: The data root for new files.
        report: Prints a line about what is fetched.

    Raises:
        ZooError: The disk is too small.
    """
    fetchable = [b for b in evaluation.benchmarks if b.name in fetchable_names()]
    sets: list[PublishedSet] = []
    for benchmark in fetchable:
        known = read_benchmark(benchmark, evaluation.roots)
        missing = [subset.name for subset in known.missing_subsets]
        sets += find_benchmark_sets(benchmark.name, missing) if missing else []
    settings = DownloadSettings(root, report=report, roots=tuple(evaluation.roots))
    for failure in _get_sets_and_images(sets, fetchable, settings):
        log.warning("%s", failure)


def _get_sets_and_images(
    sets: Sequence[PublishedSet], benchmarks: Sequence[Benchmark], settings: DownloadSettings
) -> list[str]:
    try:
        errors = _get_sets(list(dict.fromkeys(sets)), settings)
        if settings.images != "none":
            for benchmark in benchmarks:
                errors += _get_images(benchmark, settings)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(RESUME_HINT) from None
    except Stopped as stop:
        raise Stopped(stop.signum, RESUME_HINT) from None
    return errors


def _get_sets(sets: Sequence[PublishedSet], settings: DownloadSettings) -> list[str]:
    """Reports and fetches what is missing of sets; returns what could not be fetched."""
    plans, errors = list[SetPlan](), list[str]()
    unreachable: HubUnreachable | None = None
    for item in sets:
        if item.hub and unreachable is not None:
            cause = unreachable.__cause__
            errors += [describe_unreachable(files.dataset, cause) for files in item.hub]
            continue
        try:
            plans.append(plan_set(item, settings.root, settings.mirror, settings.overwrite))
        except ZooError as error:
            unreachable = error if isinstance(error, HubUnreachable) else unreachable
            errors.append(str(error))
            settings.report(f"{item.name}: {_describe_licence(item)}")
    for plan in plans:
        for line in _describe_plan(plan, settings):
            settings.report(line)
    missing = [plan for plan in plans if not plan.is_empty]
    return errors + (_fetch(missing, settings) if missing else [])


def _fetch(plans: Sequence[SetPlan], settings: DownloadSettings) -> list[str]:
    needed = sum(plan.disk_bytes(settings.root) for plan in plans)
    size = _format_size(needed, [file for plan in plans for file in plan.files])
    free = check_disk_space(needed, settings.root)
    settings.report(f"needed: {size}; free: {format_bytes(free)} at {settings.root}")
    if settings.dry_run:
        return []
    try:
        fetch_sets(plans, settings.root, settings.mirror, settings.jobs)
    except ZooError as error:
        return [str(error)]
    return []


def _format_size(known_bytes: int, files: Sequence[PublishedFile]) -> str:
    """Returns the size of downloads, and how many files are of unknown size."""
    unknown = sum(file.bytes is None for file in files)
    note = f"{unknown:,} of unknown size" if unknown else ""
    return " and ".join(filter(None, [format_bytes(known_bytes) if known_bytes else "", note]))


def _describe_licence(item: PublishedSet) -> str:
    return f"licence: {item.licence}; from {item.source}"


def _describe_plan(plan: SetPlan, settings: DownloadSettings) -> Iterator[str]:
    item = plan.published
    if plan.is_empty:
        yield f"{item.name}: complete"
    else:
        n_files = len(plan.files) + sum(missing.files for _, missing in plan.hub)
        size = _format_size(plan.download_bytes(settings.root), plan.files)
        files = f"{n_files:,} {'file' if n_files == 1 else 'files'}"
        work = f"{files}, {size}" if n_files else "archives to unpack"
        yield f"{item.name}: {work}; {_describe_licence(item)}"
        if settings.dry_run:
            for file in plan.files:
                known_size = "unknown size" if file.bytes is None else format_bytes(file.bytes)
                yield f"  {file.path}, {known_size}, {file.checksum or 'no published checksum'}"
        if item.note:
            yield f"  {item.note}"
    for path in plan.changed:
        yield f"  {path} differs from the published file and is kept; --overwrite replaces it"


def _get_images(benchmark: Benchmark, settings: DownloadSettings) -> list[str]:
    """Reports and fetches the missing images of a benchmark; returns what could not be fetched."""
    if not settings.root.is_dir():
        return []
    finder = ImageFinder(settings.roots or (settings.root,))
    missing = find_missing_images(benchmark, finder)
    subset_names = [subset.name for subset in benchmark.subsets]
    sets = find_benchmark_sets(benchmark.name, subset_names)
    coco_folders = sets[0].coco_folders if sets else ANY_COCO
    plan = plan_images(missing, coco_folders, settings.images == "all")
    errors: list[str] = []
    if plan.unavailable:
        settings.report(
            f"{benchmark.name}: {len(plan.unavailable):,} images are not served one by one, such "
            f"as {plan.unavailable[0]}: `zoo doctor` lists them"
        )
    if plan.files:
        free = check_disk_space(plan.bytes, settings.root)
        settings.report(
            f"{benchmark.name}: {len(plan.files):,} images, about {format_bytes(plan.bytes)}; "
            f"free: {format_bytes(free)} at {settings.root}"
        )
        if not settings.dry_run:
            try:
                fetch_files(plan.files, settings.root, settings.mirror, settings.jobs, "images")
            except ZooError as error:
                errors.append(str(error))
    folder_sets = [_set_of_folder(folder) for folder in plan.folders]
    return errors + (_get_sets(folder_sets, settings) if folder_sets else [])


def _set_of_folder(folder: ImageFolder) -> PublishedSet:
    return next(item for item in published_sets().values() if folder.archive in item.archives)


def find_missing_images(benchmark: Benchmark, finder: ImageFinder) -> list[ImageRef]:
    """Returns the missing images of a benchmark's cases, without crops.

    Args:
        benchmark: The benchmark.
        finder: Finds images under the data roots.

    Raises:
        ZooError: An annotation file is invalid.
    """
    contents = resolve_case_images(read_benchmark(benchmark, finder.roots), finder)
    images = {
        replace(image, crop=None, size=None) for case in contents.cases for image in case.all_images
    }
    return finder.find_missing(sorted(images))


def list_data_sets() -> None:
    """Prints the table of all sets."""
    console = Console()
    table = Table(box=None, pad_edge=False)
    for column in SET_COLUMNS:
        table.add_column(column, overflow="fold")
    for row in describe_sets():
        table.add_row(*row)
    console.width = max(console.width, 160)
    console.print(table)


SET_COLUMNS = ("name", "size", "licence", "checksums", "benchmarks", "source")


def describe_sets() -> Iterator[tuple[str, ...]]:
    """Yields the row of each set, with the columns of `SET_COLUMNS`."""
    for item in published_sets().values():
        source = f"{item.source}; {item.note}" if item.note else item.source
        yield (
            item.name,
            item.size,
            item.licence,
            item.checksums,
            ", ".join(item.benchmarks),
            source,
        )


def parse_names(text: str) -> list[str]:
    """Splits the names on the command line.

    Args:
        text: Names separated by commas.

    Raises:
        ZooError: A name is empty or repeated.
    """
    return split_list(text, "zoo data get")
