"""Winoground-T2I: published sentences, and images that somebody's generator made of them."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.support.samples import Answers, counted, value
from zoo.benchmarks import WinogroundT2I
from zoo.benchmarks.ceilings import load_or_compute_ceilings
from zoo.errors import ZooError
from zoo.results.metrics import Rules
from zoo.results.plan import make_plan
from zoo.sources.images import ImageFinder


def test_pairs_are_read_as_published_and_scored_where_images_were_made(
    shared_data: Path, tmp_path: Path
) -> None:
    file = shared_data / "benchmarks" / "winoground_t2i" / "dataset_first200.txt"
    folder = tmp_path / "winoground_t2i"
    (folder / "images").mkdir(parents=True)
    (folder / "dataset.txt").write_bytes(file.read_bytes())
    for name in ("0_61_326_0.png", "0_61_326_1.jpg", "0_272_349_0.png"):
        Image.new("RGB", (8, 8)).save(folder / "images" / name)
    plan = make_plan([WinogroundT2I()], [tmp_path], ImageFinder([tmp_path]))
    (question,) = plan.cases
    assert question.case.texts == ("The cat chases the mouse.", "The mouse chases the cat.")
    keys = [Path(image.key).name for image in question.case.images]
    assert keys == ["0_61_326_0.png", "0_61_326_1.jpg"]
    assert len(plan.unscorable_cases) == 199
    (contents,) = plan.contents.values()
    assert contents.notes["winoground_t2i cases"] == "200 in the file, 11,479 as published"
    lines = [line.split("\t")[1:] for line in file.read_text().splitlines()]
    bags = [[sorted(text.lower().rstrip(".").split()) for text in line] for line in lines]
    same = sum(first == second for first, second in bags)
    (found,) = load_or_compute_ceilings(contents.cases).values()
    assert found["image"].order_only == pytest.approx(100 * (200 - 0.75 * same) / 200)


def winoground(of: dict[tuple[str, str], float], line: str) -> Answers:
    """The three scores as Winoground's authors define them, written out, from the published line.

    Args:
        of: The score of each image, by its file's name without ending, and sentence.
        line: An id and two sentences.
    """
    name, first, second = line.split("\t")
    first_image, second_image = f"{name}_0", f"{name}_1"
    text = image = True
    for sentence, other, own, foreign in (
        (first, second, first_image, second_image),
        (second, first, second_image, first_image),
    ):
        if not of[own, sentence] > of[own, other]:
            text = False  # an image whose own sentence is not above the other
        if not of[own, sentence] > of[foreign, sentence]:
            image = False  # a sentence whose own image is not above the other
    return {"text": [text], "image": [image], "group": [text and image]}


def test_no_outcome_differs_from_winogrounds_rule_on_random_scores_with_ties(
    shared_data: Path, tmp_path: Path
) -> None:
    file = shared_data / "benchmarks" / "winoground_t2i" / "dataset_first200.txt"
    (tmp_path / "winoground_t2i").mkdir()
    (tmp_path / "winoground_t2i" / "dataset.txt").write_bytes(file.read_bytes())
    cases = WinogroundT2I().read(tmp_path).cases
    lines = file.read_text(encoding="utf-8").splitlines()
    generator, scored = np.random.default_rng(0), []
    right, ties = dict.fromkeys(("text", "image", "group"), 0), 0
    for case, line in zip(cases, lines, strict=True):
        for _ in range(5):
            drawn = generator.integers(0, 4, 4).tolist()
            stems = [Path(image.key).stem for image in case.images]
            pairs = [(stem, text) for stem in stems for text in line.split("\t")[1:]]
            of = dict(zip(pairs, map(float, drawn), strict=True))
            scores: NDArray[np.float32] = np.array(
                [[of[stem, text] for text in case.texts] for stem in stems], np.float32
            )
            asked = winoground(of, line)
            assert counted(case, scores) == asked, line
            scored.append((case, scores))
            ties += len(set(drawn)) < 4
            for metric, (answer,) in asked.items():
                right[metric] += answer
    assert ties > len(scored) / 2
    metrics = value(scored, Rules(True, False, {}))
    assert metrics == pytest.approx({m: 100 * n / len(scored) for m, n in right.items()})


@pytest.mark.parametrize("line", ["0_1\ta sentence", "0_1\ta\tb\tc", "0_1\ta\t "])
def test_a_line_that_is_no_pair_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "winoground_t2i").mkdir()
    (tmp_path / "winoground_t2i" / "dataset.txt").write_text(f"0_0\ta\tb\n\n{line}\n")
    with pytest.raises(ZooError, match=r"dataset\.txt:3 is not an id and two sentences between"):
        WinogroundT2I().read(tmp_path)
