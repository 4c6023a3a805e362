"""NegCLIP's weights (Yuksekgonul et al., 2023)."""

from zoo.backbones.published.base import PublishedWeights


class NegCLIP(PublishedWeights):
    """NegCLIP (Yuksekgonul et al., 2023): a checkpoint of open_clip's training."""

    activation = "quickgelu"
