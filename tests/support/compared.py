"""Runs to compare: made of answers that are right or wrong, published ones among them."""

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from zoo.benchmarks.base import Case
from zoo.results import Preset, Rules
from zoo.results.averages import Mean
from zoo.results.comparison.common_metrics import CommonMetric, common_metrics
from zoo.results.header import SCHEMA_VERSION
from zoo.results.outcomes import OutcomeRow, outcome_rows, outcome_table
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

MODELS = ("ViT-B-32", "CLIP_COCO")  # OpenAI's, and its fine-tuning on COCO
BIVLC = ("text", "image", "group")


class Counting(Preset):
    """A preset of rules that are given."""

    name, description = "made", "made"

    def __init__(self, rules: Rules, means: Sequence[Mean] = ()) -> None:
        self.rules, self.means = rules, tuple(means)


def rows_under(
    rules: Rules, tables: Sequence[pa.Table], means: Sequence[Mean] = ()
) -> list[CommonMetric]:
    """Returns what runs have in common under rules."""
    return common_metrics(tables, [Counting(rules, means)], {"benchmarks": {}})


def asked(
    right: bool | None, image: str, texts: tuple[str, str], subset: str, group: str | None = None
) -> list[OutcomeRow]:
    """Returns the outcome of a caption against a foil; None is not scored."""
    case = Case(
        (ImageRef("coco", image),), texts, np.array([[True, False]]), "i2t", subset, "", group
    )
    answers = (
        case.queries() if right is None else case.judge(np.array([[float(right), 0.5]], np.float32))
    )
    return list(outcome_rows(BenchmarkRun("sugarcrepe"), case, answers, frozenset()))


def outcomes(
    right: Iterable[bool | None],
    images: Iterable[object] | None = None,
    subset: str = "swap_att",
    groups: Iterable[str] | None = None,
) -> pa.Table:
    """Returns outcomes of captions, by default of an image each."""
    right = list(right)
    about = list(map(str, range(len(right)) if images is None else images))
    of = list(groups) if groups is not None else [None] * len(right)
    made = zip(right, about, of, strict=True)
    return outcome_table(
        row
        for i, (is_right, image, group) in enumerate(made)
        for row in asked(is_right, image, (f"right {i}", f"wrong {i}"), subset, group)
    )


def brittle_outcomes(brittle: Iterable[bool], subset: str = "swap") -> pa.Table:
    """Returns outcomes of hard positives: whether the foil of each image is between its texts."""
    rows: list[OutcomeRow] = []
    for i, is_brittle in enumerate(brittle):
        texts, match = (f"a {i}", f"the {i}", f"no {i}"), np.array([[True, True, False]])
        case = Case((ImageRef("vg", str(i)),), texts, match, "hard_positive", subset, str(i))
        scores = np.array([[2.0, 0.0, float(is_brittle) - 1 / 2]], np.float32)
        rows += outcome_rows(BenchmarkRun("hard_positives"), case, case.judge(scores), frozenset())
    return outcome_table(row for row in rows if row.metric == "brittleness")


def results(cases: pa.Table, model: dict[str, Any] | None = None) -> Results:
    """Returns outcomes as the results of a run."""
    benchmarks: dict[str, dict[str, Any]] = {}
    places = zip(cases["benchmark"].to_pylist(), cases["subset"].to_pylist(), strict=True)
    for name, subset in dict.fromkeys(places):
        described = {"benchmark": name, "run": "", "notes": {}, "subsets": {}}
        known = {"published_n": None, "chance": {}, "published": {}}
        benchmarks.setdefault(name, described)["subsets"][subset] = known
    header = {
        "schema": SCHEMA_VERSION,
        "model": model or {},
        "scoring": {},
        "benchmarks": benchmarks,
        "absent": [],
    }
    return Results(header, (), cases)


def golden(shared_data: Path, name: str) -> list[dict[str, str]]:
    """Returns the rows of a published file of answers."""
    with gzip.open(shared_data / "golden" / name, "rt", newline="") as file:
        return list(csv.DictReader(file))


def published_sugarcrepe(shared_data: Path, model: str) -> Results:
    """Returns a model's published answers to SugarCrepe, by image."""
    return results(
        outcome_table(
            row
            for case in golden(shared_data, f"SUGARCREPE_CORRECT_{model}.csv.gz")
            for row in asked(
                case["correct"] == "1",
                case["filename"],
                (case["caption"], case["negative_caption"]),
                f"{case['type']}_{case['subtype']}",
            )
        )
    )


def published_bivlc(shared_data: Path, model: str) -> Results:
    """Returns a model's published answers to BiVLC, whose file names no image: a set a case."""
    match, found = np.eye(2, dtype=bool), list[OutcomeRow]()
    for i, row in enumerate(golden(shared_data, f"BiVLC_{model}.csv.gz")):
        images = tuple(ImageRef("bivlc", f"{i}_{side}") for side in (0, 1))
        subset = f"{row['type']}_{row['subtype']}"
        case = Case(images, (f"{i}", f"not {i}"), match, "group", subset, str(i))
        answers = case.judge(np.zeros((2, 2), np.float32))
        found += (
            replace(made, right=row[f"{made.metric}_score"] == "True", tie=False)
            for made in outcome_rows(BenchmarkRun("bivlc"), case, answers, frozenset())
        )
    return results(outcome_table(found))
