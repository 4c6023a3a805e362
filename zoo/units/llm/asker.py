"""Asker: repeats a question until it is answered or has failed three times."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import uniform

from zoo.errors import ZooError
from zoo.units.llm.answers import parse_answer
from zoo.units.llm.backend import Backend, BackendBusy, QuestionFailed
from zoo.units.llm.journal import Journal, JournalEntry
from zoo.units.llm.progress import Tally
from zoo.units.llm.stages import Stage, StagePrompts

ATTEMPTS = 3
MAX_CONSECUTIVE_FAILURES = (
    20  # so many failures of a stage without an answer indicate a wrong setup
)
LONGEST_WAIT = 3600.0
_LOG = logging.getLogger(__name__)
_PAUSES = (1.0, 4.0)  # before the second and the third attempt, in seconds
_FIRST_PAUSE, _LAST_PAUSE = 0.2, 5.0  # seconds to wait for a busy back end
_ADVICE = {
    "malformed": "let it constrain answers to a JSON schema, with thinking turned off",
    "other_form": "let it constrain answers to a JSON schema, with thinking turned off",
    "cut_short": "raise max_tokens",
    "refused": "allow such requests on the server, or use another",
    "timeout": "raise timeout, or lower concurrency",
    "unreadable_reply": "give the base URL of an OpenAI-compatible server, including the version",
}


@dataclass(frozen=True)
class PromptQuestion:
    """One question to the model.

    Args:
        stage: The stage of the question.
        unit: The unit that the question is about; empty if it is about the caption.
        caption_key: The key of the caption.
        fields: The values of the prompt's placeholders.
        seed: The sampling seed.
    """

    stage: Stage
    unit: str
    caption_key: str
    fields: Mapping[str, str]
    seed: int


class Asker:
    """Asks a back end, and records the outcome of each question.

    An attempt fails with `QuestionFailed`; the third failure is recorded as the question's error.
    While the back end is `BackendBusy`, all questions wait. Failures of a stage are recorded only
    after an answer of that stage, which shows that the setup works.

    Args:
        backend: The server or engine.
        prompts: The prompts of all stages.
        journal: Stores answers and errors.
        tally: Counts requests and tokens.
        patience: The number of seconds for which the back end may accept no questions.
    """

    def __init__(
        self,
        backend: Backend,
        prompts: StagePrompts,
        journal: Journal,
        tally: Tally,
        patience: float,
    ) -> None:
        self._backend, self._prompts = backend, prompts
        self._journal, self._tally = journal, tally
        self._patience = patience
        self._until = 0.0  # when the back end accepts questions again
        self._pause = _FIRST_PAUSE
        self._last_reply_time = time.monotonic()
        self._unrecorded_failures: dict[str, list[tuple[str, JournalEntry]]] = {}

    async def ask(self, question: PromptQuestion) -> JournalEntry:
        """Asks a question, and returns its outcome, which is recorded.

        Args:
            question: The question.

        Raises:
            ZooError: The back end answers no questions; the message gives the reason.
        """
        stage, messages = question.stage, self._prompts.messages(question.stage, question.fields)
        entry, reseeded = JournalEntry(stage.name, question.unit), 0
        while True:
            await asyncio.sleep(max(0.0, self._until - time.monotonic()))
            try:
                reply = await self._backend.ask(stage, messages, question.seed + reseeded)
                self._note_reply()
                self._tally.count_reply(reply)
                entry = replace(
                    entry,
                    tokens_in=entry.tokens_in + reply.tokens_in,
                    tokens_out=entry.tokens_out + reply.tokens_out,
                )
                answer, had_control_characters = parse_answer(reply, stage)
            except BackendBusy as busy:
                self._schedule_pause(busy)
            except QuestionFailed as failed:
                self._note_reply()
                self._tally.faults[failed.reason] += 1
                entry = replace(entry, faults=(*entry.faults, failed.reason))
                if not failed.may_retry or len(entry.faults) == ATTEMPTS:
                    return self._add_failure(question, replace(entry, error=str(failed)))
                reseeded += failed.needs_new_seed
                if not failed.needs_new_seed:
                    await asyncio.sleep(_PAUSES[len(entry.faults) - 1] * uniform(0.75, 1.25))
            else:
                entry = replace(entry, answer=answer, cleaned=had_control_characters)
                self._tally.answers += 1
                self._journal.append(question.caption_key, entry)
                self._record_failures(stage.name)
                return entry

    def record_remaining_failures(self) -> None:
        """Records the remaining failures at the end of a run.

        Raises:
            ZooError: A stage has failures, and the journal has no answers.
        """
        for stage, failures in list(self._unrecorded_failures.items()):
            if failures and not self._tally.answers and not len(self._journal):
                raise self._no_answers_error(failures)
            self._record_failures(stage)

    def _add_failure(self, question: PromptQuestion, entry: JournalEntry) -> JournalEntry:
        failures = self._unrecorded_failures.setdefault(entry.stage, [])
        failures.append((question.caption_key, entry))
        if len(failures) >= MAX_CONSECUTIVE_FAILURES:
            raise self._no_answers_error(failures)
        return entry

    def _record_failures(self, stage: str) -> None:
        for caption, entry in self._unrecorded_failures.pop(stage, ()):
            self._journal.append(caption, entry)

    def _no_answers_error(self, failures: list[tuple[str, JournalEntry]]) -> ZooError:
        entry = failures[-1][1]
        advice = _ADVICE.get(entry.faults[-1], "see its log")
        return ZooError(
            f"{self._backend.place} answered none of {len(failures):,} questions in a row for "
            f"{entry.stage.replace('_', ' ')} ({entry.error}): {advice}, and run the same "
            "command again"
        )

    def _note_reply(self) -> None:
        self._last_reply_time = time.monotonic()
        self._pause = _FIRST_PAUSE

    def _schedule_pause(self, busy: BackendBusy) -> None:
        """Makes all questions wait.

        Raises:
            ZooError: The back end has been busy for too long, or requests too long a pause.
        """
        now = time.monotonic()
        self._tally.waits[busy.reason] += 1
        if busy.wait_seconds is None:
            wait, too_long = self._pause, now - self._last_reply_time > self._patience
            duration = f"for {now - self._last_reply_time:,.0f} s"
        else:
            wait, too_long = busy.wait_seconds, busy.wait_seconds > LONGEST_WAIT
            duration = f"for the next {wait:,.0f} s"
            self._last_reply_time = max(self._last_reply_time, now + wait)
        if too_long:
            raise ZooError(
                f"{self._backend.place} accepts no questions {duration} ({busy}): start it, "
                "use another, or raise patience, and run the same command again"
            )
        if now >= self._until:  # the first question of this pause
            if self._pause == _FIRST_PAUSE or busy.wait_seconds:
                _LOG.info("%s accepts no questions (%s): waiting", self._backend.place, busy)
            self._pause = min(2 * self._pause, _LAST_PAUSE)
        self._until = max(self._until, now + wait)
