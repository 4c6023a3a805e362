"""Strategy: a way to compute the scores of questions; `Evaluation` runs one or two of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.evaluation.batches import EvaluationBatch
from zoo.evaluation.text_only import TextOnlyAccuracy
from zoo.heads.base import Head
from zoo.needs import Needs


class Strategy(ABC):
    """Loads the items of some questions, collects encodings in steps, and judges at the end.

    Each rank has its own instance, which sees the batches of that rank.
    """

    @abstractmethod
    def loaders(self) -> list[DataLoader[Any]]:
        """Returns the loaders of its batches."""

    def owns_batch(self, batch: EvaluationBatch) -> bool:
        """Returns whether a batch comes from these loaders."""
        return not batch.questions

    def needs(self, head: Head) -> Needs:
        """Returns what `step` needs of encoded images and texts."""
        return Needs(pooled=True)

    @abstractmethod
    def step(
        self, head: Head, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Collects what is needed from an encoded batch.

        Args:
            head: Scores pairs.
            batch: The batch.
            images: Its encoded images, None if it has none.
            texts: Its encoded texts, None if it has none.
        """

    @abstractmethod
    def image_passes(self, views: int) -> int:
        """Returns how many images and views of images the image tower will encode.

        Args:
            views: The number of views that are encoded per image.
        """

    @abstractmethod
    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Gathers the results of the steps of all ranks; every rank calls this.

        Args:
            backbone: Encodes what is not encoded yet.
            head: Scores pairs.

        Returns:
            The row of each question that was reached and its outcomes, computed lazily.

        Raises:
            ZooError: On every rank, if an image cannot be decoded. While iterating over outcomes,
                if a score is not finite.
        """

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns the description of the scoring for results."""
        return {}

    def text_only_accuracy(self) -> TextOnlyAccuracy:
        """Returns the accuracy without images, after all questions are judged; default: empty."""
        return {}
