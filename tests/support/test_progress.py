"""Progress: lines in a log, a bar on a terminal, and nothing where another process shows it."""

import logging

import pytest
from rich.console import Console

from zoo.support import progress
from zoo.support.progress import show_progress, track


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of a clock that goes on as far as a test says."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, "zoo")
    return caplog


def test_without_a_terminal_a_line_is_logged_each_half_minute(
    clock: list[float], heard: pytest.LogCaptureFixture
) -> None:
    with show_progress("compiling captions", 3_000_000) as done:
        for seconds in (10, 25, 31, 40, 62, 92):
            clock[0] = 100.0 + seconds
            done(250_000)
    assert heard.messages == [
        "compiling captions: 750,000 of 3,000,000 after 0:00:31, 0:01:33 left",
        "compiling captions: 1,250,000 of 3,000,000 after 0:01:02, 0:01:27 left",
        "compiling captions: 1,500,000 of 3,000,000 after 0:01:32, 0:01:32 left",
    ]


def test_items_whose_number_is_not_known_are_counted_as_they_are_taken(
    clock: list[float], heard: pytest.LogCaptureFixture
) -> None:
    taken = []
    for item in track(iter("abc"), "reading"):
        taken.append(item)
        clock[0] += 20
    assert taken == ["a", "b", "c"]
    assert heard.messages == ["reading: 2 after 0:00:40"]


def test_a_process_that_shows_nothing_logs_nothing(
    clock: list[float], heard: pytest.LogCaptureFixture
) -> None:
    with show_progress("reading", 2, shown=False) as done:
        clock[0] += 60
        done(1)
    assert list(track([1, 2], "reading", shown=False)) == [1, 2]
    assert heard.messages == []


def test_on_a_terminal_a_bar_is_drawn_on_the_standard_error_and_taken_away(
    clock: list[float],
    heard: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(
        progress, "Console", lambda stderr: Console(stderr=stderr, force_terminal=True, width=80)
    )
    assert list(track([1, 2, 3], "reading", 3)) == [1, 2, 3]
    out, err = capsys.readouterr()
    assert out == ""
    assert "reading" in err
    assert "3/3" in err
    assert heard.messages == []
