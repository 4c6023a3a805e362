"""Protocol: how the scores of a case become outcomes.

A change of what counts as right raises VERSION. An outcome keeps what the strict rule says (`>`,
ties wrong), and whether equal scores alone made it say so. A preset decides what ties count.
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
from zoo.support.names import check_whole, class_of
from zoo.support.spec import Configurable, class_path, to_config

VERSION = 1

Kind = TypeVar("Kind", np.bool_, np.float32)


@dataclass(frozen=True)
class Query:
    """What a case asks, whether it can be scored or not.

    Attributes:
        metric: Name of the metric that the answer counts towards.
        query: Row of the image or column of the text that asks; 0 where the whole case asks.
        match: Which of the compared scores are right.
        images: Rows of the case's images that the query is about.
        texts: Columns of the case's texts that the query is about, in the order of the scores where
            each score is of one text.
        options: Number of answers to choose from, where the protocol's `chance` asks for it.
        right_options: Number of right answers among them, likewise.
        group: What a macro average is taken over, where a case has queries of several groups.
    """

    metric: str
    query: int
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
        """Returns the query with its answer; see `Outcome`."""
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
        scores: Scores that were compared. Of a recall: the best right score and the highest wrong
            one, minus infinity off a short-list.
        right: Whether the answer is right by the strict rule, `>`.
        tie: Whether `>=` in the place of `>` would make a wrong answer right.
        value: How good a graded answer is, from 0 to 1, such as an average precision. None where
            an answer is right or wrong and nothing between.
        wrong_image: Row of the wrong image that scores highest, where a text asked a gallery.
        wrong_text: Column of the wrong text that scores highest, where an image asked a gallery.
    """

    scores: NDArray[np.float32]
    right: bool
    tie: bool
    value: float | None = None
    wrong_image: int | None = None
    wrong_text: int | None = None


class Protocol(Configurable, ABC):
    """Base of protocols.

    Attributes:
        name: Short name of the protocol.
        drops_identical: Whether each outcome is about the texts of one image, or about texts that
            ask, and `above_all` judges it. Texts that say the same as the right one can then be
            dropped, as the preset `strict` does.
        by_image: Whether each image asks for itself among all texts of the case. The case is then
            scored over those of its images that are there.
        has_interval: Whether the spread of its answers tells how far a metric may be from that over
            other images. It does not where an answer is a number over all images.
    """

    name: ClassVar[str]
    drops_identical: ClassVar[bool] = False
    by_image: ClassVar[bool] = False
    has_interval: ClassVar[bool] = True

    @abstractmethod
    def queries(self, match: NDArray[np.bool_]) -> Iterable[Query]:
        """Returns what a case asks, in the order of the outcomes of `judge`.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
        """

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterable[Outcome]:
        """Returns the outcomes of a case.

        By default a query compares the scores of its images and texts, and every right answer has
        to score above every wrong one.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
            scores: Scores of images and texts, `[images, texts]`.
        """
        for query in self.queries(match):
            compared = select_block(scores, query.images, query.texts)
            yield query.to_outcome(compared, *above_all(compared, query.match))

    def judge_subset(
        self,
        metric: str,
        scores: Sequence[NDArray[np.float32]],
        match: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.bool_] | None:
        """Judges all answers of a subset together, where one alone does not tell.

        So does a threshold that is found from all scores. What `judge` says of such answers is not
        counted.

        Args:
            metric: Name of a metric of the protocol.
            scores: Scores of each query, as its outcome keeps them.
            match: Which of them are right.

        Returns:
            Whether each answer is right, `[q]`. None where `judge` says so, as by default.
        """
        return None

    def first_wins(self, outcome: Outcome) -> bool:
        """Tells whether an argmax answers rightly, which takes the first of the highest scores.

        Args:
            outcome: An outcome, its scores in the order of the answers.
        """
        return bool(outcome.match[np.argmax(outcome.scores)])

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Says why a case cannot be judged, such as "has no image"; nothing where it can be.

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
            right_options: Number of right answers among them, `[q]`; 0 where it is not kept.

        Returns:
            Shares, or None where options do not tell them. The subset then gives the chance level.
        """
        return None


def protocol_of(named: Protocol | str) -> Protocol:
    """Returns the protocol that is meant.

    Args:
        named: A protocol, a name of `zoo ls protocols`, a dotted class path, or what `written`
            makes of a protocol.

    Raises:
        ZooError: There is no such protocol, or it has no name.
    """
    if isinstance(named, str):
        return _parse_protocol(named)
    check_whole(type(named), Protocol)
    return named


@cache
def _parse_protocol(text: str) -> Protocol:
    path, arguments = text, {}
    if text.startswith("{"):
        try:
            described = json.loads(text)
            path, arguments = described["class_path"], described["init_args"]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(
                f"protocol {text!r} does not name a class_path and its init_args"
            ) from error
    built: Protocol = class_of(path, "protocols", Protocol)(**arguments)
    return built


def protocol_name(protocol: Protocol) -> str:
    """Returns what files call a protocol, from which `protocol_of` builds it again.

    That is its short name, the path of a class from outside zoo, or the path with its arguments.
    """
    if protocol._recorded:
        return json.dumps(to_config(protocol))
    path = _path(type(protocol))
    return protocol.name if path.startswith("zoo.") else path


@cache
def _path(kind: type[Protocol]) -> str:
    return class_path(kind)


def lacking_texts(match: NDArray[np.bool_]) -> str:
    """Says whether an image has no right or no wrong text; nothing where each has both."""
    both = match.any(1).all() and (~match).any(1).all()
    return "" if both else "has an image without a right or without a wrong text"


def lacking_images(match: NDArray[np.bool_]) -> str:
    """Says whether a text has no right or no wrong image; nothing where each has both."""
    both = match.any(0).all() and (~match).any(0).all()
    return "" if both else "has a text without a right or without a wrong image"


def build_query(
    metric: str,
    query: int,
    match: NDArray[np.bool_],
    images: Sequence[int],
    texts: Sequence[int],
) -> Query:
    """Returns a query about some images and texts of a case.

    Args:
        metric: Name of the metric that the answer counts towards.
        query: Row of the image or column of the text that asks; 0 where the whole case asks.
        match: Which texts are right for which images, `[images, texts]`.
        images: Rows of the images.
        texts: Columns of the texts.
    """
    return Query(metric, query, select_block(match, images, texts), tuple(images), tuple(texts))


def select_block(
    table: NDArray[Kind], images: Sequence[int], texts: Sequence[int]
) -> NDArray[Kind]:
    """Returns the entries of a table `[images, texts]` for some images and texts, row by row."""
    return table.take(images, axis=0).take(texts, axis=1).ravel()


def all_right(answers: Iterable[tuple[bool, bool]]) -> tuple[bool, bool]:
    """Joins answers, each as `above_all` gives it, to the one that asks for all of them.

    Args:
        answers: Whether each answer is right, and whether only ties keep it from that.

    Returns:
        Whether all are right, and whether only ties keep them from that.
    """
    right, or_tie = zip(*((right, right or tie) for right, tie in answers), strict=True)
    return all(right), all(or_tie) and not all(right)


def above_all(scores: NDArray[np.float32], match: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Compares the right answers with the wrong ones.

    Args:
        scores: Scores, `[K]`.
        match: Which of them are right, `[K]`.

    Returns:
        Whether every right answer scores above every wrong one, and whether only ties keep it from
        that.
    """
    worst, hardest = scores[match].min(), scores[~match].max(initial=-np.inf)
    return bool(worst > hardest), bool(worst == hardest)
