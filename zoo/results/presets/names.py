"""Resolves names of presets."""

from zoo.errors import ZooError
from zoo.results.metrics import Rules
from zoo.results.presets.base import Preset
from zoo.results.presets.file import PresetFile
from zoo.support.class_names import class_of

FILES = (".yaml", ".yml", ".json")


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
    elif preset_or_name.endswith(FILES):
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
