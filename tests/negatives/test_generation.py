"""Negatives of many captions, as Ray's workers make them, without Ray."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.fake_ray import stand_in
from tests.support.mistakes import said
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.aro import AROShuffle
from zoo.negatives.generation import make_negatives_on_ray
from zoo.negatives.replay import Replay
from zoo.support.ray_jobs import Ray

GENERATORS = {
    "a generator with a tagger": ["--generator", "AROShuffle", "--tagger", "TextBlobTagger"],
    "foils of units": ["--generator", "EntityFoilInPlace", "--units", "units.jsonl"],
}


@pytest.fixture(autouse=True)
def worked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Puts a stand-in in the place of Ray; returns the parts that it was handed."""
    return stand_in(monkeypatch)


@pytest.mark.parametrize("name", GENERATORS)
def test_workers_write_the_file_of_one_process(
    name: str,
    worked: list[dict[str, object]],
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(made_root)
    command = ["negatives", "export", "captions.tsv", *GENERATORS[name], "--seed", "3", "--out"]
    alone, by_ray = tmp_path / "alone.jsonl", tmp_path / "ray.jsonl"
    assert said([*command, str(alone)]).status == 0
    assert worked == []
    workers = ["--ray.workers", "2", "--ray.captions", "5"]
    assert "12 captions" in said([*command, str(by_ray), *workers]).out
    assert len(worked) == 3
    assert by_ray.read_bytes() == alone.read_bytes()
    assert any(json.loads(line)["negative"] for line in alone.read_text().splitlines())


def test_what_a_worker_cannot_do_is_one_sentence(made_root: Path, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"caption": "a dog", "negative": "a cat"}\n')
    replay = Replay(tmp_path / "some.jsonl")
    with pytest.raises(ZooError, match=r"has no line for 1 of 1 captions \('a cow'\)"):
        list(
            make_negatives_on_ray(
                Ray(workers=1), replay, [("a dog", "0", "0"), ("a cow", "1", "1")]
            )
        )


def test_a_worker_of_other_packages_is_refused() -> None:
    class Elsewhere(AROShuffle):
        def describe(self) -> dict[str, str]:
            return super().describe() | {"tagger": "another"}

    Elsewhere.__module__, Elsewhere.__qualname__ = "zoo.negatives", "AROShuffle"
    elsewhere = Elsewhere(tagger=TextBlobTagger())
    with pytest.raises(ZooError, match=r"a Ray worker has .*textblob.* install the same"):
        list(make_negatives_on_ray(Ray(workers=1), elsewhere, [("a red dog", "0", "0")]))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.data", None)
    aro = AROShuffle(tagger=TextBlobTagger())
    with pytest.raises(ZooError, match=r"ray.data is not installed: pip install 'clip-zoo\[ray\]'"):
        list(make_negatives_on_ray(Ray(workers=1), aro, [("a red dog", "0", "0")]))
