"""Files of published benchmarks in small: written as published, spoilt in every way, and judged."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

from zoo.benchmarks.base import Benchmark, Case
from zoo.results.metrics import Rules, compute_metrics
from zoo.results.outcomes import outcome_rows, outcome_table
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

Entry = Any  # an object or a list, as JSON has them
Answers = dict[str, list[bool | float]]
Rule = Callable[[NDArray[np.float32]], Answers]
RUN = BenchmarkRun("benchmark")


@dataclass(frozen=True)
class Expected:
    """What an entry is read to; images by the ends of their references."""

    id: str
    images: tuple[str, ...]
    texts: tuple[str, ...]
    match: list[list[int]]


@dataclass(frozen=True)
class Sample:
    """A file with exactly the published fields.

    Attributes:
        benchmark: The benchmark.
        file: Where it lies under a data root.
        entries: Its entries, or rows.
        subset: The subset that they are of.
        protocol: The protocol of its cases.
        rule: The official rule: of scores, whether each answer is right, by metric.
        expected: What it is read to.
        needed: The fields without which an entry is refused.
        pictures: The columns of images, where the file is a parquet.
        beside: Further files, by their places.
        keys: The keys of the entries, where they stand under keys.
    """

    benchmark: Benchmark
    file: str
    entries: tuple[Entry, ...]
    subset: str
    protocol: str = ""
    rule: Rule | None = None
    expected: tuple[Expected, ...] = ()
    needed: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What a test is called by."""
        return f"{self.benchmark.name}-{self.subset}-{Path(self.file).suffix[1:]}"

    @property
    def of_files(self) -> bool:
        """Whether the images are files."""
        return not self.pictures

    @property
    def of_json(self) -> bool:
        """Whether fields have types: those of a CSV file are texts, and a column has one."""
        return self.file.endswith((".json", ".jsonl"))

    @property
    def place(self) -> str:
        """Where its last entry stands, as errors say it, without the folder."""
        path, last = Path(self.file), len(self.entries) - 1
        if path.suffix in (".json", ".parquet"):
            return f"{path.name}[{self.keys[last] if self.keys else last}]"
        return f"{path.name}:{last + 1 + (path.suffix == '.csv')}"

    def write(self, root: Path) -> Path:
        """Writes the file, and those beside it, under a data root."""
        for place, content in self.beside.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            (root / place).write_text(content)
        path = root / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = list(self.entries)
        if path.suffix == ".json":
            made = dict(zip(self.keys, entries, strict=True)) if self.keys else entries
            path.write_text(json.dumps(made))
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        elif path.suffix == ".txt":
            path.write_text("".join(f"{entry}\n" for entry in entries))
        elif path.suffix == ".parquet":
            cells = {name: picture(i) for i, name in enumerate(self.pictures)}
            pq.write_table(pa.Table.from_pylist([{**cells, **entry} for entry in entries]), path)
        else:
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(entries[0]))
                writer.writeheader()
                writer.writerows(entries)
        return path

    def without(self, name: str) -> "Sample":
        """Returns the sample whose last entry lacks a field; a table lacks the column."""
        entries = deepcopy(self.entries)
        for entry in entries[-1:] if self.of_json else entries:
            del entry[name]
        return replace(self, entries=entries)

    def with_wrong(self, name: str | int) -> "Sample":
        """Returns the sample whose last entry has an object where something else is needed."""
        entries = deepcopy(self.entries)
        entries[-1][name] = {"?": 1}
        return replace(self, entries=entries)


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


def counted(case: Case, scores: NDArray[np.float32]) -> Answers:
    """Returns the answers under the preset `official`, by metric: right or not, or a grade."""
    found: Answers = {}
    for outcome in case.judge(scores):
        right = outcome.right or (outcome.tie and case.tie_is_right(outcome))
        found.setdefault(outcome.metric, []).append(
            right if outcome.value is None else outcome.value
        )
    return found


def value(case_scores: list[tuple[Case, NDArray[np.float32]]], rules: Rules) -> dict[str, float]:
    """Returns the metrics of one subset, in per cent, as the report counts them."""
    made = outcome_table(
        row
        for case, scores in case_scores
        for row in outcome_rows(RUN, case, case.judge(scores), frozenset())
    )
    return {
        metric.metric: metric.value
        for metric in compute_metrics(made, rules, {})
        if metric.value is not None
    }


def by_pixels(images: list[Image.Image], texts: list[str]) -> NDArray[np.float64]:
    """Scores of three values that images and texts settle, so that ties are common."""
    sums = [int(np.asarray(image, dtype=np.int64).sum()) for image in images]
    return np.array([[crc32(f"{n} {text}".encode()) % 3 for text in texts] for n in sums], float)


def draw(root: Path, ref: ImageRef, shade: int) -> None:
    """Puts an image where a reference is looked for."""
    folders = {"visual_genome": "visual_genome/images/{}.jpg", "coco": "val2017/{:0>12}.jpg"}
    path = root / folders.get(ref.source, "{}").format(ref.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (8, 8), (20 * shade, 200, 90))
    if path.suffix == ".npy":
        np.save(path, np.asarray(image)[:, :, ::-1])  # blue first, as OpenCV has it
    else:
        image.save(path)
