"""Strategy: how the scores of questions come about, of which `Evaluation` runs one or two."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.evaluation.portions import EvaluationBatch
from zoo.evaluation.texts_alone import Told
from zoo.heads.base import Head
from zoo.needs import Needs


class Strategy(ABC):
    """Loads what some questions need, keeps what steps find, and judges at the end.

    Each rank has one of its own, which sees the portions of that rank.
    """

    @abstractmethod
    def loaders(self) -> list[DataLoader[Any]]:
        """Returns the loaders of its portions."""

    def takes(self, portion: EvaluationBatch) -> bool:
        """Returns whether a portion is of these loaders."""
        return not portion.questions

    def needs(self, head: Head) -> Needs:
        """Returns what `step` needs of encoded images and texts."""
        return Needs(pooled=True)

    @abstractmethod
    def step(
        self, head: Head, portion: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Keeps what is wanted of a portion.

        Args:
            head: Scores pairs.
            portion: What was encoded.
            images: Its images, None where it has none.
            texts: Its texts, None where it has none.
        """

    @abstractmethod
    def image_passes(self, views: int) -> int:
        """Returns how many images and views of images the image tower is to encode.

        Args:
            views: How many views of an image are encoded in its place.
        """

    @abstractmethod
    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Gathers what the steps of all ranks found; every rank calls this.

        Args:
            backbone: Encodes what is still to be encoded.
            head: Scores pairs.

        Returns:
            The row of each question that was reached and its outcomes, found as they are asked for.

        Raises:
            ZooError: On every rank, where an image is broken. While outcomes are asked for, where a
                score is not finite.
        """

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns what results say of the way of scoring."""
        return {}

    def told_by_texts(self) -> Told:
        """Returns what the texts alone tell, once all questions are judged; nothing by default."""
        return {}
