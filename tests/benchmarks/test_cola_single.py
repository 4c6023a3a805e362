"""COLA's single-object sets: average precision over hard images, as the authors' script has it."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from torchmetrics.functional import average_precision as torchmetrics_average_precision

from tests.benchmarks.official import counted
from zoo.benchmarks import AveragePrecision, COLASingle

TEXTS = ["square white plate", "round red ball", "tall tree", "small dog"]


def rows(n: int, seed: int) -> list[list[object]]:
    generator = np.random.default_rng(seed)
    made: list[list[object]] = []
    for i in range(n):
        right = generator.integers(0, 2, len(TEXTS))
        right[2] = 0  # no image shows it
        hard = generator.integers(0, 3, len(TEXTS)) > 0
        hard[3] &= not right[3]  # shown by images that are not hard alone
        made.append(
            [f"{100 + i}.jpg", {"dog": ["small"]}, right.tolist(), hard.astype(int).tolist()]
        )
    return made


def write(root: Path, content: object) -> COLASingle:
    (root / "cola").mkdir(exist_ok=True)
    path = root / "cola/COLA_singleobjects_benchmark_GQA.json"
    path.write_text(json.dumps(content))
    return COLASingle(subsets=["gqa"])


def precision_of(scores: list[float], right: list[int]) -> float:
    """The mean over right images of the share of right ones among those not below them."""
    found = []
    for i, hit in enumerate(right):
        if hit:
            above = [k for k, score in enumerate(scores) if score >= scores[i]]
            found.append(sum(right[k] for k in above) / len(above))
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_text_is_graded_by_its_average_precision_over_its_hard_images(
    seed: int, tmp_path: Path
) -> None:
    data = rows(30, seed)
    contents = write(tmp_path, {"labels": TEXTS, "data": data}).read(tmp_path)
    assert [case.id for case in contents.cases] == ["0", "1"]
    assert contents.notes == {"gqa omitted": "2 texts that match no hard image"}
    generator = np.random.default_rng(seed)
    for case in contents.cases:
        j = int(case.id)
        some = [row for row in data if row[3][j] == 1]  # type: ignore[index]
        assert [image.key for image in case.images] == [row[0][:-4] for row in some]  # type: ignore[index]
        for _ in range(100):
            scores = generator.integers(0, 4, (len(some), 1)).astype(np.float32)
            right = [row[2][j] for row in some]  # type: ignore[index]
            value = counted(case, scores)["ap"]
            assert value == pytest.approx(precision_of(scores[:, 0].tolist(), right), abs=1e-12)
            theirs = torchmetrics_average_precision(
                torch.from_numpy(scores[:, 0]), torch.tensor(right), task="binary"
            )
            assert value == pytest.approx(theirs.item(), abs=1e-6)


@pytest.mark.parametrize(("n", "n_right"), [(1, 1), (2, 1), (5, 2), (6, 3), (4, 4)])
def test_chance_is_the_mean_precision_over_all_orders_of_the_images(n: int, n_right: int) -> None:
    scores = [float(-k) for k in range(n)]
    places = combinations(range(n), n_right)
    values = [precision_of(scores, [int(k in right) for k in range(n)]) for right in places]
    chance = AveragePrecision().chance("ap", np.array([n]), np.array([n_right]))
    assert chance == pytest.approx([sum(values) / len(values)], abs=1e-12)


def test_the_list_of_the_script_and_rows_without_a_description_are_read_alike(
    tmp_path: Path,
) -> None:
    data = rows(5, 0)
    as_object = write(tmp_path, {"labels": TEXTS, "data": data}).read(tmp_path).cases
    bare = [[row[0], row[2], row[3]] for row in data]
    as_list = write(tmp_path, [TEXTS, bare]).read(tmp_path).cases
    assert [(case.images, case.texts, case.id) for case in as_object] == [
        (case.images, case.texts, case.id) for case in as_list
    ]
