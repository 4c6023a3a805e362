"""The metrics of a training step, which are logged for the batch of all ranks.

A rank's metrics are scaled like its loss, so that their mean over ranks is the metric of the joint
batch.
"""

import torch
from torch import Tensor

from zoo.batch import Batch, TextBank
from zoo.objectives.base import Loss
from zoo.objectives.clip import clip_loss
from zoo.scores import Scores
from zoo.support.distributed import sum_over_ranks
from zoo.support.gpu import copy_without_waiting


def compute_step_metrics(
    stage: str, batch: Batch, scores: Scores, loss: Loss, chance_loss: Tensor | None = None
) -> dict[str, Tensor]:
    """Computes the metrics of a batch.

    Args:
        stage: 'train' or 'val'.
        batch: This rank's batch, as it was loaded.
        scores: Its scores.
        loss: Its loss.
        chance_loss: The loss of a uniform guess, None if it is undefined.

    Returns:
        The loss and its parts, the scale, in-batch accuracy, and shares that describe the batch.
    """
    numbers = {"loss": loss.total.detach(), "scale": scores.head.scale.detach()}
    if len(loss.parts) > 1:
        numbers |= {f"loss_{name}": part.detach() for name, part in loss.parts.items()}
    if chance_loss is not None:
        numbers["chance_loss"] = chance_loss.detach()
    block = scores.images_against(batch.captions)
    # values, and which of them count
    means = {"accuracy": (block.correct().to(block.logits.dtype), scores.rows)}
    if stage == "val":
        # comparable between runs with different objectives
        numbers["loss_captions"] = clip_loss(batch, scores).detach()
    for name in ("negatives", "positives", "units", "foils"):
        indices = getattr(batch, name)
        if indices.shape[1]:
            valid = scores.rows[:, None].expand_as(indices)
            means[f"missing_{name}"] = ((indices < 0).float(), valid)
    false_negatives, is_other = scores.false_negatives()
    means |= {f"share_{name}": (m.float(), is_other) for name, m in false_negatives.items()}
    scores.count_together([valid for _, valid in means.values()])
    numbers |= {name: scores.mean(values, valid) for name, (values, valid) in means.items()}
    if stage == "train" and isinstance(batch.texts, TextBank):
        numbers["deduplicated"] = deduplicated_share(batch.texts, loss.total.device)
    return numbers


def stack_metrics(metrics: dict[str, Tensor], loss: Loss) -> Tensor:
    """Stacks the metrics of a step on the device of its loss, in fp32 or the loss's fp64."""
    dtype = torch.promote_types(loss.total.dtype, torch.float32)
    return torch.stack([value.to(loss.total.device, dtype) for value in metrics.values()])


def deduplicated_share(texts: TextBank, device: torch.device) -> Tensor:
    """Returns the share of the batch's texts that are duplicates and were not encoded.

    Args:
        texts: This rank's distinct texts.
        device: The device on which ranks sum.
    """
    counts = torch.tensor([len(texts), texts.text_count], dtype=torch.float32)
    encoded, requested = sum_over_ranks(copy_without_waiting(counts, device))
    share: Tensor = 1 - encoded / requested.clamp(min=1)
    return share
