"""Publications whose files have open_clip's names: each class lists how its files differ."""

from zoo.backbones.published.base import PublishedWeights


class NegCLIP(PublishedWeights):
    """NegCLIP (Yuksekgonul et al., 2023): a checkpoint of open_clip's training.

    Its authors evaluated it in a tower with GELU; `backbone.activation: gelu` gives their metrics.
    """

    activation = "quickgelu"


class CSCLIP(PublishedWeights):
    """CS-CLIP (Kargi et al., 2026): names under `model.`, and a second temperature, left out."""

    activation = "quickgelu"
    prefixes = ("model.",)
    extra_names = ("head.logit_scale",)


class TSVLC(PublishedWeights):
    """TSVLC (Doveh et al., CVPR 2023), with adapters in the file of weights."""

    activation = "quickgelu"
    lora = True


class DAC(PublishedWeights):
    """DAC (Doveh et al., NeurIPS 2023), with adapters in the file of weights."""

    activation = "quickgelu"
    lora = True


class FSCCLIP(PublishedWeights):
    """FSC-CLIP (Oh et al., 2024), fully tuned; files named `dcxl` have GELU, others QuickGELU."""


class FSCCLIPLoRA(PublishedWeights):
    """FSC-CLIP (Oh et al., 2024), tuned with adapters, which are in the file of weights."""

    activation = "quickgelu"
    lora = True
