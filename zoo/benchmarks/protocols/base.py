"""Protocol, the base class of rules that turn the scores of a case into outcomes.

Increase VERSION when the definition of a right answer changes. An outcome stores the result of the
strict rule (`>`, ties are wrong) and whether it is wrong only because of a tie. A preset decides
how ties count.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import ZooError
from zoo.support.class_names import check_complete, class_of
from zoo.support.configurable import Configurable, class_path, to_config

VERSION = 1

Kind = TypeVar("Kind", np.bool_, np.float32)


@dataclass(frozen=True)
class Query:
    """A question of a case, such as which text fits an image best.

    Attributes:
        metric: Name of the metric that the answer counts towards.
        index: Row of the image or column of the text that is the query; 0 if the query is the whole
            case.
        match: Which of the compared scores belong to right answers.
        images: Rows of the case's images that the query is about.
        texts: Columns of the case's texts that the query is about. If each score belongs to one
            text, the columns are in the order of the scores.
        options: Number of answers to choose from, if the protocol's `chance` needs it.
        right_options: Number of right answers among these, if `chance` needs it.
        group: The group of the query in a macro average, if the queries of a case have different
            groups.
    """

    metric: str
    index: int
    match: NDArray[np.bool_]
    images: tuple[int, ...]
    texts: tuple[int, ...]
    options: int | None = None
    right_options: int | None = None
    group: str | None = None

    def to_outcome(
        self,
        scores: NDArray[np.float32],
        right: bool,
        tie: bool,
        value: float | None = None,
        wrong_image: int | None = None,
        wrong_text: int | None = None,
    ) -> "Outcome":
        """Returns the query with its answer; `Outcome` describes the arguments."""
        return Outcome(
            **vars(self),
            scores=scores,
            right=right,
            tie=tie,
            value=value,
            wrong_image=wrong_image,
            wrong_text=wrong_text,
        )


@dataclass(frozen=True, kw_only=True)
class Outcome(Query):
    """A query and its answer.

    Attributes:
        scores: The compared scores. For recall, only two scores are stored: the highest score
            of a right answer and the highest score of a wrong answer. A slow head scores only a
            short list of answers. If this list has no right (or no wrong) answer, the corresponding
            score is minus infinity.
        right: Whether the answer is right by the strict rule, `>`.
        tie: Whether the answer is wrong by the rule `>`, but would be right by the rule `>=`.
        value: The grade of an answer from 0 to 1, such as an average precision. None if answers are
            only right or wrong.
        wrong_image: Row of the wrong image with the highest score, if the query is a text in a
            gallery.
        wrong_text: Column of the wrong text with the highest score, if the query is an image in a
            gallery.
    """

    scores: NDArray[np.float32]
    right: bool
    tie: bool
    value: float | None = None
    wrong_image: int | None = None
    wrong_text: int | None = None


class Protocol(Configurable, ABC):
    """Base class of protocols.

    Attributes:
        name: Short name of the protocol.
        drops_identical: Whether texts that are identical to the right one can be dropped, as in the
            preset `strict`. This requires that each query compares texts with one image or with
            query texts, and is judged by `right_above_wrong`.
        by_image: Whether each image is a separate query among all texts of the case. If so, the
            case is scored on those of its images that exist.
        frames: Number of consecutive images of a gallery that form one video; 1 if images are not
            frames.
        has_interval: Whether a confidence interval of the metric can be computed from the variance
            of the answers. False if an answer is computed from all images, such as an average
            precision.
        lower_is_better: Names of the metrics whose lower values are better.
    """

    name: ClassVar[str]
    drops_identical: ClassVar[bool] = False
    by_image: ClassVar[bool] = False
    frames: int = 1
    has_interval: ClassVar[bool] = True
    lower_is_better: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def queries(self, match: NDArray[np.bool_]) -> Iterable[Query]:
        """Returns the queries of a case, in the order of the outcomes of `judge`.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
        """

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterable[Outcome]:
        """Returns the outcomes of a case.

        By default, a query compares the scores of its images and texts. It is right if every right
        answer scores above every wrong one.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
            scores: Scores of images and texts, `[images, texts]`.
        """
        for query in self.queries(match):
            compared = select_block(scores, query.images, query.texts)
            yield query.to_outcome(compared, *right_above_wrong(compared, query.match))

    def judge_subset(
        self,
        metric: str,
        scores: Sequence[NDArray[np.float32]],
        match: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.bool_] | None:
        """Judges all answers of a subset together, if one answer cannot be judged alone.

        An example is a threshold that depends on all scores. The result replaces that of `judge`.

        Args:
            metric: Name of a metric of the protocol.
            scores: Scores of each query, as stored in its outcome.
            match: For each query, which of its scores belong to right answers.

        Returns:
            Whether each answer is right, `[q]`. None (the default) keeps the results of `judge`.
        """
        return None

    def first_wins(self, outcome: Outcome) -> bool:
        """Returns whether an argmax (the first of the highest scores) gives a right answer.

        Args:
            outcome: An outcome with its scores in the order of the answers.
        """
        return bool(outcome.match[np.argmax(outcome.scores)])

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why a case cannot be judged, such as "has no image", or "" if it can.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
        """
        return ""

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Returns the chance of a right answer to each query, `[q]`.

        Args:
            metric: Name of a metric of the protocol.
            options: Number of answers to choose from, `[q]`.
            right_options: Number of right answers among these, `[q]`; 0 if it is not stored.

        Returns:
            Values from 0 to 1, or None if they do not follow from the numbers of options. In that
            case, the chance level is taken from `Subset.chance`.
        """
        return None


def resolve_protocol(protocol: Protocol | str) -> Protocol:
    """Returns a protocol, also if it is given by name.

    Args:
        protocol: A protocol, a name of `zoo ls protocols`, a dotted class path, or the text that
            `protocol_name` returns.

    Raises:
        ZooError: There is no such protocol, or it has no name.
    """
    if isinstance(protocol, str):
        return _parse_protocol(protocol)
    check_complete(type(protocol), Protocol)
    return protocol


@cache
def _parse_protocol(text: str) -> Protocol:
    path, arguments = text, {}
    if text.startswith("{"):
        try:
            description = json.loads(text)
            path, arguments = description["class_path"], description["init_args"]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(f"protocol {text!r} has no class_path and init_args") from error
    protocol: Protocol = class_of(path, "protocols", Protocol)(**arguments)
    return protocol


def protocol_name(protocol: Protocol) -> str:
    """Returns the name of a protocol in files, from which `resolve_protocol` can build it.

    It is the short name, the path of a class outside zoo, or the path with arguments as JSON.
    """
    if protocol.recorded_arguments:
        return json.dumps(to_config(protocol))
    path = _class_path(type(protocol))
    return protocol.name if path.startswith("zoo.") else path


@cache
def _class_path(protocol_class: type[Protocol]) -> str:
    return class_path(protocol_class)


def invalid_texts_reason(match: NDArray[np.bool_]) -> str:
    """Returns why a case is invalid if an image has no right or no wrong text, else ""."""
    complete = match.any(1).all() and (~match).any(1).all()
    return "" if complete else "has an image without a right or without a wrong text"


def invalid_images_reason(match: NDArray[np.bool_]) -> str:
    """Returns why a case is invalid if a text has no right or no wrong image, else ""."""
    complete = match.any(0).all() and (~match).any(0).all()
    return "" if complete else "has a text without a right or without a wrong image"


def build_query(
    metric: str,
    query: int,
    match: NDArray[np.bool_],
    images: Sequence[int],
    texts: Sequence[int],
) -> Query:
    """Builds a query about some images and texts of a case.

    Args:
        metric: Name of the metric that the answer counts towards.
        query: Row of the image or column of the text that is the query; 0 if the query is the whole
            case.
        match: Which texts are right for which images, `[images, texts]`.
        images: Rows of the images that the query is about.
        texts: Columns of the texts that the query is about.
    """
    return Query(metric, query, select_block(match, images, texts), tuple(images), tuple(texts))


def select_block(
    table: NDArray[Kind], images: Sequence[int], texts: Sequence[int]
) -> NDArray[Kind]:
    """Returns the entries of an array `[images, texts]` for some images and texts, row by row."""
    return table.take(images, axis=0).take(texts, axis=1).ravel()


def combine_answers(answers: Iterable[tuple[bool, bool]]) -> tuple[bool, bool]:
    """Combines results of `right_above_wrong` into one answer, right if all of them are.

    Args:
        answers: For each answer, whether it is right, and whether it is wrong only because of ties.

    Returns:
        Whether all answers are right, and whether this fails only because of ties.
    """
    right, or_tie = zip(*((right, right or tie) for right, tie in answers), strict=True)
    return all(right), all(or_tie) and not all(right)


def right_above_wrong(scores: NDArray[np.float32], match: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Compares the right answers with the wrong ones.

    Args:
        scores: Scores, `[K]`.
        match: Which of them are right, `[K]`.

    Returns:
        Whether every right answer scores above every wrong one, and whether this fails only because
        of ties.
    """
    worst, hardest = scores[match].min(), scores[~match].max(initial=-np.inf)
    return bool(worst > hardest), bool(worst == hardest)
