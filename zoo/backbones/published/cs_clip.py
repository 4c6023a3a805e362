"""CS-CLIP's weights (Kargi et al., 2026)."""

from zoo.backbones.published.base import PublishedWeights


class CSCLIP(PublishedWeights):
    """CS-CLIP (Kargi et al., 2026): names under `model.`, and a second temperature, left out."""

    activation = "quickgelu"
    prefixes = ("model.",)
    beside = ("head.logit_scale",)
