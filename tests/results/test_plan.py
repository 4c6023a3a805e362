"""What benchmarks are called where several share a name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.made import make_root
from zoo.benchmarks import (
    Benchmark,
    Case,
    Contents,
    ImageToText,
    Protocol,
    Subset,
    VideoRecall,
)
from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.pairs import Pairs
from zoo.benchmarks.retrieval import Retrieval
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.errors import ZooError
from zoo.results.plan import make_plan
from zoo.results.runs import BenchmarkRun, runs_of
from zoo.sources.images import ImageFinder
from zoo.sources.readers.plain_text import PlainText
from zoo.sources.sample import ImageRef


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([SugarCrepe(), Pairs("a.csv"), ARO()], ["sugarcrepe", "pairs", "aro"]),
        (
            [Retrieval("flickr8k"), Retrieval("flickr30k")],
            ["retrieval:flickr8k", "retrieval:flickr30k"],
        ),
        ([Retrieval(), Retrieval("flickr8k")], ["retrieval", "retrieval:flickr8k"]),
        (
            [Pairs("a.csv"), SugarCrepe(), Pairs("b/a.csv")],
            ["pairs:a.csv", "sugarcrepe", "pairs:b/a.csv"],
        ),
        (
            [HalfTruth("u.jsonl"), HalfTruth("u.jsonl", preset="public_code")],
            ["half_truth:preset=checked", "half_truth:preset=public_code"],
        ),
        (
            [HalfTruth("u.jsonl"), HalfTruth("v.jsonl", seed=3)],
            ["half_truth:u.jsonl", "half_truth:v.jsonl,seed=3"],
        ),
        (
            [Retrieval("flickr8k"), Retrieval(PlainText("c.txt"))],
            ["retrieval:flickr8k", "retrieval:PlainText"],
        ),
    ],
)
def test_runs_of_one_benchmark_are_told_apart_by_what_they_were_asked_with(
    asked: list, names: list[str]
) -> None:  # type: ignore[type-arg]
    assert list(map(str, runs_of(asked))) == names


@pytest.mark.parametrize(
    "asked", [[SugarCrepe(), SugarCrepe()], [Pairs("a.csv"), Pairs("b.csv"), Pairs("a.csv")]]
)
def test_the_same_run_twice_is_an_error(asked: list) -> None:  # type: ignore[type-arg]
    with pytest.raises(ZooError, match="is given twice"):
        runs_of(asked)


def test_two_runs_of_one_benchmark_are_planned_together(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    for name, caption in (("a", "one"), ("b", "two")):
        (tmp_path / f"{name}.csv").write_text(
            f"image,caption,foil\nx.png,{caption},no\n", encoding="utf-8"
        )
    plan = make_plan([Pairs("a.csv"), Pairs("b.csv")], [tmp_path], ImageFinder([tmp_path]))
    assert [(q.run, q.case.texts[0]) for q in plan.cases] == [
        (BenchmarkRun("pairs", "a.csv"), "one"),
        (BenchmarkRun("pairs", "b.csv"), "two"),
    ]
    assert (
        list(plan.contents)
        == list(plan.subsets)
        == [
            ("pairs", "a.csv"),
            ("pairs", "b.csv"),
        ]
    )
    assert len(plan.images) == 1


class OneCase(Benchmark):
    """A benchmark of one case, as somebody outside might write it."""

    name = "theirs"

    def __init__(self, match: Any, protocol: Protocol | str, listed: bool = False) -> None:
        self.match = match if listed else np.array(match)
        self.protocol = protocol

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return (Subset("all", (), None, ""),)

    def read(self, root: Path) -> Contents:
        case = Case((ImageRef("file", "x.png"),), ("a", "b"), self.match, self.protocol, "all", "1")
        return Contents([case], [], [])


class GivesNothing(OneCase):
    def read(self, root: Path) -> Contents:
        return None  # type: ignore[return-value]


class Unreachable:
    class Inside(ImageToText):
        pass


@pytest.mark.parametrize(
    ("benchmark", "told"),
    [
        (
            OneCase([[True], [False]], "i2t"),
            "case 1 of theirs/all has 1 images and 2 texts, but match has shape \\(2, 1\\)",
        ),
        (OneCase([[True, False]], "i2t", listed=True), "a match that is not a boolean array"),
        (OneCase([[1, 0]], "i2t"), "a match that is not a boolean array"),
        (
            OneCase([[True, False]], "i2tt"),
            "case 1 of theirs/all: there is no protocol 'i2tt' \\(did you mean i2t\\?\\)",
        ),
        (OneCase([[True, False]], "json.JSONDecoder"), "is not a subclass of Protocol"),
        (OneCase([[True, False]], Unreachable.Inside()), "Unreachable, which cannot be"),
        (OneCase([[True, True]], "i2t"), "has an image without a right or without a"),
        (GivesNothing(None, "i2t"), "GivesNothing.read returned a NoneType: it must return Conten"),
    ],
)
def test_a_benchmark_that_breaks_its_contract_is_told_so_in_a_sentence(
    benchmark: Benchmark, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match=told) as caught:
        make_plan([benchmark], [tmp_path], ImageFinder([tmp_path]))
    assert "\n" not in str(caught.value)


class Distracted(Benchmark):
    """Two images, of which one is there, and a text that is of neither."""

    name = "distracted"
    subsets = (Subset("all", (), 2, "draw it"),)

    def read(self, root: Path) -> Contents:
        images = tuple(ImageRef("file", str(root / name)) for name in ("there.png", "absent.png"))
        match = np.array([[True, False, False], [False, True, False]])
        case = Case(images, ("one", "two", "none"), match, "retrieval", "all", "all")
        return Contents([case], [], [])


def test_a_text_of_no_image_stays_a_wrong_answer_where_images_are_missing(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "there.png")
    plan = make_plan([Distracted()], [tmp_path], ImageFinder([tmp_path]))
    [question] = plan.cases
    assert question.case.texts == ("one", "none")
    assert question.case.match.tolist() == [[True, False]]
    assert [case.texts for _, case in plan.unscorable_cases] == [("two",)]


def test_a_limit_keeps_the_first_cases_of_each_subset_and_the_first_images_of_a_gallery(
    tmp_path: Path,
) -> None:
    root = make_root(tmp_path)
    finder = ImageFinder([root])
    pairs = make_plan([Pairs("pairs.csv")], [root], finder, limit=5)
    assert [q.case.id for q in pairs.cases] == [
        q.case.id for q in make_plan([Pairs("pairs.csv")], [root], finder).cases[:5]
    ]
    assert len(pairs.excluded_cases) == 7
    gallery = make_plan([Retrieval(str(root / "captions.tsv"))], [root], finder, limit=4)
    (question,) = gallery.cases
    assert len(question.case.images) == len(question.case.texts) == 4
    assert question.case.match.tolist() == np.eye(4, dtype=bool).tolist()
    ((_, rest),) = gallery.excluded_cases
    assert len(rest.images) == 8


class TwoVideos(Benchmark):
    """A gallery of two videos of two frames, with a caption each."""

    name = "two_videos"
    subsets = (Subset("all", (), 1, "draw it"),)

    def read(self, root: Path) -> Contents:
        frames = tuple(ImageRef("file", str(root / f"{name}.png")) for name in "abcd")
        match = np.array([[True, False]] * 2 + [[False, True]] * 2)
        return Contents([Case(frames, ("one", "two"), match, VideoRecall(2), "all", "all")], [], [])


def test_a_limit_counts_whole_videos(tmp_path: Path) -> None:
    for name in "abcd":
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.png")
    plan = make_plan([TwoVideos()], [tmp_path], ImageFinder([tmp_path]), limit=1)
    (question,) = plan.cases
    assert [Path(str(image)).stem for image in question.case.images] == ["a", "b"]
    assert question.case.texts == ("one",)
    assert len(plan.excluded_cases) == 1
