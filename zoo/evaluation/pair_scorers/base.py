"""The base class of models of transformers that score images against texts."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from zoo.backbones.fingerprint import weights_hash
from zoo.backbones.hugging_face import silence_transformers
from zoo.backbones.model_folders import SAFETENSORS, check_pair_scorer_folder
from zoo.errors import ZooError, import_optional
from zoo.evaluation.inputs import Picture, list_images, list_texts, open_picture
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding
from zoo.support.gpu import move_module


class PairScorer(ABC):
    """Base class of models of Hugging Face transformers that score images against texts.

    The model is on one device, in evaluation mode. On a GPU, it runs in the precision of its files;
    on a CPU, in fp32.

    Args:
        folder: The folder of the model: configuration, processor, and safetensors or
            `pytorch_model.bin`. Code in the folder is not run.
        device: Where the model runs; None uses a GPU if there is one.
        batch_size: Number of pairs, images or texts per forward pass.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default, both are ignored.

    Attributes:
        name: The model's name in results.
        revision: The commit of the files on the Hugging Face hub; None for other files.

    Raises:
        ZooError: transformers is not installed, the folder does not contain a model of this class,
            or the device is not available.
    """

    model_class: ClassVar[str]  # of transformers
    attention: ClassVar[str] = "sdpa"
    revision: str | None = None

    def __init__(
        self,
        folder: str | Path,
        device: str | torch.device | None = None,
        batch_size: int = 8,
        decoding: Decoding = AS_PUBLISHED,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ZooError(f"batch_size is {batch_size!r}: give a whole number from 1 up")
        self.folder, self.name = Path(folder), str(folder)
        self.batch_size, self.decoding = batch_size, decoding
        on_gpu = str(device).startswith("cuda") if device else torch.cuda.is_available()
        self.model, self.processor = self._load_model_and_processor("auto" if on_gpu else "float32")
        self.model.eval().requires_grad_(False)
        self.device = move_module(self.model, device)

    def _load_model_and_processor(self, dtype: str) -> tuple[Any, Any]:
        """Loads the model and its processor from the folder, without running code in it."""
        transformers: Any = import_optional("transformers", "hf")
        check_pair_scorer_folder(self.folder)
        common = {"local_files_only": True, "trust_remote_code": False}
        try:
            with silence_transformers():
                model, info = getattr(transformers, self.model_class).from_pretrained(
                    self.folder,
                    use_safetensors=any(self.folder.glob(SAFETENSORS)),
                    weights_only=True,  # of a pickled file, so that no code in it is run
                    dtype=dtype,
                    # the configuration could name an implementation to download
                    attn_implementation=self.attention,
                    output_loading_info=True,
                    **common,
                )
                processor = transformers.AutoProcessor.from_pretrained(self.folder, **common)
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ZooError(
                f"{self.folder} cannot be loaded as {self.model_class} of transformers ({reason}): "
                "check its files"
            ) from error
        absent = sorted({*info["missing_keys"], *(key[0] for key in info["mismatched_keys"])})
        if absent:
            raise ZooError(
                f"{self.folder} is not a {self.model_class}: its files have no {absent[0]} of the "
                f"right shape ({len(absent)} tensors are missing)"
            )
        return model, processor

    @torch.inference_mode()
    def score(
        self, images: Picture | Iterable[Picture], texts: str | Iterable[str]
    ) -> NDArray[np.float32]:
        """Scores every image against every text.

        Args:
            images: One or several images, in the forms that `zoo.Model.score` accepts.
            texts: One or several texts.

        Returns:
            The scores, `[n, m]`; higher is a better match.

        Raises:
            ZooError: An item is not an image, or not a text.
        """
        pictures = [open_picture(image, self.decoding) for image in list_images(images)]
        captions = list_texts(texts)
        if not pictures or not captions:
            return np.zeros((len(pictures), len(captions)), np.float32)
        return np.asarray(self.score_table(pictures, captions).float().cpu())

    @abstractmethod
    def score_table(self, images: list[Image.Image], texts: list[str]) -> Tensor:
        """Returns the scores of RGB images against texts, `[n, m]`; n and m are at least 1."""

    def settings(self) -> dict[str, Any]:
        """Returns the settings on which scores depend, to be recorded in results."""
        return {}

    def describe(self) -> dict[str, Any]:
        """Returns the description of the model in results, as plain values."""
        return {
            "model": self.name,
            "scorer": type(self).__name__,
            **self.settings(),
            **({} if self.revision is None else {"revision": self.revision}),
            "weights_sha256": weights_hash(self.model),
        }

    def describe_computation(self) -> dict[str, Any]:
        """Returns how the scores were computed, as plain values for results."""
        precision = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        device = self.device
        return {
            "pairs": precision,
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
            "batch_size": self.batch_size,
            "transformers": version("transformers"),
        }

    def _pair_batches(self, n: int, m: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields the rows of the images and of the texts of all pairs, image by image."""
        for pairs in torch.arange(n * m).split(self.batch_size):
            yield pairs // m, pairs % m

    def _to_device(self, inputs: Any) -> Any:
        """Moves the tensors of a processor to the device, images in the model's precision."""
        return inputs.to(self.device, dtype=next(self.model.parameters()).dtype)


def last_real_tokens(attention_mask: Tensor) -> Tensor:
    """Returns the index of the last token of each text that is padded on the right, `[n]`."""
    return attention_mask.sum(1) - 1
