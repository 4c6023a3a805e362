"""Evaluation: encodes what benchmarks ask for, scores the pairs of cases, judges and reports.

Each image and text is encoded once.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import weights_hash
from zoo.batch import Encoded
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import asked_for
from zoo.errors import ZooError
from zoo.evaluation import portions
from zoo.evaluation.portions import FILLING, Maker, Portion, Window
from zoo.evaluation.scoring import (
    assembled,
    finite,
    judge_pooled,
    pair_scores,
    reads_tokens,
    token_bytes,
)
from zoo.evaluation.shortlist import ShortLists, score_tiles, short_lists, tiles
from zoo.heads.base import Head
from zoo.results.averages import preset_named
from zoo.results.outcomes import Row, rows, table
from zoo.results.plan import Plan, Question, make_plan
from zoo.results.protocols import RECALLS, Outcome, judge, recalls
from zoo.results.report import CUT, SHORT_LISTS, Results, refuse_results, report
from zoo.sources.images import ImageFinder, identity, image_ref
from zoo.sources.pictures import Decoding
from zoo.support.distributed import gather_objects, rank, world_size
from zoo.support.ranges import NonNegativeInt, PositiveInt, Ranged

Scores = NDArray[np.float32]
Share = list[tuple[NDArray[np.int64], NDArray[np.float32]]]


class Evaluation(Ranged):
    """One run of some benchmarks on one model; it can run again and again in `fit`.

    Args:
        benchmarks: Names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options.
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

    Raises:
        ZooError: No benchmark is given, or a name or number is not valid.
    """

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        out: str | None = None,
        presets: list[str] | None = None,
        image_batch: PositiveInt = 64,
        text_batch: PositiveInt = 256,
        window_bytes: PositiveInt = 1 << 28,
        shortlist: PositiveInt = 32,
        workers: NonNegativeInt = 2,
        trained_images: list[str] | None = None,
        overwrite: bool = False,
        upright: bool = False,
        background: str | None = None,
    ) -> None:
        if not benchmarks:
            raise ZooError("no benchmark is asked for: name one, such as sugarcrepe")
        if shortlist < max(RECALLS):
            raise ZooError(
                f"Evaluation(shortlist={shortlist}): give a whole number from {max(RECALLS)} up"
            )
        self.benchmarks = asked_for(benchmarks)
        self.presets = [preset_named(name) for name in presets or ["official"]]
        self.roots = [
            Path(root) for root in ([data_root] if isinstance(data_root, str) else data_root)
        ]
        self.out = None if out is None else Path(out)
        self.image_batch, self.text_batch, self.workers = image_batch, text_batch, workers
        self.window_bytes, self.shortlist = window_bytes, shortlist
        self.trained_images = frozenset(trained_images or ())
        self.overwrite = overwrite
        self.finder = ImageFinder(self.roots, Decoding(upright, background))
        self.results: Results | None = None
        self._plan: Plan | None = None
        self._notes: dict[str, Any] = {}
        self._cut: dict[str, int] | None = None
        self._clear()

    def prepare(self) -> None:
        """Reads the benchmarks and finds their images, once.

        Raises:
            ZooError: `out` holds results, a benchmark is broken, or nothing can be scored.
        """
        if self._plan is None:
            refuse_results(self.out, self.overwrite)
            self._plan = make_plan(self.benchmarks, self.roots, self.finder)

    @property
    def plan(self) -> Plan:
        """What is asked, prepared when first needed."""
        self.prepare()
        assert self._plan is not None
        return self._plan

    def loaders(self, backbone: Backbone, head: Head) -> list[DataLoader[Any]]:
        """Returns the loaders whose portions `step` takes.

        They bring images and texts, or windows of both for a head that reads tokens.
        """
        if self._cut is None and rank() == 0:
            self._cut = portions.cut_texts(self.plan, backbone.tokenizer)
        maker = self._maker(backbone)
        if not reads_tokens(head):
            return portions.item_loaders(
                self.plan.questions, maker, self.image_batch, self.text_batch, self.workers
            )
        made = portions.windows(self.plan, *token_bytes(backbone, head), self.window_bytes)
        images, texts = portions.encoded_twice(made)
        self._notes = {
            "windows": len(made),
            "images encoded twice": images,
            "texts encoded twice": texts,
        }
        galleries = [self.plan.questions[q] for q in self._galleries]
        items = (
            portions.item_loaders(galleries, maker, self.image_batch, self.text_batch, self.workers)
            if galleries
            else []
        )
        return [*items, portions.loader(made, Window(), maker.of_window, None, self.workers)]

    def start(self, backbone: Backbone, head: Head) -> None:
        """Forgets an unfinished run and remembers which weights are measured."""
        self._clear()
        self._weights = weights_hash(backbone, head)

    @torch.no_grad()
    def step(self, backbone: Backbone, head: Head, portion: Portion) -> None:
        """Encodes one portion, and scores its questions where it has any.

        Raises:
            ZooError: An image is broken.
        """
        portion.checked()
        images = texts = None
        # Items without a question are wanted for their pooled vectors, whatever the head reads.
        image_keys, text_keys = (
            (head.needs.image_keys, head.needs.text_keys)
            if portion.questions
            else (frozenset(), frozenset())
        )
        if portion.pixels is not None:
            images = portions.encode_pixels(backbone, portion.pixels, image_keys, self.image_batch)
            self._dtype = str(images.pooled.dtype).removeprefix("torch.")
        if portion.texts is not None:
            texts = backbone.encode_texts(portion.texts, text_keys).rows(portion.bank_rows)
        if portion.questions:
            assert images is not None
            assert texts is not None
            self._score_window(head, portion, images, texts)
            return
        if images is not None:
            self._images.append(_share(portion.image_rows, images.pooled))
        if texts is not None:
            self._texts.append(_share(portion.text_rows, texts.pooled))

    @torch.no_grad()
    def finish(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> Results:
        """Gathers, scores, judges and writes, and is then ready to start again.

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
        reranked: dict[int, Share] = {}
        broken: ZooError | None = None
        if reads_tokens(head) and self._galleries:
            try:
                reranked = self._rerank(backbone, head)
            except ZooError as error:  # every rank stops, or the others would wait
                broken = error
        broken = next((error for error in gather_objects(broken) if error is not None), None)
        if broken is not None:
            raise broken
        shares = gather_objects((self._images, self._texts, self._scores, reranked, self._dtype))
        answer: Results | ZooError | None = None
        if rank() == 0:
            try:
                answer = self._finish(head, shares, about)
            except ZooError as error:
                answer = error
        self._clear()
        answer = gather_objects(answer)[0]
        if isinstance(answer, ZooError):
            raise answer
        assert answer is not None
        self.results = answer
        return answer

    def run(self, model: Any, name: str | None = None) -> Results:
        """Measures any object with score(images, texts) -> [n, m] case by case.

        Args:
            model: The object. It gets PIL images in RGB.
            name: What results call it; its class where None.

        Raises:
            ZooError: Its scores are no numbers, or of another shape.
        """
        named = name or f"{type(model).__module__}.{type(model).__qualname__}"

        def scores(question: Question) -> Scores:
            case = question.case
            parts = []
            for start in range(0, len(case.images), self.image_batch):
                images = [
                    self.finder.load(image)
                    for image in case.images[start : start + self.image_batch]
                ]
                found = as_array(model.score(images, list(case.texts)), named)
                if found.shape != (len(images), len(case.texts)):
                    raise ZooError(
                        f"{named} gave scores of shape {found.shape} for {len(images)} images "
                        f"and {len(case.texts)} texts: "
                        f"it must be ({len(images)}, {len(case.texts)})"
                    )
                parts.append(found)
            return np.concatenate(parts)

        judged = (
            (question, judge(question.case, finite(question, scores(question))))
            for question in self.plan.questions
        )
        self.results = self._report(
            judged, [], {"model": named}, {"pairs": "as the model gives them"}
        )
        return self.results

    def _finish(
        self,
        head: Head,
        shares: list[tuple[Share, Share, dict[int, Scores], dict[int, Share], str]],
        about: dict[str, Any],
    ) -> Results:
        device = next((p.device for p in head.parameters()), torch.device("cpu"))
        notes = {
            "towers": next((dtype for *_, dtype in shares if dtype), ""),
            "pairs": "float32",
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "image_batch": self.image_batch,
            "text_batch": self.text_batch,
            CUT: self._cut or {},
            **self._notes,
        }
        images, images_reached = assembled(
            (part for share in shares for part in share[0]), len(self.plan.images)
        )
        texts, texts_reached = assembled(
            (part for share in shares for part in share[1]), len(self.plan.texts)
        )
        reached = np.array(
            [
                images_reached[q.images].all() and texts_reached[q.texts].all()
                for q in self.plan.questions
            ]
        )
        if head.reranks and self._galleries:
            notes[SHORT_LISTS] = (
                f"the {self.shortlist} best by cosine of pooled vectors, "
                f"ordered by {type(head).__name__}"
            )
        judged: Iterable[tuple[Question, list[Outcome]]]
        if reads_tokens(head):
            scores = {q: s for share in shares for q, s in share[2].items()}
            reached = np.array(
                [q in scores or (q in self._galleries and at) for q, at in enumerate(reached)]
            )
            pairs = {
                q: [part for share in shares for part in share[3].get(q, [])]
                for q in self._galleries
            }
            judged = (
                (
                    question,
                    judge(question.case, scores[q]) if q in scores else self._reranked(q, pairs[q]),
                )
                for q, question in enumerate(self.plan.questions)
                if reached[q]
            )
        else:
            asked = [q for q, whole in zip(self.plan.questions, reached, strict=True) if whole]
            judged = judge_pooled(head, images, texts, asked, self.shortlist, device)
        left = [q for q, whole in zip(self.plan.questions, reached, strict=True) if not whole]
        return self._report(judged, left, {**about, "weights_sha256": self._weights}, notes)

    def _report(
        self,
        judged: Iterable[tuple[Question, list[Outcome]]],
        left: Sequence[Question],
        about: dict[str, Any],
        notes: dict[str, Any],
    ) -> Results:
        if left:
            notes = {**notes, "cases not reached, the run was cut short": len(left)}
        cases = table(self._rows(judged, left))
        return report(
            self.plan, self.benchmarks, self.roots, self.presets, cases, about, notes, self.out
        )

    def _rows(
        self, judged: Iterable[tuple[Question, list[Outcome]]], left: Sequence[Question]
    ) -> Iterator[Row]:
        trained = frozenset(identity(image_ref(image)) for image in self.trained_images)
        for question, outcomes in judged:
            yield from rows(question.benchmark, question.case, outcomes, trained)
        for benchmark, case in [*self.plan.unscored, *((q.benchmark, q.case) for q in left)]:
            blank = np.broadcast_to(np.float32(0), case.match.shape)
            yield from rows(benchmark, case, judge(case, blank), trained, scored=False)

    def _rerank(self, backbone: Backbone, head: Head) -> dict[int, Share]:
        """Returns which pairs of the galleries' short-lists this rank scored, and their scores."""
        shares = gather_objects((self._images, self._texts))
        images, images_reached = assembled(
            (part for share in shares for part in share[0]), len(self.plan.images)
        )
        texts, texts_reached = assembled(
            (part for share in shares for part in share[1]), len(self.plan.texts)
        )
        at_once = max(
            1,
            min(self.window_bytes // max(token_bytes(backbone, head)[0], 1), 8 * self.image_batch),
        )
        found = {}
        for q in self._galleries:
            question = self.plan.questions[q]
            if not (images_reached[question.images].all() and texts_reached[question.texts].all()):
                continue
            lists = self._lists[q] = short_lists(
                images[question.images], texts[question.texts], self.shortlist
            )
            runs = tiles(lists, question.images, question.texts, at_once, self.text_batch)
            own = [tile for run in runs[rank() :: world_size()] for tile in run]
            what = f"{question.benchmark}/{question.case.subset}, short-lists"
            loader = portions.tile_loader(own, self._maker(backbone), self.workers)
            made = track(loader, what, len(own), console=Console(stderr=True), disable=rank() != 0)
            found[q] = list(score_tiles(backbone, head, own, made, self.image_batch))
        return found

    def _reranked(self, q: int, parts: Share) -> list[Outcome]:
        question, lists = self.plan.questions[q], self._lists[q]
        scores = np.full(len(lists.pairs), np.nan, np.float32)
        for pairs, part in parts:
            scores[pairs] = part
        return list(
            recalls(
                question.case.match, *lists.ranks(question.case.match, finite(question, scores))
            )
        )

    @property
    def _galleries(self) -> list[int]:
        return [q for q, question in enumerate(self.plan.questions) if question.case.gallery]

    def _maker(self, backbone: Backbone) -> Maker:
        return Maker(
            self.plan.images,
            self.plan.texts,
            self.finder,
            backbone.eval_transform,
            backbone.tokenizer,
        )

    def _score_window(self, head: Head, portion: Portion, images: Encoded, texts: Encoded) -> None:
        image_of = {row: i for i, row in enumerate(portion.image_rows.tolist())}
        text_of = {row: j for j, row in enumerate(portion.text_rows.tolist())}
        local = []
        for q in portion.questions:
            question = self.plan.questions[q]
            own_images = np.array([image_of[row] for row in question.images.tolist()])
            own_texts = np.array([text_of[row] for row in question.texts.tolist()])
            local.append(Question(question.benchmark, question.case, own_images, own_texts))
        prepared = head.prepare_images(images), head.prepare_texts(texts)
        scored = pair_scores(head, *prepared, local)
        self._scores.update(
            {q: scores for q, (_, scores) in zip(portion.questions, scored, strict=True)}
        )

    def _clear(self) -> None:
        self._images: Share = []
        self._texts: Share = []
        self._scores: dict[int, Scores] = {}
        self._lists: dict[int, ShortLists] = {}
        self._dtype, self._weights = "", ""


def _share(row: Tensor, pooled: Tensor) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Returns rows and vectors without filling, in fp32."""
    real = (row != FILLING).to(pooled.device)
    return row[row != FILLING].cpu().numpy(), pooled[real].float().cpu().numpy()


def as_array(scores: Any, model: str) -> Scores:
    """Returns scores of any make in fp32.

    Raises:
        ZooError: They are no table of numbers.
    """
    if isinstance(scores, Tensor):
        scores = scores.detach().float().cpu()
    try:
        return np.asarray(scores, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ZooError(
            f"{model} gave no scores but a {type(scores).__name__} ({error}): "
            "it must give an array, images by texts"
        ) from error
