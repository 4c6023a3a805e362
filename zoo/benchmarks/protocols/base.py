"""Protocol: how the scores of a case become outcomes.

A change of what counts as right raises VERSION. An outcome keeps what the strict rule says (`>`,
ties wrong), and whether equal scores alone made it say so. A preset decides what ties count.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.support.names import class_of
from zoo.support.spec import Recorded, spec

VERSION = 1


@dataclass(frozen=True)
class Outcome:
    """One answer to one query.

    Attributes:
        metric: Name of the metric that the outcome counts towards.
        query: Row of the image or column of the text that asks; 0 where the whole case asks.
        right: Whether the answer is right by the strict rule, `>`.
        tie: Whether `>=` in the place of `>` would make a wrong answer right.
        scores: Scores that were compared. Of a recall: the best right score and the highest wrong
            one, minus infinity off a short-list.
        match: Which of the scores are right.
        images: Rows of the case's images that the query is about.
        texts: Columns of the case's texts that the query is about, in the order of `scores` where
            each score is of one text.
        options: Number of answers to choose from, of a recall; None elsewhere, where `match` tells.
        right_options: Number of right answers among them, of a recall; None elsewhere.
    """

    metric: str
    query: int
    right: bool
    tie: bool
    scores: NDArray[np.float32]
    match: NDArray[np.bool_]
    images: tuple[int, ...]
    texts: tuple[int, ...]
    options: int | None = None
    right_options: int | None = None


class Protocol(Recorded, ABC):
    """Base of protocols.

    Attributes:
        name: Short name of the protocol.
        drops_identical: Whether each outcome is about the texts of one image, and `above_all`
            judges it. Texts that say the same as the right one can then be dropped, as the preset
            `strict` does.
    """

    name: ClassVar[str]
    drops_identical: ClassVar[bool] = False

    @abstractmethod
    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterable[Outcome]:
        """Returns the outcomes of a case.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
            scores: Scores of images and texts, `[images, texts]`.
        """

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
        ZooError: There is no such protocol.
    """
    return named if isinstance(named, Protocol) else _built(named)


@cache
def _built(text: str) -> Protocol:
    path, arguments = text, {}
    if text.startswith("{"):
        described = json.loads(text)
        path, arguments = described["class_path"], described["init_args"]
    built: Protocol = class_of(path, "protocols", Protocol)(**arguments)
    return built


def written(protocol: Protocol) -> str:
    """Returns what files call a protocol, from which `protocol_of` builds it again.

    That is its short name, the path of a class from outside zoo, or the path with its arguments.
    """
    described = spec(protocol)
    path = described["class_path"]
    if described["init_args"]:
        return json.dumps(described)
    return protocol.name if path.startswith("zoo.") else path


def lacking_texts(match: NDArray[np.bool_]) -> str:
    """Says whether an image has no right or no wrong text; nothing where each has both."""
    both = match.any(1).all() and (~match).any(1).all()
    return "" if both else "has an image without a right or without a wrong text"


def lacking_images(match: NDArray[np.bool_]) -> str:
    """Says whether a text has no right or no wrong image; nothing where each has both."""
    both = match.any(0).all() and (~match).any(0).all()
    return "" if both else "has a text without a right or without a wrong image"


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
