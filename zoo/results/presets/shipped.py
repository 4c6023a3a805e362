"""The presets that come with zoo, each in a YAML file beside this one."""

from zoo.results.presets.file import SHIPPED, PresetFile


class Official(PresetFile):
    """Counts as each benchmark's own script does."""

    name = "official"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "official.yaml"))


class Strict(PresetFile):
    """Counts every tie as wrong, and drops options equal to the right text.

    A protocol says by `drops_identical` whether they can be dropped; of others they are kept, and
    the report names these.
    """

    name = "strict"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "strict.yaml"))


class CSCLIPTable11(PresetFile):
    """Takes the averages of CS-CLIP's Tables 11 and 13, over official protocols."""

    name = "cs_clip"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "cs_clip.yaml"))


class FSCCLIP(PresetFile):
    """Takes the averages of FSC-CLIP's tables."""

    name = "fsc_clip"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "fsc_clip.yaml"))


class Capabilities(PresetFile):
    """Takes a mean for each capability of CS-CLIP's Table 10, over the subsets that are there."""

    name = "capabilities"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "capabilities.yaml"))


class VLCompo(PresetFile):
    """Takes the averages of vl_compo's tables, deduced from its published values."""

    name = "vl_compo"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "vl_compo.yaml"))


class ZS7(PresetFile):
    """Takes the zero-shot means of CS-CLIP's Table 14, over 7 sets."""

    name = "zs_7"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "zs_7.yaml"))


class ZS21(PresetFile):
    """Takes the mean over ELEVATER's 20 sets and ImageNet, with its prompts and metrics."""

    name = "zs_21"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "zs_21.yaml"))
