"""DAC's weights (Doveh et al., 2023)."""

from zoo.backbones.published.base import PublishedWeights


class DAC(PublishedWeights):
    """DAC (Doveh et al., NeurIPS 2023), with adapters in the file of weights."""

    activation = "quickgelu"
    lora = True
