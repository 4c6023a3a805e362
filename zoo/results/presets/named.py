"""Presets by their names."""

from zoo.errors import ZooError
from zoo.results.metrics import Rules
from zoo.results.presets.base import Preset
from zoo.results.presets.file import PresetFile
from zoo.support.names import class_of

FILES = (".yaml", ".yml", ".json")


def preset_of(named: Preset | str) -> Preset:
    """Returns the preset that is meant.

    Args:
        named: A preset, a name of `zoo ls presets`, the path of a preset's file, or a dotted class
            path.

    Raises:
        ZooError: There is no such preset, or it lacks what a preset says.
    """
    if isinstance(named, Preset):
        preset = named
    elif named.endswith(FILES):
        preset = PresetFile(named)
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
