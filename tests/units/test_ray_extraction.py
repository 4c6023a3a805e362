"""Units by processes of Ray: real ones, two, on this machine.

An environment of its own has Ray: `make test-ray` makes it and runs this file.
"""

import itertools
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_model import FakeServer
from zoo.cli.units import main
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.support.ray_jobs import Ray
from zoo.units.extraction import total_stored_counts, write_extracted_units
from zoo.units.extractor import CaptionRow
from zoo.units.llm.backend import Backend, Reply
from zoo.units.llm.openai_compatible import OpenAICompatible
from zoo.units.ray_extraction import JOURNALS, extract_on_ray
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord
from zoo.units.rules.rule import RuleExtractor
from zoo.units.sampler import UnitSampler

pytest.importorskip("ray.data", reason="Ray is not installed: `make test-ray` brings it")

SAID = {
    "brown": "A brown dog {} and two balls next to the house",
    "black": "A horse and a kite and a black ladder near the piano {}",  # of which foils are made
}
CAPTIONS: list[CaptionRow] = [
    (said.format(i), f"{i}#{colour}", str(i)) for i in range(100) for colour, said in SAID.items()
]


def killed_once(mark: Path) -> None:
    """Ends this process at once, unless one was ended so before."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(RuleExtractor):
    """Units by rule, in a process that is killed at one caption, once.

    Args:
        at: The caption's id.
        mark: A file that is made when it is killed.
    """

    def __init__(self, at: str, mark: str) -> None:
        super().__init__(tagger=TextBlobTagger())
        self.at, self.mark = at, mark

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        if caption_id == self.at:
            killed_once(Path(self.mark))
        return super().extract(caption, caption_id, image_id)


class Unable(RuleExtractor):
    """Units by rule, as long as a file is not there.

    Args:
        at: The id of the caption at which the file is looked for.
        mark: The file.
    """

    def __init__(self, at: str, mark: str) -> None:
        super().__init__(tagger=TextBlobTagger())
        self.at, self.mark = at, mark

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        if caption_id == self.at and Path(self.mark).exists():
            raise ZooError("the model is gone: start it again")
        return super().extract(caption, caption_id, image_id)


class MortalAsking(OpenAICompatible):
    """Units by a server, in a process that is killed at its hundredth question, once.

    Args:
        mark: A file that is made when it is killed.
        **shared: Those of any such extractor.
    """

    def __init__(self, mark: str, **shared: Any) -> None:
        super().__init__(**shared)
        self.mark = mark

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Backend]:
        Path(self.mark).with_name(f"connected {os.getpid()}").touch(exist_ok=False)
        async with super().connect() as server:
            asked = itertools.count()

            class Counting:
                place = server.place

                async def ask(self, *question: Any) -> Reply:
                    if next(asked) == 100:
                        killed_once(Path(mark))
                    return await server.ask(*question)

            mark = self.mark
            yield Counting()


def by_id(records: dict[str, UnitRecord]) -> dict[str, UnitRecord]:
    return dict(sorted(records.items()))


def rows(folder: Path) -> int:
    """How many records the parts hold, each counted."""
    return sum(len(read_units(part)) for part in folder.glob("*.parquet"))


def test_two_workers_one_killed_in_mid_work_give_the_records_of_one_process(tmp_path: Path) -> None:
    rules, mark = RuleExtractor(tagger=TextBlobTagger()), tmp_path / "killed"
    alone = write_extracted_units(rules, CAPTIONS, tmp_path / "units.jsonl")
    done: list[int] = []
    mortal = Mortal("55#black", str(mark))
    found = extract_on_ray(
        Ray(workers=2, captions=30), mortal, CAPTIONS, tmp_path / "parts", progress=done.append
    )
    assert mark.exists()
    assert by_id(read_units(tmp_path / "parts")) == by_id(read_units(tmp_path / "units.jsonl"))
    assert len(list((tmp_path / "parts").iterdir())) == 7
    assert rows(tmp_path / "parts") == len(CAPTIONS) == sum(done)
    assert found == alone == total_stored_counts(tmp_path / "parts")
    assert UnitSampler(str(tmp_path / "parts")).describe()["captions"] == len(CAPTIONS)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer().running() as server:
        yield server


def test_what_a_language_model_said_to_a_worker_that_was_killed_is_not_asked_again(
    tmp_path: Path, server: FakeServer
) -> None:
    asked = {"model": "fake", "base_url": server.url, "concurrency": 8}
    alone = write_extracted_units(OpenAICompatible(**asked), CAPTIONS, tmp_path / "units.jsonl")
    questions = server.answered.copy()
    server.answered.clear()
    mortal = MortalAsking(str(tmp_path / "killed"), **asked)
    found = extract_on_ray(Ray(workers=2, captions=50), mortal, CAPTIONS, tmp_path / "parts")
    assert (tmp_path / "killed").exists()
    assert by_id(read_units(tmp_path / "parts")) == by_id(read_units(tmp_path / "units.jsonl"))
    assert rows(tmp_path / "parts") == len(CAPTIONS)
    assert found == alone
    assert found.dropped["true_of_the_image"]  # so that captions of one image were together
    assert server.answered.keys() == questions.keys()
    assert (server.answered - questions).total() <= asked["concurrency"]
    # two workers and one in place of the killed one, each for parts that are more
    assert len(list(tmp_path.glob("connected *"))) == 3
    assert len(list((tmp_path / "parts" / JOURNALS).iterdir())) == 4


def test_a_run_that_ended_goes_on_at_the_parts_that_it_has_not(tmp_path: Path) -> None:
    mark, out = tmp_path / "gone", tmp_path / "parts"
    unable, ray = Unable("99#brown", str(mark)), Ray(workers=1, captions=80)
    mark.touch()
    with pytest.raises(ZooError, match=r"^the model is gone: start it again$"):
        extract_on_ray(ray, unable, CAPTIONS, out)
    mark.unlink()
    before = {part: part.stat().st_mtime_ns for part in out.glob("*.parquet")}
    assert {part.name for part in before} == {"part-00000.parquet", "part-00001.parquet"}
    done: list[int] = []
    found = extract_on_ray(ray, unable, CAPTIONS, out, progress=done.append)
    assert done == [160, 40]
    assert found.captions == rows(out) == len(CAPTIONS)
    assert before.items() <= {p: p.stat().st_mtime_ns for p in out.glob("*.parquet")}.items()


def test_workers_that_this_machine_has_no_room_for_are_refused_in_a_sentence(
    tmp_path: Path,
) -> None:
    rules = RuleExtractor(tagger=TextBlobTagger())
    with pytest.raises(ZooError, match=r"need 2000 GPUs, but this machine has \d+: use fewer"):
        extract_on_ray(Ray(workers=2, gpus=1000), rules, CAPTIONS, tmp_path / "parts")
    with pytest.raises(ZooError, match=r"Ray cannot be started .*nowhere.*--ray.init"):
        extract_on_ray(Ray(workers=1, init={"nowhere": 1}), rules, CAPTIONS, tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


@pytest.mark.slow
def test_flickr8k_by_rule_is_the_same_by_two_workers(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions = shared_data / "flickr8k" / "Flickr8k.token.txt"
    asked = ["extract", str(captions), "--tagger", "TextBlobTagger", "--out"]
    main([*asked, str(tmp_path / "units.jsonl")])
    alone = capsys.readouterr().out
    main([*asked, str(tmp_path / "parts"), "--ray.workers", "2"])
    assert capsys.readouterr().out.splitlines()[:-1] == alone.splitlines()[:-1]
    assert list(read_units(tmp_path / "parts").items()) == list(
        read_units(tmp_path / "units.jsonl").items()
    )
