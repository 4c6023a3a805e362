"""The presets of zoo, each defined in a YAML file in this folder."""

from zoo.results.presets.file import SHIPPED, PresetFile


class Official(PresetFile):
    """Follows the official script of each benchmark."""

    name = "official"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "official.yaml"))


class Strict(PresetFile):
    """Counts every tie as wrong, and drops options equal to the right text.

    A protocol declares in `drops_identical` whether they can be dropped. Other protocols keep them
    and are named in the report.
    """

    name = "strict"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "strict.yaml"))


class CSCLIPTable11(PresetFile):
    """Computes the averages of Tables 11 and 13 of CS-CLIP, under official protocols."""

    name = "cs_clip"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "cs_clip.yaml"))


class FSCCLIP(PresetFile):
    """Computes the averages of the tables of FSC-CLIP."""

    name = "fsc_clip"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "fsc_clip.yaml"))


class Capabilities(PresetFile):
    """Computes one mean per capability of Table 10 of CS-CLIP, over the measured subsets."""

    name = "capabilities"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "capabilities.yaml"))


class VLCompo(PresetFile):
    """Computes the averages of the tables of vl_compo, inferred from its published values."""

    name = "vl_compo"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "vl_compo.yaml"))


class ZS7(PresetFile):
    """Computes the zero-shot means of Table 14 of CS-CLIP, over 7 data sets."""

    name = "zs_7"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "zs_7.yaml"))


class ZS21(PresetFile):
    """Computes the mean over the 20 sets of ELEVATER and ImageNet, with its prompts and metrics."""

    name = "zs_21"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "zs_21.yaml"))
