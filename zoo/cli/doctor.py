"""`zoo doctor`: what a data root holds, which benchmarks it gives, and how to get the rest."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from zoo.benchmarks.base import Benchmark, Case, Subset
from zoo.benchmarks.catalog import asked_for
from zoo.benchmarks.roots import read, resolve_images
from zoo.cli.ls import UNBROKEN
from zoo.errors import ZooError
from zoo.evaluation.store import OFF, PLACE, EmbeddingCache
from zoo.results.suites import expand_suites, published_names
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support import compiled
from zoo.support.arguments import Parser, split_list
from zoo.support.caches import caches

MIB = 1 << 20
DERIVED = {
    "aro_order": "reordered captions of ARO",
    "ceilings": "ceilings of benchmarks",
    "colorfoil": "foils of ColorFoil",
    "tar_indices": "indices of tars",
}
SHOWN = 3  # subsets of a benchmark that are named where some are absent


@dataclass(frozen=True)
class Finding:
    """One subset of a benchmark, and what there is of it.

    Attributes:
        benchmark: The benchmark's name.
        subset: The subset's name.
        n: How many questions its annotations have, 0 where these are absent.
        scorable: How many of them have all their images.
        published: How many questions the published file has, None where that is not known.
        images: The images that are asked for.
        found: Those of them that are there.
        how: How to get the files.
        note: What the report says of its files, such as where derived ones are.
    """

    benchmark: str
    subset: str
    n: int
    scorable: int
    published: int | None
    images: frozenset[ImageRef]
    found: frozenset[ImageRef]
    how: str
    note: str = ""


def main(argv: list[str]) -> int:
    """Prints what it found, and returns 0, or 1 where an annotation file is broken.

    Raises:
        ZooError: Something is missing that `--require` asks for.
    """
    if any(argument.partition("=")[0] in ("--config", "-c") for argument in argv):
        from zoo.cli.checkup import checkup

        return checkup([argument for argument in argv if argument != "--require"])
    given = parser().parse_args(argv)
    cache = EmbeddingCache(given.cache)
    if given.empty_cache and cache.store is not None:
        cache.store.empty()
    if given.empty_tables:
        compiled.empty()
    asked = given.benchmarks
    names = expand_suites(split_list(asked, "--benchmarks")) if asked else published_names()
    finder = ImageFinder(given.data_root)
    findings: list[Finding] = []
    broken: list[str] = []
    for benchmark in asked_for(names):
        try:
            findings += examine(benchmark, given.data_root, finder)
        except ZooError as error:
            broken.append(f"{benchmark.name}: {error}")
    console = Console()
    table = _table(findings)
    if table.row_count:
        size = console.measure(table, options=console.options.update(width=UNBROKEN))
        console.width = max(console.width, size.maximum)
        console.print(table)
    _list(console, "made from the annotations", _format_findings(findings))
    _list(console, "broken", broken)
    _list(console, "annotations that are absent, and how to get them", _absent(findings))
    _list(console, "images that are missing", _missing(findings, finder))
    _list(console, "training images that are kept", _pixels(given.image_cache))
    _list(
        console,
        "files derived from data, in folders that may be removed",
        _describe_derived_files(),
    )
    _list(console, "vectors that are kept between measurements", [_describe_vectors(cache)])
    _list(console, "tables that captions and units were compiled into", [_describe_tables()])
    incomplete = dict.fromkeys(f.benchmark for f in findings if f.scorable < f.n or not f.n)
    if given.require and (incomplete or broken):
        named = ", ".join(dict.fromkeys([*incomplete, *(b.partition(":")[0] for b in broken)]))
        raise ZooError(
            f"not everything is there: files or images of {named} are missing or broken, as listed "
            "above; name fewer --benchmarks, or leave --require out"
        )
    return 1 if broken else 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo doctor",
        description="Say what a data root holds, what is missing and how to get it.",
    )
    parser.add_argument(
        "--data_root",
        nargs="+",
        type=Path,
        default=[Path(".")],
        help="one folder or more; the first that holds a file wins",
    )
    parser.add_argument(
        "--benchmarks",
        help="names, by commas, or `suite:PRESET`; by default all that need no file of one's own",
    )
    parser.add_argument(
        "--require",
        action="store_true",
        help="fail (exit code 1) if annotations or images of these benchmarks are missing; with "
        "--config that is always so",
    )
    parser.add_argument(
        "--config",
        help="a recipe, once or more, with the flags that "
        "fit takes: look for all that it needs instead",
    )
    parser.add_argument(
        "--cache", metavar="DIR", help="where vectors are kept, if `validate` was told so"
    )
    parser.add_argument(
        "--image_cache",
        metavar="DIR",
        type=Path,
        help="a folder of data.image_cache: list the sets of images that it holds, which may be "
        "removed one by one",
    )
    parser.add_argument(
        "--empty_cache", action="store_true", help="drop the vectors that are kept, first"
    )
    parser.add_argument(
        "--empty_tables",
        action="store_true",
        help="drop the tables of captions, units and images that no run uses, first",
    )
    return parser


def examine(asked: Benchmark, roots: Sequence[Path], finder: ImageFinder) -> list[Finding]:
    """Returns one finding a subset, for absent subsets too.

    Args:
        asked: The benchmark.
        roots: Folders to look in; the first that holds a file wins.
        finder: Finds images.

    Returns:
        The findings, in the order of the benchmark's subsets.

    Raises:
        ZooError: An annotation file is broken.
    """
    contents = resolve_images(read(asked, roots), finder)
    known = {subset.name: subset for subset in asked.subsets}
    absent = {subset.name for subset in contents.absent}
    by_subset: dict[str, list[Case]] = {name: [] for name in known if name in absent}
    for case in contents.cases:
        by_subset.setdefault(case.subset, []).append(case)
    order = sorted(
        by_subset, key=lambda name: list(known).index(name) if name in known else len(known)
    )
    return [
        replace(
            _finding(asked.name, name, by_subset[name], known.get(name), finder, contents.unfit),
            note=contents.notes.get(name, ""),
        )
        for name in order
    ]


def _finding(
    benchmark: str,
    name: str,
    cases: list[Case],
    subset: Subset | None,
    finder: ImageFinder,
    unfit: frozenset[ImageRef],
) -> Finding:
    images = frozenset(_without_box(image) for case in cases for image in case.all_images)
    found = images.difference(finder.missing(images))
    n = scorable = 0
    for case in cases:
        there = np.array([_without_box(i) in found and i not in unfit for i in case.images])
        if case.gallery:
            n, scorable = n + len(case.texts), scorable + int(case.match[there].any(0).sum())
        elif case.prompts:
            n, scorable = n + len(case.images), scorable + int(there.sum())
        else:
            complete = not case.partners or any(_without_box(i) in found for i in case.partners)
            n, scorable = n + 1, scorable + int(there.all() and complete)
    published = None if subset is None or any(case.gallery for case in cases) else subset.n
    how = "" if subset is None else subset.how
    return Finding(benchmark, name, n, scorable, published, images, found, how)


def _without_box(image: ImageRef) -> ImageRef:
    return replace(image, crop=None, size=None)


def _table(findings: Iterable[Finding]) -> Table:
    """Returns the subsets whose annotations are there; others are listed with how to get them."""
    table = Table(box=None, pad_edge=False)
    for column in ("benchmark", "subset"):
        table.add_column(column, no_wrap=True)
    for column in ("cases", "scorable", "images", "found"):
        table.add_column(column, justify="right", no_wrap=True)
    for f in findings:
        if f.n:
            cases = f"{f.n:,}" if f.published in (None, f.n) else f"{f.n:,} of {f.published:,}"
            counts = f"{f.scorable:,}", f"{len(f.images):,}", f"{len(f.found):,}"
            table.add_row(f.benchmark, f.subset, cases, *counts)
    return table


def _absent(findings: Sequence[Finding]) -> Iterator[str]:
    """Yields a line for each way of getting files, with the subsets that it brings."""
    by_how: dict[str, dict[str, list[str]]] = {}
    for f in findings:
        if not f.n:
            by_how.setdefault(f.how, {}).setdefault(f.benchmark, []).append(f.subset)
    whole = Counter(f.benchmark for f in findings)
    for how, subsets in by_how.items():
        names = (_benchmark_title(name, found, whole[name]) for name, found in subsets.items())
        yield f"{', '.join(names)}: {how}"


def _benchmark_title(benchmark: str, subsets: Sequence[str], of: int) -> str:
    """Returns the name of a benchmark, with subsets where these are not all of it."""
    if len(subsets) == of:
        return benchmark
    shown = [*subsets[:SHOWN], "..."] if len(subsets) > SHOWN + 1 else subsets
    return f"{benchmark} ({len(subsets)} of {of} subsets: {', '.join(shown)})"


def _format_findings(findings: Iterable[Finding]) -> Iterator[str]:
    yield from (f"{f.benchmark} {f.subset}: {f.note}" for f in findings if f.n and f.note)


def _missing(findings: Iterable[Finding], finder: ImageFinder) -> Iterator[str]:
    """Yields a line for each source of images of which some are missing.

    Images that come with a benchmark are got as its files are.
    """
    shared: dict[str, set[ImageRef]] = {}
    own: dict[str, set[ImageRef]] = {}
    how: dict[str, str] = {}
    for f in findings:
        for image in f.images - f.found:
            if image.source == "published":
                own.setdefault(f.benchmark, set()).add(image)
                how.setdefault(f.benchmark, f.how)
            else:
                shared.setdefault(image.source, set()).add(image)
    yield from (
        f"{source}: {len(images):,}; {finder.hint(min(images))}"
        for source, images in sorted(shared.items())
    )
    yield from (
        f"{name}'s own: {len(images):,}, such as {min(images).key}; {how[name]}"
        for name, images in sorted(own.items())
    )


def _describe_vectors(cache: EmbeddingCache) -> str:
    """Returns how many vectors are kept, and where."""
    if cache.store is None:
        return f"none, since {PLACE} is {OFF}"
    try:
        held = cache.store.summarize()
    except ZooError as error:
        return str(error)
    if not held.entries:
        return f"none, in {cache.store.file.parent}"
    return (
        f"{held.entries:,}, {held.bytes / MIB:,.1f} MiB, in {cache.store.file.parent} "
        "(--empty_cache drops them)"
    )


def _describe_tables() -> str:
    """Returns how many tables there are, and where."""
    held, place = compiled.cached_tables(), compiled.place()
    if not held.sets:
        return f"none, in {place}"
    return (
        f"{held.sets:,}, {held.bytes / MIB:,.1f} MiB of {compiled.limit():g} GiB at most "
        f"(${compiled.LIMIT}), in {place} (--empty_tables drops them)"
    )


def _describe_derived_files() -> Iterator[str]:
    """Yields a line for each folder of derived files that no other list names."""
    found = False
    for folder in sorted(caches().glob("*/")):
        files = [file for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock"]
        if files and folder.name not in ("embeddings", "tables"):
            found = True
            size = sum(file.stat().st_size for file in files)
            yield f"{DERIVED.get(folder.name, folder.name)}: {size / MIB:,.1f} MiB, in {folder}"
    if not found:
        yield f"none, in {caches()}"


def _pixels(folder: Path | None) -> Iterator[str]:
    """Yields a line for each set of images in a folder.

    Raises:
        ZooError: There is no such folder.
    """
    from zoo.pixels.cache import kept_sets

    if folder is None:
        yield "where data.image_cache says (--image_cache DIR lists them)"
        return
    if not folder.is_dir():
        raise ZooError(f"{folder} is no folder: give that of data.image_cache by --image_cache")
    for one in (found := kept_sets(folder)):
        yield f"{one.images:,}, {one.bytes / MIB:,.1f} MiB, in {one.folder}"
    if not found:
        yield f"none, in {folder}"


def _list(console: Console, title: str, lines: Iterable[str]) -> None:
    for i, line in enumerate(lines):
        if i == 0:
            console.print(f"\n{title}:")
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)
