"""Which cases are asked where images are missing, as the official scripts choose them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.benchmarks.several_images import svo, svo_official
from tests.support.samples import Sample, value
from zoo.benchmarks import SVOProbes, VLCheckList
from zoo.benchmarks.base import Benchmark
from zoo.cli.doctor import examine_benchmark
from zoo.results.metrics import MacroAverage, Rules
from zoo.results.plan import Plan, make_plan
from zoo.sources.images import ImageFinder

CORPUS = "Relation/spatial/vg"


def save_images(folder: Path, *numbers: int) -> None:
    folder.mkdir(parents=True)
    for number in numbers:
        Image.new("RGB", (4, 4)).save(folder / f"{number}.jpg")


def plan_of(benchmark: Benchmark, root: Path) -> Plan:
    return make_plan([benchmark], [root], ImageFinder([root]))


@pytest.mark.parametrize(
    ("numbers", "unscored", "note"),
    [
        ((0, 1, 2, 3, 4, 5), [], "the first 3 of 6, as published"),
        ((1, 3, 4, 5), [], "the first 3 of 6, as published; 2 without an image were skipped"),
        ((1, 5), ["0"], "the first 3 of 6, as published; 3 without an image were skipped"),
    ],
)
def test_vl_checklist_asks_of_the_first_rows_whose_images_are_found(
    numbers: tuple[int, ...], unscored: list[str], note: str, tmp_path: Path
) -> None:
    rows = tuple([f"VG_100K/{i}.jpg", {"POS": [f"on {i}"], "NEG": ["off"]}] for i in range(6))
    asked = VLCheckList(rows=3, subsets=[CORPUS])
    Sample(asked, "vl_checklist/Relation/vg/spatial.json", rows, CORPUS).write(tmp_path)
    save_images(tmp_path / "visual_genome/images", *numbers)
    # the authors' loader: the rows whose image exists, then the first of these
    official = [str(i) for i in range(6) if i in numbers][:3]
    plan = plan_of(asked, tmp_path)
    assert [question.case.id for question in plan.cases] == official
    assert [case.id for _, case in plan.unscorable_cases] == unscored
    (contents,) = plan.contents.values()
    assert contents.notes[f"{CORPUS} rows"] == note


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_svo_probes_are_those_of_rows_with_both_images(seed: int, tmp_path: Path) -> None:
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, 30, (60, 2))
    entries = tuple(
        svo(f"sentence {i % 5}", int(right), 30 + int(wrong), "verb")
        for i, (right, wrong) in enumerate(numbers)
    )
    there = set(generator.permutation(60)[:40].tolist())
    asked = SVOProbes(subsets=["verb pairs"])
    Sample(asked, "svo_probes/svo_probes.csv", entries, "verb pairs").write(tmp_path)
    save_images(tmp_path / "svo_probes/images", *there)

    scores: dict[tuple[str, str], float] = {}
    pairs = []
    for row in entries:
        right, wrong = row["pos_image_id"], row["neg_image_id"]
        if int(right) in there and int(wrong) in there:  # the authors drop any other row
            for image, matches in ((right, True), (wrong, False)):
                score = scores.setdefault((row["sentence"], image), float(generator.integers(6)))
                pairs.append((row["sentence"], image, matches, score))

    plan = plan_of(asked, tmp_path)
    (finding,) = examine_benchmark(asked, [tmp_path], ImageFinder([tmp_path]))
    assert len(plan.cases) == finding.scorable == len(set(pairs))
    assert len(plan.cases) + len(plan.unscorable_cases) == finding.case_count
    scored = [
        (
            question.case,
            np.array(
                [[scores[question.case.texts[0], Path(question.case.images[0].key).stem]]],
                np.float32,
            ),
        )
        for question in plan.cases
    ]
    rules = Rules(True, False, {("benchmark", "verb pairs"): MacroAverage()})
    assert value(scored, rules)["macro"] == pytest.approx(100 * svo_official(pairs))
