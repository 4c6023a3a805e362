"""A preset as a file of data, YAML or JSON.

Such a file says what counts as right and which means are taken:

    says: the mean of two sets, ties wrong
    ties: wrong
    identical: dropped
    means:
      - name: replace
        by: cases
        of: [sugarcrepe/replace_obj/i2t, sugarcrepe/replace_att/i2t]
      - name: both
        of: [replace, winoground/winoground/group]

A member with slashes is a metric, as the report names it (a subset `*` is all that the benchmark
has). Any other is a mean that stands before it or in the preset that `builds_on` names, or is
listed under `not_measured`. Without `means`, those of the preset that it builds on are taken.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import yaml
from msgspec import Struct

from zoo.benchmarks.aro.relations import MIN_PAIR_CASES, SYMMETRIC_RELATIONS
from zoo.errors import ZooError, suggest_names
from zoo.results.averages import Mean, Member, Weighting
from zoo.results.metrics import Macro, Rules
from zoo.results.presets.base import Preset
from zoo.support.schema import Text, record

SHIPPED = Path(__file__).parent
MEND = "write it as docs/guides/extend.md has it"
# SVO-Probes' own: the mean over matching and over other pairs.
_SVO = {("svo_probes", f"{kind} pairs"): Macro() for kind in ("subject", "verb", "object")}
# The mean per class of zero-shot classification.
_CLASSES = {
    (benchmark, "*"): Macro(of="acc@1")
    for benchmark in ("zero_shot", "elevater", "zero_shot_folder")
}
# The published macro averages (ARO's notebook): VG-Relation without relations that are symmetric or
# odd, VG-Attribution without pairs of fewer than 25 cases.
MACROS = {
    "published": {
        **_SVO,
        **_CLASSES,
        ("aro", "VG-Relation"): Macro(without=SYMMETRIC_RELATIONS),
        ("aro", "VG-Attribution"): Macro(at_least=MIN_PAIR_CASES),
    },
    "all groups": {
        **_SVO,
        **_CLASSES,
        ("aro", "VG-Relation"): Macro(),
        ("aro", "VG-Attribution"): Macro(),
    },
}


class _Mean(Struct, forbid_unknown_fields=True):
    name: Text
    of: "list[str | _Mean]"
    by: Weighting = "equal"
    partial: bool = False


class _Preset(Struct, forbid_unknown_fields=True):
    says: Text
    ties: Literal["official", "wrong"]
    identical: Literal["kept", "dropped"]
    name: Text | None = None
    macros: Literal["published", "all groups"] = "published"
    builds_on: str | None = None
    means: list[_Mean] = []
    not_measured: list[str] = []


class PresetFile(Preset):
    """A preset of a file, which is named by that file.

    Args:
        file: The file, YAML or JSON.

    Raises:
        ZooError: The file is not there, or is no preset.
    """

    name = "file"

    def __init__(self, file: str) -> None:
        path = Path(file)
        read = _read(path)
        self.name = read.name or path.stem
        self.says = read.says
        self.rules = Rules(
            read.ties == "official", read.identical == "dropped", MACROS[read.macros]
        )
        self.means = tuple(_means(read, path, (path.resolve(),)))


def _read(path: Path) -> _Preset:
    return record(_content(path), _Preset, str(path), MEND)


def _content(path: Path) -> object:
    try:
        found: object = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise ZooError(
            f"the preset {path} cannot be read ({error.strerror}): mend its path"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ZooError(f"the preset {path} is no YAML ({reason}): mend the file") from error
    return found


def _means(preset: _Preset, path: Path, above: tuple[Path, ...]) -> Iterable[Mean]:
    """Yields the means in the order of the file, each behind those that it takes from another.

    Args:
        preset: What the file says.
        path: The file.
        above: The files that build on it, itself the last.
    """
    others = (
        [] if preset.builds_on is None else list(_inherited_means(preset.builds_on, path, above))
    )
    if not preset.means:
        yield from others
    known, own = {mean.name: mean for mean in others}, set[str]()
    for mean in preset.means:
        if mean.name in own:
            raise ZooError(f"{path} has two means {mean.name!r}: name one of them otherwise")
        made = _mean(mean, known, preset.not_measured, path)
        taken = [other for other in others if other in made.members]
        others = [other for other in others if other not in taken]
        yield from taken
        yield made
        known[mean.name] = made
        own.add(mean.name)


def _inherited_means(name: str, path: Path, above: tuple[Path, ...]) -> Iterable[Mean]:
    """Returns the means that a preset builds on: of a file beside it, or of one of zoo's."""
    places = (path.parent / name, SHIPPED / f"{name}.yaml")
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        shipped = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
        raise ZooError(
            f"{path} builds on {name!r}, which is neither a file beside it nor one of "
            f"{', '.join(shipped)}{suggest_names(name, shipped)}: mend the name"
        )
    if found.resolve() in above:
        raise ZooError(
            f"{path} builds on {name!r}, which builds on {path.name} itself: "
            "take `builds_on` out of one of them"
        )
    return _means(_read(found), found, (*above, found.resolve()))


def _mean(mean: _Mean, known: Mapping[str, Mean], absent: list[str], path: Path) -> Mean:
    def member(of: str | _Mean) -> Mean | Member:
        if isinstance(of, _Mean):
            return _mean(of, known, absent, path)
        if of in known:
            return known[of]
        if of in absent:
            return Member(of, unscorable=True)
        benchmark, slash, rest = of.partition("/")
        subset, other, metric = rest.rpartition("/")
        if not slash or not other:
            raise ZooError(
                f"{path}: the mean {mean.name!r} is of {of!r}, which is neither a metric, as "
                f"sugarcrepe/swap_obj/i2t is, nor a mean before it{suggest_names(of, known)}, "
                "nor in "
                "`not_measured`: mend the name"
            )
        return Member(benchmark, subset, metric)

    if not mean.of:
        raise ZooError(f"{path}: the mean {mean.name!r} is of nothing: name its members")
    return Mean(mean.name, tuple(map(member, mean.of)), mean.by, mean.partial)
