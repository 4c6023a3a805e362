"""LanguageModelExtractor: units and foils from a language model, prompted in three stages."""

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
from zoo.units.extractor import CaptionRow, UnitExtractor, check_caption_row
from zoo.units.llm.asker import Asker, PromptQuestion
from zoo.units.llm.backend import Backend
from zoo.units.llm.filters import FoilFilter, Triple, parse_units
from zoo.units.llm.journal import Journal, JournalEntry
from zoo.units.llm.progress import Tally
from zoo.units.llm.stages import ENTITY_FOILS, RELATION_FOILS, UNITS, StagePrompts
from zoo.units.record import UnitRecord

_LOG = logging.getLogger(__name__)
_CAPTIONS_BEFORE_ESTIMATE = 64  # captions after which the remaining time is estimated
EntriesByQuestion = dict[tuple[str, str], JournalEntry]


class LanguageModelExtractor(UnitExtractor):
    """Base class of extractors that prompt a language model, as in CS-CLIP, Appendix B.

    The first stage asks for a caption's entities and relations, the second stage for the foils of
    an entity, and the third stage for the foils of a relation. Up to `concurrency` captions are
    processed at the same time. The questions of one caption are asked one after another. Answers
    are stored in a journal as they arrive.

    Args:
        model: The model's name on the server or the Hugging Face hub, or its folder.
        temperature: The sampling temperature; 0 is greedy decoding.
        max_tokens: The maximum number of tokens per answer.
        seed: The random seed. Each caption's sampling seed is derived from it.
        concurrency: The number of captions processed at a time.
        prompts: A folder with `units.txt`, `entity_foils.txt` and `relation_foils.txt`. These files
            replace zoo's prompts.
        journal: The file to which answers are saved as they arrive, so that the same command can
            resume an interrupted run. By default, `NAME.journal` next to the units file `NAME`.
        retry_failed: Whether to repeat requests that failed in an earlier run.

    Attributes:
        patience: How many seconds the back end may reject questions before the run ends with an
            error.
        failed: The number of captions recorded with an error, by reason.
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
        self._open_backend: _OpenBackend | None = None

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Backend]:
        """Returns a context manager that connects to the server or loads the engine (back end).

        Raises:
            ZooError: A package is missing.
        """

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns the settings that the answers depend on, as plain data."""

    def describe(self) -> dict[str, Any]:
        """Returns the extractor's name and all its settings."""
        return {"extractor": self.name, **self.settings(), "concurrency": self.concurrency}

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns the units of one caption."""
        return next(self.extract_all([(caption, caption_id, image_id)]))

    def extract_all(
        self, captions: Iterable[CaptionRow], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields the record of each caption, in order, after all questions have been asked.

        If a question failed three times, the record has the answers to the other questions, and the
        error is in the record's field `source`.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Called with the number of captions that have just been completed.

        Raises:
            ZooError: The back end answers no questions, or the journal cannot be used.
        """
        caption_list = [check_caption_row(row) for row in captions]
        settings = {"extractor": self.name, **self.settings()}
        path = self.journal or (
            self.output_path and self.output_path.with_name(f"{self.output_path.name}.journal")
        )
        with Journal(path, settings, self.retry_failed) as journal:
            _run_coroutine(
                self._ask_all_questions(caption_list, journal, progress), self._open_backend
            )
            yield from self._build_records(caption_list, journal)
        if self.failed:
            reasons = ", ".join(f"{reason} {n:,}" for reason, n in self.failed.most_common())
            _LOG.warning(
                "%s captions were recorded with an error (%s): set retry_failed to ask again",
                *(f"{self.failed.total():,}", reasons),
            )

    @contextmanager
    def keep_open(self) -> Iterator[None]:
        """Keeps the back end connected within a `with` block."""
        with asyncio.Runner() as runner:
            self._open_backend = _OpenBackend(runner)
            try:
                yield
            finally:
                runner.run(self._open_backend.exit_stack.aclose())
                self._open_backend = None

    @asynccontextmanager
    async def _backend(self) -> AsyncIterator[Backend]:
        if self._open_backend is None:
            async with self.connect() as backend:
                yield backend
            return
        if self._open_backend.backend is None:
            self._open_backend.backend = await self._open_backend.exit_stack.enter_async_context(
                self.connect()
            )
        yield self._open_backend.backend

    async def _ask_all_questions(
        self, captions: list[CaptionRow], journal: Journal, progress: Callable[[int], None] | None
    ) -> None:
        pending = [
            c
            for c in captions
            if self._next_question(c, journal.entries(journal_key(c))) is not None
        ]
        tally = Tally(
            len(captions), len(pending), max(_CAPTIONS_BEFORE_ESTIMATE, self.concurrency), progress
        )
        if not pending:
            return tally.log_start("the journal")
        async with self._backend() as backend:
            tally.log_start(backend.place)
            asker = Asker(backend, self.prompts, journal, tally, self.patience)
            queue = iter(pending)

            async def work() -> None:
                for caption in queue:  # shared by all workers: a free worker takes the next caption
                    entries = journal.entries(journal_key(caption))
                    while question := self._next_question(caption, entries):
                        entry = await asker.ask(question)
                        entries[entry.key] = entry
                    tally.count_caption()

            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self.concurrency, len(pending))):
                        workers.create_task(work())
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from None
            asker.record_remaining_failures()
        _LOG.info("%s", tally.summary())

    def _next_question(self, row: CaptionRow, entries: EntriesByQuestion) -> PromptQuestion | None:
        """Returns the next question about a caption, or None if all were asked."""
        caption, caption_id, _ = row
        key, seed = journal_key(row), caption_seed(self.seed, caption_id)
        units = entries.get((UNITS.name, ""))
        if units is None:
            return PromptQuestion(UNITS, "", key, {"caption": caption}, seed)
        if units.answer is None:
            return None
        entities, relations = parse_units(units.answer, caption, Counter())
        for text in entities:
            if (ENTITY_FOILS.name, text) not in entries:
                fields = {"caption": caption, "entity": text}
                return PromptQuestion(ENTITY_FOILS, text, key, fields, seed)
        for triple in relations:
            if (RELATION_FOILS.name, _relation_key(triple)) not in entries:
                names = ("subject", "predicate", "object")
                fields = {"caption": caption, **dict(zip(names, triple, strict=True))}
                return PromptQuestion(RELATION_FOILS, _relation_key(triple), key, fields, seed)
        return None

    def _build_records(self, captions: list[CaptionRow], journal: Journal) -> Iterator[UnitRecord]:
        captions_by_image: dict[str, list[str]] = {}
        for caption, _, image_id in captions:
            captions_by_image.setdefault(image_id, []).append(caption)
        source = self.describe()
        for captioned in captions:
            other_captions = [
                text for text in captions_by_image[captioned[2]] if text != captioned[0]
            ]
            yield self._build_record(
                captioned, journal.entries(journal_key(captioned)), other_captions, source
            )

    def _build_record(
        self,
        row: CaptionRow,
        entries: EntriesByQuestion,
        other_captions: list[str],
        source: dict[str, Any],
    ) -> UnitRecord:
        caption, caption_id, image_id = row
        errors = [entry for entry in entries.values() if entry.error]
        if errors:
            self.failed[errors[0].faults[-1]] += 1
            source = {**source, "error": "; ".join(map(_format_entry, errors))}
        units = entries.get((UNITS.name, ""))
        unit_answer = units.answer if units and units.answer else {"entities": [], "relations": []}
        texts, triples = parse_units(unit_answer, caption, self.dropped_foils)
        foil_filter = FoilFilter(
            [*texts, *map(" ".join, triples)], caption, other_captions, self.dropped_foils
        )

        def answer(stage: str, unit: str) -> dict[str, Any]:
            entry = entries.get((stage, unit))
            return entry.answer if entry and entry.answer else {"foils": []}

        entities = [
            foil_filter.entity_with_foils(text, answer(ENTITY_FOILS.name, text)) for text in texts
        ]
        relations = tuple(
            foil_filter.relation_with_foils(
                triple, answer(RELATION_FOILS.name, _relation_key(triple)), entities
            )
            for triple in triples
        )
        return UnitRecord(caption_id, image_id, caption, tuple(entities), relations, source)


def journal_key(row: CaptionRow) -> str:
    """Returns the journal's key of a caption, which depends on its id and its text.

    Args:
        row: The caption, as (caption, caption_id, image_id).
    """
    caption, caption_id, _ = row
    return f"{caption_id} {_hash(caption):08x}"


def caption_seed(seed: int, caption_id: str) -> int:
    """Returns the seed of a caption's questions.

    With one seed for all captions, their answers would be too similar.

    Args:
        seed: The extractor's seed.
        caption_id: The caption's id.
    """
    return _hash(f"{seed}/{caption_id}") >> 2  # leaves room for the seeds of later attempts


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def _relation_key(triple: Triple) -> str:
    return " | ".join(triple)


def _format_entry(entry: JournalEntry) -> str:
    subject = f" of '{entry.unit}'" if entry.unit else ""
    return f"{entry.stage}{subject}: {', '.join(entry.faults)} ({entry.error})"


@dataclass
class _OpenBackend:
    """A back end that stays open between calls, and its event loop."""

    runner: asyncio.Runner
    exit_stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    backend: Backend | None = None


def _run_coroutine(coroutine: Any, open_backend: _OpenBackend | None) -> None:
    """Runs a coroutine; uses another thread if an event loop is running, as in a notebook."""
    run: Callable[[Any], None] = asyncio.run if open_backend is None else open_backend.runner.run
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run(coroutine)
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run, coroutine).result()
