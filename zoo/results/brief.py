"""Short forms of a long report: one row per benchmark, and one line for similar notes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zoo.benchmarks.ceilings import ALL_SUBSETS, Ceiling, Ceilings, ceilings_from_dict
from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.report import TEXT_PROBE
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import wilson
from zoo.results.tables import TextTable, interval, number

MAX_ABSENT_LINES = 3  # with more, absent files are summarized
LONG = "--long prints every subset, note and file"
CEILINGS = ("order", "text", "place", "tower")
BLIND = (
    "text-only (blind) baselines over the whole file, %: order, the upper bound of a bag of words; "
    "text, the longer or shorter text or the one with more or less frequent words; place, always "
    "the same answer; and over the scored cases: tower, a linear probe on the text embeddings of "
    "the model"
)


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
                number(average.value),
                interval(average),
                f"{average.n:,} / {average.n_total:,}",
                *([f"{ties[average.name]:,}" if ties[average.name] else ""] if any_ties else []),
                number(chance),
                *(_blind_cells(ceiling) if ceiling else ("", "", "")),
                number(_text_probe(header, run, ALL_SUBSETS, metric)[0]),
            )
        )
        previous_run = run
    header_row = ("benchmark", "metric", "subsets", "%", "95 % interval", "n / of all")
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
            *(f"{ceiling.n:,}", number(ceiling.chance), *_blind_cells(ceiling)),
            number(_text_probe(header, run, subset, metric)[0]),
            "" if ceiling.best_guess is None else ceiling.best_guess[0],
        )
        for run, by_subset in _ceilings(header)
        for subset, by_metric in by_subset.items()
        if long or subset == ALL_SUBSETS or ALL_SUBSETS not in by_subset
        for metric, ceiling in by_metric.items()
        if _is_informative(ceiling, *_text_probe(header, run, subset, metric))
    ]
    columns = ("benchmark", "subset", "metric", "n", "chance", *CEILINGS, "text by")
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


def absent(header: Mapping[str, Any], long: bool) -> Iterator[str]:
    """Yields one line per group of absent files with its instructions, or a summary if many.

    Args:
        header: The content of results.json except metrics.
        long: Whether to print a line for each group, however many there are.
    """
    by_how: dict[tuple[str, str], list[dict[str, Any]]] = {}
    by_run: dict[str, list[dict[str, Any]]] = {}
    for subset in header["absent"]:
        run = str(BenchmarkRun(subset["benchmark"], subset["run"]))
        by_how.setdefault((run, subset["how"]), []).append(subset)
        by_run.setdefault(run, []).append(subset)
    if not long and len(by_how) > MAX_ABSENT_LINES:
        sizes = (f"{run} ({_format_size(subsets, header)})" for run, subsets in by_run.items())
        yield f"absent: {', '.join(sizes)}"
        yield f"`zoo doctor --data_root {' '.join(header['data_root'])}` explains how to get them"
        return
    for (run, instructions), subsets in by_how.items():
        first_subset, n_more = subsets[0], len(subsets) - 1
        suffix = f" and {n_more} more" if n_more else ""
        files = " or ".join(first_subset["files"])
        yield f"absent: {run}/{first_subset['subset']}{suffix} ({files}): {instructions}"


def not_measured(header: Mapping[str, Any], metrics: Iterable[Metric]) -> str:
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
    return f"not measured: {', '.join(missing)} (--require makes this an error)" if missing else ""


def _ceilings(header: Mapping[str, Any]) -> Iterator[tuple[str, Ceilings]]:
    """Yields the ceilings of each benchmark that has any; results of older versions have none."""
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


def _is_informative(ceiling: Ceiling, tower: float | None, n: int) -> bool:
    """Returns whether a bag of words is limited, or a text-only baseline beats chance."""
    guess = ceiling.best_guess
    return (
        (ceiling.order_only is not None and ceiling.order_only < 100)
        or (guess is not None and _is_above_chance(guess[1], ceiling.n, ceiling.chance))
        or (tower is not None and _is_above_chance(tower, n, ceiling.chance))
        or (ceiling.always_first is not None and ceiling.always_first > ceiling.chance)
    )


def _is_above_chance(value: float, n: int, chance: float) -> bool:
    """Returns whether the 95 % interval of a value in per cent lies above chance."""
    return 100 * wilson(value / 100 * n, n)[0] > chance


def _blind_cells(ceiling: Ceiling) -> tuple[str, ...]:
    """Returns the cells of CEILINGS that depend only on the file."""
    guess = ceiling.best_guess
    text_only = None if guess is None else guess[1]
    return tuple(map(number, (ceiling.order_only, text_only, ceiling.always_first)))


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
