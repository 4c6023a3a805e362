"""What benchmarks are called where several share a name."""

from pathlib import Path

import pytest

from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.pairs import Pairs
from zoo.benchmarks.retrieval import Retrieval
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.errors import ZooError
from zoo.results.plan import make_plan, run_names
from zoo.sources.images import ImageFinder
from zoo.sources.readers.plain_text import PlainText


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
    assert run_names(asked) == names


@pytest.mark.parametrize(
    "asked", [[SugarCrepe(), SugarCrepe()], [Pairs("a.csv"), Pairs("b.csv"), Pairs("a.csv")]]
)
def test_the_same_run_twice_is_an_error(asked: list) -> None:  # type: ignore[type-arg]
    with pytest.raises(ZooError, match="is asked for twice"):
        run_names(asked)


def test_two_runs_of_one_benchmark_are_planned_together(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    for name, caption in (("a", "one"), ("b", "two")):
        (tmp_path / f"{name}.csv").write_text(
            f"image,caption,foil\nx.png,{caption},no\n", encoding="utf-8"
        )
    plan = make_plan([Pairs("a.csv"), Pairs("b.csv")], [tmp_path], ImageFinder([tmp_path]))
    assert [(q.benchmark, q.case.texts[0]) for q in plan.questions] == [
        ("pairs:a.csv", "one"),
        ("pairs:b.csv", "two"),
    ]
    assert list(plan.contents) == list(plan.subsets) == ["pairs:a.csv", "pairs:b.csv"]
    assert len(plan.images) == 1
