"""By kind: an image or video chooses among texts, and the answer counts for its kind too."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Query, right_above_wrong
from zoo.benchmarks.protocols.image_to_text import ImageToText


class ByKind(ImageToText):
    """As `i2t`, but each answer also counts for a metric that is named after the kind of the case.

    The benchmark defines the kinds. An example is `negative`.

    Args:
        kind: The name of the kind's metric; if empty, only `i2t` is counted.
    """

    name = "by_kind"

    def __init__(self, kind: str = "") -> None:
        self.kind = kind

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `i2t` for each image, and the same as a query of the kind."""
        for query in super().queries(match):
            yield query
            if self.kind:
                yield replace(query, metric=self.kind)


class VideoByKind(ByKind):
    """As `by_kind`, but a video chooses the text with the highest mean score over its frames.

    If scores are cosines, the choice is the same as in NegBench, which compares each text with the
    mean of the frames' normalized vectors.

    Args:
        kind: The name of the kind's metric; if empty, only `i2t` is counted.
    """

    name = "video_by_kind"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `i2t` for the video, and the same as a query of the kind."""
        for query in super().queries(match[:1]):
            yield replace(query, images=tuple(range(len(match))))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, from the scores `[frames, texts]`."""
        video_scores = scores.mean(0)
        for query in self.queries(match):
            yield query.to_outcome(video_scores, *right_above_wrong(video_scores, query.match))
