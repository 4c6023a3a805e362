"""Tally: progress, speed and remaining time of a run."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from zoo.units.llm.backend import Reply

_LOG = logging.getLogger(__name__)
_LOG_INTERVAL = 60.0  # seconds between log lines on progress


class Tally:
    """Counts of one run.

    Args:
        captions: The number of captions.
        pending: The number of captions with open questions.
        captions_before_estimate: The number of pending captions after which the remaining time is
            estimated.
        progress: Called with the number of captions that have just been completed.

    Attributes:
        done: The number of captions completed in this run.
        replies: The number of replies.
        answers: The number of replies that are valid answers.
        tokens_in: The number of tokens sent.
        tokens_out: The number of tokens received.
        faults: The number of failed attempts by reason.
        waits: How often the back end accepted no questions, by reason.
    """

    def __init__(
        self,
        captions: int,
        pending: int,
        captions_before_estimate: int,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.captions, self.pending = captions, pending
        self.done = self.replies = self.answers = self.tokens_in = self.tokens_out = 0
        self.faults: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._probe = min(captions_before_estimate, pending)
        self._progress = progress or (lambda done: None)
        self._start = self._last_log_time = time.monotonic()

    def log_start(self, place: str) -> None:
        """Logs the size of the run before the first question."""
        n_answered = self.captions - self.pending
        if n_answered:
            self._progress(n_answered)
        _LOG.info(
            "%s: %s captions, %s of them answered before; %s to ask, with about five questions "
            "each; the time is estimated after the first %s",
            *(
                place,
                f"{self.captions:,}",
                f"{n_answered:,}",
                f"{self.pending:,}",
                f"{self._probe:,}",
            ),
        )

    def count_reply(self, reply: Reply) -> None:
        """Counts a reply and its tokens, valid or not."""
        self.replies += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out

    def count_caption(self) -> None:
        """Counts a completed caption, and logs the progress at intervals."""
        self.done += 1
        self._progress(1)
        now = time.monotonic()
        if self.done == self._probe or now - self._last_log_time > _LOG_INTERVAL:
            self._last_log_time = now
            _LOG.info("%s", self.format_progress())

    def format_progress(self) -> str:
        """Returns captions, speed, tokens and remaining time in one line."""
        speed = self.done / self.seconds
        seconds_left = (self.pending - self.done) / speed if speed else 0.0
        return (
            f"{self.done:,} of {self.pending:,} captions, {speed:,.1f} per second, "
            f"{self._format_tokens()}, about {format_duration(seconds_left)} left"
            f"{_format_counts('; failed attempts', self.faults)}"
        )

    def summary(self) -> str:
        """Returns a summary of the run in one line."""
        return (
            f"asked about {self.done:,} captions in {self.seconds:,.0f} s "
            f"({self.done / self.seconds:,.1f} per second): {self.answers:,} answers, "
            f"{self._format_tokens()}{_format_counts('; failed attempts', self.faults)}"
            f"{_format_counts('; waited', self.waits)}"
        )

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return max(time.monotonic() - self._start, 1e-3)

    def _format_tokens(self) -> str:
        speed = (self.tokens_in + self.tokens_out) / self.seconds
        return f"{self.tokens_in:,} tokens in and {self.tokens_out:,} out ({speed:,.0f} per second)"


def format_duration(seconds: float) -> str:
    """Formats a duration in hours, or in minutes if it is less than one hour."""
    minutes = timedelta(seconds=seconds) / timedelta(minutes=1)
    return f"{minutes / 60:,.1f} h" if minutes >= 60 else f"{minutes:,.1f} min"


def _format_counts(label: str, counts: Counter[str]) -> str:
    counts_text = ", ".join(f"{reason} {n:,}" for reason, n in counts.most_common())
    return f"{label}: {counts_text}" if counts_text else ""
