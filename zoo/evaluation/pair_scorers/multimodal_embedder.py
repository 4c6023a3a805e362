"""Embedders that read an image or a text by one language model."""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from zoo.evaluation.pair_scorers.base import PairScorer, last_real_tokens
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding

INSTRUCTION = "Represent the user's input."
TEXTS_KEPT = 1 << 15  # vectors of texts that later calls use again


class MultimodalEmbedder(PairScorer):
    """An embedding model such as Qwen3-VL-Embedding. Scores are cosines of its vectors.

    The model reads an image or a text as a user message, after an instruction. The vector is the
    last token's hidden state in the last layer. Texts are not truncated; the authors' code
    truncates them to 8,192 tokens. Vectors of texts are cached between calls, so that each text of
    a benchmark is encoded once.

    Args:
        folder: The folder of a Qwen3-VL-Embedding model.
        device: Where the model runs; None uses a GPU if there is one.
        batch_size: Number of images or texts per forward pass.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default, both are ignored.
        instruction: The system message.
        min_pixels: Smaller images are enlarged to this number of pixels.
        max_pixels: Larger images are reduced to this number of pixels.

    Examples:
        >>> from zoo.evaluation.pair_scorers import MultimodalEmbedder
        >>> embedder = MultimodalEmbedder("Qwen3-VL-Embedding-2B")  # doctest: +SKIP
        >>> embedder.score("horse.jpg", ["a person on the horse"])  # doctest: +SKIP
    """

    model_class = "AutoModel"

    def __init__(
        self,
        folder: str | Path,
        device: str | torch.device | None = None,
        batch_size: int = 8,
        decoding: Decoding = AS_PUBLISHED,
        instruction: str = INSTRUCTION,
        min_pixels: int = 4 * 32**2,
        max_pixels: int = 1800 * 32**2,
    ) -> None:
        super().__init__(folder, device, batch_size, decoding)
        self.instruction, self.min_pixels, self.max_pixels = instruction, min_pixels, max_pixels
        self._text_vectors: dict[str, Tensor] = {}

    def settings(self) -> dict[str, Any]:
        """Returns the instruction and the minimum and maximum size of images."""
        return {
            "instruction": self.instruction,
            "min_pixels": self.min_pixels,
            "max_pixels": self.max_pixels,
        }

    def score_table(self, images: list[Image.Image], texts: list[str]) -> Tensor:
        """Returns the cosines of RGB images and texts, `[n, m]`."""
        return self._encode(images) @ self._encode_texts(texts).T

    def _encode_texts(self, texts: list[str]) -> Tensor:
        """Returns the vectors of texts, of which only new ones are computed."""
        if len(self._text_vectors) > TEXTS_KEPT:
            self._text_vectors.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._text_vectors]
        if new:
            self._text_vectors.update(zip(new, self._encode(new), strict=True))
        return torch.stack([self._text_vectors[text] for text in texts])

    def _encode(self, items: list[Image.Image] | list[str]) -> Tensor:
        """Returns the normalised vectors of images or of texts in fp32, `[n, D]`."""
        batches = (items[k : k + self.batch_size] for k in range(0, len(items), self.batch_size))
        return torch.cat([self._encode_batch(batch) for batch in batches])

    def _encode_batch(self, items: list[Image.Image] | list[str]) -> Tensor:
        images = [item for item in items if isinstance(item, Image.Image)]
        size = {"shortest_edge": self.min_pixels, "longest_edge": self.max_pixels}
        inputs = self._to_device(
            self.processor(
                text=[self.build_prompt(item) for item in items],
                padding=True,
                padding_side="right",
                return_tensors="pt",
                **({"images": images, "images_kwargs": {"size": size}} if images else {}),
            )
        )
        hidden = self.model(**inputs, use_cache=False).last_hidden_state
        last = last_real_tokens(inputs["attention_mask"])
        rows = torch.arange(len(last), device=last.device)
        return F.normalize(hidden[rows, last].float(), dim=-1)

    def build_prompt(self, item: Image.Image | str) -> str:
        """Returns the prompt whose last token represents an image or a text."""
        is_text = isinstance(item, str)
        content = {"type": "text", "text": item} if is_text else {"type": "image"}
        prompt: str = self.processor.apply_chat_template(
            [
                {"role": "system", "content": [{"type": "text", "text": self.instruction}]},
                {"role": "user", "content": [content]},
            ],
            add_generation_prompt=True,
            tokenize=False,
        )
        return prompt
