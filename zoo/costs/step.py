"""Estimated operations, memory, communication and seconds of a training step per device."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from zoo.backbones.towers import texts_per_chunk
from zoo.costs.devices import Arithmetic, Device
from zoo.costs.towers import TowerCost

FP32 = 4  # bytes
FORWARD_AND_BACKWARD = 3  # a backward pass has two products for each of the forward pass
BLOCK_COPIES = 3  # scores, their softmax and their gradient
GB, TERA = 1e9, 1e12


@dataclass(frozen=True)
class Step:
    """A training step with the cosine head, on devices that each hold all weights (DDP).

    Args:
        image: The image tower.
        text: The text tower.
        trains: The towers that are trained, 'image' and 'text'.
        rows: Rows of the global batch.
        devices: Number of devices.
        sentences: Captions and negatives per row.
        units: Units and foils per row.
        sentence_tokens: Length to which captions and negatives are truncated, in tokens.
        unit_tokens: Length to which units and foils are truncated, in tokens.
        arithmetic: Arithmetic of matrix products.
        chunk: Images per forward pass, and texts of as many tokens, with activation checkpointing;
            None for all.
        checkpoint_blocks: Whether the activations of blocks are recomputed.
    """

    image: TowerCost
    text: TowerCost
    trains: frozenset[str]
    rows: int
    devices: int = 1
    sentences: int = 1
    units: int = 0
    sentence_tokens: int = 16
    unit_tokens: int = 8
    arithmetic: Arithmetic = "bf16"
    chunk: int | None = None
    checkpoint_blocks: bool = False

    @property
    def local(self) -> int:
        """Rows of one device."""
        return self.rows // self.devices

    @property
    def trained(self) -> int:
        """Number of trained parameters."""
        by_tower = {"image": self.image.parameters, "text": self.text.parameters}
        return sum(by_tower[tower] for tower in self.trains)

    @cached_property
    def flops(self) -> dict[str, float]:
        """Operations of a step on one device, by part."""
        images = self.local * self.image.flops()
        sentences = self.local * self.sentences * self.text.flops(self.sentence_tokens)
        units = self.local * self.units * self.text.flops(self.unit_tokens)
        scores = 2 * self._scores * self.image.out
        return {
            "images": images * self._passes("image"),
            "captions and negatives": sentences * self._passes("text"),
            "units and foils": units * self._passes("text"),
            "scores": float(scores * FORWARD_AND_BACKWARD),
        }

    def _passes(self, tower: str) -> int:
        if tower not in self.trains:
            return 1
        return FORWARD_AND_BACKWARD + (self.chunk is not None) + self.checkpoint_blocks

    @property
    def _scores(self) -> int:
        """Scores of one device: its images against the texts of all, and the other way round."""
        columns = self.rows * (self.sentences + self.units)
        return self.local * columns + self.local * self.rows

    @cached_property
    def memory(self) -> dict[str, float]:
        """Peak bytes on one device, by part."""
        half = self.arithmetic == "bf16"
        parameters = self.image.parameters + self.text.parameters
        return {
            "weights": FP32 * parameters,
            "gradients": FP32 * self.trained,
            "optimizer": 2 * FP32 * self.trained,
            "weights in bf16": 2 * parameters if half else 0,
            "activations of images": self._activations("image", half),
            "activations of texts": self._activations("text", half),
            "images": self.local * self.image.pixels * FP32,
            "scores": BLOCK_COPIES * FP32 * self._scores,
        }

    def _activations(self, tower: str, half: bool) -> float:
        if tower not in self.trains:
            return 0
        if tower == "image":
            items = self.local if self.chunk is None else min(self.chunk, self.local)
            return items * self._stored_bytes(self.image, None, half)
        by_length = (
            (self.local * self.sentences, self.sentence_tokens),
            (self.local * self.units, self.unit_tokens),
        )
        if self.chunk is None:
            return sum(n * self._stored_bytes(self.text, length, half) for n, length in by_length)
        return max(
            min(n, texts_per_chunk(self.chunk, self.image.tokens, length))
            * self._stored_bytes(self.text, length, half)
            for n, length in by_length
        )

    def _stored_bytes(self, tower: TowerCost, tokens: int | None, half: bool) -> int:
        if self.checkpoint_blocks:
            return tower.checkpointed_bytes(tokens, half)
        return tower.activation_bytes(tokens, half)

    @cached_property
    def communication(self) -> dict[str, float]:
        """Bytes that one device sends in a step, by part."""
        share_of_others = (self.devices - 1) / self.devices
        columns = self.rows * (1 + self.sentences + self.units)  # images are gathered as scores
        return {
            "gradients": 2 * share_of_others * FP32 * self.trained,
            "gathered texts and scores": 2 * share_of_others * FP32 * columns * self.image.out,
        }

    def seconds(
        self, device: Device, utilization: float, workers: int, image_ms: float, texts_ms: float
    ) -> Mapping[str, float]:
        """Returns the seconds of a step by activity, each without overlap with the others.

        Args:
            device: The device.
            utilization: Share of the device's peak throughput that towers reach.
            workers: Loader processes per device.
            image_ms: Milliseconds per image in a loader process.
            texts_ms: Milliseconds to sample and tokenise the texts of a row in a loader process.
        """
        reached = device.tflops[self.arithmetic] * TERA * utilization
        return {
            "towers": sum(self.flops.values()) / reached,
            "communication": sum(self.communication.values()) / (device.link_gb_per_second * GB),
            "loading": self.local * (image_ms + texts_ms) / 1000 / max(workers, 1),
        }
