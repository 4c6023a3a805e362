"""Recipes: where `--config NAME` finds a YAML, from any directory, and how ${data_root} in it is filled. Free of torch."""

import json
from pathlib import Path

import yaml

from zoo.errors import ZooError, near

PLACE = "${data_root}"


def recipe_folder() -> Path:
    """Returns the folder of shipped recipes: zoo/configs in a wheel, configs/ beside the package in an editable install."""
    package = Path(__file__).parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_recipes() -> dict[str, Path]:
    """Returns the shipped recipes by file name."""
    return {path.name: path for path in sorted(recipe_folder().glob("*.yaml"))}


def find_recipe(name: str) -> Path:
    """Returns the file that `--config name` means: a path that exists, else a shipped recipe; raises ZooError with near names."""
    if Path(name).is_file():
        return Path(name)
    shipped = shipped_recipes()
    for candidate in (name, f"{name}.yaml"):
        if candidate in shipped:
            return shipped[candidate]
    raise ZooError(
        f"--config {name} is neither a file nor a shipped recipe{near(name, shipped)}: `zoo ls configs` lists them"
    )


def with_recipes(argv: list[str], *data_roots: str) -> list[str]:
    """Returns the arguments with every `--config NAME` made a path, or JSON where the file has a place for the data root.

    Raises ZooError for a recipe that does not exist, is no YAML, or wants one data root where none or several were given.
    """
    out: list[str] = []
    expects = False
    for argument in argv:
        if expects:
            argument, expects = _filled(argument, data_roots), False
        elif argument in ("--config", "-c"):
            expects = True
        elif argument.startswith("--config="):
            argument = "--config=" + _filled(argument.removeprefix("--config="), data_roots)
        out.append(argument)
    return out


def _filled(value: str, data_roots: tuple[str, ...]) -> str:
    if value.lstrip().startswith("{"):
        return value
    path = find_recipe(value)
    try:
        text = path.read_text("utf-8")
        _refuse_twice(yaml.compose(text, yaml.SafeLoader), path)
        settings = yaml.safe_load(text)
    except OSError as error:
        raise ZooError(
            f"--config {path} cannot be read ({error.strerror}): give a file that you may read"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ZooError(f"{path} is no YAML ({' '.join(str(error).split())}): mend it") from error
    if not isinstance(settings, dict):
        held = "nothing" if settings is None else f"a {type(settings).__name__}"
        raise ZooError(
            f"{path} holds {held}, where settings by name are wanted: begin it with `model:`, `data:` or `trainer:`"
        )
    if PLACE not in json.dumps(settings):
        return str(path)
    if not data_roots:
        raise ZooError(
            f"{path.name} reads files under {PLACE}: say where photographs and captions lie by --data_root DIR"
        )
    if len(data_roots) > 1:
        raise ZooError(
            f"{path.name} has one place for the data root, and --data_root names {len(data_roots)}: list them in the file"
        )
    root = json.dumps(str(Path(data_roots[0]).expanduser()))[1:-1]
    return json.dumps(settings).replace(PLACE, root)


def _refuse_twice(document: yaml.Node | None, path: Path) -> None:
    """Raises ZooError where a mapping has a key twice: YAML's reader drops the first without a word."""
    waiting, seen = [document], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue  # an alias leads to the same node once more
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                waiting += [key, value]
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise ZooError(
                        f"{path}:{line} gives {key.value!r} a second time (first in line {lines[key.value]}), and only one would "
                        "count: leave one of the two out"
                    )
                lines[key.value] = line
