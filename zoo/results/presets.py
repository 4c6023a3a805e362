"""Presets: what counts as right, and which metrics enter which mean."""

from abc import ABC
from collections.abc import Iterable
from typing import ClassVar

from zoo.benchmarks.aro.relations import MIN_PAIR_CASES, SYMMETRIC_RELATIONS
from zoo.benchmarks.half_truth.rules import CONDITIONS
from zoo.errors import ZooError
from zoo.results.averages import Mean, Member
from zoo.results.metrics import MACRO, Macro, Rules
from zoo.support.names import class_of
from zoo.support.spec import Recorded


class Preset(Recorded, ABC):
    """Base of presets: ways of counting and averaging.

    Attributes:
        name: Name by which results tell it from others.
        says: What the report says of it.
        rules: What counts as right.
        means: Means that are taken.
    """

    name: ClassVar[str]
    says: str
    rules: Rules
    means: tuple[Mean, ...] = ()


def preset_of(named: Preset | str) -> Preset:
    """Returns the preset that is meant.

    Args:
        named: A preset, a name of `zoo ls presets`, or a dotted class path.

    Raises:
        ZooError: There is no such preset, or it lacks what a preset says.
    """
    if isinstance(named, Preset):
        preset = named
    else:
        cls = class_of(named, "presets", Preset)
        try:
            preset = cls()
        except TypeError as error:
            raise ZooError(
                f"preset {named!r} cannot be made ({error}): give its arguments in YAML, "
                "as class_path and init_args, or behind it, as --presets.ARG VALUE"
            ) from error
    kinds = {"name": str, "says": str, "rules": Rules, "means": tuple}
    for attribute, kind in kinds.items():
        if not isinstance(getattr(preset, attribute, None), kind):
            raise ZooError(
                f"the preset {type(preset).__name__} has no `{attribute}` that is a "
                f"{kind.__name__}: a preset has {', '.join(kinds)}"
            )
    return preset


def _members(benchmark: str, subsets: Iterable[str], metric: str = "i2t") -> tuple[Member, ...]:
    return tuple(Member(benchmark, subset, metric) for subset in subsets)


def _absent(*names: str) -> tuple[Member, ...]:
    return tuple(Member(name, unscorable=True) for name in names)


ARO_MACRO = _members("aro", ("VG-Relation", "VG-Attribution"), MACRO)
ARO_ORDER = _members("aro", ("COCO-Order", "Flickr30k-Order"))
REPLACE = _members("sugarcrepe", ("replace_obj", "replace_att", "replace_rel"))
SWAP = _members("sugarcrepe", ("swap_obj", "swap_att"))
ADD = _members("sugarcrepe", ("add_obj", "add_att"))
WINOGROUND = {
    metric: Member("winoground", "winoground", metric) for metric in ("text", "image", "group")
}

# The published macro averages (ARO's notebook): VG-Relation without relations that are symmetric or
# odd, VG-Attribution without pairs of fewer than 25 cases.
PUBLISHED_MACROS = {
    ("aro", "VG-Relation"): Macro(without=SYMMETRIC_RELATIONS),
    ("aro", "VG-Attribution"): Macro(at_least=MIN_PAIR_CASES),
    # the mean over matching and over other pairs
    **{("svo_probes", f"{kind} pairs"): Macro() for kind in ("subject", "verb", "object")},
}
ALL_GROUPS = {("aro", "VG-Relation"): Macro(), ("aro", "VG-Attribution"): Macro()}

OWN_MEANS = (
    Mean("sugarcrepe, mean of 7 subsets", (*ADD, *REPLACE, *SWAP)),
    Mean("sugarcrepe, by cases", (*ADD, *REPLACE, *SWAP), "cases"),
    Mean("aro, mean of 4", (*ARO_MACRO, *ARO_ORDER)),
    Mean("half_truth, by cases", (Member("half_truth", metric="half_truth"),), "cases"),
    Mean("half_truth, mean of 8 conditions", _members("half_truth", CONDITIONS, "half_truth")),
    Mean("completion, by cases", (Member("half_truth", metric="completion"),), "cases"),
    Mean("completion, mean of 8 conditions", _members("half_truth", CONDITIONS, "completion")),
)
CS_CLIP_BENCHMARKS: tuple[Mean | Member, ...] = (
    Mean("aro", (*ARO_MACRO, *ARO_ORDER)),
    Mean("sugarcrepe", (*ADD, *REPLACE, *SWAP)),
    WINOGROUND["text"],
    *_absent(
        "bla",
        "coco_cf",
        "cola",
        "colorfoil",
        "colorswap",
        "whatsup",
        "mmvp",
        "negbench",
        "spec",
        "sugarcrepe_pp",
        "valse",
        "vl_checklist",
        "vismin",
    ),
)
VL_COMPO_BENCHMARKS = (
    Mean("aro", (*ARO_MACRO, *ARO_ORDER)),
    Mean(
        "sugarcrepe",
        (Mean("replace", REPLACE, "cases"), Mean("swap", SWAP, "cases"), Mean("add", ADD, "cases")),
    ),
    Mean("winoground", (WINOGROUND["group"],)),
)


class Official(Preset):
    """Counts as each benchmark's own script does."""

    name = "official"
    says = (
        "counted as each benchmark's own script does: a tie is right where its script says so, "
        "permutations that change nothing are kept"
    )
    rules = Rules(official_ties=True, drop_identical=False, macros=PUBLISHED_MACROS)
    means = OWN_MEANS


class Strict(Preset):
    """Counts every tie as wrong, and drops options equal to the right text.

    A protocol says by `drops_identical` whether they can be dropped; of others they are kept, and
    the report names these.
    """

    name = "strict"
    says = "ties are wrong everywhere, options equal to the right text are dropped"
    rules = Rules(official_ties=False, drop_identical=True, macros=PUBLISHED_MACROS)
    means = OWN_MEANS


class CSCLIPTable11(Preset):
    """Takes the averages of CS-CLIP's Table 11, over official protocols."""

    name = "cs_clip"
    says = (
        "averages as in CS-CLIP's Table 11 over official protocols: "
        "not the table's own values, which come from other protocols"
    )
    rules = Rules(official_ties=True, drop_identical=False, macros=ALL_GROUPS)
    means = (
        *(mean for mean in CS_CLIP_BENCHMARKS if isinstance(mean, Mean)),
        Mean("suite of 16", CS_CLIP_BENCHMARKS),
    )


class VLCompo(Preset):
    """Takes the averages of vl_compo's tables, deduced from its published values."""

    name = "vl_compo"
    says = "the averages of vl_compo's tables, deduced from its published values"
    rules = Rules(official_ties=True, drop_identical=False, macros=PUBLISHED_MACROS)
    means = (
        *VL_COMPO_BENCHMARKS,
        Mean(
            "comp_avg",
            (
                *VL_COMPO_BENCHMARKS,
                *_absent(
                    "colorswap",
                    "crepe",
                    "eqben",
                    "imagecode",
                    "mmvp",
                    "svo_probes",
                    "valse",
                    "vl_checklist",
                    "whatsup",
                ),
            ),
        ),
        Mean("i2t_avg", _members("retrieval", ("coco_karpathy", "flickr30k"), "i2t_r@1")),
        Mean("t2i_avg", _members("retrieval", ("coco_karpathy", "flickr30k"), "t2i_r@1")),
    )
