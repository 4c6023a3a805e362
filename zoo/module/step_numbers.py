"""The numbers of a step: what is logged of the batch of all ranks.

A rank's own numbers are scaled as its loss is: their mean over ranks is the number of the joined
batch.
"""

import torch
from torch import Tensor

from zoo.batch import Batch, TextBank
from zoo.objectives.base import Loss
from zoo.objectives.clip import clip_loss
from zoo.scores import Scores
from zoo.support.distributed import sum_over_ranks


def step_numbers(stage: str, batch: Batch, scores: Scores, loss: Loss) -> dict[str, Tensor]:
    """Measures a batch.

    Args:
        stage: 'train' or 'val'.
        batch: This rank's batch, as it was loaded.
        scores: Its scores.
        loss: Its loss.

    Returns:
        The loss and its parts, the scale, in-batch accuracy, and the shares that say what the batch
        was made of.
    """
    numbers = {"loss": loss.total.detach(), "scale": scores.head.scale.detach()}
    if len(loss.parts) > 1:
        numbers |= {f"loss_{name}": part.detach() for name, part in loss.parts.items()}
    block = scores.images_against(batch.captions)
    numbers["accuracy"] = scores.mean(block.correct().to(block.logits.dtype), scores.rows)
    if stage == "val":
        # what runs of different objectives can be compared by
        numbers["loss_captions"] = clip_loss(batch, scores).detach()
    for name in ("negatives", "positives", "units", "foils"):
        asked = getattr(batch, name)
        if asked.shape[1]:
            numbers[f"missing_{name}"] = scores.mean(
                (asked < 0).float(), scores.rows[:, None].expand_as(asked)
            )
    shares = scores.false_negative_shares()
    numbers |= {f"share_{name}": share for name, share in shares.items()}
    if stage == "train" and isinstance(batch.texts, TextBank):
        numbers["deduplicated"] = deduplicated_share(batch.texts, loss.total.device)
    return numbers


def deduplicated_share(texts: TextBank, device: torch.device) -> Tensor:
    """Returns the share of the texts that the batch names which no device had to encode.

    Args:
        texts: This rank's distinct texts.
        device: Where ranks count.
    """
    encoded, asked = sum_over_ranks(
        torch.tensor([len(texts), texts.asked], dtype=torch.float32, device=device)
    )
    share: Tensor = 1 - encoded / asked.clamp(min=1)
    return share
