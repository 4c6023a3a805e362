"""Video recall: videos and texts rank each other, and a video is the mean of its frames."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Query
from zoo.benchmarks.protocols.recall import Ranks, Recall, ranks
from zoo.support.ranges import PositiveInt

AnyQuery = TypeVar("AnyQuery", bound=Query)


class VideoRecall(Recall):
    """Recall at 1, 5 and 10 as in `retrieval`, between videos and texts.

    The images of a case are the frames of the first video, then those of the second, and so on. As
    in NegBench's public code (`VideoCLIP`), the vectors of a video's frames are normalized,
    averaged and normalized again.

    Args:
        frames: Number of frames per video.
    """

    name = "video_retrieval"

    def __init__(self, frames: PositiveInt = 4) -> None:
        self.frames = frames

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query at each depth for each video and text that has a right answer."""
        yield from map(self._name_frames, super().queries(match[:: self.frames]))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, from the mean score of a video's frames.

        Args:
            match: Which texts are right for which frames, `[frames, texts]`.
            scores: The scores, `[frames, texts]`.
        """
        means = scores.reshape(-1, self.frames, scores.shape[1]).mean(1)
        return self.judge_rows(match, lambda rows: means[rows])

    def judge_rows(
        self,
        match: NDArray[np.bool_],
        rows: Callable[[slice], NDArray[np.float32]],
        step: int = 256,
    ) -> Iterator[Outcome]:
        """Yields the outcomes with at most `step` rows of scores in memory.

        Args:
            match: Which texts are right for which frames, `[frames, texts]`.
            rows: Returns the scores of a slice of videos, `[step, texts]`.
            step: Number of videos in a slice.
        """
        yield from self.judge_ranks(match, *ranks(match[:: self.frames], rows, step))

    def judge_ranks(
        self, match: NDArray[np.bool_], images: Ranks, texts: Ranks
    ) -> Iterator[Outcome]:
        """Yields the outcomes.

        Args:
            match: Which texts are right for which frames, `[frames, texts]`.
            images: Ranks of videos among texts.
            texts: Ranks of texts among videos.
        """
        outcomes = Recall().judge_ranks(match[:: self.frames], images, texts)
        yield from map(self._name_frames, outcomes)

    def _name_frames(self, query: AnyQuery) -> AnyQuery:
        """Returns a query about videos as one about the rows of their frames."""
        frames = range(self.frames)
        rows = tuple(video * self.frames + frame for video in query.images for frame in frames)
        index = query.index * self.frames if query.metric.startswith("i2t") else query.index
        if isinstance(query, Outcome) and query.wrong_image is not None:
            return replace(
                query, images=rows, index=index, wrong_image=query.wrong_image * self.frames
            )
        return replace(query, images=rows, index=index)
