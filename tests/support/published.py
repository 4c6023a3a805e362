"""Files of published benchmarks in small: written as published, spoilt in every way, and judged."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

from zoo.benchmarks.base import Benchmark, Case
from zoo.results.metrics import Rules, metrics
from zoo.results.outcomes import rows, table
from zoo.results.runs import BenchmarkRun

Entry = dict[str, Any] | list[Any]
Rule = Callable[[NDArray[np.float32]], Mapping[str, bool]]
OFFICIAL = Rules(official_ties=True, drop_identical=False)
STRICT = Rules(official_ties=False, drop_identical=False)
RUN = BenchmarkRun("benchmark")


@dataclass(frozen=True)
class Sample:
    """A file with exactly the published fields.

    Attributes:
        benchmark: The benchmark.
        file: Where it lies under a data root.
        entries: Its entries, or rows.
        subset: The subset that they are of.
        needed: The fields without which an entry is refused.
        pictures: The columns of images, where the file is a parquet.
        beside: Further files, by their places.
        keyed: Whether the entries stand under keys, which are their numbers.
    """

    benchmark: Benchmark
    file: str
    entries: tuple[Entry, ...]
    subset: str
    needed: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    keyed: bool = False

    @property
    def name(self) -> str:
        """What a test is called by."""
        return f"{self.benchmark.name}-{Path(self.file).suffix[1:]}"

    def write(self, root: Path) -> Path:
        """Writes the file, and those beside it, under a data root."""
        for place, value in self.beside.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text(json.dumps(value))
        path = root / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = list(self.entries)
        if path.suffix == ".json":
            made = {str(i): entry for i, entry in enumerate(entries)} if self.keyed else entries
            path.write_text(json.dumps(made))
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        elif path.suffix == ".parquet":
            cells = {name: picture(i) for i, name in enumerate(self.pictures)}
            pq.write_table(pa.Table.from_pylist([{**cells, **entry} for entry in entries]), path)
        else:
            columns = dict.fromkeys(name for entry in entries for name in entry)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(columns))
                writer.writeheader()
                writer.writerows(entries)
        return path

    def without(self, name: str) -> "Sample":
        """Returns the sample whose last entry lacks a field; a table lacks the column."""
        entries = deepcopy(self.entries)
        spoilt = entries if Path(self.file).suffix in (".csv", ".parquet") else entries[-1:]
        for entry in spoilt:
            del entry[name]
        return replace(self, entries=entries)

    def with_wrong(self, name: str) -> "Sample":
        """Returns the sample whose last entry has a list where a text is needed."""
        entries = deepcopy(self.entries)
        entries[-1][name] = [["?"]]  # type: ignore[index,call-overload]
        return replace(self, entries=entries)

    @property
    def place(self) -> str:
        """Where its last entry stands, as errors say it, without the folder."""
        name, last = Path(self.file).name, len(self.entries) - 1
        suffix = Path(self.file).suffix
        if suffix in (".json", ".parquet"):
            return f"{name}[{last}]"
        return f"{name}:{last + 1 + (suffix == '.csv')}"


def picture(shade: int) -> dict[str, Any]:
    """Returns an image as the hub's parquet files hold it."""
    content = io.BytesIO()
    Image.new("RGB", (8, 8), (40 * shade, 10, 10)).save(content, "PNG")
    return {"bytes": content.getvalue(), "path": f"{shade}.png"}


def tied_scores(shape: tuple[int, ...], trials: int = 200) -> Iterator[NDArray[np.float32]]:
    """Yields scores of few values, so that ties are common."""
    generator = np.random.default_rng(0)
    for _ in range(trials):
        yield generator.integers(0, 4, shape).astype(np.float32)


def counted(case: Case, scores: NDArray[np.float32]) -> dict[str, list[bool]]:
    """Returns whether each answer counts under the preset `official`, by metric."""
    found: dict[str, list[bool]] = {}
    for outcome in case.judge(scores):
        right = outcome.right or (outcome.tie and case.counts_tie(outcome))
        found.setdefault(outcome.metric, []).append(right)
    return found


def value(case_scores: list[tuple[Case, NDArray[np.float32]]], rules: Rules) -> dict[str, float]:
    """Returns the metrics of one subset, in per cent, as the report counts them."""
    made = table(
        row
        for case, scores in case_scores
        for row in rows(RUN, case, case.judge(scores), frozenset())
    )
    return {
        metric.metric: metric.value
        for metric in metrics(made, rules, {})
        if metric.value is not None
    }
