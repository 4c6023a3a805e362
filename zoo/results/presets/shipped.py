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
        self.means = Official().means


class CSCLIPTable11(PresetFile):
    """Takes the averages of CS-CLIP's Table 11, over official protocols."""

    name = "cs_clip"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "cs_clip.yaml"))


class VLCompo(PresetFile):
    """Takes the averages of vl_compo's tables, deduced from its published values."""

    name = "vl_compo"

    def __init__(self) -> None:
        super().__init__(str(SHIPPED / "vl_compo.yaml"))
