"""Compare: reads runs, cuts them to the questions of all, and tests what they have in common."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.results.comparison.common import Common, Part, common
from zoo.results.comparison.comparison import (
    LEVEL,
    Comparison,
    ComparisonLine,
    lines_of,
    select_rows,
)
from zoo.results.comparison.named import SEED, by_seed, shorten_paths
from zoo.results.comparison.paired import RESAMPLES
from zoo.results.comparison.rows import rows_of, without_interval
from zoo.results.metrics import metrics, tie_warnings
from zoo.results.presets.base import Preset
from zoo.results.presets.named import preset_of
from zoo.results.published import Figure, figures
from zoo.results.ranks import SIGNIFICANT, flips, split_tests
from zoo.results.reading import read
from zoo.results.report import Results
from zoo.support.provenance import random_weights
from zoo.support.trust import trusting_code

PRESETS = ("official",)

Run = Results | Path | str
Runs = Mapping[str, Run] | Sequence[Path | str]


def compare(
    runs: Runs,
    beside: Sequence[str] = (),
    group: str | Mapping[str, Sequence[str]] | None = None,
    presets: Sequence[Preset | str] = PRESETS,
    metrics: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
    aside: Sequence[str] = (),
    trust_code: bool = False,
) -> Comparison:
    """Compares runs over the questions that all were asked and scored.

    Args:
        runs: Folders of results, or results and folders by the names that the tables give them. The
            others are compared with the first.
        beside: Models whose published figures stand beside.
        group: `seed` puts runs together that differ in nothing but their seeds; names of runs by
            the name of their group say what is put together; None leaves each run by itself.
        presets: Ways of counting and averaging, or their names. Metrics are those of the first.
        metrics: Patterns of the metrics and means that are compared, as `sugarcrepe/*`; all where
            none is given.
        resamples: Number of resamples of images that an interval is made of.
        seed: Seed of the resamples.
        aside: Names of runs or groups that are shown and take part in no test and no choice of the
            best, as the weights that the others start from.
        trust_code: Whether results may name protocols that neither zoo nor an installed package
            offers.

    Raises:
        ZooError: There are not two runs to test, a run cannot be read, the runs have no case in
            common, no two differ in nothing but their seeds, or a name is not known.
    """
    if not isinstance(group, Mapping) and group not in (None, SEED):
        raise ZooError(f"--group {group!r}: runs are put together by `{SEED}` alone")
    if resamples < 1:
        raise ZooError(f"--resamples {resamples}: give a whole number from 1 up")
    others = {model: figures(model) for model in beside}
    counted_by = [preset_of(preset) for preset in presets]
    with trusting_code(trust_code):
        results = read_runs(runs)
    groups = _groups(results, group)
    check_aside(list(groups), aside)
    shared = common([one.cases for one in results.values()], list(results))
    first = next(iter(results.values()))
    rows = rows_of(shared.tables, counted_by, first.header)
    untested = without_interval(shared.tables[0])
    if not rows and untested:
        raise ZooError(
            f"of {', '.join(untested)}, all that {', '.join(results)} have in common, no interval "
            "is known: lay their reports side by side, or measure another benchmark"
        )
    if not rows:
        raise ZooError(
            f"{', '.join(results)} have no case that all of them scored: measure them on the same "
            "images"
        )
    at = {name: i for i, name in enumerate(results)}
    members = [[at[name] for name in of] for of in groups.values()]
    lines = lines_of(select_rows(rows, metrics), list(groups), members, resamples, seed, aside)
    partial = {row.place for row in rows if row.partial_gallery}
    placed = tuple(
        line if line.place in partial else _with_published(line, others) for line in lines
    )
    return Comparison(
        tuple(groups),
        placed,
        tuple(_notes(results, groups, shared, placed, counted_by, others, aside)),
        tuple(others),
        resamples,
        seed,
        tuple(aside),
    )


def check_aside(groups: Sequence[str], aside: Sequence[str]) -> None:
    """Makes sure that runs aside leave two to test, the first among them.

    Args:
        groups: Names of all runs or groups.
        aside: Names of those that are shown and not tested.

    Raises:
        ZooError: A name is none of the runs, the first is named, or fewer than two are left.
    """
    unknown = next((name for name in aside if name not in groups), None)
    if unknown is not None:
        raise ZooError(f"--aside {unknown} is none of the runs: name one of {', '.join(groups)}")
    if groups[0] in aside:
        raise ZooError(
            f"--aside {groups[0]}: the others are compared with the first run: name it later"
        )
    if aside and len(groups) - len(set(aside)) < 2:
        raise ZooError(
            f"--aside {','.join(aside)} leaves {groups[0]} alone: leave it out, or add a run"
        )


def _groups(
    results: Mapping[str, Results], group: str | Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    """Returns the names of runs by group.

    Raises:
        ZooError: A group names a run that is not given, or no two runs are of one group by seed.
    """
    if not isinstance(group, Mapping):
        return by_seed(results) if group else {name: [name] for name in results}
    unknown = next((name for of in group.values() for name in of if name not in results), None)
    if unknown is not None:
        raise ZooError(
            f"a group names {unknown}, which is none of the runs: name runs as they are given"
        )
    return {name: list(of) for name, of in group.items()}


def read_runs(runs: Runs, least: int = 2) -> dict[str, Results]:
    """Reads runs, by what tables call them.

    Args:
        runs: Folders of results, or results and folders by name.
        least: How many runs there have to be.

    Raises:
        ZooError: There are fewer runs, or one cannot be read or holds no case.
    """
    if isinstance(runs, str | Path | Results):
        raise ZooError("compare takes a list of runs, or a dictionary of them by name: give two")
    if not isinstance(runs, Mapping):
        if any(isinstance(run, Results) for run in runs):
            raise ZooError(
                "results have no names by which a table could tell them apart: give them by name, "
                "as zoo.compare({'clip': results, 'cs_clip': others})"
            )
        paths = [Path(run) for run in runs]
        runs = dict(zip(shorten_paths(paths), paths, strict=True)) if paths else {}
    if len(runs) < least:
        raise ZooError(
            f"{len(runs)} run is given, and one is compared with another: name two or more folders "
            "that `zoo validate --out` wrote"
        )
    found = {
        name: run if isinstance(run, Results) else read(Path(run)) for name, run in runs.items()
    }
    empty = next((name for name, results in found.items() if not len(results.cases)), None)
    if empty is not None:
        raise ZooError(
            f"{empty} holds no case, as nothing that it was asked was there: measure it again"
        )
    return found


def _with_published(line: ComparisonLine, others: Mapping[str, Sequence[Figure]]) -> ComparisonLine:
    """Returns the row with the figures of other models that were published of it.

    A metric is found by its name, where it is asked for once and over all cases and images of a
    gallery; a mean by its name and preset.
    """
    place = line.place
    if place.split:
        return line
    preset = place.preset if place.is_mean else ""
    found = tuple(
        figure
        for of in others.values()
        for figure in of
        if (figure.name, figure.preset) == (str(place), preset)
    )
    return replace(line, published=found)


def _notes(
    results: Mapping[str, Results],
    groups: Mapping[str, Sequence[str]],
    shared: Common,
    lines: Sequence[ComparisonLine],
    presets: Sequence[Preset],
    beside: Iterable[str],
    aside: Iterable[str],
) -> Iterator[str]:
    names = list(results)
    yield f"preset {presets[0].name}: {presets[0].says}"
    for name in aside:
        yield f"{name}: shown beside the others; it takes no part in best, p and q"
    for name, of in groups.items():
        if len(of) > 1:
            yield f"{name}: mean and standard deviation of {len(of)} seeds ({', '.join(of)})"
    for name, counts in _by_benchmark(shared.left_out):
        yield (
            f"{name}: left out, since another run was not asked them: "
            f"{_by_run(names, counts, 'outcomes')}"
        )
    for name, counts in _by_benchmark(shared.unscored):
        yield (
            f"{name}: left out of all runs, since not every run scored them: "
            f"{_by_run(names, counts, 'outcomes not scored')}"
        )
    for name, (n,) in _by_benchmark({part: (n,) for part, n in shared.unscored_by_all.items()}):
        yield f"{name}: {n:,} outcomes were not scored in any run"
    if shared.by_name:
        yield (
            "a run of an older zoo keeps no hash of what it asked: cases of one name and with the "
            "same images are taken to have the same texts"
        )
    for name, one in results.items():
        random = random_weights(one.header["model"].get("weights", {}))
        if random is not None:
            yield f"{name}: {random}"
    for name, one in results.items():
        if pc.any(one.cases["tie"]).as_py():
            counted = metrics(one.cases, presets[0].rules, {})
            for warning in tie_warnings(counted, presets[0].name):
                yield f"{name}: {warning}"
    if untested := without_interval(shared.tables[0]):
        yield (
            "not compared, nor averages over them, since no interval is known of a number over all "
            f"images: {', '.join(untested)}"
        )
    partial = [f"{line.place} ({len(line.missing)})" for line in lines if line.missing]
    if partial:
        yield f"taken without members that were not measured: {', '.join(partial)}"
    yield from _flips(results, presets[0])
    yield from _legend(groups, lines, beside)


def _flips(results: Mapping[str, Results], preset: Preset) -> Iterator[str]:
    """Yields which pairs of runs are ordered otherwise on two splits, as BindSplit tests them."""
    cases = {name: one.cases for name, one in results.items()}
    first = next(iter(cases.values()))
    if first["bucket"].null_count == len(first):
        return
    found = flips(split_tests(cases, preset.rules))
    for flip in found:
        yield (
            f"significant flip of {'/'.join(map(str, flip.place))}: {flip.ahead} is ahead on "
            f"{flip.splits[0]}, {flip.behind} on {flip.splits[1]} (p {flip.p:.3g})"
        )
    if not found:
        yield f"no significant flip: no pair is ordered otherwise at q {SIGNIFICANT}"


def _legend(
    groups: Mapping[str, Sequence[str]], lines: Sequence[ComparisonLine], beside: Iterable[str]
) -> Iterator[str]:
    first = next(iter(groups))
    yield (
        "bold, or *: the best; underlined, or ~: not significantly worse than the best "
        f"(q above {LEVEL})"
    )
    yield (
        f"less {first}: difference in percentage points, with its 95 % interval over other images"
    )
    yield (
        "p: two-sided mid-p of exchanging two runs' answers image by image, which is McNemar's "
        "test where each image is asked about once; of means and grades, of drawn exchanges"
    )
    splits = ", split by split" if any(line.place.split for line in lines) else ""
    means = ", and over all averages" if any(line.place.is_mean for line in lines) else ""
    yield (
        "q: p adjusted over all pairs of runs and all metrics"
        f"{splits}{means} (Benjamini and Hochberg)"
    )
    if any(len(of) > 1 for of in groups.values()):
        yield (
            "intervals and tests of several seeds are of their mean answers, over other images and "
            "not over other seeds: the standard deviation tells of those"
        )
    for figure in {f.source: f for line in lines for f in line.published}.values():
        yield f"published: {figure.source}; {figure.protocol}"
    there = {figure.model for line in lines for figure in line.published}
    for model in beside:
        if model not in there:
            yield f"{model}: nothing that the runs have in common was published of it"


def _by_benchmark(
    counts: Mapping[Part, Sequence[int]],
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the counts of each benchmark, whose subset is named where it is the only one."""
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in counts):
        own = {subset: of for (run, subset), of in counts.items() if run == benchmark}
        which = f"{len(own)} subsets" if len(own) > 1 else next(iter(own))
        yield f"{benchmark}/{which}", tuple(map(sum, zip(*own.values(), strict=True)))


def _by_run(names: Sequence[str], counts: Sequence[int], of: str) -> str:
    if len(set(counts)) == 1:
        return f"{counts[0]:,} {of} of each run"
    return ", ".join(f"{n:,} {of} of {name}" for name, n in zip(names, counts, strict=True) if n)
