"""`zoo doctor`: checks which data and benchmarks a data root holds, and how to get the rest."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from zoo.benchmarks.base import Benchmark, Case, Subset
from zoo.benchmarks.catalog import build_benchmarks
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.roots import read_benchmark, resolve_case_images
from zoo.cli.command_parser import CommandParser
from zoo.cli.ls import UNBROKEN
from zoo.downloads.images import SERVED_SOURCES
from zoo.downloads.sets import fetchable_names
from zoo.errors import ZooError
from zoo.evaluation.embedding_cache import OFF, PLACE, EmbeddingCache
from zoo.results.suites import expand_suites, self_contained_benchmarks
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support import compiled_tables
from zoo.support.arguments import split_list
from zoo.support.caches import cache_root

MIB = 1 << 20
DERIVED_FILES = {
    "aro_order": "reordered captions of ARO",
    "ceilings": "ceilings of benchmarks",
    "colorfoil": "foils of ColorFoil",
    "tar_indices": "indices of tars",
}
FETCH_COMMAND = re.compile(r"`zoo data get (\S+) --data_root DATA_ROOT`")
MAX_LISTED = 3  # subsets of a benchmark that are listed if some are absent


@dataclass(frozen=True)
class Finding:
    """One subset of a benchmark, and which of its files were found.

    Attributes:
        benchmark: The benchmark's name.
        subset: The subset's name.
        case_count: The number of cases in its annotations, 0 if these are absent.
        scorable: How many of them have all their images.
        published_count: The number of cases in the published file, None if unknown.
        images: The images that the cases use.
        found_images: Those of them that exist.
        download_hint: How to get the files.
        note: A note on its files, such as where derived ones are.
    """

    benchmark: str
    subset: str
    case_count: int
    scorable: int
    published_count: int | None
    images: frozenset[ImageRef]
    found_images: frozenset[ImageRef]
    download_hint: str
    note: str = ""


def main(argv: list[str]) -> int:
    """Prints the findings, and returns 0, or 1 if an annotation file is broken.

    Raises:
        ZooError: `--require` is given and something is missing or broken.
    """
    if any(argument.partition("=")[0] in ("--config", "-c") for argument in argv):
        from zoo.cli.recipe_check import check_recipe

        return check_recipe([argument for argument in argv if argument != "--require"])
    args = parser().parse_args(argv)
    cache = EmbeddingCache(args.cache)
    if args.empty_cache and cache.store is not None:
        cache.store.delete_all_files()
    if args.empty_tables:
        compiled_tables.delete_tables_not_in_use()
    benchmark_names = args.benchmarks
    names = (
        expand_suites(split_list(benchmark_names, "--benchmarks"))
        if benchmark_names
        else self_contained_benchmarks()
    )
    finder, root = ImageFinder(args.data_root), args.data_root[0]
    findings: list[Finding] = []
    broken: list[str] = []
    for benchmark in build_benchmarks(names):
        try:
            findings += examine_benchmark(benchmark, args.data_root, finder)
        except ZooError as error:
            broken.append(f"{benchmark.name}: {error}")
    console = Console()
    table = _findings_table(findings)
    if table.row_count:
        size = console.measure(table, options=console.options.update(width=UNBROKEN))
        console.width = max(console.width, size.maximum)
        console.print(table)
    _print_list(console, "created from the annotations", _derived_notes(findings))
    _print_list(console, "broken", broken)
    _print_list(
        console,
        "missing annotations, and how to get them",
        _describe_missing_annotations(findings, root),
    )
    _print_list(console, "missing images", _describe_missing_images(findings, finder, root))
    _print_list(console, "cached training images", _describe_image_sets(args.image_cache))
    _print_list(
        console,
        "files derived from data, in folders that may be deleted",
        _describe_derived_files(),
    )
    _print_list(console, "cached embeddings", [_describe_embeddings(cache)])
    _print_list(console, "compiled tables of captions and units", [_describe_tables()])
    incomplete = dict.fromkeys(
        f.benchmark for f in findings if f.scorable < f.case_count or not f.case_count
    )
    if args.require and (incomplete or broken):
        benchmarks_at_fault = ", ".join(
            dict.fromkeys([*incomplete, *(b.partition(":")[0] for b in broken)])
        )
        raise ZooError(
            f"files or images of {benchmarks_at_fault} are missing or broken, as listed above: "
            "get them, name fewer --benchmarks, or remove --require"
        )
    return 1 if broken else 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo doctor",
        description="List which data files are present and which are missing, and how to get them.",
    )
    parser.add_argument(
        "--data_root",
        nargs="+",
        type=Path,
        default=[Path(".")],
        help="one or several folders of images, captions and annotations; each file is read from "
        "the first folder that has it "
        "(default: the current folder)",
    )
    parser.add_argument(
        "--benchmarks",
        help="benchmarks to check, separated by commas, or `suite:PRESET` for the benchmarks in "
        "the averages of a preset; by default, all published benchmarks",
    )
    parser.add_argument(
        "--require",
        action="store_true",
        help="fail with exit code 1 if annotations or images of the checked benchmarks are "
        "missing; with --config, this is always on",
    )
    parser.add_argument(
        "--config",
        help="a recipe: check all files that this recipe needs, instead of benchmarks. The flag "
        "may be repeated, and combined with other flags of `zoo fit`",
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="the folder of cached embeddings, if you set it with --cache of `zoo validate`",
    )
    parser.add_argument(
        "--image_cache",
        metavar="DIR",
        type=Path,
        help="the folder of cached training images, if a recipe sets data.image_cache. The "
        "command lists the sets of images in the folder, and you may delete any of them",
    )
    parser.add_argument(
        "--empty_cache", action="store_true", help="first delete the cached embeddings"
    )
    parser.add_argument(
        "--empty_tables",
        action="store_true",
        help="first delete the cached tables of captions and units, except those that a process "
        "uses",
    )
    return parser


def examine_benchmark(
    benchmark: Benchmark, roots: Sequence[Path], finder: ImageFinder
) -> list[Finding]:
    """Returns one finding per subset, including absent subsets.

    Args:
        benchmark: The benchmark.
        roots: Folders to search; a file is taken from the first folder that has it.
        finder: Finds images.

    Returns:
        The findings, in the order of the benchmark's subsets.

    Raises:
        ZooError: An annotation file is broken.
    """
    contents = resolve_case_images(read_benchmark(benchmark, roots), finder)
    subset_by_name = {subset.name: subset for subset in benchmark.subsets}
    absent = {subset.name for subset in contents.missing_subsets}
    by_subset: dict[str, list[Case]] = {name: [] for name in subset_by_name if name in absent}
    for case in contents.cases:
        by_subset.setdefault(case.subset, []).append(case)
    order = sorted(
        by_subset,
        key=lambda name: (
            list(subset_by_name).index(name) if name in subset_by_name else len(subset_by_name)
        ),
    )
    return [
        replace(
            _examine_subset(
                benchmark.name,
                name,
                by_subset[name],
                subset_by_name.get(name),
                finder,
                contents.uncroppable_images,
            ),
            note=contents.notes.get(name, ""),
        )
        for name in order
    ]


def _examine_subset(
    benchmark: str,
    name: str,
    cases: list[Case],
    subset: Subset | None,
    finder: ImageFinder,
    uncroppable_images: frozenset[ImageRef],
) -> Finding:
    images = frozenset(_without_box(image) for case in cases for image in case.all_images)
    found_images = images.difference(finder.find_missing(images))
    n = scorable = 0
    for case in cases:
        is_usable = np.array(
            [_without_box(i) in found_images and i not in uncroppable_images for i in case.images]
        )
        if case.is_gallery:
            n, scorable = n + len(case.texts), scorable + int(case.match[is_usable].any(0).sum())
        elif case.prompts:
            n, scorable = n + len(case.images), scorable + int(is_usable.sum())
        else:
            complete = not case.partners or any(
                _without_box(i) in found_images for i in case.partners
            )
            n, scorable = n + 1, scorable + int(is_usable.all() and complete)
    published = None if subset is None or any(case.is_gallery for case in cases) else subset.n
    source = "" if subset is None else subset.instructions
    return Finding(benchmark, name, n, scorable, published, images, found_images, source)


def _without_box(image: ImageRef) -> ImageRef:
    return replace(image, crop=None, size=None)


def _findings_table(findings: Iterable[Finding]) -> Table:
    """Returns the table of the subsets whose annotations were found."""
    table = Table(box=None, pad_edge=False)
    for column in ("benchmark", "subset"):
        table.add_column(column, no_wrap=True)
    for column in ("cases", "scorable", "images", "found"):
        table.add_column(column, justify="right", no_wrap=True)
    for f in findings:
        if f.case_count:
            cases = (
                f"{f.case_count:,}"
                if f.published_count in (None, f.case_count)
                else f"{f.case_count:,} of {f.published_count:,}"
            )
            counts = f"{f.scorable:,}", f"{len(f.images):,}", f"{len(f.found_images):,}"
            table.add_row(f.benchmark, f.subset, cases, *counts)
    return table


def _describe_missing_annotations(findings: Sequence[Finding], root: Path) -> Iterator[str]:
    """Yields one line per source of missing annotations, with the subsets that it provides.

    All benchmarks that `zoo data get` fetches without any other step share one command.
    """
    subsets_by_source: dict[str, dict[str, list[str]]] = {}
    fetchable_subsets: dict[str, list[str]] = {}
    for f in findings:
        if f.case_count:
            continue
        command = FETCH_COMMAND.fullmatch(f.download_hint)
        if command is not None:
            fetchable_subsets.setdefault(f.benchmark, []).append(command[1])
        source = "" if command is not None else _with_root(f.download_hint, root)
        subsets_by_source.setdefault(source, {}).setdefault(f.benchmark, []).append(f.subset)
    subset_counts = Counter(f.benchmark for f in findings)
    for source, subsets in subsets_by_source.items():
        titles = (
            _benchmark_title(name, absent_subsets, subset_counts[name])
            for name, absent_subsets in subsets.items()
        )
        names = dict.fromkeys(
            benchmark
            if len(command_names) == subset_counts[benchmark]
            else _merge_subsets(dict.fromkeys(command_names))
            for benchmark, command_names in fetchable_subsets.items()
        )
        yield f"{', '.join(titles)}: {source or download_command(','.join(names), str(root))}"


def _merge_subsets(names: Iterable[str]) -> str:
    """Returns names of one benchmark, each with one subset, as one name with all subsets."""
    benchmark, *subsets = dict.fromkeys(word for name in names for word in name.split(":", 1))
    return ":".join([benchmark, *subsets])


def _with_root(instructions: str, root: Path) -> str:
    return instructions.replace("DATA_ROOT", str(root))


def _benchmark_title(benchmark: str, subsets: Sequence[str], of: int) -> str:
    """Returns the name of a benchmark, with its subsets unless all of them are meant."""
    if len(subsets) == of:
        return benchmark
    displayed = [*subsets[:MAX_LISTED], "..."] if len(subsets) > MAX_LISTED + 1 else subsets
    return f"{benchmark} ({len(subsets)} of {of} subsets: {', '.join(displayed)})"


def _derived_notes(findings: Iterable[Finding]) -> Iterator[str]:
    yield from (f"{f.benchmark} {f.subset}: {f.note}" for f in findings if f.case_count and f.note)


def _describe_missing_images(
    findings: Iterable[Finding], finder: ImageFinder, root: Path
) -> Iterator[str]:
    """Yields one line per source of missing images.

    Images that are published with a benchmark are obtained like its other files.
    """
    shared_images: dict[str, set[ImageRef]] = {}
    own_images: dict[str, set[ImageRef]] = {}
    source_by_benchmark: dict[str, str] = {}
    benchmarks_by_source: dict[str, dict[str, None]] = {}
    for f in findings:
        for image in f.images - f.found_images:
            if image.source == "published":
                own_images.setdefault(f.benchmark, set()).add(image)
                source_by_benchmark.setdefault(f.benchmark, _with_root(f.download_hint, root))
            else:
                shared_images.setdefault(image.source, set()).add(image)
                benchmarks_by_source.setdefault(image.source, {})[f.benchmark] = None
    for source, images in sorted(shared_images.items()):
        fetchable = [name for name in benchmarks_by_source[source] if name in fetchable_names()]
        advice = finder.missing_image_advice(min(images))
        if fetchable and source in SERVED_SOURCES and "broken link" not in advice:
            advice = f"{download_command(','.join(fetchable), str(root))}, or {advice}"
        yield f"{source}: {len(images):,}; {advice}"
    yield from (
        f"{name}: {len(images):,}, such as {min(images).key}; {source_by_benchmark[name]}"
        for name, images in sorted(own_images.items())
    )


def _describe_embeddings(cache: EmbeddingCache) -> str:
    """Returns the number, size and folder of the cached embeddings."""
    if cache.store is None:
        return f"none, since {PLACE} is {OFF}"
    try:
        usage = cache.store.summarize()
    except ZooError as error:
        return str(error)
    if not usage.entries:
        return f"none, in {cache.store.folder}"
    return (
        f"{usage.entries:,}, {usage.bytes / MIB:,.1f} MiB, in {cache.store.folder} "
        "(--empty_cache deletes them)"
    )


def _describe_tables() -> str:
    """Returns the number, size and folder of the compiled tables."""
    usage, place = compiled_tables.measure_cache(), compiled_tables.tables_folder()
    if not usage.sets:
        return f"none, in {place}"
    limit_gib = compiled_tables.size_limit_gib()
    return (
        f"{usage.sets:,}, {usage.bytes / MIB:,.1f} MiB of at most {limit_gib:g} "
        f"GiB (${compiled_tables.LIMIT_VARIABLE}), in {place} (--empty_tables deletes them)"
    )


def _describe_derived_files() -> Iterator[str]:
    """Yields one line per folder of derived files, except those that are listed elsewhere."""
    any_files = False
    for folder in sorted(cache_root().glob("*/")):
        files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"]
        if files and folder.name not in ("embeddings", "tables"):
            any_files = True
            size = sum(file.stat().st_size for file in files)
            title = DERIVED_FILES.get(folder.name, folder.name)
            yield f"{title}: {size / MIB:,.1f} MiB, in {folder}"
    if not any_files:
        yield f"none, in {cache_root()}"


def _describe_image_sets(folder: Path | None) -> Iterator[str]:
    """Yields one line per set of cached images in a folder.

    Raises:
        ZooError: The folder does not exist.
    """
    from zoo.pixels.cache import cached_image_sets

    if folder is None:
        yield "in the folder that data.image_cache names (--image_cache DIR lists them)"
        return
    if not folder.is_dir():
        raise ZooError(
            f"--image_cache {folder} is not a folder: give the folder of data.image_cache"
        )
    for image_set in (image_sets := cached_image_sets(folder)):
        yield f"{image_set.images:,}, {image_set.bytes / MIB:,.1f} MiB, in {image_set.folder}"
    if not image_sets:
        yield f"none, in {folder}"


def _print_list(console: Console, title: str, lines: Iterable[str]) -> None:
    for i, line in enumerate(lines):
        if i == 0:
            console.print(f"\n{title}:")
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
