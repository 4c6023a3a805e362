"""CS-CLIP's weights (Kargi et al., 2026)."""

from zoo.backbones.published.base import PublishedWeights


class CSCLIP(PublishedWeights):
    """CS-CLIP (Kargi et al., 2026): names under `model.`, and a second temperature, left out."""

    activation = "quickgelu"
    prefixes = ("model.",)
    extra_names = ("head.logit_scale",)
