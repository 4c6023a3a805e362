"""Tally: how far a run has come, how fast it is, and when it will have ended."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from zoo.units.llm.backend import Reply

_LOG = logging.getLogger(__name__)
_EVERY = 60.0  # seconds between two words on progress


class Tally:
    """Counts of one run.

    Args:
        captions: How many captions there are.
        pending: For how many of them something is to be asked.
        probe: After how many of these the end is estimated.
        progress: Is told how many more captions are done.

    Attributes:
        done: How many captions have been asked about in this run.
        replies: How many replies came.
        answers: How many of them are kept as answers.
        tokens_in: How many tokens were sent.
        tokens_out: How many tokens came back.
        faults: How many attempts failed, by reason.
        waits: How often the back end took no questions, by reason.
    """

    def __init__(
        self,
        captions: int,
        pending: int,
        probe: int,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.captions, self.pending = captions, pending
        self.done = self.replies = self.answers = self.tokens_in = self.tokens_out = 0
        self.faults: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._probe = min(probe, pending)
        self._progress = progress or (lambda done: None)
        self._start = self._told = time.monotonic()

    def begin(self, place: str) -> None:
        """Says what will be done, before anything is asked."""
        kept = self.captions - self.pending
        if kept:
            self._progress(kept)
        _LOG.info(
            "%s: %s captions, %s of them answered before; %s are asked about, five or so questions "
            "each, and hours are estimated after the first %s",
            *(place, f"{self.captions:,}", f"{kept:,}", f"{self.pending:,}", f"{self._probe:,}"),
        )

    def reply(self, reply: Reply) -> None:
        """Counts a reply and its tokens, whether or not it can be used."""
        self.replies += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out

    def caption(self) -> None:
        """Counts a caption that is done, and says now and then how far the run has come."""
        self.done += 1
        self._progress(1)
        now = time.monotonic()
        if self.done == self._probe or now - self._told > _EVERY:
            self._told = now
            _LOG.info("%s", self.state())

    def state(self) -> str:
        """Returns captions, speed, tokens and what is left, in a line."""
        speed = self.done / self.seconds
        left = (self.pending - self.done) / speed if speed else 0.0
        return (
            f"{self.done:,} of {self.pending:,} captions, {speed:,.1f} a second, {self._tokens()}, "
            f"about {hours(left)} left{_format_counts('; failed attempts', self.faults)}"
        )

    def summary(self) -> str:
        """Returns what the run did, in a line."""
        return (
            f"asked about {self.done:,} captions in {self.seconds:,.0f} s "
            f"({self.done / self.seconds:,.1f} a second): {self.answers:,} answers, "
            f"{self._tokens()}{_format_counts('; failed attempts', self.faults)}"
            f"{_format_counts('; waited', self.waits)}"
        )

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return max(time.monotonic() - self._start, 1e-3)

    def _tokens(self) -> str:
        speed = (self.tokens_in + self.tokens_out) / self.seconds
        return f"{self.tokens_in:,} tokens in and {self.tokens_out:,} out ({speed:,.0f} a second)"


def hours(seconds: float) -> str:
    """Returns a span of time as hours, or as minutes where it is less than one."""
    minutes = timedelta(seconds=seconds) / timedelta(minutes=1)
    return f"{minutes / 60:,.1f} h" if minutes >= 60 else f"{minutes:,.1f} min"


def _format_counts(name: str, counts: Counter[str]) -> str:
    told = ", ".join(f"{reason} {n:,}" for reason, n in counts.most_common())
    return f"{name}: {told}" if told else ""
