"""Reads runs, reduces them to their common queries, and compares them with paired tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.results.comparison.alignment import AlignedRuns, BenchmarkSubset, align_runs
from zoo.results.comparison.common_metrics import common_metrics, metrics_without_interval
from zoo.results.comparison.comparison import MARKS, Comparison
from zoo.results.comparison.lines import (
    ComparisonLine,
    compare_metrics,
    names_with_lower_better,
    select_metrics,
)
from zoo.results.comparison.paired_tests import RESAMPLES
from zoo.results.comparison.run_names import SEED, group_across_seeds, shorten_paths
from zoo.results.comparison.split_gaps import compute_split_gaps
from zoo.results.header import describe_limit
from zoo.results.metrics import compute_metrics, find_tie_warnings
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.published_values import PublishedValue, published_values
from zoo.results.ranks import SIGNIFICANT, compute_split_tests, find_seed_flips
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.support.provenance import describe_random_weights
from zoo.support.trust import allow_all_code

PRESETS = ("official",)

Run = Results | Path | str
Runs = Mapping[str, Run] | Sequence[Path | str]


def compare(
    runs: Runs,
    reference_models: Sequence[str] = (),
    group: str | Mapping[str, Sequence[str]] | None = None,
    presets: Sequence[Preset | str] = PRESETS,
    metrics: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
    excluded_from_tests: Sequence[str] = (),
    trust_code: bool = False,
) -> Comparison:
    """Compares runs on the queries that all of them scored.

    Args:
        runs: A list of folders of results, or a mapping from names to results or folders. The
            tables show these names. The other runs are compared with the first.
        reference_models: Models whose published results are added to the tables.
        group: `seed` groups runs that differ only in their seeds. A mapping from names of groups to
            names of runs defines other groups. None does not group runs.
        presets: Presets, or their names, which decide how ties count and which averages are
            reported. Metrics of further presets are only shown if they differ from those of the
            first.
        metrics: Patterns of the metrics and averages to compare, such as `sugarcrepe/*`; all if
            empty.
        resamples: Number of resamples of images for each confidence interval.
        seed: Seed of the resamples.
        excluded_from_tests: Names of runs or groups that are only shown: they are not tested, and
            cannot be the best. An example is the model before training.
        trust_code: Whether to import protocols that are named in results and are neither part of
            zoo nor of an installed package. Importing them runs their code.

    Raises:
        ZooError: There are fewer than two runs to test, a run cannot be read, the runs have no case
            in common, a name is unknown, or `group` is `seed` and no two runs differ only in their
            seeds.

    Examples:
        Two functions on a table of one pair. One prefers texts with "red", the other texts with
        "blue":

        >>> import zoo
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> Image.new("RGB", (64, 64), "red").save("red.png")
        >>> _ = Path("pairs.csv").write_text('''image,caption,foil
        ... red.png,a red square,a blue square''')
        >>> runs = {word: zoo.evaluate(lambda images, texts: [[word in text for text in texts]],
        ...     "pairs:pairs.csv", quiet=True) for word in ("red", "blue")}
        >>> [(row["run"], row["value"]) for row in zoo.compare(runs).records()]
        [('red', 100.0), ('blue', 0.0)]
    """
    if not isinstance(group, Mapping) and group not in (None, SEED):
        raise ZooError(f"--group {group!r}: runs can only be grouped by `{SEED}`")
    if resamples < 1:
        raise ZooError(f"--resamples {resamples}: give a whole number of at least 1")
    published_figures = {model: published_values(model) for model in reference_models}
    resolved_presets = [preset_of(preset) for preset in presets]
    with allow_all_code(trust_code):
        results = read_runs(runs)
    groups = _resolve_groups(results, group)
    check_excluded_runs(list(groups), excluded_from_tests)
    aligned_runs = align_runs([run.cases for run in results.values()], list(results))
    first_run = next(iter(results.values()))
    common = common_metrics(aligned_runs.tables, resolved_presets, first_run.header)
    untested_metrics = metrics_without_interval(aligned_runs.tables[0])
    if not common and untested_metrics:
        raise ZooError(
            f"{', '.join(results)} only have {', '.join(untested_metrics)} in common, for which no "
            "interval is known: compare their reports by hand, or measure another benchmark"
        )
    if not common:
        raise ZooError(
            f"{', '.join(results)} have no case that all of them scored: measure them on the same "
            "images"
        )
    index_by_name = {name: i for i, name in enumerate(results)}
    members = [[index_by_name[name] for name in names] for names in groups.values()]
    lines = compare_metrics(
        select_metrics(common, metrics), list(groups), members, resamples, seed, excluded_from_tests
    )
    partial_names = {metric.name for metric in common if metric.partial_gallery}
    published_lines = tuple(
        line if line.name in partial_names else _add_published_values(line, published_figures)
        for line in lines
    )
    return Comparison(
        tuple(groups),
        published_lines,
        tuple(
            _comparison_notes(
                results,
                groups,
                aligned_runs,
                published_lines,
                resolved_presets,
                published_figures,
                excluded_from_tests,
            )
        ),
        tuple(published_figures),
        resamples,
        seed,
        tuple(excluded_from_tests),
    )


def check_excluded_runs(groups: Sequence[str], excluded_from_tests: Sequence[str]) -> None:
    """Makes sure that two runs are left to test, and that the first is one of them.

    Args:
        groups: Names of all runs or groups.
        excluded_from_tests: Names of those that are shown and not tested.

    Raises:
        ZooError: A name is not one of the runs, the first run is named, or fewer than two are left.
    """
    unknown = next((name for name in excluded_from_tests if name not in groups), None)
    if unknown is not None:
        raise ZooError(
            f"--exclude_from_tests {unknown} is not one of the runs: name one of "
            f"{', '.join(groups)}"
        )
    if groups[0] in excluded_from_tests:
        raise ZooError(
            f"--exclude_from_tests {groups[0]}: the other runs are compared with the first run: "
            "list another "
            "run first"
        )
    if excluded_from_tests and len(groups) - len(set(excluded_from_tests)) < 2:
        raise ZooError(
            f"--exclude_from_tests {','.join(excluded_from_tests)} leaves only {groups[0]} to "
            "test: leave the option out, or "
            "add a run"
        )


def _resolve_groups(
    results: Mapping[str, Results], group: str | Mapping[str, Sequence[str]] | None
) -> dict[str, list[str]]:
    """Returns the names of the runs of each group.

    Raises:
        ZooError: A group names an unknown run, or no two runs differ only in their seeds.
    """
    if not isinstance(group, Mapping):
        return group_across_seeds(results) if group else {name: [name] for name in results}
    unknown = next(
        (name for names in group.values() for name in names if name not in results), None
    )
    if unknown is not None:
        raise ZooError(
            f"a group names {unknown}, which is not one of the runs: use the names of the runs"
        )
    return {name: list(names) for name, names in group.items()}


def read_runs(runs: Runs, minimum: int = 2) -> dict[str, Results]:
    """Reads runs, by the names that tables give them.

    Args:
        runs: Folders of results, or results and folders by name.
        minimum: The minimum number of runs.

    Raises:
        ZooError: There are fewer runs, or one cannot be read or has no case.
    """
    if isinstance(runs, str | Path | Results):
        raise ZooError("compare takes a list of runs, or a dictionary of runs by name: give two")
    if not isinstance(runs, Mapping):
        if any(isinstance(run, Results) for run in runs):
            raise ZooError(
                "results have no names to show in a table: give them by name, as in "
                "zoo.compare({'clip': results, 'cs_clip': others})"
            )
        paths = [Path(run) for run in runs]
        runs = dict(zip(shorten_paths(paths), paths, strict=True)) if paths else {}
    if len(runs) < minimum:
        raise ZooError(
            f"{len(runs)} run given, at least {minimum} needed: name folders that "
            "`zoo validate --out` wrote"
        )
    results_by_name = {
        name: run if isinstance(run, Results) else read_results(Path(run))
        for name, run in runs.items()
    }
    empty_run = next(
        (name for name, results in results_by_name.items() if not len(results.cases)), None
    )
    if empty_run is not None:
        raise ZooError(
            f"{empty_run} has no case, since none of its benchmarks was found: measure it again"
        )
    return results_by_name


def _add_published_values(
    line: ComparisonLine, published_figures: Mapping[str, Sequence[PublishedValue]]
) -> ComparisonLine:
    """Returns the line with the published results of other models.

    A metric is matched by its name and split if it is over all images of a gallery; a mean by its
    name and preset.
    """
    row_name = line.name
    preset = row_name.preset if row_name.is_mean else ""
    matches = tuple(
        figure
        for model_figures in published_figures.values()
        for figure in model_figures
        if (figure.name, figure.preset) == (str(row_name), preset)
    )
    return replace(line, published=matches)


def _comparison_notes(
    results: Mapping[str, Results],
    groups: Mapping[str, Sequence[str]],
    aligned_runs: AlignedRuns,
    lines: Sequence[ComparisonLine],
    presets: Sequence[Preset],
    reference_models: Iterable[str],
    excluded_from_tests: Sequence[str],
) -> Iterator[str]:
    run_names = list(results)
    yield from limit_notes(results)
    yield f"preset {presets[0].name}: {presets[0].description}"
    for name in excluded_from_tests:
        yield f"{name}: shown only; excluded from best, p and q"
    for name, seeds in groups.items():
        if len(seeds) > 1:
            yield (
                f"{name}: mean and standard deviation of {len(seeds)} seeds ({', '.join(seeds)})"
            )
    for name, counts in _labelled_sums_by_benchmark(aligned_runs.left_out_counts):
        yield (
            f"{name}: left out, since another run does not have them: "
            f"{_format_run_counts(run_names, counts, 'outcomes')}"
        )
    for name, counts in _labelled_sums_by_benchmark(aligned_runs.unscored_counts):
        yield (
            f"{name}: left out of all runs, since not every run scored them: "
            f"{_format_run_counts(run_names, counts, 'outcomes not scored')}"
        )
    for name, (n,) in _labelled_sums_by_benchmark(
        {part: (n,) for part, n in aligned_runs.unscored_by_all.items()}
    ):
        yield f"{name}: {n:,} outcomes were not scored in any run"
    for name, run in results.items():
        random = describe_random_weights(run.header["model"].get("weights", {}))
        if random is not None:
            yield f"{name}: {random}"
        metrics = run.by_preset[0].metrics if run.by_preset else ()
        trained = {f"{m.benchmark_run}/{m.subset}": m for m in metrics if m.trained_on}
        if trained:
            shares = (f"{m.trained_on:,} of {m.images:,} of {key}" for key, m in trained.items())
            yield f"{name}: the model was trained on images of the cases: {', '.join(shares)}"
    for name, run in results.items():
        if pc.any(run.cases["tie"]).as_py():
            counted = compute_metrics(run.cases, presets[0].rules, {})
            for warning in find_tie_warnings(counted, presets[0].name):
                yield f"{name}: {warning}"
    if untested := metrics_without_interval(aligned_runs.tables[0]):
        yield (
            "not compared, and left out of averages, since metrics over all images together have "
            f"no interval: {', '.join(untested)}"
        )
    partial_means = [f"{line.name} ({len(line.missing)})" for line in lines if line.missing]
    if partial_means:
        yield f"averages without members that were not measured: {', '.join(partial_means)}"
    tested_groups = {name: runs for name, runs in groups.items() if name not in excluded_from_tests}
    yield from _rank_flip_notes(results, tested_groups, presets[0])
    yield from _legend_notes(groups, lines, reference_models)


def limit_notes(results: Mapping[str, Results]) -> Iterator[str]:
    """Yields notes on the runs of which only the first cases were measured.

    Args:
        results: The runs by name, which a note omits if it is about all of them.
    """
    names_by_note: dict[str, list[str]] = {}
    for name, run in results.items():
        names_by_note.setdefault(describe_limit(run.header), []).append(name)
    for note, names in names_by_note.items():
        if note:
            yield note if len(names) == len(results) else f"{', '.join(names)}: {note}"


def _rank_flip_notes(
    results: Mapping[str, Results], groups: Mapping[str, Sequence[str]], preset: Preset
) -> Iterator[str]:
    """Yields the pairs of runs whose order differs between two splits, tested as in BindSplit.

    The runs of one seed are tested against each other. A group of a single run, such as a published
    model, takes part in every seed.
    """
    first_cases = next(iter(results.values())).cases
    if first_cases["bucket"].null_count == len(first_cases):
        return
    n_seeds = max(map(len, groups.values()))
    tests_by_seed = []
    for i in range(n_seeds):
        runs = {
            name: members[0 if len(members) == 1 else i]
            for name, members in groups.items()
            if len(members) == 1 or len(members) > i
        }
        if len(runs) > 1:
            cases = {name: results[run].cases for name, run in runs.items()}
            tests_by_seed.append(compute_split_tests(cases, preset.rules))
    seed_flips = find_seed_flips(tests_by_seed)
    for seed_flip in seed_flips:
        flip, seeds = seed_flip.flip, ""
        if n_seeds > 1:
            seeds = f" in {seed_flip.n_significant} of {seed_flip.n_seeds} seeds"
        doubt = "" if seed_flip.in_all_seeds else "not all seeds agree: "
        yield (
            f"{doubt}significant flip{seeds} of {'/'.join(map(str, flip.key))}: {flip.ahead} is "
            f"ahead on {flip.splits[0]}, {flip.behind} on {flip.splits[1]} (p {flip.p:.3g})"
        )
    if not any(flip.in_all_seeds for flip in seed_flips):
        every_seed = " in every seed" if n_seeds > 1 else ""
        yield f"no significant flip: no pair changes its order at q {SIGNIFICANT}{every_seed}"


def _legend_notes(
    groups: Mapping[str, Sequence[str]],
    lines: Sequence[ComparisonLine],
    reference_models: Iterable[str],
) -> Iterator[str]:
    first_group = next(iter(groups))
    yield MARKS
    if lower := names_with_lower_better(lines):
        yield f"lower is better: {', '.join(lower)} (an answer that counts as right raises it)"
    yield (
        f"vs {first_group}: difference in percentage points, with its 95 % interval under "
        "resampling of images; half an outcome is added for each run, so that the interval "
        "of a few images is wide even if no answer differs"
    )
    if compute_split_gaps(lines):
        yield "split gap: first split minus second, in percentage points; a positive one is a drop"
    yield (
        "p: two-sided mid-p of a permutation test that exchanges the answers of two runs per "
        "image, exact for right-or-wrong answers (McNemar's test where each image occurs once) "
        "and with random permutations for means and graded answers"
    )
    splits = ", per split" if any(line.name.split for line in lines) else ""
    means = ", and over all averages" if any(line.name.is_mean for line in lines) else ""
    yield (
        "q: p adjusted over all pairs of runs and all metrics"
        f"{splits}{means} (Benjamini and Hochberg)"
    )
    if any(len(runs) > 1 for runs in groups.values()):
        yield (
            "several seeds: intervals and tests use their mean answers and the variation over "
            "images; the standard deviation shows the variation over seeds"
        )
    for figure in {f.source: f for line in lines for f in line.published}.values():
        yield f"published: {figure.source}; {figure.protocol}"
    published_models = {figure.model for line in lines for figure in line.published}
    for model in reference_models:
        if model not in published_models:
            yield f"{model}: no published result for what the runs have in common"


def _labelled_sums_by_benchmark(
    counts: Mapping[BenchmarkSubset, Sequence[int]],
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the counts of each benchmark, with the name of its subset if it has only one."""
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in counts):
        count_by_subset = {
            subset: count for (run, subset), count in counts.items() if run == benchmark
        }
        subset_label = (
            f"{len(count_by_subset)} subsets"
            if len(count_by_subset) > 1
            else next(iter(count_by_subset))
        )
        yield (
            f"{benchmark}/{subset_label}",
            tuple(map(sum, zip(*count_by_subset.values(), strict=True))),
        )


def _format_run_counts(names: Sequence[str], counts: Sequence[int], unit: str) -> str:
    if len(set(counts)) == 1:
        return f"{counts[0]:,} {unit} of each run"
    return ", ".join(f"{n:,} {unit} of {name}" for name, n in zip(names, counts, strict=True) if n)
