"""LanguageModelExtractor: units and foils by three stages of questions to a language model."""

import asyncio
import hashlib
import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.support.ranges import NonNegativeNumber, PositiveInt
from zoo.units.extract import Captioned, UnitExtractor
from zoo.units.llm.asking import Asker, PromptQuestion
from zoo.units.llm.backend import Backend
from zoo.units.llm.filters import FoilFilter, Triple, units_of
from zoo.units.llm.journal import Journal, JournalEntry
from zoo.units.llm.stages import ENTITY_FOILS, RELATION_FOILS, UNITS, StagePrompts
from zoo.units.llm.tally import Tally
from zoo.units.record import UnitRecord

_LOG = logging.getLogger(__name__)
_PROBE = 64  # captions after which the end is estimated
Entries = dict[tuple[str, str], JournalEntry]


class LanguageModelExtractor(UnitExtractor):
    """Base of extractors that ask a language model, as CS-CLIP, Appendix B, does.

    The first stage asks for a caption's entities and relations, the second for the foils of an
    entity, the third for those of a relation. As many captions as `concurrency` says are worked on
    at a time, each question of theirs when the one before it is answered, so that no caption waits
    for another. Answers are kept in a journal as they come.

    Args:
        model: The model's name, on the server or on the Hugging Face hub, or its folder.
        temperature: How freely the model draws its words; 0 takes the likeliest.
        max_tokens: The greatest length of an answer.
        seed: Settles, with a caption's id, what the model draws.
        concurrency: How many captions are asked about at a time.
        prompts: A folder of prompts in place of those of this package (see `Prompts`).
        journal: The file that keeps the answers as they come. The same command goes on from it. By
            default it lies beside the units file, under its name and `.journal`.
        retry_failed: Whether captions that failed in an earlier run are asked about again.

    Attributes:
        patience: For how many seconds the back end may take no questions before the run ends.
        failed: How many captions are kept with an error, by its reason.
    """

    patience: float = 0.0

    def __init__(
        self,
        model: str = "Qwen/Qwen3-8B-AWQ",
        temperature: NonNegativeNumber = 0.3,
        max_tokens: PositiveInt = 800,
        seed: int = 0,
        concurrency: PositiveInt = 64,
        prompts: str | None = None,
        journal: str | None = None,
        retry_failed: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.seed = seed
        self.prompts = StagePrompts(prompts)
        self.concurrency = concurrency
        self.journal = None if journal is None else Path(journal)
        self.retry_failed = retry_failed
        self.failed: Counter[str] = Counter()
        self._kept: _Kept | None = None

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Backend]:
        """Returns what answers, for the length of a block.

        Raises:
            ZooError: A package is missing.
        """

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns what the answers depend on, in plain data."""

    def describe(self) -> dict[str, Any]:
        """Returns the extractor's name and all its settings."""
        return {"extractor": self.name, **self.settings(), "concurrency": self.concurrency}

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns the units of one caption."""
        return next(self.extract_all([(caption, caption_id, image_id)]))

    def extract_all(
        self, captions: Iterable[Captioned], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields the record of each caption, in order, once all have been asked about.

        A caption with a question that failed three times is yielded with what was answered, and
        with the error in its source.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Is told how many more captions are done.

        Raises:
            ZooError: The back end answers no question, or the journal cannot be used.
        """
        asked = list(captions)
        settings = {"extractor": self.name, **self.settings()}
        path = self.journal or (self.out and self.out.with_name(f"{self.out.name}.journal"))
        with Journal(path, settings, self.retry_failed) as journal:
            _run(self._ask_all(asked, journal, progress), self._kept)
            yield from self._records(asked, journal)
        if self.failed:
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in self.failed.most_common())
            _LOG.warning(
                "%s captions are kept with an error (%s): retry_failed asks about them again",
                *(f"{self.failed.total():,}", reasons),
            )

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keeps the back end, once it is connected, for the length of a block."""
        with asyncio.Runner() as runner:
            self._kept = _Kept(runner)
            try:
                yield
            finally:
                runner.run(self._kept.ends.aclose())
                self._kept = None

    @asynccontextmanager
    async def _backend(self) -> AsyncIterator[Backend]:
        if self._kept is None:
            async with self.connect() as backend:
                yield backend
            return
        if self._kept.backend is None:
            self._kept.backend = await self._kept.ends.enter_async_context(self.connect())
        yield self._kept.backend

    async def _ask_all(
        self, captions: list[Captioned], journal: Journal, progress: Callable[[int], None] | None
    ) -> None:
        pending = [c for c in captions if self._next(c, journal.entries(key_of(c))) is not None]
        tally = Tally(len(captions), len(pending), max(_PROBE, self.concurrency), progress)
        if not pending:
            return tally.begin("the journal")
        async with self._backend() as backend:
            tally.begin(backend.place)
            asker = Asker(backend, self.prompts, journal, tally, self.patience)
            left = iter(pending)

            async def work() -> None:
                for caption in left:  # shared by all: whoever is free takes the next
                    entries = journal.entries(key_of(caption))
                    while question := self._next(caption, entries):
                        entry = await asker.ask(question)
                        entries[entry.key] = entry
                    tally.caption()

            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self.concurrency, len(pending))):
                        workers.create_task(work())
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
            asker.finish()
        _LOG.info("%s", tally.summary())

    def _next(self, captioned: Captioned, entries: Entries) -> PromptQuestion | None:
        """Returns the next question about a caption, None where all were asked."""
        caption, caption_id, _ = captioned
        key, seed = key_of(captioned), seed_of(self.seed, caption_id)
        units = entries.get((UNITS.name, ""))
        if units is None:
            return PromptQuestion(UNITS, "", key, {"caption": caption}, seed)
        if units.answer is None:
            return None
        entities, relations = units_of(units.answer, caption, Counter())
        for text in entities:
            if (ENTITY_FOILS.name, text) not in entries:
                fields = {"caption": caption, "entity": text}
                return PromptQuestion(ENTITY_FOILS, text, key, fields, seed)
        for triple in relations:
            if (RELATION_FOILS.name, _unit(triple)) not in entries:
                names = ("subject", "predicate", "object")
                fields = {"caption": caption, **dict(zip(names, triple, strict=True))}
                return PromptQuestion(RELATION_FOILS, _unit(triple), key, fields, seed)
        return None

    def _records(self, captions: list[Captioned], journal: Journal) -> Iterator[UnitRecord]:
        of_image: dict[str, list[str]] = {}
        for caption, _, image_id in captions:
            of_image.setdefault(image_id, []).append(caption)
        source = self.describe()
        for captioned in captions:
            others = [other for other in of_image[captioned[2]] if other != captioned[0]]
            yield self._record(captioned, journal.entries(key_of(captioned)), others, source)

    def _record(
        self, captioned: Captioned, entries: Entries, others: list[str], source: dict[str, Any]
    ) -> UnitRecord:
        caption, caption_id, image_id = captioned
        errors = [entry for entry in entries.values() if entry.error]
        if errors:
            self.failed[errors[0].faults[-1]] += 1
            source = {**source, "error": "; ".join(map(_format_entry, errors))}
        units = entries.get((UNITS.name, ""))
        found = units.answer if units and units.answer else {"entities": [], "relations": []}
        texts, triples = units_of(found, caption, self.dropped_foils)
        foils = FoilFilter([*texts, *map(" ".join, triples)], caption, others, self.dropped_foils)

        def answer(stage: str, unit: str) -> dict[str, Any]:
            entry = entries.get((stage, unit))
            return entry.answer if entry and entry.answer else {"foils": []}

        entities = [foils.entity(text, answer(ENTITY_FOILS.name, text)) for text in texts]
        relations = tuple(
            foils.relation(triple, answer(RELATION_FOILS.name, _unit(triple)), entities)
            for triple in triples
        )
        return UnitRecord(caption_id, image_id, caption, tuple(entities), relations, source)


def key_of(captioned: Captioned) -> str:
    """Returns the journal's key of a caption, which another text under the same id does not have.

    Args:
        captioned: The caption, as (caption, caption_id, image_id).
    """
    caption, caption_id, _ = captioned
    return f"{caption_id} {_hash(caption):08x}"


def seed_of(seed: int, caption_id: str) -> int:
    """Returns the seed of a caption's questions.

    One seed for all captions would make their answers alike.

    Args:
        seed: The extractor's.
        caption_id: The caption's id.
    """
    return _hash(f"{seed}/{caption_id}") >> 2  # leaves room for other seeds of later attempts


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def _unit(triple: Triple) -> str:
    return " | ".join(triple)


def _format_entry(entry: JournalEntry) -> str:
    about = f" of '{entry.unit}'" if entry.unit else ""
    return f"{entry.stage}{about}: {', '.join(entry.faults)} ({entry.error})"


@dataclass
class _Kept:
    """A back end that outlives one call, and the loop that it lives in."""

    runner: asyncio.Runner
    ends: AsyncExitStack = field(default_factory=AsyncExitStack)
    backend: Backend | None = None


def _run(asking: Any, kept: _Kept | None) -> None:
    """Runs a coroutine to its end, in a thread of its own where a loop runs, as in a notebook."""
    run: Callable[[Any], None] = asyncio.run if kept is None else kept.runner.run
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run(asking)
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run, asking).result()
