"""Recipes: finds the YAML of `--config NAME`, and replaces ${data_root} in it."""

import copy
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from zoo.errors import ZooError, suggest_names
from zoo.support.renames import translate_classes

DATA_ROOT_PLACEHOLDER = "${data_root}"
INLINE = "--config"
STUDIES = "studies"  # the folder of studies within the folder of recipes


def recipe_folder() -> Path:
    """Returns the folder of shipped recipes.

    It is zoo/configs in a wheel, and configs/ next to the package in an editable install.
    """
    package = Path(__file__).parents[1]
    packaged = package / "configs"
    return packaged if packaged.is_dir() else package.parent / "configs"


def shipped_recipes() -> dict[str, Path]:
    """Returns the shipped recipes by file name."""
    return {path.name: path for path in sorted(recipe_folder().glob("*.yaml"))}


def shipped_studies() -> dict[str, Path]:
    """Returns the shipped studies and overlays of studies, by file name."""
    return {path.name: path for path in sorted((recipe_folder() / STUDIES).glob("*.yaml"))}


def find_study(name: str) -> Path:
    """Returns the file of `zoo study NAME`.

    Args:
        name: The path of a file, or the name of a shipped study, with or without `.yaml`.

    Raises:
        ZooError: The name is neither a file nor a shipped study.
    """
    if Path(name).is_file():
        return Path(name)
    shipped = shipped_studies()
    for candidate in (name, f"{name}.yaml"):
        if candidate in shipped:
            return shipped[candidate]
    stems = [path.stem for path in shipped.values()]
    raise ZooError(
        f"{name} is neither a file nor a shipped study{suggest_names(name, stems)}: `zoo ls "
        "studies` lists "
        "them"
    )


def find_recipe(name: str) -> Path:
    """Returns the file of `--config NAME`.

    Args:
        name: The path of a file, or the name of a shipped recipe, with or without `.yaml`.

    Returns:
        The file. An existing file takes precedence over a shipped recipe.

    Raises:
        ZooError: The name is neither a file nor a shipped recipe.
    """
    if Path(name).is_file():
        return Path(name)
    shipped = shipped_recipes()
    for candidate in (name, f"{name}.yaml"):
        if candidate in shipped:
            return shipped[candidate]
    raise ZooError(
        f"--config {name} is neither a file nor a shipped recipe{suggest_names(name, shipped)}: "
        "`zoo ls configs` lists them"
    )


def load_recipe(value: str, data_roots: Sequence[str] = ()) -> tuple[str, dict[str, Any]]:
    """Loads a recipe, and replaces ${data_root} in it.

    Args:
        value: The value of `--config`: a path, the name of a shipped recipe, or JSON.
        data_roots: The data roots that were given; none keeps ${data_root}.

    Returns:
        The path of the recipe, or JSON if ${data_root} or old names were replaced; and its
        settings.

    Raises:
        ZooError: The recipe does not exist, is not valid YAML, or takes one data root and several
            were given.
    """
    name, settings = _read_recipe(value)
    current = translate_classes(settings, with_added=False)
    text = value if name == INLINE else name
    try:
        document = to_yaml_compatible_json(current)
    except TypeError as error:
        raise ZooError(f"{name} has a key that is not a string ({error}): quote it") from error
    if not data_roots or DATA_ROOT_PLACEHOLDER not in document:
        return text if current == settings else document, current
    if len(data_roots) > 1:
        raise ZooError(
            f"{Path(name).name} takes one data root, but --data_root names "
            f"{len(data_roots)}: list them in the file"
        )
    root = to_yaml_compatible_json(str(Path(data_roots[0]).expanduser()))[1:-1]
    document = document.replace(DATA_ROOT_PLACEHOLDER, root)
    return document, json.loads(document)


def to_yaml_compatible_json(settings: Any) -> str:
    """Returns settings as JSON that is also valid YAML.

    PyYAML rejects surrogate escapes, with which JSON may write characters such as emoji.
    """
    return json.dumps(settings, default=str, ensure_ascii=False)


def _read_recipe(value: str) -> tuple[str, dict[str, Any]]:
    """Returns the path of `--config VALUE` (INLINE for JSON), and the settings."""
    inline = value.lstrip().startswith("{")
    name = INLINE if inline else str(find_recipe(value))
    return name, read_settings(name, value if inline else None)


def read_settings(
    name: str, text: str | None = None, expected_keys: str = "`model:`, `data:` or `trainer:`"
) -> dict[str, Any]:
    """Reads the settings of a YAML file or text.

    Args:
        name: The file, or the name of the text in messages.
        text: The content; None reads the file.
        expected_keys: The keys with which such a file begins, for messages.

    Returns:
        The settings.

    Raises:
        ZooError: It cannot be read, is not valid YAML, repeats a key, or holds no settings.
    """
    try:
        text = Path(name).read_text("utf-8") if text is None else text
        settings = copy.deepcopy(_parse_settings(name, text))
    except OSError as error:
        raise ZooError(
            f"--config {name} cannot be read ({error.strerror}): check the path and its permissions"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        fault = " ".join(str(error).replace('in "<unicode string>", ', "at ").split())
        raise ZooError(f"{name} is not valid YAML ({fault}): fix the file") from error
    except RecursionError as error:
        raise ZooError(f"{name} nests settings thousands of levels deep: simplify it") from error
    if not isinstance(settings, dict):
        content = "nothing" if settings is None else f"a {type(settings).__name__}"
        raise ZooError(
            f"{name} holds {content} instead of a mapping of settings: begin it with "
            f"{expected_keys}"
        )
    return settings


@functools.lru_cache(maxsize=16)  # a command reads each of its recipes three times
def _parse_settings(name: str, text: str) -> Any:
    """Returns what a YAML text holds, which callers must not change."""
    _refuse_repeated_keys(yaml.compose(text, yaml.SafeLoader), name)
    return yaml.safe_load(text)


def _child_nodes(node: yaml.Node) -> list[yaml.Node]:
    """Returns the keys and values of a mapping, or the items of a sequence."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _refuse_repeated_keys(document: yaml.Node | None, name: str) -> None:
    """Raises ZooError if a mapping repeats a key.

    PyYAML would silently drop the first value.
    """
    pending, visited = [document], set[int]()
    while pending:
        node = pending.pop()
        if id(node) in visited:
            continue  # an alias refers to the same node again
        visited.add(id(node))
        if node is not None:
            pending += _child_nodes(node)
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise ZooError(
                        f"{name}:{line} repeats the key {key.value!r} of line {lines[key.value]}: "
                        "remove one of the two"
                    )
                lines[key.value] = line
