"""Teacher: a copy of the towers without gradients, frozen or following them slowly.

After every optimizer step:

    teacher <- decay teacher + (1 - decay) towers
"""

from copy import deepcopy

import torch
from torch import nn

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, TextBank
from zoo.support.gpu import interpolate_weights


class Teacher(nn.Module):
    """An exponential moving average of the towers, which encodes the same batches.

    It is not optimised, never in training mode, and saved in checkpoints.

    Args:
        backbone: The towers to copy.
        decay: The weight of the old average at each step; 1 keeps the copy unchanged.
    """

    def __init__(self, backbone: Backbone, decay: float) -> None:
        super().__init__()
        self.decay = decay
        self.backbone = deepcopy(backbone).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "Teacher":
        """Keeps the copy in evaluation mode."""
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
        """Moves the copy towards the towers; the statistics of BatchNorm are copied."""
        if self.decay == 1:
            return
        interpolate_weights(self.backbone.parameters(), backbone.parameters(), 1 - self.decay)
        for buffer, new_buffer in zip(self.backbone.buffers(), backbone.buffers(), strict=True):
            buffer.copy_(new_buffer)
