"""Evaluation: encodes what benchmarks ask for, each photograph and text once, scores the pairs that cases name, judges and reports."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader

from zoo.backbone import Backbone
from zoo.batch import Encoded, concatenate
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import benchmark as named_benchmark
from zoo.datamodules.photographs import PhotographFinder, identity, photograph_ref
from zoo.errors import ZooError
from zoo.evaluation import portions
from zoo.evaluation.averages import preset_named
from zoo.evaluation.outcomes import Row, rows, table
from zoo.evaluation.plan import Plan, Question, make_plan
from zoo.evaluation.portions import FILLING, Maker, Portion, Window
from zoo.evaluation.protocols import Outcome, judge, retrieval_by_rows
from zoo.evaluation.report import CUT, Results, report
from zoo.fingerprint import weights_hash
from zoo.gather import gather_objects, rank
from zoo.heads.base import Head

PAIRS_AT_ONCE = 1 << 14

Scores = NDArray[np.float32]
Share = list[tuple[NDArray[np.int64], NDArray[np.float32]]]


class Evaluation:
    """One run of some benchmarks on one model; it can run again and again in `fit`.

    benchmarks: names, such as sugarcrepe or pairs:FILE.csv, or benchmarks with their options. data_root: where annotations and
    photographs are, one folder or several, the first that has a thing wins. out: the folder of results.json and cases.parquet, None to
    write nothing. presets: ways of counting and averaging, `official` where None; the first is logged. image_batch, text_batch: items
    encoded at once. window_bytes: of tokens held at once, for heads that read tokens. workers: processes that load photographs, on each
    device. trained_images: photographs that the model was trained on, as references in text.
    """

    def __init__(
        self,
        benchmarks: list[str | Benchmark],
        data_root: str | list[str] = ".",
        out: str | None = None,
        presets: list[str] | None = None,
        image_batch: int = 64,
        text_batch: int = 256,
        window_bytes: int = 1 << 28,
        workers: int = 2,
        trained_images: list[str] | None = None,
    ) -> None:
        if not benchmarks:
            raise ZooError("no benchmark is asked for: name one, such as sugarcrepe")
        for name, n, least in (("image_batch", image_batch, 1), ("text_batch", text_batch, 1), ("workers", workers, 0)):
            if n < least:
                raise ZooError(f"{name} of an evaluation is {n}: give a whole number from {least} up")
        self.benchmarks = [named_benchmark(entry) if isinstance(entry, str) else entry for entry in benchmarks]
        self.presets = [preset_named(name) for name in presets or ["official"]]
        self.roots = [Path(root) for root in ([data_root] if isinstance(data_root, str) else data_root)]
        self.out = None if out is None else Path(out)
        self.image_batch, self.text_batch, self.window_bytes, self.workers = image_batch, text_batch, window_bytes, workers
        self.trained_images = frozenset(trained_images or ())
        self.finder = PhotographFinder(self.roots)
        self.results: Results | None = None
        self._plan: Plan | None = None
        self._notes: dict[str, Any] = {}
        self._cut: dict[str, int] | None = None
        self._clear()

    def prepare(self) -> None:
        """Reads the benchmarks and finds their photographs, once; raises ZooError where they are broken or nothing can be scored."""
        if self._plan is None:
            self._plan = make_plan(self.benchmarks, self.roots, self.finder)

    @property
    def plan(self) -> Plan:
        """What is asked, prepared when first needed."""
        self.prepare()
        assert self._plan is not None
        return self._plan

    def loaders(self, backbone: Backbone, head: Head) -> list[DataLoader[Any]]:
        """Returns the loaders whose portions `step` takes: photographs and texts, or windows of both for a head that reads tokens."""
        if self._cut is None and rank() == 0:
            self._cut = portions.cut_texts(self.plan, backbone.tokenizer)
        maker = Maker(self.plan.images, self.plan.texts, self.finder, backbone.eval_transform, backbone.tokenizer)
        if not reads_tokens(head):
            return portions.item_loaders(self.plan, maker, self.image_batch, self.text_batch, self.workers)
        made = self._windows(backbone, head)
        images, texts = portions.encoded_twice(made)
        self._notes = {"windows": len(made), "photographs encoded twice": images, "texts encoded twice": texts}
        return [portions.loader(made, Window(), maker.of_window, None, self.workers)]

    def start(self, backbone: Backbone, head: Head) -> None:
        """Forgets an unfinished run and remembers which weights are measured."""
        self._clear()
        if rank() == 0:
            self._weights = weights_hash(backbone, head)

    @torch.no_grad()
    def step(self, backbone: Backbone, head: Head, portion: Portion) -> None:
        """Encodes one portion, and scores its questions where it has any; raises ZooError for a broken photograph."""
        if portion.error is not None:
            raise ZooError(portion.error)
        images = texts = None
        if portion.pixels is not None:
            n = self.image_batch
            parts = [portion.pixels[start : start + n] for start in range(0, len(portion.pixels), n)]
            images = [backbone.encode_images(part, head.image_keys) for part in parts]
            self._dtype = str(images[0].pooled.dtype).removeprefix("torch.")
        if portion.texts is not None:
            texts = backbone.encode_texts(portion.texts, head.text_keys).rows(portion.bank_rows)
        if portion.questions:
            assert images is not None
            assert texts is not None
            self._score_window(head, portion, images, texts)
            return
        if images is not None:
            self._images.append(_share(portion.image_rows, torch.cat([part.pooled for part in images])))
        if texts is not None:
            self._texts.append(_share(portion.text_rows, texts.pooled))

    @torch.no_grad()
    def finish(self, head: Head, about: dict[str, Any]) -> Results:
        """about: what results say of the model. Gathers, scores, judges, writes; returns the results on every rank and is ready to start
        again.

        Raises ZooError, on every rank, where scores are not finite or the results cannot be written.
        """
        shares = gather_objects((self._images, self._texts, self._scores, self._dtype))
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

    def run(self, model: Any) -> Results:
        """Measures any object with score(images, texts) -> [n, m], images RGB pictures, case by case; raises ZooError for scores of
        another shape."""

        def scores(question: Question) -> Scores:
            case = question.case
            parts = []
            for start in range(0, len(case.images), self.image_batch):
                pictures = [self.finder.load(image) for image in case.images[start : start + self.image_batch]]
                found = np.asarray(model.score(pictures, list(case.texts)), dtype=np.float32)
                if found.shape != (len(pictures), len(case.texts)):
                    raise ZooError(
                        f"{type(model).__name__}.score gave an array of shape {found.shape} for {len(pictures)} images and "
                        f"{len(case.texts)} texts: it must be ({len(pictures)}, {len(case.texts)})"
                    )
                parts.append(found)
            return np.concatenate(parts)

        judged = ((question, judge(question.case, _finite(question, scores(question)))) for question in self.plan.questions)
        about = {"model": f"{type(model).__module__}.{type(model).__qualname__}"}
        self.results = self._report(judged, [], about, {"pairs": "as the model gives them"})
        return self.results

    def _finish(self, head: Head, shares: list[tuple[Share, Share, dict[int, Scores], str]], about: dict[str, Any]) -> Results:
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
        judged: Iterable[tuple[Question, list[Outcome]]]
        if reads_tokens(head):
            scores = {q: s for _, _, share, _ in shares for q, s in share.items()}
            reached = np.array([q in scores for q in range(len(self.plan.questions))])
            judged = ((question, judge(question.case, scores[q])) for q, question in enumerate(self.plan.questions) if q in scores)
        else:
            images, images_reached = assembled((part for share in shares for part in share[0]), len(self.plan.images))
            texts, texts_reached = assembled((part for share in shares for part in share[1]), len(self.plan.texts))
            reached = np.array([images_reached[q.images].all() and texts_reached[q.texts].all() for q in self.plan.questions])
            asked = [q for q, whole in zip(self.plan.questions, reached, strict=True) if whole]
            judged = judge_pooled(head, _prepared(head.prepare_images, images, device), _prepared(head.prepare_texts, texts, device), asked)
        left = [q for q, whole in zip(self.plan.questions, reached, strict=True) if not whole]
        return self._report(judged, left, {**about, "weights_sha256": self._weights}, notes)

    def _report(
        self, judged: Iterable[tuple[Question, list[Outcome]]], left: Sequence[Question], about: dict[str, Any], notes: dict[str, Any]
    ) -> Results:
        if left:
            notes = {**notes, "cases not reached, the run was cut short": len(left)}
        cases = table(self._rows(judged, left))
        return report(self.plan, self.benchmarks, self.roots, self.presets, cases, about, notes, self.out)

    def _rows(self, judged: Iterable[tuple[Question, list[Outcome]]], left: Sequence[Question]) -> Iterator[Row]:
        trained = frozenset(identity(photograph_ref(image)) for image in self.trained_images)
        for question, outcomes in judged:
            yield from rows(question.benchmark, question.case, outcomes, trained)
        for benchmark, case in [*self.plan.unscored, *((q.benchmark, q.case) for q in left)]:
            blank = np.broadcast_to(np.float32(0), case.match.shape)
            yield from rows(benchmark, case, judge(case, blank), trained, scored=False)

    def _windows(self, backbone: Backbone, head: Head) -> list[Window]:
        gallery = next((q for q in self.plan.questions if q.case.protocol == "retrieval"), None)
        if gallery is not None:
            raise ZooError(
                f"{gallery.benchmark}/{gallery.case.subset} scores every photograph against every text, which {type(head).__name__}, "
                "a head that reads tokens, cannot do here: leave that benchmark out, or measure with a head of pooled vectors"
            )
        shapes = backbone.shapes
        image_bytes = 4 * len(head.image_keys) * ((shapes.patches or 0) + shapes.prefix) * shapes.image_width
        text_bytes = 4 * len(head.text_keys) * shapes.context * shapes.text_width
        return portions.windows(self.plan, image_bytes, text_bytes, self.window_bytes)

    def _score_window(self, head: Head, portion: Portion, images: list[Encoded], texts: Encoded) -> None:
        image_of = {row: i for i, row in enumerate(portion.image_rows.tolist())}
        text_of = {row: j for j, row in enumerate(portion.text_rows.tolist())}
        local = []
        for q in portion.questions:
            question = self.plan.questions[q]
            own_images = np.array([image_of[row] for row in question.images.tolist()])
            own_texts = np.array([text_of[row] for row in question.texts.tolist()])
            local.append(Question(question.benchmark, question.case, own_images, own_texts))
        prepared = head.prepare_images(concatenate(images)), head.prepare_texts(texts)
        scored = pair_scores(head, *prepared, local)
        self._scores.update({q: scores for q, (_, scores) in zip(portion.questions, scored, strict=True)})

    def _clear(self) -> None:
        self._images: Share = []
        self._texts: Share = []
        self._scores: dict[int, Scores] = {}
        self._dtype, self._weights = "", ""


def reads_tokens(head: Head) -> bool:
    """Whether a head needs more of an item than its pooled vector."""
    return bool(head.image_keys or head.text_keys)


def assembled(parts: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]], n: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """parts: rows and their vectors, from all ranks. Returns the vectors of n items, zeros where none came, and which came."""
    whole, reached = np.zeros((n, 0), dtype=np.float32), np.zeros(n, dtype=bool)
    for index, vectors in parts:
        if not whole.shape[1]:
            whole = np.zeros((n, vectors.shape[1]), dtype=np.float32)
        whole[index], reached[index] = vectors, True
    return whole, reached


def judge_pooled(head: Head, images: Encoded, texts: Encoded, questions: Sequence[Question]) -> Iterator[tuple[Question, list[Outcome]]]:
    """images, texts: the plan's, prepared. Yields the outcomes of each question: of the pairs it names, or of its gallery in blocks of
    rows."""
    for question, scores in pair_scores(head, images, texts, [q for q in questions if q.case.protocol != "retrieval"]):
        yield question, judge(question.case, scores)
    for question in questions:
        if question.case.protocol == "retrieval":
            yield question, list(retrieval_by_rows(question.case.match, _blocks(head, images, texts, question)))


def pair_scores(head: Head, images: Encoded, texts: Encoded, questions: Sequence[Question]) -> Iterator[tuple[Question, Scores]]:
    """Yields each question's scores [images, texts], many questions at a time, in fp32; raises ZooError where one is not finite."""
    device = images.pooled.device
    start = 0
    while start < len(questions):
        stop, pairs = start, 0
        while stop < len(questions) and (stop == start or pairs + questions[stop].case.match.size <= PAIRS_AT_ONCE):
            pairs, stop = pairs + questions[stop].case.match.size, stop + 1
        some = questions[start:stop]
        i = np.concatenate([np.repeat(q.images, len(q.texts)) for q in some])
        j = np.concatenate([np.tile(q.texts, len(q.images)) for q in some])
        with torch.autocast(device.type, enabled=False):
            scores = head.pairs(images, texts, torch.from_numpy(i).to(device), torch.from_numpy(j).to(device))
        parts = np.split(scores.float().cpu().numpy(), np.cumsum([q.case.match.size for q in some])[:-1])
        for question, part in zip(some, parts, strict=True):
            yield question, _finite(question, part.reshape(question.case.match.shape))
        start = stop


def _blocks(head: Head, images: Encoded, texts: Encoded, question: Question) -> Callable[[slice], Scores]:
    device = images.pooled.device
    columns = texts.rows(torch.from_numpy(question.texts).to(device))
    image_rows = torch.from_numpy(question.images).to(device)

    def block(part: slice) -> Scores:
        with torch.autocast(device.type, enabled=False):
            return _finite(question, head.block(images.rows(image_rows[part]), columns).float().cpu().numpy())

    return block


def _prepared(prepare: Callable[[Encoded], Encoded], vectors: NDArray[np.float32], device: torch.device) -> Encoded:
    return prepare(Encoded(torch.from_numpy(vectors).to(device)))


def _share(row: Tensor, pooled: Tensor) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Returns rows and vectors without filling, in fp32."""
    real = (row != FILLING).to(pooled.device)
    return row[row != FILLING].cpu().numpy(), pooled[real].float().cpu().numpy()


def _finite(question: Question, scores: Scores) -> Scores:
    if not np.isfinite(scores).all():
        raise ZooError(
            f"case {question.case.id} of {question.benchmark}/{question.case.subset} has a score that is not a number: the model's weights "
            "or its precision are broken, look at the loss it was trained to"
        )
    return scores
