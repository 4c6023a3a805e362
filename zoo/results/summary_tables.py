"""The printed report: metrics, averages and missing data, within 100 columns.

A long report is shortened to one row per benchmark, and one line for similar notes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from zoo.benchmarks.ceilings import ALL_SUBSETS, Ceiling, Ceilings, ceilings_from_dict
from zoo.results.averages import Average
from zoo.results.header import (
    DECODED,
    EXCLUDED_IMAGES,
    LIMIT,
    REFERENCE_MODELS,
    SHORT_LISTS,
    TEXT_PROBE,
    TRUNCATED,
    describe_limit,
)
from zoo.results.leaks import LeakMetric, format_unknown_counts, leaks_table
from zoo.results.metrics import Metric, find_tie_warnings
from zoo.results.number_formats import format_number
from zoo.results.preset_results import PresetResults
from zoo.results.published_values import published_table
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import wilson
from zoo.results.tables import (
    TextTable,
    averages_table,
    baselines_table,
    format_interval,
    metrics_table,
    splits_table,
)
from zoo.support.provenance import describe_random_weights

MANY = 40  # with more metrics, the report is shortened
MAX_MISSING_NAMES = 16  # with more, missing members are counted by benchmark
MAX_ABSENT_LINES = 3  # with more, absent files are summarized
LONG = "--long prints every subset, note and file"
CEILINGS = ("order", "text", "position", "probe")
BLIND = (
    "baselines over the whole file, %: order, the highest value that is possible without word "
    "order; text, the best of four rules without the image (longer, shorter, more common or rarer "
    "texts); position, always the same position; and over the scored cases: probe, a linear "
    "classifier of the model's text vectors"
)


def report_parts(
    header: Mapping[str, Any], presets: Sequence[PresetResults], long: bool = False
) -> Iterator[RenderableType]:
    """Yields the tables and lines of the report.

    For each preset, there is a table of metrics and one of averages. Text-only baselines and notes
    follow, and finally the data that were not measured. Many metrics are summarized by benchmark.

    Args:
        header: The content of results.json except metrics.
        presets: Metrics and averages per preset.
        long: Whether to print everything, however many metrics there are.
    """
    metrics = presets[0].metrics
    shorten = not long and len(metrics) > MANY
    for counted in presets:
        yield from _preset_parts(header, presets, counted, long, shorten)
    for name, benchmark in header["benchmarks"].items():
        if baselines := benchmark.get("baselines"):
            yield Text(f"{name}, text-only baselines, %:")
            yield baselines_table(baselines).rich()
            yield Text("")
    if "familiarity" in header:
        yield from _familiarity_lines(header["familiarity"])
    if shorten:
        yield Text(f"to the right of chance: {BLIND}")
    elif (blind := ceilings_table(header, long)).rows:
        yield Text(BLIND)
        yield blind.rich()
    yield from _image_notes(metrics, shorten or LIMIT in header["scoring"])
    if short_lists := header["scoring"].get(SHORT_LISTS):
        yield Text(f"retrieval: {short_lists}; an answer outside the short-list is wrong")
    if limit := describe_limit(header):
        yield Text(limit, style="bold")
    if decoder := header["scoring"].get(DECODED):
        yield Text(f"images were decoded by {decoder}: published numbers were measured with PIL")
    for subset, n in header["scoring"].get(TRUNCATED, {}).items():
        yield Text(f"{subset}: {n:,} texts are longer than the context length and were truncated")
    yield from map(Text, notes(header, long))
    if shorten:
        yield Text(LONG)
    yield from map(Text, absent_file_lines(header, long))
    if missing := describe_unmeasured(header, metrics):
        yield Text(missing, style="bold")


def _preset_parts(
    header: Mapping[str, Any],
    presets: Sequence[PresetResults],
    preset_results: PresetResults,
    long: bool,
    shorten: bool,
) -> Iterator[RenderableType]:
    """Yields the tables and lines of one preset; metrics of the first preset are not repeated."""
    first = presets[0]
    random = describe_random_weights(header["model"].get("weights", {}))
    yield Text(f"preset {preset_results.preset}: {preset_results.description}")
    if random is not None:
        yield Text(random, style="bold")
    preset_metrics = _differing_metrics(presets, preset_results)
    for warning in find_tie_warnings(preset_metrics, preset_results.preset):
        yield Text(warning, style="bold")
    if shorten and preset_metrics:
        first_means = () if preset_results is first else first.by_benchmark
        shown_means = [replace(average, preset=preset_results.preset) for average in first_means]
        averages = [
            average for average in preset_results.by_benchmark if average not in shown_means
        ]
        if averages:
            yield summary_table(averages, preset_results.metrics, header).rich()
    elif preset_metrics:
        yield metrics_table(preset_metrics).rich()
    if len(preset_metrics) < len(preset_results.metrics):
        subject = "other metrics" if preset_metrics else "metrics"
        yield Text(f"all {subject} are the same as under preset {first.preset}")
    if preset_results.averages:
        shown_averages = [a for a in preset_results.averages if a.value is not None or not shorten]
        yield averages_table(shown_averages).rich()
        yield from map(Text, _unreported_averages(preset_results.averages, shorten))
    if preset_results.splits:
        yield Text("\nby familiarity of bindings, all outcomes with equal weight")
        yield splits_table(preset_results.splits).rich()
    published = published_values_table(header, presets, preset_results)
    if published.rows or (REFERENCE_MODELS in header and preset_results is first):
        yield Text(f"\n{published.preamble[0]}")
        yield from [published.rich()] if published.rows else []
        yield from map(Text, published.preamble[1:])
    if EXCLUDED_IMAGES in header:
        yield from _leak_lines(preset_results.leaks, header[EXCLUDED_IMAGES], long)
    yield Text("")


def preset_tables(
    header: Mapping[str, Any], presets: Sequence[PresetResults], preset_results: PresetResults
) -> list[TextTable]:
    """Returns the tables of one preset that have rows: metrics, averages, splits, published values.

    Args:
        header: The content of results.json except metrics.
        presets: Metrics and averages per preset.
        preset_results: Those of the preset.
    """
    lines = [f"preset {preset_results.preset}: {preset_results.description}"]
    random = describe_random_weights(header["model"].get("weights", {}))
    lines += [] if random is None else [random]
    lines += find_tie_warnings(preset_results.metrics, preset_results.preset)
    tables = (
        metrics_table(preset_results.metrics, lines),
        averages_table(preset_results.averages),
        splits_table(preset_results.splits),
        published_values_table(header, presets, preset_results),
    )
    return [table for table in tables if table.rows]


def published_values_table(
    header: Mapping[str, Any], presets: Sequence[PresetResults], preset_results: PresetResults
) -> TextTable:
    """Returns the table of published values for the metrics, splits and averages of a preset.

    Metrics that equal those of the first preset are listed with the first preset only, as splits
    are.
    """
    models = header.get(REFERENCE_MODELS, ())
    splits = preset_results.splits if preset_results is presets[0] else ()
    return published_table(
        models,
        preset_results.preset,
        [*_differing_metrics(presets, preset_results), *splits],
        preset_results.averages,
    )


def _differing_metrics(
    presets: Sequence[PresetResults], preset_results: PresetResults
) -> list[Metric]:
    """Returns the metrics of a preset that differ from those of the first preset."""
    first_metrics = () if preset_results is presets[0] else presets[0].metrics
    return [metric for metric in preset_results.metrics if metric not in first_metrics]


def summary_table(
    averages: Sequence[Average], metrics: Sequence[Metric], header: Mapping[str, Any]
) -> TextTable:
    """Returns a table with one row per benchmark and metric, including text-only baselines.

    There is a column of ties if there are any.

    Args:
        averages: The means by benchmark.
        metrics: The metrics that enter them.
        header: The content of results.json except metrics.
    """
    ceilings = {
        run: by_subset.get(ALL_SUBSETS) or next(iter(by_subset.values()), {})
        for run, by_subset in _ceilings(header)
    }
    chances: dict[str, list[tuple[float, int]]] = {}
    for m in metrics:
        if m.value is not None and not m.partial_gallery and m.chance is not None:
            chances.setdefault(f"{m.benchmark_run}/{m.metric}", []).append((m.chance, m.n_total))
    ties = Counter[str]()
    for m in metrics:
        ties[f"{m.benchmark_run}/{m.metric}"] += m.ties
    any_ties = any(ties[average.name] for average in averages)
    rows, previous_run = [], ""
    for average in averages:
        run, _, metric = average.name.rpartition("/")
        ceiling = ceilings.get(run, {}).get(metric)
        weighted_chances = chances.get(average.name, [])  # weighted by cases, like the average
        chance = (
            sum(c * n for c, n in weighted_chances) / sum(n for _, n in weighted_chances)
            if weighted_chances
            else None
        )
        n_subsets = len(average.members)
        rows.append(
            (
                run if run != previous_run else "",
                metric,
                f"{n_subsets - len(average.missing)} of {n_subsets}"
                if average.missing
                else str(n_subsets),
                format_number(average.value),
                format_interval(average),
                f"{average.n:,} / {average.n_total:,}",
                *([f"{ties[average.name]:,}" if ties[average.name] else ""] if any_ties else []),
                format_number(chance),
                *(_blind_cells(ceiling) if ceiling else ("", "", "")),
                format_number(_text_probe(header, run, ALL_SUBSETS, metric)[0]),
            )
        )
        previous_run = run
    header_row = ("benchmark", "metric", "subsets", "%", "95 % interval", "scored / total")
    tied = ("ties",) if any_ties else ()
    return TextTable((*header_row, *tied, "chance", *CEILINGS), tuple(rows))


def ceilings_table(header: Mapping[str, Any], long: bool) -> TextTable:
    """Returns a table of text-only baselines, for metrics where one of them beats chance.

    Args:
        header: The content of results.json except metrics.
        long: Whether every subset has a row; otherwise the subsets of a benchmark share one.
    """
    rows = [
        (
            *(run, "all" if subset == ALL_SUBSETS else subset, metric),
            *(f"{ceiling.n:,}", format_number(ceiling.chance), *_blind_cells(ceiling)),
            format_number(_text_probe(header, run, subset, metric)[0]),
            "" if ceiling.best_guess is None else ceiling.best_guess[0],
        )
        for run, by_subset in _ceilings(header)
        for subset, by_metric in by_subset.items()
        if long or subset == ALL_SUBSETS or ALL_SUBSETS not in by_subset
        for metric, ceiling in by_metric.items()
        if _is_informative(ceiling, *_text_probe(header, run, subset, metric))
    ]
    columns = ("benchmark", "subset", "metric", "n", "chance", *CEILINGS, "best text guess")
    return TextTable(columns, tuple(rows))


def notes(header: Mapping[str, Any], long: bool) -> Iterator[str]:
    """Yields the notes on benchmarks. Similar notes on several subsets share a line, unless long.

    Args:
        header: The content of results.json except metrics.
        long: Whether each note has its own line.
    """
    for name, benchmark in header["benchmarks"].items():
        notes_by_kind: dict[str, list[tuple[str, str]]] = {}
        for subject, note in benchmark["notes"].items():
            subset = max(
                (s for s in benchmark["subsets"] if subject.startswith(s)), key=len, default=""
            )
            kind = subject if long else subject.removeprefix(subset)
            notes_by_kind.setdefault(kind, []).append((subject, note))
        for (subject, note), *other_notes in notes_by_kind.values():
            suffix = f"; the same applies to {len(other_notes)} more subsets" if other_notes else ""
            yield f"{name}, {subject}: {note}{suffix}"


def absent_file_lines(header: Mapping[str, Any], long: bool) -> Iterator[str]:
    """Yields one line per group of absent files with its instructions, or a summary if many.

    Args:
        header: The content of results.json except metrics.
        long: Whether to print a line for each group, however many there are.
    """
    subsets_by_instructions: dict[tuple[str, str], list[dict[str, Any]]] = {}
    by_run: dict[str, list[dict[str, Any]]] = {}
    for subset in header["absent"]:
        run = str(BenchmarkRun(subset["benchmark"], subset["run"]))
        subsets_by_instructions.setdefault((run, subset["instructions"]), []).append(subset)
        by_run.setdefault(run, []).append(subset)
    if not long and len(subsets_by_instructions) > MAX_ABSENT_LINES:
        sizes = (f"{run} ({_format_size(subsets, header)})" for run, subsets in by_run.items())
        yield f"absent: {', '.join(sizes)}"
        yield f"`zoo doctor --data_root {' '.join(header['data_root'])}` explains how to get them"
        return
    for (run, instructions), subsets in subsets_by_instructions.items():
        first_subset, n_more = subsets[0], len(subsets) - 1
        suffix = f" and {n_more} more" if n_more else ""
        files = " or ".join(first_subset["files"])
        yield f"absent: {run}/{first_subset['subset']}{suffix} ({files}): {instructions}"


def describe_unmeasured(header: Mapping[str, Any], metrics: Iterable[Metric]) -> str:
    """Returns a sentence on requested cases that were not measured, empty if there are none.

    Args:
        header: The content of results.json except metrics.
        metrics: The metrics of a preset.
    """
    subsets: dict[BenchmarkRun, dict[str, tuple[int, int]]] = {}
    for m in metrics:
        counts = subsets.setdefault(m.benchmark_run, {})
        counts[m.subset] = max(counts.get(m.subset, (0, 0)), (m.n_total - m.n, m.n_total))
    missing = []
    for run, n in Counter(BenchmarkRun(a["benchmark"], a["run"]) for a in header["absent"]).items():
        description = (
            f"{n} of {n + len(subsets[run])} subsets of {run}" if run in subsets else f"{run}"
        )
        missing.append(f"{description} (no annotation file)")
    for run, counts in subsets.items():
        unscored = sum(n for n, _ in counts.values())
        if unscored:
            missing.append(
                f"{unscored:,} of {sum(total for _, total in counts.values()):,} of {run}"
            )
    advice = "" if LIMIT in header["scoring"] else " (--require makes this an error)"
    return f"not measured: {', '.join(missing)}{advice}" if missing else ""


def _leak_lines(
    leaks: Sequence[LeakMetric], excluded: dict[str, Any], long: bool
) -> Iterator[RenderableType]:
    """Yields the metrics without images that the model has seen, and the undecidable cases."""
    table = leaks_table(leaks, long)
    yield Text(
        f"\nwithout cases of the {excluded['images']:,} images of {excluded['named']}"
        + ("" if table.rows else ": no case is about one of them")
    )
    if table.rows:
        yield table.rich()
    if unknown_counts := format_unknown_counts(leaks):
        yield Text(
            f"in neither part, because it is unknown whether the images were seen: {unknown_counts}"
        )


def _unreported_averages(averages: Iterable[Average], shorten: bool) -> Iterator[str]:
    """Yields averages without a value with their missing members, or only counts if shortened."""
    unreported = [average for average in averages if average.value is None]
    if shorten and unreported:
        names = (f"{a.name} ({len(a.missing)} missing)" for a in unreported)
        yield f"averages not reported: {'; '.join(names)}"
        return
    for average in unreported:
        yield f"{average.name} is not reported; missing: {_list_missing(average.missing)}"


def _familiarity_lines(familiarity: dict[str, Any]) -> Iterator[Text]:
    """Yields the captions that bindings were searched in, and the counts of each subset."""
    yield Text(f"bindings are searched in {familiarity['training_captions']['captions']}")
    for name, subset in familiarity["subsets"].items():
        n = subset["split"]
        if not n:
            yield Text(f"{name}: no case has an attribute-object binding in each of its texts")
            continue
        yield Text(
            f"{name}: " + ", ".join(f"{b} {count:,}" for b, count in subset["buckets"].items())
        )
        rules = (
            f"{rule}: all seen {subset[rule]['seen'] / n:.1%}, "
            f"all unseen {subset[rule]['unseen'] / n:.1%}"
            for rule in ("strict", "loose")
        )
        yield Text(f"  {'; '.join(rules)}; {subset['excluded']:,} excluded")
        for scope in ("full", "mixed"):
            right, wrong = (subset[f"labels, {scope}"][side] for side in ("right", "wrong"))
            yield Text(
                f"  {scope}: bindings of right texts {_format_shares(right)}; "
                f"of wrong texts {_format_shares(wrong)}"
            )
    yield Text("")


def _format_shares(labels: dict[str, int]) -> str:
    n = max(sum(labels.values()), 1)
    return f"{labels['perfect'] / n:.1%} perfect, {labels['none'] / n:.1%} none"


def _image_notes(metrics: tuple[Metric, ...], shorten: bool) -> Iterator[Text]:
    """Yields the numbers of available images, and of images that the model was trained on.

    Subsets with nothing else to report share a line per benchmark, which is omitted if shortened.
    """
    subsets = {(m.benchmark_run, m.subset): m for m in reversed(metrics) if m.metric != "macro"}
    partial_subsets: dict[BenchmarkRun, list[str]] = {}
    for (run, subset), m in reversed(subsets.items()):
        if m.partial_gallery and m.images:
            yield Text(
                f"{run}/{subset}: a gallery of {m.images:,} of {m.gallery_size:,} images: "
                "easier than the full gallery, not comparable"
            )
        elif m.trained_on:
            yield Text(
                f"{run}/{subset}: {m.images:,} of {m.images_total:,} images found; the model was "
                f"trained on {m.trained_on:,} of them"
            )
        elif m.images < m.images_total and not shorten:
            partial_subsets.setdefault(run, []).append(
                f"{subset} {m.images:,} of {m.images_total:,}"
            )
    for run, subsets_found in partial_subsets.items():
        yield Text(f"{run}, images found: {', '.join(subsets_found)}")


def _list_missing(missing: tuple[str, ...]) -> str:
    """Returns the missing members, or their numbers by benchmark if there are many."""
    if len(missing) <= MAX_MISSING_NAMES:
        return ", ".join(missing)
    counts = Counter(name.partition("/")[0] for name in missing)
    return ", ".join(f"{name} ({n} metrics)" if n > 1 else name for name, n in counts.items())


def _ceilings(header: Mapping[str, Any]) -> Iterator[tuple[str, Ceilings]]:
    """Yields the ceilings of each benchmark that has any."""
    for run, benchmark in header["benchmarks"].items():
        if ceilings := ceilings_from_dict(benchmark.get("ceilings", {})):
            yield run, ceilings


def _text_probe(
    header: Mapping[str, Any], run: str, subset: str, metric: str
) -> tuple[float | None, int]:
    """Returns the score of a probe on text embeddings in per cent, and its number of queries."""
    probe_scores = header.get("scoring", {}).get(TEXT_PROBE, {})
    score = probe_scores.get(run, {}).get(subset, {}).get(metric)
    return (None, 0) if score is None else (score["value"], score["n"])


def _is_informative(ceiling: Ceiling, probe: float | None, n: int) -> bool:
    """Returns whether a bag of words is limited, or a text-only baseline beats chance."""
    guess = ceiling.best_guess
    return (
        (ceiling.order_only is not None and ceiling.order_only < 100)
        or (guess is not None and _is_above_chance(guess[1], ceiling.n, ceiling.chance))
        or (probe is not None and _is_above_chance(probe, n, ceiling.chance))
        or (ceiling.always_first is not None and ceiling.always_first > ceiling.chance)
    )


def _is_above_chance(value: float, n: int, chance: float) -> bool:
    """Returns whether the 95 % interval of a value in per cent lies above chance."""
    return 100 * wilson(value / 100 * n, n)[0] > chance


def _blind_cells(ceiling: Ceiling) -> tuple[str, ...]:
    """Returns the cells of CEILINGS that depend only on the file."""
    guess = ceiling.best_guess
    text_only = None if guess is None else guess[1]
    return tuple(map(format_number, (ceiling.order_only, text_only, ceiling.always_first)))


def _format_size(subsets: Iterable[Mapping[str, Any]], header: Mapping[str, Any]) -> str:
    """Returns the size of subsets in words: cases if their number is published, else subsets."""
    sizes = [
        header["benchmarks"][str(BenchmarkRun(subset["benchmark"], subset["run"]))]["subsets"]
        .get(subset["subset"], {})
        .get("published_n")
        for subset in subsets
    ]
    if None in sizes:
        return f"{len(sizes)} subset{'s' * (len(sizes) > 1)}"
    return f"{sum(sizes):,} cases"
