"""Averages: named presets that say what counts as right and which figures enter which mean. A mean that lacks a member is withheld."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zoo.benchmarks.aro_relations import SYMMETRIC_RELATIONS
from zoo.errors import ZooError, near
from zoo.evaluation.figures import MACRO, Figure, Macro, Rules


@dataclass(frozen=True)
class Member:
    """A figure that enters a mean. subset: '*' is all that the benchmark has. unscorable: the engine has no such benchmark."""

    benchmark: str
    subset: str = "*"
    figure: str = "i2t"
    unscorable: bool = False

    def __str__(self) -> str:
        return self.benchmark if self.unscorable else f"{self.benchmark}/{self.subset}/{self.figure}"


@dataclass(frozen=True)
class Mean:
    """A mean of figures or of means. weighting: all members alike, or by their numbers of cases in the file."""

    name: str
    members: tuple["Mean | Member", ...]
    weighting: Literal["equal", "cases"] = "equal"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Average:
    """A mean that was taken. value: per cent, None where a member is missing. n, of: queries scored and asked for in its members."""

    preset: str
    name: str
    value: float | None
    weighting: str
    members: tuple[str, ...]
    missing: tuple[str, ...]
    n: int
    of: int


@dataclass(frozen=True)
class Preset:
    """A way of counting and averaging. says: what the report adds to it."""

    name: str
    says: str
    rules: Rules
    means: tuple[Mean, ...]


def averages(preset: Preset, figures: Sequence[Figure]) -> list[Average]:
    """Returns the preset's means that have at least one of their members among the figures."""
    taken = [_average(preset.name, mean, figures) for mean in preset.means]
    return [average for average in taken if average.n]


def _average(preset: str, mean: Mean, figures: Sequence[Figure]) -> Average:
    value, _, missing, used = _take(mean, figures)
    n, of = sum(f.n for f in used), sum(f.of for f in used)
    members = tuple(str(m) for m in mean.members)
    return Average(preset, mean.name, value, mean.weighting, members, tuple(dict.fromkeys(missing)), n, of)


def _take(node: Mean | Member, figures: Sequence[Figure]) -> tuple[float | None, int, list[str], list[Figure]]:
    """Returns value, weight, what is missing and the figures used."""
    if isinstance(node, Member):
        used = [f for f in figures if f.benchmark == node.benchmark and f.figure == node.figure and node.subset in ("*", f.subset)]
        values, weights = [f.value for f in used], [f.of for f in used]
        missing = [f"{f.benchmark}/{f.subset}/{f.figure}" for f in used if f.value is None] if used else [str(node)]
        weighting = "cases"
    else:
        taken = [_take(member, figures) for member in node.members]
        values, weights = [t[0] for t in taken], [t[1] for t in taken]
        missing, used = [m for t in taken for m in t[2]], [f for t in taken for f in t[3]]
        weighting = node.weighting
    present = [v for v in values if v is not None]
    if missing or not present:
        return None, sum(weights), missing, used
    return float(np.average(present, weights=weights if weighting == "cases" else None)), sum(weights), missing, used


def preset_named(name: str) -> Preset:
    """Returns a preset; raises ZooError with near names where there is none."""
    if name not in PRESETS:
        raise ZooError(f"there is no preset {name!r}{near(name, PRESETS)}: choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def _members(benchmark: str, subsets: Iterable[str], figure: str = "i2t") -> tuple[Member, ...]:
    return tuple(Member(benchmark, subset, figure) for subset in subsets)


def _absent(*names: str) -> tuple[Member, ...]:
    return tuple(Member(name, unscorable=True) for name in names)


ARO_MACRO = _members("aro", ("VG-Relation", "VG-Attribution"), MACRO)
ARO_ORDER = _members("aro", ("COCO-Order", "Flickr30k-Order"))
REPLACE = _members("sugarcrepe", ("replace_obj", "replace_att", "replace_rel"))
SWAP = _members("sugarcrepe", ("swap_obj", "swap_att"))
ADD = _members("sugarcrepe", ("add_obj", "add_att"))
WINOGROUND = {figure: Member("winoground", "winoground", figure) for figure in ("text", "image", "group")}

# The published macro averages (ARO's notebook): VG-Relation without relations that are symmetric or odd, VG-Attribution without pairs of
# fewer than 25 cases.
PUBLISHED_MACROS = {
    ("aro", "VG-Relation"): Macro(without=SYMMETRIC_RELATIONS),
    ("aro", "VG-Attribution"): Macro(at_least=25),
}
ALL_GROUPS = {("aro", "VG-Relation"): Macro(), ("aro", "VG-Attribution"): Macro()}

OWN_MEANS = (
    Mean("sugarcrepe, mean of 7 subsets", (*ADD, *REPLACE, *SWAP)),
    Mean("sugarcrepe, by cases", (*ADD, *REPLACE, *SWAP), "cases"),
    Mean("aro, mean of 4", (*ARO_MACRO, *ARO_ORDER)),
    Mean("half_truth, by cases", (Member("half_truth", figure="half_truth"),), "cases"),
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
    Mean("sugarcrepe", (Mean("replace", REPLACE, "cases"), Mean("swap", SWAP, "cases"), Mean("add", ADD, "cases"))),
    Mean("winoground", (WINOGROUND["group"],)),
)

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "official",
            "each benchmark's own rule: identity permutations kept, ties as its script's argmax has them",
            Rules(official_ties=True, drop_identical=False, macros=PUBLISHED_MACROS),
            OWN_MEANS,
        ),
        Preset(
            "strict",
            "ties are wrong everywhere, options equal to the right text are dropped",
            Rules(official_ties=False, drop_identical=True, macros=PUBLISHED_MACROS),
            OWN_MEANS,
        ),
        Preset(
            "cs_clip",
            "the aggregation of CS-CLIP's Table 11 over official protocols: not its figures, which come from other ones",
            Rules(official_ties=True, drop_identical=False, macros=ALL_GROUPS),
            (*(m for m in CS_CLIP_BENCHMARKS if isinstance(m, Mean)), Mean("suite of 16", CS_CLIP_BENCHMARKS)),
        ),
        Preset(
            "vl_compo",
            "the averages of vl_compo's tables, deduced from its published figures",
            Rules(official_ties=True, drop_identical=False, macros=PUBLISHED_MACROS),
            (
                *VL_COMPO_BENCHMARKS,
                Mean(
                    "comp_avg",
                    (
                        *VL_COMPO_BENCHMARKS,
                        *_absent("colorswap", "crepe", "eqben", "imagecode", "mmvp", "svo_probes", "valse", "vl_checklist", "whatsup"),
                    ),
                ),
                Mean("i2t_avg", _members("retrieval", ("coco_karpathy", "flickr30k"), "i2t_r@1")),
                Mean("t2i_avg", _members("retrieval", ("coco_karpathy", "flickr30k"), "t2i_r@1")),
            ),
        ),
    )
}
