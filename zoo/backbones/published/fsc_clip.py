"""FSC-CLIP's weights (Oh et al., 2024)."""

from zoo.backbones.published.base import PublishedWeights


class FSCCLIP(PublishedWeights):
    """FSC-CLIP (Oh et al., 2024), fully tuned; files named `dcxl` have GELU, others QuickGELU."""


class FSCCLIPLoRA(PublishedWeights):
    """FSC-CLIP (Oh et al., 2024), tuned with adapters, which are in the file of weights."""

    activation = "quickgelu"
    lora = True
