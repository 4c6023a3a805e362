"""Teacher: a copy of the towers that no gradient reaches, frozen or following them slowly.

After every optimiser step:

    teacher <- decay teacher + (1 - decay) towers
"""

from copy import deepcopy

import torch
from torch import nn

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, TextBank


class Teacher(nn.Module):
    """An exponential moving average of the towers, which encodes what they encode.

    It is no part of the optimiser, never in training mode, and kept in checkpoints.

    Args:
        backbone: The towers, of which a copy is made.
        decay: The share of the copy that a step keeps; 1 keeps it as it is.
    """

    def __init__(self, backbone: Backbone, decay: float) -> None:
        super().__init__()
        self.decay = decay
        self.backbone = deepcopy(backbone).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "Teacher":
        """Leaves the copy in evaluation mode."""
        return super().train(False)

    @torch.no_grad()
    def encode(self, batch: Batch) -> Batch:
        """Returns the batch with the teacher's pooled vectors of its images and texts.

        Args:
            batch: A batch whose images and texts are not encoded.
        """
        if isinstance(batch.images, torch.Tensor) and isinstance(batch.texts, TextBank):
            return batch.with_teacher(
                self.backbone.encode_images(batch.images), self.backbone.encode_texts(batch.texts)
            )
        return batch

    @torch.no_grad()
    def follow(self, backbone: Backbone) -> None:
        """Moves the copy towards the towers; statistics of BatchNorm are theirs at once."""
        if self.decay == 1:
            return
        for own, theirs in zip(self.backbone.parameters(), backbone.parameters(), strict=True):
            own.lerp_(theirs, 1 - self.decay)
        for kept, now in zip(self.backbone.buffers(), backbone.buffers(), strict=True):
            kept.copy_(now)
