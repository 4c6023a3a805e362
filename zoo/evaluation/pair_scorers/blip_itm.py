"""BLIP's image-text matching head."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from zoo.evaluation.pair_scorers.base import PairScorer
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding


class BlipITM(PairScorer):
    """BLIP-ITM (Li et al., 2022): the logarithm of the probability that image and text match.

    Each image is encoded once per call; the text encoder runs once per pair. The logarithm ranks
    texts as the probability does, but avoids ties between probabilities that round to 1. Texts are
    truncated to 512 tokens, the maximum of the text encoder. BLIP's own evaluation truncates them
    to 35.

    Args:
        folder: The folder of a `BlipForImageTextRetrieval` model, such as
            Salesforce/blip-itm-base-coco.
        device: Where the model runs; None uses a GPU if there is one.
        batch_size: Number of pairs or images per forward pass.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default, both are ignored.

    Examples:
        >>> from zoo.evaluation.pair_scorers import BlipITM
        >>> blip = BlipITM("blip-itm-base-coco")  # doctest: +SKIP
        >>> blip.score("horse.jpg", ["a person on the horse"])  # doctest: +SKIP
    """

    model_class = "BlipForImageTextRetrieval"
    attention = "eager"  # the only one that BLIP has

    def __init__(
        self,
        folder: str | Path,
        device: str | torch.device | None = None,
        batch_size: int = 32,
        decoding: Decoding = AS_PUBLISHED,
    ) -> None:
        super().__init__(folder, device, batch_size, decoding)

    def score_table(self, images: list[Image.Image], texts: list[str]) -> Tensor:
        """Returns log P(match) of RGB images against texts, `[n, m]`."""
        patches = torch.cat(
            [
                self._encode_images(images[start : start + self.batch_size])
                for start in range(0, len(images), self.batch_size)
            ]
        )
        tokens: Any = self.processor.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self.model.config.text_config.max_position_embeddings,
            return_tensors="pt",
        )
        scores = []
        for i, j in self._pair_batches(len(images), len(texts)):
            mask = tokens["attention_mask"][j]
            width = int(mask.sum(1).max())
            hidden = self.model.text_encoder(
                input_ids=tokens["input_ids"][j, :width].to(self.device),
                attention_mask=mask[:, :width].to(self.device),
                encoder_hidden_states=patches[i.to(self.device)],
            ).last_hidden_state
            logits = self.model.itm_head(hidden[:, 0])  # of no match and match
            scores.append(logits.double().log_softmax(-1)[:, 1])
        return torch.cat(scores).view(len(images), len(texts))

    def _encode_images(self, images: list[Image.Image]) -> Tensor:
        """Returns the patches of images, `[n, patches, width]`."""
        pixels = self._to_device(self.processor.image_processor(images, return_tensors="pt"))
        states: Tensor = self.model.vision_model(**pixels).last_hidden_state
        return states
