"""TSVLC's weights (Doveh et al., 2023)."""

from zoo.backbones.published.base import PublishedWeights


class TSVLC(PublishedWeights):
    """TSVLC (Doveh et al., CVPR 2023), with adapters in the file of weights."""

    activation = "quickgelu"
    lora = True
