"""Builds the scorer that the resolver of models found."""

from inspect import signature

import torch

from zoo.backbones.model_folders import PairScorerSource
from zoo.errors import ZooError
from zoo.evaluation import pair_scorers
from zoo.evaluation.pair_scorers.base import PairScorer
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding


def load_pair_scorer(
    source: PairScorerSource,
    device: str | torch.device | None = None,
    decoding: Decoding = AS_PUBLISHED,
) -> PairScorer:
    """Loads a pair scorer.

    Args:
        source: The class, folder and arguments of the scorer.
        device: Where the scorer runs; None uses a GPU if there is one.
        decoding: Whether the EXIF orientation and the transparency of images are applied. By
            default, both are ignored.

    Raises:
        ZooError: `source` sets an argument that its class does not have, or the model cannot be
            loaded.
    """
    kind: type[PairScorer] = getattr(pair_scorers, source.scorer)
    for name in source.arguments:
        if name not in signature(kind).parameters:
            raise ZooError(
                f"{source.name} sets {name}, and {source.scorer} takes "
                f"{', '.join(signature(kind).parameters)}: fix its arguments"
            )
    scorer = kind(source.folder, device=device, decoding=decoding, **source.arguments)
    scorer.name, scorer.revision = source.name, source.revision
    return scorer
