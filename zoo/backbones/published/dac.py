"""DAC's weights (Doveh et al., 2023)."""

from zoo.backbones.published.base import PublishedWeights


class DAC(PublishedWeights):
    """DAC (Doveh et al., NeurIPS 2023), with adapters beside the weights."""

    activation = "quickgelu"
    lora = True
