"""Evaluation: runs benchmarks on a model, with the strategy that its head needs, and reports."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import weights_digest
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import caching_tokenizer
from zoo.benchmarks.base import Benchmark, Case
from zoo.benchmarks.catalog import build_benchmarks
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Recall
from zoo.errors import ZooError
from zoo.evaluation.batches import (
    BatchBuilder,
    EvaluationBatch,
    LoaderFactory,
    count_truncated_texts_by_subset,
)
from zoo.evaluation.embedding_cache import EmbeddingCache
from zoo.evaluation.encoder import Encoder
from zoo.evaluation.model_adapters import TwoTowers
from zoo.evaluation.pair_scorers import PairScorer
from zoo.evaluation.pooled import Pooled
from zoo.evaluation.scoring import bytes_per_image_and_text, device_of, score_by_plain_model
from zoo.evaluation.shortlist import ShortListed
from zoo.evaluation.stored_embeddings import (
    StoredTokens,
    StoredVectors,
    look_up_stored_items,
    open_tower_vectors,
)
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.token_windows import Windowed, windows
from zoo.evaluation.vectors import StoredItems
from zoo.familiarity.captions import TRAINING, load_binding_table, training_captions_description
from zoo.familiarity.images import TRAINED, SeenImages, count_by_source, seen_images
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.regions_and_phrases.base import Segments
from zoo.results.familiarity import Familiarity
from zoo.results.header import (
    CACHED,
    DECODED,
    LIMIT,
    SCALE,
    TEXT_PROBE,
    TRAINED_IMAGES,
    TRUNCATED,
)
from zoo.results.outcomes import OutcomeRow, outcome_rows, outcome_table
from zoo.results.plan import Plan, ScorableCase, describe_missing, make_plan
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.published_values import published_values
from zoo.results.report import Results, build_results, check_overwrite
from zoo.results.suites import expand_suites
from zoo.sources.images import ImageFinder, image_identity, infer_image_ref
from zoo.sources.rgb_conversion import Decoding
from zoo.support.distributed import gather_objects, gather_results, rank
from zoo.support.garbage_collection import collector_off
from zoo.support.progress import show_progress, track
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged

log = logging.getLogger(__name__)

WEIGHTS = "weights_sha256"


class Evaluation(Ranged):
    """Runs benchmarks on a model, once or at every validation during training.

    Args:
        benchmarks: Names, such as `sugarcrepe` or `pairs:FILE.csv`, or benchmark classes with
            arguments. `all` runs all benchmarks that need no custom file. `suite:NAME` runs the
            benchmarks whose metrics enter the means of the preset NAME.
        data_root: One or several folders of annotations and images. A file is read from the first
            folder that has it.
        out: Folder of results.json and cases.parquet. If None, `zoo validate` writes these files to
            its run folder, and `zoo fit` and Python code do not write them.
        presets: Rules for ties and averages: names of `zoo ls presets`, or preset files in YAML or
            JSON; `official` if None. The logger gets the values of the first preset.
        image_batch: Number of images that are encoded at once.
        text_batch: Number of texts that are encoded at once.
        window_bytes: Maximum size in bytes of token vectors in memory, for heads that read token
            vectors.
        shortlist: Number of candidates per query of a retrieval benchmark, for heads that are too
            expensive to score all pairs. Cosines select the candidates, and the head re-ranks them.
        workers: Number of image-loading processes per device.
        trained_images: Images that the model was trained on, such as `coco:391895`. Results report
            how many of them occur in benchmarks. Set this only in Python: `zoo fit` and `zoo
            validate` always use the images of the training data.
        overwrite: Whether existing results in `out` may be overwritten.
        upright: Whether the EXIF orientation of custom images is applied. It is never applied to
            images of published benchmarks.
        background: Background colour for transparent pixels of custom images, such as white. None
            ignores transparency and uses the colour stored in each pixel.
        familiar_with: Splits cases by whether their attribute-object pairs occur in these captions:
            a file of captions, a units file, a table of `zoo bindings`, `coco` for COCO's training
            captions, or `training` for the captions that the model was trained on.
        reference_models: Models of `zoo ls models` whose published results are shown next to those
            of this run.
        exclude_images: Results also report all metrics without the cases of these images: a file
            with one image per line, a file of captions, `karpathy_train` for train and restval of
            Karpathy's split of COCO, or `trained` for the images that the model was trained on.
        fast_images: Whether images are decoded and resized by torchvision instead of PIL. This is
            faster, but published results were computed with PIL.
        require: Whether it is an error if a benchmark cannot be run, for example because files are
            missing. If false, the benchmark is left out, and this is reported.
        limit: Maximum number of cases per subset, and of images or videos per retrieval gallery.
            None uses all.

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
        reference_models: list[str] | None = None,
        exclude_images: str | None = None,
        fast_images: bool = False,
        require: bool = False,
        limit: PositiveInt | None = None,
    ) -> None:
        if not benchmarks:
            raise ZooError("no benchmark is given: name one, such as sugarcrepe")
        deepest = max(Recall.depths)
        if shortlist < deepest:
            raise ZooError(
                f"Evaluation(shortlist={shortlist}): give a whole number from {deepest} up"
            )
        self.benchmarks = build_benchmarks(expand_suites(benchmarks))
        self.presets = [preset_of(preset) for preset in presets or ["official"]]
        self.roots = [
            Path(root) for root in ([data_root] if isinstance(data_root, str) else data_root)
        ]
        self.out = None if out is None else Path(out)
        self.image_batch, self.text_batch, self.workers = image_batch, text_batch, workers
        self.window_bytes, self.shortlist = window_bytes, shortlist
        self.trained_images = frozenset(trained_images or ())
        self.overwrite, self.require, self.limit = overwrite, require, limit
        self.finder = ImageFinder(self.roots, Decoding(upright, background))
        self.results: Results | None = None
        self.familiar_with = familiar_with
        self.reference_models = tuple(reference_models or ())
        for model in self.reference_models:
            published_values(model)  # raises early if the model has no published numbers
        self.familiarity: Familiarity | None = None
        self.exclude_images = exclude_images
        self.excluded_images: SeenImages | None = None
        self.decoder: Decoder = "torchvision" if fast_images else "pil"
        self._plan: Plan | None = None
        self._truncated_texts: dict[str, int] | None = None
        self._strategies: list[Strategy] = []
        self._encoder: Encoder | None = None
        self._segments: tuple[Segments | None, list[tuple[str, ...]]] = None, []
        self._tower_precision, self._weights = "", ""
        self._stored_vectors: StoredVectors | None = None
        self._keyed_plan: Plan | None = None
        self._items_with_vectors, self._items_with_tokens = StoredItems(), StoredItems()

    def prepare(self) -> None:
        """Reads the benchmarks and finds their images, once.

        Raises:
            ZooError: A benchmark is invalid, nothing can be scored, files are missing and `require`
                is set, or cases cannot be split as `familiar_with` requests.
        """
        if self._plan is None:
            with collector_off():
                plan = make_plan(self.benchmarks, self.roots, self.finder, self.limit)
            if self.require and (missing := describe_missing(plan)):
                raise ZooError(
                    f"files are missing: {'; '.join(missing)}. `zoo doctor --data_root "
                    f"{' '.join(map(str, self.roots))}` explains how to get them. To evaluate the "
                    "rest, omit --require (in Python require=True)"
                )
            self._plan = plan
            if self.familiar_with != TRAINING:
                self.read_familiar_captions()
            if self.exclude_images != TRAINED:
                self.read_excluded_images()

    def read_familiar_captions(self, caption_record: Mapping[str, Any] | None = None) -> None:
        """Reads the captions that `familiar_with` names, once.

        Args:
            caption_record: The record of training captions in the checkpoint, which
                `familiar_with: training` needs. None if the checkpoint has no such record.

        Raises:
            ZooError: The captions are missing or have no bindings, or a benchmark has no case that
                can be split.
        """
        if self.familiar_with is not None and self.familiarity is None:
            table = load_binding_table(self.familiar_with, self.roots, caption_record)
            self.familiarity = Familiarity(table)
            self.familiarity.check_plan(self.plan)

    def read_excluded_images(self, caption_record: Mapping[str, Any] | None = None) -> None:
        """Reads the images that `exclude_images` names, once.

        Args:
            caption_record: The record of training captions in the checkpoint, which
                `exclude_images: trained` needs. None if the checkpoint has no such record.

        Raises:
            ZooError: The list of images is missing, or the model has no record of its images.
        """
        if self.exclude_images is not None and self.excluded_images is None:
            self.excluded_images = seen_images(
                self.exclude_images, self.roots, self.trained_images, caption_record
            )

    @property
    def plan(self) -> Plan:
        """The cases, images and texts to score. The first access calls `prepare`."""
        self.prepare()
        assert self._plan is not None
        return self._plan

    def check_output_folder(self) -> None:
        """Checks that no results of another run would be overwritten.

        Raises:
            ZooError: `out` holds such results, and `overwrite` is false.
        """
        if self.results is None:
            check_overwrite(self.out, self.overwrite, self.familiar_with is not None)

    def build_loaders(
        self, backbone: Backbone, head: Head, stored: StoredVectors | None = None
    ) -> list[DataLoader[Any]]:
        """Returns data loaders of the batches for `step`. Every rank must call this method.

        Args:
            backbone: Encodes images and texts.
            head: Scores the pairs.
            stored: Vectors that earlier runs computed with the same weights. This run reads them,
                and adds further ones. If None, no vectors are stored.
        """
        tokenizer = caching_tokenizer(backbone.tokenizer)
        if self._truncated_texts is None and rank() == 0:
            self._truncated_texts = count_truncated_texts_by_subset(self.plan, tokenizer)
        self._exclude_unscorable(head)
        self._stored_vectors, self._keyed_plan = stored, self.plan
        self._items_with_vectors, self._items_with_tokens = StoredItems(), StoredItems()
        if stored is not None:
            self._keyed_plan = stored.assign_keys(self.plan, self.finder, tokenizer)
            self._items_with_vectors, self._items_with_tokens = look_up_stored_items(
                stored, backbone, head, self._keyed_plan
            )
        strategies = self._build_strategies(backbone, head)
        return [loader for strategy in strategies for loader in strategy.loaders()]

    def start(self, backbone: Backbone, head: Head, model_description: Mapping[str, Any]) -> None:
        """Starts a run: discards an unfinished run and records a hash of the weights.

        Args:
            backbone: Encodes images and texts.
            head: Scores the pairs.
            model_description: The description of the model, including its training captions.

        Raises:
            ZooError: `out` holds results of another run and `overwrite` is false, or cases cannot
                be split by the training captions.
        """
        self.check_output_folder()
        self.read_familiar_captions(training_captions_description(model_description))
        self.read_excluded_images(training_captions_description(model_description))
        self._exclude_unscorable(head)
        self._strategies = self._build_strategies(backbone, head)
        if head.needs.pieces and rank() == 0:
            cost = ", ".join(f"{n:,} {name}" for name, n in self._count_encoded_items(head).items())
            log.info("evaluating with %s needs %s", type(head).__name__, cost)
        tower_digest = None if self._stored_vectors is None else self._stored_vectors.weights
        modules = (backbone, head) if tower_digest is None else (head,)
        self._tower_precision, self._weights = (
            "",
            weights_digest(*modules, after=tower_digest).hexdigest(),
        )

    @torch.no_grad()
    def step(self, backbone: Backbone, head: Head, batch: EvaluationBatch) -> None:
        """Encodes a batch, and keeps the vectors or scores that `finish` needs.

        Raises:
            ZooError: An image cannot be decoded.
        """
        batch.check_decoded()
        assert self._encoder is not None
        for strategy in self._strategies:
            if strategy.owns_batch(batch):
                needs = strategy.needs(head)
                images, texts = self._encoder(backbone, batch, needs)
                encoded = images if images is not None else texts
                if encoded is not None and (images is not None or not self._tower_precision):
                    self._tower_precision = str(encoded.pooled.dtype).removeprefix("torch.")
                strategy.step(head, batch, images, texts)
                if self._stored_vectors is not None and not needs.tokens:
                    self._stored_vectors.add(batch, images, texts)

    @torch.no_grad()
    def finish(self, backbone: Backbone, head: Head, model_description: dict[str, Any]) -> Results:
        """Gathers scores, judges the cases and writes the results.

        To begin another run, call `start`.

        Args:
            backbone: Encodes the candidates of `shortlist`, for heads that read tokens.
            head: Scores the pairs.
            model_description: The description of the model in results.

        Returns:
            The results, on every rank.

        Raises:
            ZooError: Scores are not finite, the results cannot be written, or an image cannot be
                decoded. The error is raised on every rank.
        """
        strategy_outcomes = [strategy.finish(backbone, head) for strategy in self._strategies]
        if self._stored_vectors is not None:
            self._stored_vectors.flush()
        tower_precision = next(filter(None, gather_objects(self._tower_precision)), "")

        def build_results() -> Results | None:
            if rank() != 0:
                return None
            weights = {} if next(backbone.parameters(), None) is None else {WEIGHTS: self._weights}
            model = {**model_description, **weights}
            notes = self._describe_scoring(head, tower_precision)
            with collector_off():
                return self._compute_and_write_results(
                    chain.from_iterable(strategy_outcomes), model, notes
                )

        self.results = gather_results(build_results)[0]
        self._strategies = []
        assert self.results is not None
        return self.results

    def run_plain_model(
        self, model: Any, name: str | None = None, shows_progress: bool = True
    ) -> Results:
        """Evaluates any object with a method `score(images, texts)`, case by case.

        Args:
            model: The object. Its `score` gets PIL images in RGB, and returns scores, `[n, m]`.
            name: The object's name in results. By default, the name of its class. A `PairScorer`
                always has its own name in results.
            shows_progress: Whether to show a progress bar.

        Raises:
            ZooError: `out` holds results of another run and `overwrite` is false, or the object's
                scores are not numbers or have the wrong shape.
        """
        self._check_settings_of_plain_model()
        model_name = name or f"{type(model).__module__}.{type(model).__qualname__}"
        model_description: dict[str, Any] = {"model": model_name}
        notes = {"pairs": "as the model gives them"}
        if isinstance(model, PairScorer):
            model_name, notes = model.name, model.describe_computation()
            model_description = model.describe()
        self._exclude_whole_text_questions(
            f"{model_name} only scores images against texts", "evaluate a model of zoo"
        )
        self.read_familiar_captions(training_captions_description(model_description))
        self.read_excluded_images(training_captions_description(model_description))

        questions = track(self.plan.cases, "cases", len(self.plan.cases), shown=shows_progress)
        question_outcomes = (
            (
                q,
                question.case.judge(
                    score_by_plain_model(model, model_name, question, self.finder, self.image_batch)
                ),
            )
            for q, question in enumerate(questions)
        )
        self.results = self._compute_and_write_results(question_outcomes, model_description, notes)
        return self.results

    def run_towers(
        self, model: TwoTowers, name: str, cache: EmbeddingCache | None = None
    ) -> Results:
        """Evaluates a model of another library by the vectors of its two towers.

        Args:
            model: The model.
            name: The model's name in results.
            cache: The cache in which vectors are stored. If None, no vectors are stored.

        Raises:
            ZooError: `out` holds results of another run and `overwrite` is false, or the model does
                not return one vector per image and per text.
        """
        self._check_settings_of_plain_model()
        backbone, head = cast(Backbone, model), model.head
        with model.evaluation_mode():
            stored = None if cache is None else open_tower_vectors(cache, model)
            loaders = self.build_loaders(backbone, head, stored)
            self.start(backbone, head, {"model": name})
            for loader, side in zip(loaders, ["images", "texts"][-len(loaders) :], strict=True):
                with show_progress(f"encoding {side}", len(cast(Any, loader.dataset))) as advance:
                    for batch in loader:
                        self.step(backbone, head, batch.to(model.device))
                        advance(max(len(batch.image_rows), len(batch.text_rows)))
            return self.finish(backbone, head, {"model": name})

    def _check_settings_of_plain_model(self) -> None:
        """Checks that a model of another library can be evaluated with these settings.

        Raises:
            ZooError: `out` holds results and `overwrite` is false, or torchvision decodes images.
        """
        self.check_output_folder()
        if self.decoder != "pil":
            raise ZooError(
                "Evaluation(fast_images=True) only works with models of zoo, since models of other "
                "libraries need images decoded by PIL: leave it out"
            )

    def _build_strategies(self, backbone: Backbone, head: Head) -> list[Strategy]:
        plan, needs = self._keyed_plan or self.plan, head.needs
        uses_torchvision = self.decoder == "torchvision"
        if uses_torchvision and needs.views is not None:
            raise ZooError(
                f"{type(head).__name__} makes views of images decoded by PIL: leave --fast_images "
                "out"
            )
        segments = self._segments_for(needs)
        builder = BatchBuilder(
            plan.images,
            plan.texts,
            self.finder,
            _image_transform(backbone, uses_torchvision),
            backbone.tokenizer,
            None if needs.views is None else backbone.square_transform(needs.views.side),
            segments,
            self.decoder,
            self._items_with_tokens.images,
            self._items_with_tokens.texts,
        )
        loader_factory = LoaderFactory(builder, self.image_batch, self.text_batch, self.workers)
        stored_tokens = (
            StoredTokens(self._stored_vectors, needs)
            if self._stored_vectors is not None and needs.tokens
            else None
        )
        self._encoder = Encoder(loader_factory, stored_tokens)
        if not needs.tokens and not needs.pieces:
            return [Pooled(plan, loader_factory, self.shortlist, self._items_with_vectors)]
        most_segments = max(map(len, segments)) if segments else 1
        image_bytes, text_bytes = bytes_per_image_and_text(backbone, head, most_segments)
        windowed = Windowed(
            plan, loader_factory, windows(plan, image_bytes, text_bytes, self.window_bytes)
        )
        if not any(question.case.is_gallery for question in plan.cases):
            return [windowed]
        images_at_once = min(self.window_bytes // max(image_bytes, 1), 8 * self.image_batch)
        return [
            windowed,
            ShortListed(
                plan,
                self._encoder,
                self.shortlist,
                max(1, images_at_once),
                self._items_with_vectors,
            ),
        ]

    def _exclude_unscorable(self, head: Head) -> None:
        """Removes the questions that a head cannot score from the plan, with a note.

        Raises:
            ZooError: No other question is left.
        """
        if head.reranks:
            self._exclude_whole_text_questions(
                f"{type(head).__name__} has no vector of a whole text",
                "use a head of pooled vectors, such as Cosine",
            )

    def _exclude_whole_text_questions(self, reason: str, advice: str) -> None:
        """Removes the questions that need vectors of whole texts from the plan, with a note.

        Args:
            reason: Why there are no such vectors.
            advice: What the user can do.

        Raises:
            ZooError: No other question is left.
        """
        excluded = [question for question in self.plan.cases if question.case.needs_text_vectors]
        if not excluded:
            return
        uses = [_describe_whole_text_use(question.case) for question in excluded]
        if len(excluded) == len(self.plan.cases):
            raise ZooError(f"{excluded[0].run} {uses[0]}, and {reason}: {advice}, or leave it out")
        if self.require:
            raise ZooError(
                f"{len(excluded):,} cases of {excluded[0].run} cannot be scored, since it "
                f"{uses[0]}, and {reason}: {advice}, or leave --require out"
            )
        self.plan.cases = [q for q in self.plan.cases if not q.case.needs_text_vectors]
        for question, use in zip(excluded, uses, strict=True):
            self.plan.unscorable_cases.append((question.run, question.case))
            note = f"not scored, since it {use}, and {reason}"
            self.plan.contents[question.run].notes["whole texts"] = note

    def _segments_for(self, needs: Needs) -> list[tuple[str, ...]] | None:
        """Returns the segments of every text, None if texts are not split.

        They are computed once, so that texts with unknown units are reported before encoding.
        """
        if needs.segments is None:
            return None
        source, segments = self._segments
        if source is not needs.segments:
            segments = [needs.segments.split(text) for text in self.plan.texts]
            self._segments = needs.segments, segments
        return segments

    def _count_encoded_items(self, head: Head) -> dict[str, int]:
        """Returns how many views, segments, texts and image passes are encoded."""
        views, cost = head.needs.views, dict[str, int]()
        if views is not None:
            cost["views per image"] = views.count
            cost["image passes"] = sum(s.image_passes(views.count) for s in self._strategies)
        segments = self._segments_for(head.needs)
        if segments is not None:
            cost["texts"] = len(segments)
            cost["segments"] = sum(map(len, segments))
            cost["texts without a phrase"] = sum(len(parts) == 1 for parts in segments)
        return cost

    def _describe_scoring(self, head: Head, tower_precision: str) -> dict[str, Any]:
        """Returns the description of the scoring for results.

        Args:
            head: The head that scored the pairs.
            tower_precision: The precision in which images were encoded.
        """
        device = device_of(head)
        notes: dict[str, Any] = {
            "towers": tower_precision,
            "pairs": "float32",
            SCALE: head.scale.item(),
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "image_batch": self.image_batch,
            "text_batch": self.text_batch,
            TRUNCATED: self._truncated_texts or {},
        }
        if self.decoder != "pil":
            notes[DECODED] = self.decoder
        for strategy in self._strategies:
            notes |= strategy.notes(head)
        if self._stored_vectors is not None:
            notes[CACHED] = {
                "folder": str(self._stored_vectors.store.folder),
                "images": len(self._items_with_vectors.images | self._items_with_tokens.images),
                "texts": len(self._items_with_vectors.texts | self._items_with_tokens.texts),
            }
        if head.needs.segments is not None:
            notes["segments"] = head.needs.segments.describe()
        return notes | {"pieces": self._count_encoded_items(head)} if head.needs.pieces else notes

    def _compute_and_write_results(
        self,
        question_outcomes: Iterable[tuple[int, list[Outcome]]],
        model_description: dict[str, Any],
        notes: dict[str, Any],
    ) -> Results:
        """Computes metrics and writes results.

        Args:
            question_outcomes: Rows of questions with their outcomes. Questions that are not among
                them were not reached.
            model_description: The description of the model in results.
            notes: The description of the scoring in results.
        """
        remaining_questions = dict(enumerate(self.plan.cases))
        trained_images = frozenset(
            image_identity(infer_image_ref(image)) for image in self.trained_images
        )
        cases = outcome_table(
            self._all_outcome_rows(question_outcomes, remaining_questions, trained_images)
        )
        if self.limit is not None:
            notes = {**notes, LIMIT: self.limit}
        if remaining_questions:
            notes = {**notes, "cases not reached, the run was cut short": len(remaining_questions)}
        text_only = dict(
            chain.from_iterable(s.text_only_accuracy().items() for s in self._strategies)
        )
        if text_only:
            notes = {**notes, TEXT_PROBE: text_only}
        if trained_images:
            model_description = {
                **model_description,
                TRAINED_IMAGES: count_by_source(trained_images),
            }
        results = build_results(
            self.plan,
            self.benchmarks,
            self.roots,
            self.presets,
            cases,
            model_description,
            notes,
            self.out,
            self.familiarity,
            self.reference_models,
            self.excluded_images,
        )
        if remaining_questions and self.require:
            raise ZooError(
                f"{len(remaining_questions):,} cases were not scored, since the run ended early: "
                "leave "
                "--trainer.limit_val_batches or --require out"
            )
        return results

    def _all_outcome_rows(
        self,
        question_outcomes: Iterable[tuple[int, list[Outcome]]],
        remaining_questions: dict[int, ScorableCase],
        trained_images: frozenset[str],
    ) -> Iterator[OutcomeRow]:
        """Yields the rows of judged cases, and then those of all others.

        Args:
            question_outcomes: Rows of questions with their outcomes.
            remaining_questions: All questions by row. Judged ones are removed.
            trained_images: Identities of the images that the model was trained on.
        """
        for q, outcomes in question_outcomes:
            question = remaining_questions.pop(q)
            yield from outcome_rows(question.run, question.case, outcomes, trained_images)
        for run, case in [
            *self.plan.unscorable_cases,
            *self.plan.excluded_cases,
            *((q.run, q.case) for q in remaining_questions.values()),
        ]:
            yield from outcome_rows(run, case, case.queries(), trained_images)


def _describe_whole_text_use(case: Case) -> str:
    if case.query_texts:
        return "compares texts with texts"
    return f"averages the vectors of {'prompts' if case.prompts else 'frames'}"


def _image_transform(backbone: Backbone, uses_torchvision: bool) -> Callable[[Any], Tensor]:
    """Returns the transform of images; those of our own towers stay uint8 until they are encoded.

    They are a quarter of the size for the loader's processes and the copy to a GPU.
    """
    if uses_torchvision:
        return backbone.eval_uint8_transform
    if isinstance(backbone, Backbone):
        return backbone.eval_pil_uint8_transform
    return backbone.eval_transform  # of a model of another library
