"""What encoded items depend on beside their input: weights, preprocessing and tokenizer."""

import hashlib
import json
from typing import Any

import torch
from torch import nn

from zoo.backbones.backbone import Backbone
from zoo.support.distributed import whole


def weights_hash(*modules: nn.Module) -> str:
    """Returns the SHA-256 of the modules' parameters and buffers, by name.

    Args:
        modules: The modules. Where their weights are split over ranks, every rank must call this.
    """
    digest = hashlib.sha256()
    for module in modules:
        for name, tensor in sorted(module.state_dict().items()):
            digest.update(name.encode())
            plain: Any = whole(tensor.detach()).cpu().contiguous()
            digest.update(plain.reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def encoding_of(backbone: Backbone) -> dict[str, Any]:
    """Returns what the backbone's outputs depend on, as JSON would give it back."""
    described = {
        "architecture": backbone.name,
        "activation": backbone.activation,
        "weights": weights_hash(backbone),
        "preprocessing": dict(backbone.model.visual.preprocess_cfg),
        "tokenizer": backbone.text.tokenizer,
        "context": backbone.context,
    }
    plain: dict[str, Any] = json.loads(json.dumps(described))
    return plain
