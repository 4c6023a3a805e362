"""Wraps a model as an encoder of MTEB, for its image and text tasks."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from zoo.errors import ZooError, import_optional

Batch = Mapping[str, Any]  # lists by modality, from MTEB's loaders


class Towers(Protocol):
    """A model that returns vectors, such as `zoo.Model`."""

    def encode_images(self, images: list[Any]) -> NDArray[np.float32]:
        """Returns L2-normalised vectors of PIL images, `[n, D]`."""

    def encode_texts(self, texts: list[str]) -> NDArray[np.float32]:
        """Returns L2-normalised vectors of texts, `[n, D]`."""


class MtebEncoder:
    """An encoder that implements MTEB's EncoderProtocol.

    Args:
        model: The model that returns the vectors.
        name: The model's name in MTEB's results, ORGANIZATION/NAME.
        revision: Distinguishes its weights from others with that name.
    """

    def __init__(self, model: Towers, name: str, revision: str) -> None:
        self.model, self.name, self.revision = model, name, revision

    def encode(self, inputs: Iterable[Batch], **task: Any) -> NDArray[np.float32]:
        """Encodes the batches of a loader of MTEB.

        Args:
            inputs: Batches of texts, of images, or of pairs of both, whose vectors are added.
            task: MTEB's description of the task, which does not change vectors.

        Returns:
            Vectors, `[n, D]`.

        Raises:
            ZooError: A batch has neither texts nor images.
        """
        return np.concatenate([self._vectors(batch) for batch in inputs])

    def _vectors(self, batch: Batch) -> NDArray[np.float32]:
        encode = {"text": self.model.encode_texts, "image": self.model.encode_images}
        vectors = [encode[side](list(batch[side])) for side in encode if side in batch]
        if not vectors:
            raise ZooError(
                f"a batch of MTEB has {', '.join(batch)} and neither text nor image: choose tasks "
                "with texts or images"
            )
        return np.asarray(sum(vectors), dtype=np.float32)

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Tensor:
        """Returns the cosines of all pairs of vectors, `[n, m]`.

        Args:
            embeddings1: Vectors, `[n, D]`.
            embeddings2: Vectors, `[m, D]`.
        """
        return _unit(embeddings1) @ _unit(embeddings2).T

    def similarity_pairwise(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> Tensor:
        """Returns the cosine of each vector with the one at the same position, `[n]`.

        Args:
            embeddings1: Vectors, `[n, D]`.
            embeddings2: Vectors, `[n, D]`.
        """
        return (_unit(embeddings1) * _unit(embeddings2)).sum(-1)

    @property
    def mteb_model_meta(self) -> Any:
        """The model's metadata in MTEB's results.

        Raises:
            ZooError: MTEB is not installed.
        """
        import_optional("mteb")
        from mteb.models.model_meta import ModelMeta

        metadata = {"name": self.name, "revision": self.revision, "modalities": ["image", "text"]}
        return ModelMeta.create_empty(metadata)


def _unit(vectors: ArrayLike) -> Tensor:
    tensor = torch.as_tensor(vectors, dtype=torch.float32)
    return torch.nn.functional.normalize(torch.atleast_2d(tensor), dim=-1)
