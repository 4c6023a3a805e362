"""Presets: rules for right answers, and the means to compute.

A preset is a class, or a file in YAML or JSON:

    description: the mean of two sets, ties wrong
    ties: wrong
    identical: dropped
    means:
      - name: replace
        weighting: cases
        members: [sugarcrepe/replace_obj/i2t, sugarcrepe/replace_att/i2t]
      - name: both
        members: [replace, winoground/winoground/group]

A member with slashes is a metric, named as in the report (subset `*` is all subsets of the
benchmark). Any other member is a mean defined earlier in the file or in the preset of `builds_on`,
or is listed under `not_measured`. Without `means`, the preset has the means of `builds_on`.
`benchmark_arguments: {eqben: {max_cases: 20000}}` gives arguments to a benchmark of `suite:NAME`.

`name` is the name in results, by default that of the file. `partial: true` computes a mean also if
some of its members were not measured. `macros: all groups` averages ARO over all of its relations
and attributes, the default `macros: published` over those that its paper has.
"""

from abc import ABC
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

import yaml
from msgspec import Struct

from zoo.benchmarks.aro.relations import MIN_PAIR_CASES, SYMMETRIC_RELATIONS
from zoo.errors import ZooError, suggest_names
from zoo.results.averages import Mean, Member, Weighting
from zoo.results.metrics import MacroAverage, Rules
from zoo.support.class_names import class_of
from zoo.support.configurable import Configurable
from zoo.support.schema import Text, validate_record

SHIPPED = Path(__file__).parent
ENDINGS = (".yaml", ".yml", ".json")
FORMAT_HINT = "docs/guides/extend.md describes the format"
# The metric of SVO-Probes: the mean over matching and non-matching pairs.
_SVO_MACROS = {
    ("svo_probes", f"{kind} pairs"): MacroAverage() for kind in ("subject", "verb", "object")
}
# The mean per class of zero-shot classification.
_CLASSIFICATION_MACROS = {
    (benchmark, "*"): MacroAverage(metric="acc@1")
    for benchmark in ("zero_shot", "elevater", "zero_shot_folder")
}
# The published macro averages (ARO's notebook): VG-Relation without relations that are symmetric or
# odd, VG-Attribution without pairs of fewer than 25 cases.
MACROS = {
    "published": {
        **_SVO_MACROS,
        **_CLASSIFICATION_MACROS,
        ("aro", "VG-Relation"): MacroAverage(excluded_groups=SYMMETRIC_RELATIONS),
        ("aro", "VG-Attribution"): MacroAverage(min_cases=MIN_PAIR_CASES),
    },
    "all groups": {
        **_SVO_MACROS,
        **_CLASSIFICATION_MACROS,
        ("aro", "VG-Relation"): MacroAverage(),
        ("aro", "VG-Attribution"): MacroAverage(),
    },
}


class _MeanEntry(Struct, forbid_unknown_fields=True):
    name: Text
    members: "list[str | _MeanEntry]"
    weighting: Weighting = "equal"
    partial: bool = False


class _PresetContent(Struct, forbid_unknown_fields=True):
    description: Text
    ties: Literal["official", "wrong"]
    identical: Literal["kept", "dropped"]
    name: Text | None = None
    macros: Literal["published", "all groups"] = "published"
    builds_on: str | None = None
    means: list[_MeanEntry] = []
    not_measured: list[str] = []
    benchmark_arguments: dict[str, dict[str, Any]] = {}


class Preset(Configurable, ABC):
    """Base class of presets: rules that decide whether an answer is right, and means to compute.

    Attributes:
        name: Unique name in results.
        description: Description in the report.
        rules: Rules that decide whether an answer is right.
        means: Means to compute.
        benchmark_arguments: Arguments of the benchmarks that `suite:NAME` runs, by benchmark name.
    """

    name: str
    description: str
    rules: Rules
    means: tuple[Mean, ...] = ()
    benchmark_arguments: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


class PresetFile(Preset):
    """A preset that is read from a file.

    Args:
        file: The file, YAML or JSON.

    Raises:
        ZooError: The file is missing or is not a valid preset.
    """

    name = "file"

    def __init__(self, file: str) -> None:
        path = Path(file)
        content = _read_preset(path)
        self.name = content.name or path.stem
        self.description = content.description
        self.rules = Rules(
            content.ties == "official", content.identical == "dropped", MACROS[content.macros]
        )
        self.means = tuple(_build_means(content, path, (path.resolve(),)))
        self.benchmark_arguments = content.benchmark_arguments


class _ShippedFile:
    """Mixin of presets that zoo ships: reads the YAML file of that name next to this module."""

    name: str

    def __init__(self) -> None:
        PresetFile.__init__(cast(PresetFile, self), str(SHIPPED / f"{self.name}.yaml"))


class Official(_ShippedFile, PresetFile):
    """Follows the official script of each benchmark."""

    name = "official"


class Strict(_ShippedFile, PresetFile):
    """Counts every tie as wrong, and drops wrong texts that equal the right text.

    Only protocols whose attribute `drops_identical` is true can drop such texts. Other protocols
    keep them, and the report names these protocols.
    """

    name = "strict"


class CSCLIPTable11(_ShippedFile, PresetFile):
    """Computes the averages of Tables 11 and 13 of CS-CLIP, by official protocols.

    The paper uses other protocols, so that its values can differ.
    """

    name = "cs_clip"


class CSCLIPAblations(_ShippedFile, PresetFile):
    """Computes the nine columns of CS-CLIP's ablation tables (Tables 2, 3, 4, 16 and 17)."""

    name = "cs_clip_ablations"


class FSCCLIP(_ShippedFile, PresetFile):
    """Computes the averages that the tables of FSC-CLIP report."""

    name = "fsc_clip"


class Capabilities(_ShippedFile, PresetFile):
    """Computes one mean per capability of Table 10 of CS-CLIP, over the subsets that were run."""

    name = "capabilities"


class RoleOfInference(_ShippedFile, PresetFile):
    """Computes the averages in the tables of "The Role of Inference" (Miranda et al., 2026)."""

    name = "role_of_inference"


class VLCompo(_ShippedFile, PresetFile):
    """Computes the averages in the tables of the toolkit vl_compo.

    The definitions of the averages were inferred from the values that vl_compo published.
    """

    name = "vl_compo"


class ZS7(_ShippedFile, PresetFile):
    """Computes the zero-shot means over 7 data sets in Table 14 of CS-CLIP."""

    name = "zs_7"


class ZS21(_ShippedFile, PresetFile):
    """Computes the mean over 20 data sets and ImageNet, with ELEVATER's prompts and metrics."""

    name = "zs_21"


def preset_of(preset_or_name: Preset | str) -> Preset:
    """Returns the preset with a given name.

    Args:
        preset_or_name: A preset, a name from `zoo ls presets`, the path of a preset file, or a
            dotted class path.

    Raises:
        ZooError: The preset does not exist, or an attribute is missing.
    """
    if isinstance(preset_or_name, Preset):
        preset = preset_or_name
    elif preset_or_name.endswith(ENDINGS):
        preset = PresetFile(preset_or_name)
    else:
        cls = class_of(preset_or_name, "presets", Preset)
        try:
            preset = cls()
        except TypeError as error:
            raise ZooError(
                f"preset {preset_or_name!r} cannot be created ({error}). Give its arguments in "
                "YAML as class_path and init_args, or as --presets.ARG VALUE after it"
            ) from error
    kinds = {"name": str, "description": str, "rules": Rules, "means": tuple}
    for attribute, kind in kinds.items():
        if not isinstance(getattr(preset, attribute, None), kind):
            raise ZooError(
                f"preset {type(preset).__name__} has no attribute `{attribute}` of type "
                f"{kind.__name__}. A preset requires {', '.join(kinds)}"
            )
    return preset


def _read_preset(path: Path) -> _PresetContent:
    return validate_record(_read_yaml(path), _PresetContent, str(path), FORMAT_HINT)


def _read_yaml(path: Path) -> object:
    try:
        content = _parse_yaml(path.read_text("utf-8"))
    except OSError as error:
        raise ZooError(f"cannot read preset {path} ({error.strerror}). Check the path") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ZooError(f"preset {path} is not valid YAML ({reason})") from error
    return content


@lru_cache(maxsize=64)  # a run builds the same presets several times
def _parse_yaml(text: str) -> object:
    content: object = yaml.safe_load(text)
    return content


def _build_means(preset: _PresetContent, path: Path, ancestors: tuple[Path, ...]) -> Iterable[Mean]:
    """Yields the means in the order of the file, each after the inherited means that it uses.

    Args:
        preset: The content of the file.
        path: The file.
        ancestors: The files that build on it, ending with itself.
    """
    inherited: list[Mean] = []
    if preset.builds_on is not None:
        inherited = list(_inherited_means(preset.builds_on, path, ancestors))
    if not preset.means:
        yield from inherited
    means_by_name, names = {mean.name: mean for mean in inherited}, set[str]()
    for mean in preset.means:
        if mean.name in names:
            raise ZooError(f"{path} has two means named {mean.name!r}. Rename one of them")
        average = _build_mean(mean, means_by_name, preset.not_measured, path)
        used = [base for base in inherited if base in average.members]
        inherited = [base for base in inherited if base not in used]
        yield from used
        yield average
        means_by_name[mean.name] = average
        names.add(mean.name)


def _inherited_means(name: str, path: Path, ancestors: tuple[Path, ...]) -> Iterable[Mean]:
    """Returns the means of the preset in `builds_on`: a file in the same folder, or one of zoo."""
    candidates = (path.parent / name, SHIPPED / f"{name}.yaml")
    preset_path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if preset_path is None:
        shipped = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
        raise ZooError(
            f"{path} builds on {name!r}, which is neither a file in the same folder nor "
            f"one of {', '.join(shipped)}{suggest_names(name, shipped)}"
        )
    if preset_path.resolve() in ancestors:
        raise ZooError(
            f"{path} builds on {name!r}, which itself builds on {path.name}. "
            "Remove `builds_on` from one of them"
        )
    return _build_means(_read_preset(preset_path), preset_path, (*ancestors, preset_path.resolve()))


def _build_mean(
    mean: _MeanEntry, means_by_name: Mapping[str, Mean], unmeasured_names: list[str], path: Path
) -> Mean:
    def resolve_member(entry: str | _MeanEntry) -> Mean | Member:
        if isinstance(entry, _MeanEntry):
            return _build_mean(entry, means_by_name, unmeasured_names, path)
        if entry in means_by_name:
            return means_by_name[entry]
        if entry in unmeasured_names:
            return Member(entry, unscorable=True)
        benchmark, slash, rest = entry.partition("/")
        subset, second_slash, metric = rest.rpartition("/")
        if not slash or not second_slash:
            raise ZooError(
                f"{path}: member {entry!r} of mean {mean.name!r} is not a metric (such as "
                "sugarcrepe/swap_obj/i2t), not an earlier mean"
                f"{suggest_names(entry, means_by_name)} and not in `not_measured`"
            )
        return Member(benchmark, subset, metric)

    if not mean.members:
        raise ZooError(f"{path}: mean {mean.name!r} has no members")
    return Mean(mean.name, tuple(map(resolve_member, mean.members)), mean.weighting, mean.partial)
