"""Asker: asks a question until it is answered or has failed three times."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import uniform

from zoo.errors import ZooError
from zoo.units.llm.answers import answer_of
from zoo.units.llm.backend import Backend, Busy, QuestionFailed
from zoo.units.llm.journal import Journal, JournalEntry
from zoo.units.llm.stages import Stage, StagePrompts
from zoo.units.llm.tally import Tally

ATTEMPTS = 3
IN_A_ROW = 20  # so many failures of one stage without an answer between them are no accident
LONGEST_WAIT = 3600.0
_LOG = logging.getLogger(__name__)
_PAUSES = (1.0, 4.0)  # before the second and the third attempt, in seconds
_FIRST_PAUSE, _LAST_PAUSE = 0.2, 5.0  # of a back end that takes no questions
_MENDS = {
    "malformed": "let it hold answers to a JSON schema, with thinking turned off",
    "other_form": "let it hold answers to a JSON schema, with thinking turned off",
    "cut_short": "raise max_tokens",
    "refused": "let it do what it refuses, or use another",
    "timeout": "raise timeout, or lower concurrency",
    "unreadable_reply": "give the address of a server of OpenAI's protocol, with its version",
}


@dataclass(frozen=True)
class PromptQuestion:
    """One question.

    Args:
        stage: What is asked.
        unit: The unit it is about; empty where it is the caption.
        caption: The key of the caption.
        fields: What is put into the prompt's places.
        seed: Settles what the model draws.
    """

    stage: Stage
    unit: str
    caption: str
    fields: Mapping[str, str]
    seed: int


class Asker:
    """Asks a back end, and keeps what becomes of each question.

    Attempts fail by the reasons of `Failed`; the third failure is kept as the question's error. A
    back end that is `Busy` is left alone by all for as long as it wants. Failures of a stage are
    kept once an answer of that stage shows that they are no mistake of the set-up.

    Args:
        backend: What answers.
        prompts: The prompts of all stages.
        journal: Keeps answers and errors.
        tally: Counts.
        patience: For how many seconds the back end may take no questions.
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
        self._until = 0.0  # when the back end takes questions again
        self._pause = _FIRST_PAUSE
        self._last_sign = time.monotonic()
        self._unproven: dict[str, list[tuple[str, JournalEntry]]] = {}

    async def ask(self, question: PromptQuestion) -> JournalEntry:
        """Returns what became of a question, which is kept.

        Args:
            question: The question.

        Raises:
            ZooError: No question is answered, for a reason that it names.
        """
        stage, messages = question.stage, self._prompts.messages(question.stage, question.fields)
        entry, reseeded = JournalEntry(stage.name, question.unit), 0
        while True:
            await asyncio.sleep(max(0.0, self._until - time.monotonic()))
            try:
                reply = await self._backend.ask(stage, messages, question.seed + reseeded)
                self._sign()
                self._tally.reply(reply)
                entry = replace(
                    entry,
                    tokens_in=entry.tokens_in + reply.tokens_in,
                    tokens_out=entry.tokens_out + reply.tokens_out,
                )
                answer, mended = answer_of(reply, stage)
            except Busy as busy:
                self._wait(busy)
            except QuestionFailed as failed:
                self._sign()
                self._tally.faults[failed.reason] += 1
                entry = replace(entry, faults=(*entry.faults, failed.reason))
                if not failed.again or len(entry.faults) == ATTEMPTS:
                    return self._fail(question, replace(entry, error=str(failed)))
                reseeded += failed.anew
                if not failed.anew:
                    await asyncio.sleep(_PAUSES[len(entry.faults) - 1] * uniform(0.75, 1.25))
            else:
                entry = replace(entry, answer=answer, mended=mended)
                self._tally.answers += 1
                self._journal.keep(question.caption, entry)
                self._keep_failures(stage.name)
                return entry

    def finish(self) -> None:
        """Keeps the last failures, at the end of a run.

        Raises:
            ZooError: A stage has failures, and the journal has no answer at all.
        """
        for stage, failures in list(self._unproven.items()):
            if failures and not self._tally.answers and not len(self._journal):
                raise self._hopeless(failures)
            self._keep_failures(stage)

    def _fail(self, question: PromptQuestion, entry: JournalEntry) -> JournalEntry:
        failures = self._unproven.setdefault(entry.stage, [])
        failures.append((question.caption, entry))
        if len(failures) >= IN_A_ROW:
            raise self._hopeless(failures)
        return entry

    def _keep_failures(self, stage: str) -> None:
        for caption, entry in self._unproven.pop(stage, ()):
            self._journal.keep(caption, entry)

    def _hopeless(self, failures: list[tuple[str, JournalEntry]]) -> ZooError:
        entry = failures[-1][1]
        mend = _MENDS.get(entry.faults[-1], "see what it logged")
        return ZooError(
            f"{self._backend.place} answered none of {len(failures):,} questions in a row for "
            f"{entry.stage.replace('_', ' ')} ({entry.error}): {mend}, and run the same command "
            "again"
        )

    def _sign(self) -> None:
        self._last_sign = time.monotonic()
        self._pause = _FIRST_PAUSE

    def _wait(self, busy: Busy) -> None:
        """Has all questions wait.

        Raises:
            ZooError: The back end has taken none for too long, or wants to be left alone too long.
        """
        now = time.monotonic()
        self._tally.waits[busy.reason] += 1
        if busy.after is None:
            wait, too_long = self._pause, now - self._last_sign > self._patience
            said = f"for {now - self._last_sign:,.0f} s"
        else:
            wait, too_long = busy.after, busy.after > LONGEST_WAIT
            said = f"for the next {wait:,.0f} s"
            self._last_sign = max(self._last_sign, now + wait)
        if too_long:
            raise ZooError(
                f"{self._backend.place} takes no questions {said} ({busy}): start it, name "
                "another, or raise patience, and run the same command again"
            )
        if now >= self._until:  # the first to be told so
            if self._pause == _FIRST_PAUSE or busy.after:
                _LOG.info("%s takes no questions (%s): waiting", self._backend.place, busy)
            self._pause = min(2 * self._pause, _LAST_PAUSE)
        self._until = max(self._until, now + wait)
