"""Every published benchmark against its official rule, on small files that need no download."""

from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zoo
from tests.benchmarks import one_image, several_images
from tests.benchmarks.one_image import aro
from tests.support.samples import Sample, by_pixels, counted, tied_scores
from zoo.benchmarks import ARO
from zoo.benchmarks.catalog import benchmark_names
from zoo.benchmarks.roots import read_benchmark

SAMPLES = (*one_image.SAMPLES, *several_images.SAMPLES)
# what has no script of others, or whose rules have tests of their own, in files under tests/
TESTED_BY = {
    "cc_neg": "benchmarks/test_cc_neg.py",
    "countercurate": "benchmarks/test_countercurate.py",
    "elevater": "benchmarks/zero_shot/test_ranked_images.py",
    "half_truth": "benchmarks/test_half_truth_rules.py",
    "image_half_truth": "scenes/world/test_image_edits.py",
    "long_retrieval": "benchmarks/test_long_retrieval.py",
    "pairs": "benchmarks/test_pairs.py",
    "pug_spare": "benchmarks/test_bindings.py",
    "scene_grid": "scenes/test_grid.py",
    "scene_pairs": "scenes/test_pairs.py",
    "scene_swaps": "scenes/test_sources.py",
    "world_bindings": "scenes/world/test_bindings.py",
    "world_pairs": "scenes/world/test_collection.py",
    "zero_shot": "benchmarks/zero_shot/test_classify.py",
    "zero_shot_folder": "benchmarks/zero_shot/test_classify.py",
}
each = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


def test_every_benchmark_has_a_sample_or_a_test_of_its_own() -> None:
    tests = Path(__file__).parents[1]
    assert all((tests / file).is_file() for file in TESTED_BY.values())
    assert {s.benchmark.name for s in SAMPLES}.isdisjoint(TESTED_BY)
    assert {s.benchmark.name for s in SAMPLES} | set(TESTED_BY) == set(benchmark_names())


@each
def test_no_answer_differs_from_the_official_rule_on_scores_with_ties(
    sample: Sample, tmp_path: Path
) -> None:
    sample.write(tmp_path)
    assert sample.rule is not None
    cases = [
        c for c in read_benchmark(sample.benchmark, [tmp_path]).cases if c.subset == sample.subset
    ]
    for case, expected in zip(cases, sample.expected, strict=True):
        assert (case.id, case.texts, case.match.tolist()) == (
            *(expected.id, expected.texts),
            expected.match,
        )
        assert case.protocol == sample.protocol or not sample.protocol
        for image, end in zip(case.images, expected.images, strict=True):
            assert str(image).endswith(end)
            assert str(tmp_path) not in str(image)
        ties = 0
        for scores in tied_scores(case.match.shape):
            answers = counted(case, scores)
            official = sample.rule(scores)
            for metric, expected_answers in official.items():
                assert answers[metric] == pytest.approx(expected_answers)
            ties += len(np.unique(scores)) < scores.size
        assert ties > 20


@pytest.mark.parametrize(
    ("subset", "file", "sizes", "averaged"),
    [
        # a symmetric relation is left out
        (
            "VG-Relation",
            "visual_genome_relation.json",
            {"on": 7, "next to": 5, "to the left of": 12},
            ["on", "to the left of"],
        ),
        # and pairs of attributes with fewer than 25 cases
        (
            "VG-Attribution",
            "visual_genome_attribution.json",
            {"white_tall": 25, "red_small": 24, "black_big": 31},
            ["white_tall", "black_big"],
        ),
    ],
)
def test_macro_averages_of_aro_are_over_the_groups_of_the_authors_notebook(
    subset: str, file: str, sizes: dict[str, int], averaged: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "visual_genome/images"
    folder.mkdir(parents=True)
    for number in range(9):
        Image.new("RGB", (8, 8), (25 * number, 60, 90)).save(folder / f"{number}.jpg")
    numbers = cycle(range(9))
    entries: list[dict[str, Any]] = []
    for group, n in sizes.items():
        field = (
            {"relation_name": group}
            if subset == "VG-Relation"
            else {"attributes": group.split("_")}
        )
        entries += [aro(number, **field) for number in islice(numbers, n)]
    asked = ARO(subsets=[subset])
    Sample(asked, f"aro/{file}", tuple(entries), subset).write(tmp_path)

    right: dict[str, list[bool]] = {}
    for group, entry in zip((g for g, n in sizes.items() for _ in range(n)), entries, strict=True):
        with Image.open(folder / entry["image_path"]) as image:
            box = image.crop((1, 2, 1 + 5, 2 + 4))
        options = by_pixels([box], [entry["false_caption"], entry["true_caption"]])
        right.setdefault(group, []).append(int(np.argmax(options[0])) == 1)
    assert len({np.mean(answers) for answers in right.values()}) > 1
    results = zoo.evaluate(by_pixels, asked, tmp_path)
    macro = 100 * np.mean([np.mean(right[group]) for group in averaged])
    assert results.value("aro", subset, "macro") == pytest.approx(macro)
