"""What a report over much is shortened to: a row a benchmark, and one note of those alike."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zoo.benchmarks.ceilings import EVERY, Ceiling, Ceilings, from_plain
from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.report import TEXTS_ALONE
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import wilson
from zoo.results.tables import TextTable, interval, number

FEW = 3  # ways of getting files that are told one by one
LONG = "--long prints every subset, note and file"
CEILINGS = ("order", "text", "place", "tower")
BLIND = (
    "what can be had blindly of the whole file, %: order, at most by a bag of words; text, by the "
    "longer or shorter text or that of commoner or rarer words; place, by one answer always; and "
    "of what was scored: tower, by a line through the model's own vectors of the texts"
)


def summary_table(
    averages: Sequence[Average], metrics: Sequence[Metric], header: Mapping[str, Any]
) -> TextTable:
    """Returns a table with a row for each benchmark and metric, and what the blind get beside it.

    The number of ties is a column where there are any.

    Args:
        averages: The means by benchmark.
        metrics: The metrics that they are of.
        header: All that results.json says beside metrics.
    """
    blind = {run: of.get(EVERY) or next(iter(of.values()), {}) for run, of in _ceilings(header)}
    chances: dict[str, list[tuple[float, int]]] = {}
    for m in metrics:
        if m.value is not None and not m.partial_gallery and m.chance is not None:
            chances.setdefault(f"{m.benchmark_run}/{m.metric}", []).append((m.chance, m.of))
    ties = Counter[str]()
    for m in metrics:
        ties[f"{m.benchmark_run}/{m.metric}"] += m.ties
    any_ties = any(ties[average.name] for average in averages)
    rows, last = [], ""
    for average in averages:
        run, _, metric = average.name.rpartition("/")
        ceiling = blind.get(run, {}).get(metric)
        known = chances.get(average.name, [])  # weighted as the average is, by cases
        chance = sum(c * n for c, n in known) / sum(n for _, n in known) if known else None
        of = len(average.members)
        rows.append(
            (
                run if run != last else "",
                metric,
                f"{of - len(average.missing)} of {of}" if average.missing else str(of),
                number(average.value),
                interval(average),
                f"{average.n:,} / {average.of:,}",
                *([f"{ties[average.name]:,}" if ties[average.name] else ""] if any_ties else []),
                number(chance),
                *(_blind(ceiling) if ceiling else ("", "", "")),
                number(_tower(header, run, EVERY, metric)[0]),
            )
        )
        last = run
    header_row = ("benchmark", "metric", "subsets", "%", "95 % interval", "n / of all")
    tied = ("ties",) if any_ties else ()
    return TextTable((*header_row, *tied, "chance", *CEILINGS), tuple(rows))


def ceilings_table(header: Mapping[str, Any], long: bool) -> TextTable:
    """Returns a table of what the blind get, of the metrics that tell of more than chance.

    Args:
        header: All that results.json says beside metrics.
        long: Whether every subset has a row; else a benchmark's subsets have one together.
    """
    rows = [
        (
            *(run, "all" if subset == EVERY else subset, metric),
            *(f"{ceiling.n:,}", number(ceiling.chance), *_blind(ceiling)),
            number(_tower(header, run, subset, metric)[0]),
            "" if ceiling.best_guess is None else ceiling.best_guess[0],
        )
        for run, of in _ceilings(header)
        for subset, by_metric in of.items()
        if long or subset == EVERY or EVERY not in of
        for metric, ceiling in by_metric.items()
        if _tells(ceiling, *_tower(header, run, subset, metric))
    ]
    columns = ("benchmark", "subset", "metric", "n", "chance", *CEILINGS, "text by")
    return TextTable(columns, tuple(rows))


def notes(header: Mapping[str, Any], long: bool) -> Iterator[str]:
    """Yields the notes on benchmarks; of those alike about several subsets the first, unless long.

    Args:
        header: All that results.json says beside metrics.
        long: Whether each has a line of its own.
    """
    for name, benchmark in header["benchmarks"].items():
        alike: dict[str, list[tuple[str, str]]] = {}
        for subject, note in benchmark["notes"].items():
            subset = max(
                (s for s in benchmark["subsets"] if subject.startswith(s)), key=len, default=""
            )
            kind = subject if long else subject.removeprefix(subset)
            alike.setdefault(kind, []).append((subject, note))
        for (subject, note), *others in alike.values():
            more = f"; likewise {len(others)} more of its subsets" if others else ""
            yield f"{name}, {subject}: {note}{more}"


def absent(header: Mapping[str, Any], long: bool) -> Iterator[str]:
    """Yields a line for each way of getting files, or one for all where there are many.

    Args:
        header: All that results.json says beside metrics.
        long: Whether each way has a line, however many there are.
    """
    by_how: dict[tuple[str, str], list[dict[str, Any]]] = {}
    by_run: dict[str, list[dict[str, Any]]] = {}
    for one in header["absent"]:
        run = str(BenchmarkRun(one["benchmark"], one["run"]))
        by_how.setdefault((run, one["how"]), []).append(one)
        by_run.setdefault(run, []).append(one)
    if not long and len(by_how) > FEW:
        sizes = (f"{run} ({_size(subsets, header)})" for run, subsets in by_run.items())
        yield f"absent: {', '.join(sizes)}"
        yield f"`zoo doctor --data_root {' '.join(header['data_root'])}` says how to get them"
        return
    for (run, how), subsets in by_how.items():
        first, more = subsets[0], len(subsets) - 1
        others = f" and {more} more" if more else ""
        files = " or ".join(first["files"])
        yield f"absent: {run}/{first['subset']}{others} ({files}): {how}"


def not_measured(header: Mapping[str, Any], metrics: Iterable[Metric]) -> str:
    """Returns a sentence on what was asked for and not measured; nothing where all was.

    Args:
        header: All that results.json says beside metrics.
        metrics: The metrics of a preset.
    """
    subsets: dict[BenchmarkRun, dict[str, tuple[int, int]]] = {}
    for m in metrics:
        counts = subsets.setdefault(m.benchmark_run, {})
        counts[m.subset] = max(counts.get(m.subset, (0, 0)), (m.of - m.n, m.of))
    missing = []
    for run, n in Counter(BenchmarkRun(a["benchmark"], a["run"]) for a in header["absent"]).items():
        which = f"{n} of {n + len(subsets[run])} subsets of {run}" if run in subsets else f"{run}"
        missing.append(f"{which} (no annotation file)")
    for run, counts in subsets.items():
        unscored = sum(n for n, _ in counts.values())
        if unscored:
            missing.append(f"{unscored:,} of {sum(of for _, of in counts.values()):,} of {run}")
    return f"not measured: {', '.join(missing)} (--require makes this an error)" if missing else ""


def _ceilings(header: Mapping[str, Any]) -> Iterator[tuple[str, Ceilings]]:
    """Yields the ceilings of each benchmark that has some; results of an older zoo have none."""
    for run, benchmark in header["benchmarks"].items():
        if found := from_plain(benchmark.get("ceilings", {})):
            yield run, found


def _tower(
    header: Mapping[str, Any], run: str, subset: str, metric: str
) -> tuple[float | None, int]:
    """Returns what the texts alone tell of a metric, in per cent, and of how many queries."""
    told = header.get("scoring", {}).get(TEXTS_ALONE, {})
    found = told.get(run, {}).get(subset, {}).get(metric)
    return (None, 0) if found is None else (found["value"], found["n"])


def _tells(ceiling: Ceiling, tower: float | None, n: int) -> bool:
    """Whether a bag of words has to guess somewhere, or the blind get more than by chance."""
    guess = ceiling.best_guess
    return (
        (ceiling.order_only is not None and ceiling.order_only < 100)
        or (guess is not None and _is_above_chance(guess[1], ceiling.n, ceiling.chance))
        or (tower is not None and _is_above_chance(tower, n, ceiling.chance))
        or (ceiling.always_first is not None and ceiling.always_first > ceiling.chance)
    )


def _is_above_chance(value: float, n: int, chance: float) -> bool:
    """Whether the 95 % interval of a share in per cent lies above chance."""
    return 100 * wilson(value / 100 * n, n)[0] > chance


def _blind(ceiling: Ceiling) -> tuple[str, ...]:
    """Returns the cells of CEILINGS that are of the file alone."""
    guess = ceiling.best_guess
    text_only = None if guess is None else guess[1]
    return tuple(map(number, (ceiling.order_only, text_only, ceiling.always_first)))


def _size(subsets: Iterable[Mapping[str, Any]], header: Mapping[str, Any]) -> str:
    """Returns how much there is of subsets: cases where that is published, else subsets."""
    known = [
        header["benchmarks"][str(BenchmarkRun(s["benchmark"], s["run"]))]["subsets"]
        .get(s["subset"], {})
        .get("published_n")
        for s in subsets
    ]
    if None in known:
        return f"{len(known)} subset{'s' * (len(known) > 1)}"
    return f"{sum(known):,} cases"
