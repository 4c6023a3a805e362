"""A run that is killed goes on where it was: its file is that of an undisturbed one."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.fake_model import FakeServer
from zoo.units.counts import counts_path

IN_FLIGHT = 64


def command(captions: Path, out: Path, server: FakeServer) -> list[str]:
    run = "import sys; from zoo.cli.commands import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["units", "extract", str(captions), "--out", str(out)]
    arguments += ["--extractor", "OpenAICompatible", "--extractor.base_url", server.url]
    arguments += ["--extractor.model", "fake", "--extractor.concurrency", str(IN_FLIGHT)]
    return [sys.executable, "-c", run, *arguments]


def kept(journal: Path) -> Counter[tuple[str, str, str]]:
    """How often the whole lines of a journal hold an answer to each question."""
    lines = journal.read_bytes().split(b"\n")[1:-1] if journal.exists() else []
    rows = [json.loads(line) for line in lines]
    return Counter((row["caption"], row["stage"], row["unit"]) for row in rows)


def kill_at(size: int, started: list[str], journal: Path) -> None:
    """Starts a run and kills it once the journal is of that size."""
    run = subprocess.Popen(started, stdout=subprocess.DEVNULL)
    while not (journal.exists() and journal.stat().st_size >= size):
        assert run.poll() is None, "the run has ended before it was killed"
        time.sleep(0.01)
    run.kill()
    run.wait()


def check_kills(captions: Path, folder: Path, kills: int) -> None:
    """Kills a run with faults so many times, and holds its file to that of one without either."""
    out = folder / "units.jsonl"
    journal = folder / "units.jsonl.journal"
    server = FakeServer(late=0.3)
    with server.running():
        whole = subprocess.run(
            command(captions, out, server), check=True, capture_output=True, text=True
        )
        undisturbed, length = out.read_bytes(), journal.stat().st_size
        assert set(server.answered.values()) == {1}
        questions = kept(journal)
        assert set(questions.values()) == {1}
        for file in (out, journal, counts_path(out)):
            file.unlink()
        server.answered.clear()
        server.share = 0.05
        lost = 0
        for kill in range(1, kills + 1):
            kill_at(length * kill // (kills + 1), command(captions, out, server), journal)
            assert not out.exists()
            time.sleep(1)  # until the server has finished what it was asked
            received = server.answered.total() - kept(journal).total() - lost
            assert received <= IN_FLIGHT, "answers were received and not kept"
            lost += received
        again = subprocess.run(
            command(captions, out, server), check=True, capture_output=True, text=True
        )
    assert out.read_bytes() == undisturbed
    assert again.stdout == whole.stdout
    assert kept(journal) == questions, "a question whose answer was kept was asked again"
    assert server.answered.total() == questions.total() + lost
    twice = sum(times > 1 for times in server.answered.values())
    assert twice <= lost
    print(
        f"{undisturbed.count(bytes([10])):,} captions, {questions.total():,} questions, faults "
        f"{dict(server.faults)}, {kills} kills; asked again although kept: 0; answered to a "
        f"process that was killed before it read the answer, and so again: {lost}"
    )


@pytest.mark.slow  # processes of their own
def test_a_run_that_is_killed_asks_nothing_twice_that_was_kept(tmp_path: Path) -> None:
    captions = tmp_path / "captions.token"
    with captions.open("w") as file:
        for i in range(20):
            file.write(f"{i}.jpg#0\tA brown dog and two balls near the house {i}\n")
            file.write(f"{i}.jpg#1\tA black dog and two children near the house {i}\n")
    check_kills(captions, tmp_path, kills=2)


@pytest.mark.slow
def test_flickr8k_killed_five_times_is_flickr8k_undisturbed(
    shared_data: Path, tmp_path: Path
) -> None:
    check_kills(shared_data / "flickr8k" / "Flickr8k.token.txt", tmp_path, kills=5)
