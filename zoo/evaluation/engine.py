"""Evaluation: runs benchmarks on a model, by the strategy that its head needs, and reports."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import weights_digest
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import remembering
from zoo.benchmarks.base import Benchmark, Case
from zoo.benchmarks.catalog import asked_for
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Recall
from zoo.errors import ZooError
from zoo.evaluation.case_by_case import scores_of
from zoo.evaluation.encoder import Encoder
from zoo.evaluation.foreign import TwoTowers
from zoo.evaluation.kept import KeptVectors, kept_vectors_of_towers
from zoo.evaluation.kept_tokens import KeptTokens, find_known
from zoo.evaluation.pooled import Pooled
from zoo.evaluation.portions import EvaluationBatch, LoaderFactory, Maker, cut_texts
from zoo.evaluation.scoring import device_of, held_bytes
from zoo.evaluation.short_listed import ShortListed
from zoo.evaluation.store import EmbeddingCache
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.vectors import Known
from zoo.evaluation.windowed import Windowed, windows
from zoo.familiarity.captions import TRAINING, familiar_table, training_captions
from zoo.familiarity.images import TRAINED, SeenImages, seen_images, sources_of
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.regions_and_phrases.base import Segments
from zoo.results.familiar import Familiarity
from zoo.results.outcomes import OutcomeRow, rows, table
from zoo.results.plan import Plan, ScorableCase, make_plan, missing_parts
from zoo.results.presets.base import Preset
from zoo.results.presets.named import preset_of
from zoo.results.published import figures
from zoo.results.report import (
    CUT,
    DECODED,
    SCALE,
    TEXTS_ALONE,
    TRAINED_IMAGES,
    Results,
    refuse_results,
    report,
)
from zoo.results.suites import expand_suites
from zoo.sources.images import ImageFinder, identity, image_ref
from zoo.sources.pictures import Decoding
from zoo.support.collector import collector_off
from zoo.support.distributed import gather_made, gather_objects, rank
from zoo.support.progress import counting, track
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged

log = logging.getLogger(__name__)

KEPT = "kept vectors"
WEIGHTS = "weights_sha256"


class Evaluation(Ranged):
    """One run of some benchmarks on one model; it can run again and again in `fit`.

    Args:
        benchmarks: Names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options;
            `all`, or `suite:NAME` for those of a preset.
        data_root: Folder of annotations and images, or several. The first that has a file wins.
        out: Folder of results.json and cases.parquet; nothing is written where None.
        presets: Ways of counting and averaging, `official` where None. The first is logged.
        image_batch: Number of images that are encoded at once.
        text_batch: Number of texts that are encoded at once.
        window_bytes: Bytes of tokens that are held at once, for heads that read tokens.
        shortlist: Number of candidates by cosine that a head orders, where a pair costs it too much
            for a whole gallery.
        workers: Number of processes that load images, on each device.
        trained_images: Images that the model was trained on, as references in text.
        overwrite: Whether results that lie in `out` may be lost.
        upright: Whether a user's own images are turned as their EXIF orientation says. Images of
            published benchmarks are always decoded as their scripts do.
        background: Colour under transparent pixels of a user's own images, such as white. Where
            None, the colour that these pixels hide is shown.
        familiar_with: Captions by whose bindings cases are split: a table of bindings, a units
            file, a file of captions, `coco` for COCO's training captions, or `training` for those
            that the model was trained on.
        beside: Models whose published figures stand beside the run's (`zoo ls models`).
        exclude_images: Images whose cases are left out of metrics that stand beside the full ones:
            a file of images, one a line, a file of captions, `karpathy_train` for Karpathy's train
            and restval, or `trained` for those that the model was trained on.
        fast_images: Whether torchvision decodes and resizes images, in place of PIL, by whose
            pixels published numbers were measured.
        require: Whether it is an error that something cannot be measured, as its files are missing.

    Raises:
        ZooError: No benchmark is given, or a name or number is not valid.
    """

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        out: str | None = None,
        presets: list[str | Preset] | None = None,
        image_batch: PositiveInt = 64,
        text_batch: PositiveInt = 256,
        window_bytes: PositiveInt = 1 << 28,
        shortlist: PositiveInt = 32,
        workers: NonNegativeInt = 2,
        trained_images: list[str] | None = None,
        overwrite: bool = False,
        upright: bool = False,
        background: str | None = None,
        familiar_with: str | None = None,
        beside: list[str] | None = None,
        exclude_images: str | None = None,
        fast_images: bool = False,
        require: bool = False,
    ) -> None:
        if not benchmarks:
            raise ZooError("no benchmark is asked for: name one, such as sugarcrepe")
        deepest = max(Recall.depths)
        if shortlist < deepest:
            raise ZooError(
                f"Evaluation(shortlist={shortlist}): give a whole number from {deepest} up"
            )
        self.benchmarks = asked_for(expand_suites(benchmarks))
        self.presets = [preset_of(named) for named in presets or ["official"]]
        self.roots = [
            Path(root) for root in ([data_root] if isinstance(data_root, str) else data_root)
        ]
        self.out = None if out is None else Path(out)
        self.image_batch, self.text_batch, self.workers = image_batch, text_batch, workers
        self.window_bytes, self.shortlist = window_bytes, shortlist
        self.trained_images = frozenset(trained_images or ())
        self.overwrite, self.require = overwrite, require
        self.finder = ImageFinder(self.roots, Decoding(upright, background))
        self.results: Results | None = None
        self.familiar_with = familiar_with
        self.beside = tuple(beside or ())
        for model in self.beside:
            figures(model)  # or there are none of it, which is said before anything is measured
        self.familiarity: Familiarity | None = None
        self.exclude_images = exclude_images
        self.seen: SeenImages | None = None
        self.decoder: Decoder = "torchvision" if fast_images else "pil"
        self._plan: Plan | None = None
        self._cut: dict[str, int] | None = None
        self._strategies: list[Strategy] = []
        self._encoder: Encoder | None = None
        self._segments: tuple[Segments | None, list[tuple[str, ...]]] = None, []
        self._towers, self._weights = "", ""
        self._kept: KeptVectors | None = None
        self._asked: Plan | None = None
        self._known, self._known_tokens = Known(), Known()

    def prepare(self) -> None:
        """Reads the benchmarks and finds their images, once.

        Raises:
            ZooError: A benchmark is broken, nothing can be scored, something is missing that
                `require` asks for, or cases cannot be split.
        """
        if self._plan is None:
            with collector_off():
                plan = make_plan(self.benchmarks, self.roots, self.finder)
            if self.require and (missing := missing_parts(plan)):
                raise ZooError(
                    f"not everything can be measured: {'; '.join(missing)}. `zoo doctor "
                    f"--data_root {' '.join(map(str, self.roots))}` says how to get the files; "
                    "without --require (in Python require=True) the rest is measured"
                )
            self._plan = plan
            if self.familiar_with != TRAINING:
                self.find_familiar()
            if self.exclude_images != TRAINED:
                self.find_seen()

    def find_familiar(self, trained: Mapping[str, Any] | None = None) -> None:
        """Reads the captions that `familiar_with` names, once.

        Args:
            trained: What a checkpoint says of its training captions, None where it says nothing.

        Raises:
            ZooError: The captions are not there or have no bindings, or a benchmark has no case to
                split.
        """
        if self.familiar_with is not None and self.familiarity is None:
            table = familiar_table(self.familiar_with, self.roots, trained)
            self.familiarity = Familiarity(table)
            self.familiarity.check(self.plan)

    def find_seen(self, captions: Mapping[str, Any] | None = None) -> None:
        """Reads which images `exclude_images` names, once.

        Args:
            captions: What a checkpoint says of its training captions, None where it says nothing.

        Raises:
            ZooError: The images are not there, or the model does not say which they are.
        """
        if self.exclude_images is not None and self.seen is None:
            self.seen = seen_images(self.exclude_images, self.roots, self.trained_images, captions)

    @property
    def plan(self) -> Plan:
        """What is asked, prepared when first needed."""
        self.prepare()
        assert self._plan is not None
        return self._plan

    def check_out(self) -> None:
        """Makes sure that no results of another run will be lost.

        Raises:
            ZooError: `out` holds such results, and they may not be lost.
        """
        if self.results is None:
            refuse_results(self.out, self.overwrite, self.familiar_with is not None)

    def loaders(
        self, backbone: Backbone, head: Head, kept: KeptVectors | None = None
    ) -> list[DataLoader[Any]]:
        """Returns the loaders whose portions `step` takes; every rank calls this.

        Args:
            backbone: Encodes images and texts.
            head: Scores the pairs.
            kept: What other runs kept, to which this one adds its own. It is of the weights as they
                are now.
        """
        tokenizer = remembering(backbone.tokenizer)
        if self._cut is None and rank() == 0:
            self._cut = cut_texts(self.plan, tokenizer)
        self._leave_out_for(head)
        self._kept, self._asked = kept, self.plan
        self._known, self._known_tokens = Known(), Known()
        if kept is not None:
            self._asked = kept.with_keys(self.plan, self.finder, tokenizer)
            self._known, self._known_tokens = find_known(kept, backbone, head, self._asked)
        strategies = self._strategies_for(backbone, head)
        return [loader for strategy in strategies for loader in strategy.loaders()]

    def start(self, backbone: Backbone, head: Head, about: Mapping[str, Any]) -> None:
        """Forgets an unfinished run and remembers which weights are measured.

        Args:
            backbone: Encodes images and texts.
            head: Scores the pairs.
            about: What is known of the model, the captions that it was trained on among it.

        Raises:
            ZooError: `out` holds results of another run that may not be lost, or cases cannot be
                split by those captions.
        """
        self.check_out()
        self.find_familiar(training_captions(about))
        self.find_seen(training_captions(about))
        self._leave_out_for(head)
        self._strategies = self._strategies_for(backbone, head)
        if head.needs.pieces and rank() == 0:
            cost = ", ".join(f"{n:,} {what}" for what, n in self._cost(head).items())
            log.info("measuring with %s takes %s", type(head).__name__, cost)
        towers = None if self._kept is None else self._kept.weights
        modules = (backbone, head) if towers is None else (head,)
        self._towers, self._weights = "", weights_digest(*modules, after=towers).hexdigest()

    @torch.no_grad()
    def step(self, backbone: Backbone, head: Head, portion: EvaluationBatch) -> None:
        """Encodes one portion for the strategy whose loader brought it.

        Raises:
            ZooError: An image is broken.
        """
        portion.check_decoded()
        assert self._encoder is not None
        for strategy in self._strategies:
            if strategy.takes(portion):
                needs = strategy.needs(head)
                images, texts = self._encoder(backbone, portion, needs)
                encoded = images if images is not None else texts
                if encoded is not None and (images is not None or not self._towers):
                    self._towers = str(encoded.pooled.dtype).removeprefix("torch.")
                strategy.step(head, portion, images, texts)
                if self._kept is not None and not needs.tokens:
                    self._kept.add(portion, images, texts)

    @torch.no_grad()
    def finish(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> Results:
        """Gathers, judges and writes; `start` begins anew.

        Args:
            backbone: Encodes the pairs of short-lists, for heads that read tokens.
            head: Scores the pairs.
            about: What results say of the model.

        Returns:
            The results, on every rank.

        Raises:
            ZooError: On every rank, where scores are not finite, the results cannot be written, or
                an image is broken.
        """
        judged = [strategy.finish(backbone, head) for strategy in self._strategies]
        towers = next(filter(None, gather_objects(self._towers)), "")

        def build_results() -> Results | None:
            if rank() != 0:
                return None
            weights = {} if next(backbone.parameters(), None) is None else {WEIGHTS: self._weights}
            model = {**about, **weights}
            notes = self._notes(head, towers)
            with collector_off():
                return self._report(chain.from_iterable(judged), model, notes)

        self.results = gather_made(build_results)[0]
        self._strategies = []
        assert self.results is not None
        return self.results

    def run(self, model: Any, name: str | None = None) -> Results:
        """Measures any object with score(images, texts) -> [n, m], case by case.

        Args:
            model: The object. It gets PIL images in RGB.
            name: What results call it; its class where None.

        Raises:
            ZooError: `out` holds results of another run that may not be lost, or the object's
                scores are no numbers, or of another shape.
        """
        self._check_other_library()
        named = name or f"{type(model).__module__}.{type(model).__qualname__}"
        about = {"model": named}
        self._leave_out_whole_texts(
            f"{named} scores images against texts alone", "measure a model of zoo"
        )
        self.find_familiar(training_captions(about))
        self.find_seen(training_captions(about))

        questions = track(self.plan.questions, "cases", len(self.plan.questions))
        judged = (
            (q, asked.case.judge(scores_of(model, named, asked, self.finder, self.image_batch)))
            for q, asked in enumerate(questions)
        )
        self.results = self._report(judged, about, {"pairs": "as the model gives them"})
        return self.results

    def run_towers(
        self, model: TwoTowers, name: str, cache: EmbeddingCache | None = None
    ) -> Results:
        """Measures a model of another library by the vectors of its two towers.

        Args:
            model: The model.
            name: What results call it.
            cache: Where its vectors are kept; None keeps none.

        Raises:
            ZooError: `out` holds results of another run that may not be lost, or the model does
                not return a vector per image and per text.
        """
        self._check_other_library()
        backbone, head = cast(Backbone, model), model.head
        with model.evaluating():
            kept = None if cache is None else kept_vectors_of_towers(cache, model)
            loaders = self.loaders(backbone, head, kept)
            self.start(backbone, head, {"model": name})
            for loader, what in zip(loaders, ["images", "texts"][-len(loaders) :], strict=True):
                with counting(f"encoding {what}", len(cast(Any, loader.dataset))) as done:
                    for portion in loader:
                        self.step(backbone, head, portion.to(model.device))
                        done(max(len(portion.image_rows), len(portion.text_rows)))
            return self.finish(backbone, head, {"model": name})

    def _check_other_library(self) -> None:
        """Makes sure that a model of another library can be measured as this run is set up.

        Raises:
            ZooError: `out` holds results that may not be lost, or torchvision decodes images.
        """
        self.check_out()
        if self.decoder != "pil":
            raise ZooError(
                "Evaluation(fast_images=True) is for models of zoo, and models of other libraries "
                "prepare the images that PIL decodes: leave it out"
            )

    def _strategies_for(self, backbone: Backbone, head: Head) -> list[Strategy]:
        plan, needs = self._asked or self.plan, head.needs
        fast = self.decoder == "torchvision"
        if fast and needs.views is not None:
            raise ZooError(
                f"{type(head).__name__} makes views of images that PIL decodes: leave "
                "--fast_images out"
            )
        segments = self._segments_for(needs)
        maker = Maker(
            plan.images,
            plan.texts,
            self.finder,
            backbone.eval_pixels if fast else backbone.eval_transform,
            backbone.tokenizer,
            None if needs.views is None else backbone.square_transform(needs.views.side),
            segments,
            self.decoder,
            self._known_tokens.images,
            self._known_tokens.texts,
        )
        loading = LoaderFactory(maker, self.image_batch, self.text_batch, self.workers)
        kept = KeptTokens(self._kept, needs) if self._kept is not None and needs.tokens else None
        self._encoder = Encoder(loading, kept)
        if not needs.tokens and not needs.pieces:
            return [Pooled(plan, loading, self.shortlist, self._known)]
        most = max(map(len, segments)) if segments else 1
        image_bytes, text_bytes = held_bytes(backbone, head, most)
        windowed = Windowed(
            plan, loading, windows(plan, image_bytes, text_bytes, self.window_bytes)
        )
        if not any(question.case.gallery for question in plan.questions):
            return [windowed]
        images_at_once = min(self.window_bytes // max(image_bytes, 1), 8 * self.image_batch)
        return [
            windowed,
            ShortListed(plan, self._encoder, self.shortlist, max(1, images_at_once), self._known),
        ]

    def _leave_out_for(self, head: Head) -> None:
        """Takes out of the plan, with a note, what a head cannot score.

        Raises:
            ZooError: There is nothing else in the plan.
        """
        if head.reranks:
            self._leave_out_whole_texts(
                f"{type(head).__name__} has no vector of a whole text",
                "take a head of pooled vectors, such as Cosine",
            )

    def _leave_out_whole_texts(self, reason: str, mend: str) -> None:
        """Takes out of the plan, with a note, what needs vectors of whole texts.

        Args:
            reason: Why that cannot be.
            mend: What the user can do.

        Raises:
            ZooError: There is nothing else in the plan.
        """
        left = [question for question in self.plan.questions if question.case.needs_whole_texts]
        if not left:
            return
        does = [_of_whole_texts(question.case) for question in left]
        if len(left) == len(self.plan.questions):
            raise ZooError(f"{left[0].run} {does[0]}, and {reason}: {mend}, or leave it out")
        if self.require:
            raise ZooError(
                f"not everything can be measured: {len(left):,} cases of {left[0].run}, since it "
                f"{does[0]}, and {reason}: {mend}, or leave --require out"
            )
        self.plan.questions = [q for q in self.plan.questions if not q.case.needs_whole_texts]
        for question, done in zip(left, does, strict=True):
            self.plan.unscored.append((question.run, question.case))
            note = f"not scored, since it {done}, and {reason}"
            self.plan.contents[question.run].notes["whole texts"] = note

    def _segments_for(self, needs: Needs) -> list[tuple[str, ...]] | None:
        """Returns the segments of every text, None where texts stay whole.

        They are made once, so that a text of which nothing is known is named before any is encoded.
        """
        if needs.segments is None:
            return None
        maker, made = self._segments
        if maker is not needs.segments:
            made = [needs.segments.split(text) for text in self.plan.texts]
            self._segments = needs.segments, made
        return made

    def _cost(self, head: Head) -> dict[str, int]:
        """Returns how much is encoded in pieces, by what it is."""
        views, cost = head.needs.views, dict[str, int]()
        if views is not None:
            cost["views an image"] = views.count
            cost["image passes"] = sum(s.image_passes(views.count) for s in self._strategies)
        segments = self._segments_for(head.needs)
        if segments is not None:
            cost["texts"] = len(segments)
            cost["segments"] = sum(map(len, segments))
            cost["texts without a phrase"] = sum(len(some) == 1 for some in segments)
        return cost

    def _notes(self, head: Head, towers: str) -> dict[str, Any]:
        """Returns what results say of the scoring.

        Args:
            head: Scored the pairs.
            towers: The precision in which images were encoded.
        """
        device = device_of(head)
        notes: dict[str, Any] = {
            "towers": towers,
            "pairs": "float32",
            SCALE: head.scale.item(),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "image_batch": self.image_batch,
            "text_batch": self.text_batch,
            CUT: self._cut or {},
        }
        if self.decoder != "pil":
            notes[DECODED] = self.decoder
        for strategy in self._strategies:
            notes |= strategy.notes(head)
        if self._kept is not None:
            notes[KEPT] = {
                "folder": str(self._kept.store.file.parent),
                "images": len(self._known.images | self._known_tokens.images),
                "texts": len(self._known.texts | self._known_tokens.texts),
            }
        if head.needs.segments is not None:
            notes["segments"] = head.needs.segments.describe()
        return notes | {"pieces": self._cost(head)} if head.needs.pieces else notes

    def _report(
        self,
        judged: Iterable[tuple[int, list[Outcome]]],
        about: dict[str, Any],
        notes: dict[str, Any],
    ) -> Results:
        """Counts and writes.

        Args:
            judged: Rows of questions with their outcomes. Questions that are not among them were
                not reached.
            about: What results say of the model.
            notes: What results say of the scoring.
        """
        left = dict(enumerate(self.plan.questions))
        trained = frozenset(identity(image_ref(image)) for image in self.trained_images)
        cases = table(self._rows(judged, left, trained))
        if left:
            notes = {**notes, "cases not reached, the run was cut short": len(left)}
        told = dict(chain.from_iterable(s.told_by_texts().items() for s in self._strategies))
        if told:
            notes = {**notes, TEXTS_ALONE: told}
        if trained:
            about = {**about, TRAINED_IMAGES: sources_of(trained)}
        results = report(
            self.plan,
            self.benchmarks,
            self.roots,
            self.presets,
            cases,
            about,
            notes,
            self.out,
            self.familiarity,
            self.beside,
            self.seen,
        )
        if left and self.require:
            raise ZooError(
                f"not everything was measured: {len(left):,} cases were not reached, as the run "
                "was cut short; leave --trainer.limit_val_batches or --require out"
            )
        return results

    def _rows(
        self,
        judged: Iterable[tuple[int, list[Outcome]]],
        left: dict[int, ScorableCase],
        trained: frozenset[str],
    ) -> Iterator[OutcomeRow]:
        """Yields the rows of cases that were judged, and then of all others.

        Args:
            judged: Rows of questions with their outcomes.
            left: All questions by row. Those that were judged are taken out.
            trained: Identities of the images that the model was trained on.
        """
        for q, outcomes in judged:
            question = left.pop(q)
            yield from rows(question.run, question.case, outcomes, trained)
        for run, case in [
            *self.plan.unscored,
            *((q.run, q.case) for q in left.values()),
        ]:
            yield from rows(run, case, case.queries(), trained)


def _of_whole_texts(case: Case) -> str:
    return "compares texts with texts" if case.asking else "averages the vectors of prompts"
