"""Recipes: where `--config NAME` finds a YAML, and how ${data_root} in it is filled."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from zoo.errors import ZooError, suggest_names

PLACE = "${data_root}"
INLINE = "--config"
STUDIES = "studies"  # the folder of studies among the recipes
DEEPEST = 1_000  # brackets within brackets
MOST = 100_000  # values in one recipe; those that ship have fewer than a hundred


def recipe_folder() -> Path:
    """Returns the folder of shipped recipes.

    It is zoo/configs in a wheel, and configs/ beside the package in an editable install.
    """
    package = Path(__file__).parents[1]
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_recipes() -> dict[str, Path]:
    """Returns the shipped recipes by file name."""
    return {path.name: path for path in sorted(recipe_folder().glob("*.yaml"))}


def shipped_studies() -> dict[str, Path]:
    """Returns the shipped studies, and overlays of studies, by file name."""
    return {path.name: path for path in sorted((recipe_folder() / STUDIES).glob("*.yaml"))}


def find_study(name: str) -> Path:
    """Returns the file that `zoo study NAME` means.

    Args:
        name: The path of a file, or the name of a shipped study, with or without `.yaml`.

    Raises:
        ZooError: There is no such file and no such study.
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
    """Returns the file that `--config NAME` means.

    Args:
        name: The path of a file, or the name of a shipped recipe, with or without `.yaml`.

    Returns:
        The file; one that lies at the path comes before a shipped recipe.

    Raises:
        ZooError: There is no such file and no such recipe.
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


def load_recipe(value: str, data_roots: Sequence[str] | None) -> tuple[str, dict[str, Any]]:
    """Finds a recipe, and fills its place for the data root.

    Args:
        value: What `--config` is given: a path, the name of a shipped recipe, or JSON.
        data_roots: The data roots that were given; None leaves the place as it is.

    Returns:
        The path of the recipe, or JSON where it has a place that was filled; and its settings.

    Raises:
        ZooError: The recipe does not exist, is no YAML, or wants one data root where none or
            several were given.
    """
    name, settings = _read(value)
    text = value if name == INLINE else name
    try:
        plain = as_yaml(settings)
    except TypeError as error:
        raise ZooError(f"{name} has a key that is no text ({error}): mend it") from error
    if PLACE not in plain or data_roots is None:
        return text, settings
    if not data_roots:
        raise ZooError(
            f"{Path(name).name} reads files under {PLACE}: say "
            "where images and captions lie by --data_root DIR"
        )
    if len(data_roots) > 1:
        raise ZooError(
            f"{Path(name).name} has one place for the data root, and --data_root names "
            f"{len(data_roots)}: list them in the file"
        )
    root = as_yaml(str(Path(data_roots[0]).expanduser()))[1:-1]
    plain = plain.replace(PLACE, root)
    return plain, json.loads(plain)


def as_yaml(settings: Any) -> str:
    """Returns settings as JSON that YAML's reader takes too.

    That reader refuses the pairs of escapes by which JSON may write signs such as emoji.
    """
    return json.dumps(settings, default=str, ensure_ascii=False)


def refuse_nested(argument: str) -> None:
    """Refuses an argument whose value nests too deep.

    YAML's reader in C recurses without a bound, and would not survive it.

    Raises:
        ZooError: It does.
    """
    depth = deepest = 0
    for sign in argument if len(argument) > DEEPEST else "":
        depth += (sign in "[{") - (sign in "]}")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ZooError(
            f"the argument that begins with {argument[:40]!r} nests {deepest:,} brackets: no "
            "setting needs that, mend it"
        )


def _read(value: str) -> tuple[str, dict[str, Any]]:
    """Returns the path that `--config VALUE` means (INLINE for JSON), and the settings."""
    inline = value.lstrip().startswith("{")
    name = INLINE if inline else str(find_recipe(value))
    return name, settings_in(name, value if inline else None)


def settings_in(
    name: str, text: str | None = None, begins: str = "`model:`, `data:` or `trainer:`"
) -> dict[str, Any]:
    """Reads the settings of a YAML, by name.

    Args:
        name: The file, or what messages call the text.
        text: What it holds; None reads the file.
        begins: What such a file begins with, for messages.

    Returns:
        The settings.

    Raises:
        ZooError: It cannot be read, is no YAML, names something twice, or holds no settings.
    """
    try:
        text = Path(name).read_text("utf-8") if text is None else text
        document = yaml.compose(text, yaml.SafeLoader)
        _refuse_twice(document, name)
        _refuse_endless(document, name)
        settings = yaml.safe_load(text)
    except OSError as error:
        raise ZooError(
            f"--config {name} cannot be read ({error.strerror}): give a file that you may read"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError, ValueError) as error:
        fault = " ".join(str(error).replace('in "<unicode string>", ', "at ").split())
        raise ZooError(f"{name} is no YAML ({fault}): mend it") from error
    except RecursionError as error:
        raise ZooError(
            f"{name} nests settings in settings thousands of times: no recipe needs that, mend it"
        ) from error
    if not isinstance(settings, dict):
        held = "nothing" if settings is None else f"a {type(settings).__name__}"
        raise ZooError(
            f"{name} holds {held}, where settings by name are wanted: begin it with {begins}"
        )
    return settings


def _refuse_endless(document: yaml.Node | None, name: str) -> None:
    """Raises ZooError where an alias holds itself, or aliases unfold to more than `MOST` values."""
    sizes: dict[int, int] = {}  # values that a node unfolds to; 0 while they are counted
    waiting = [] if document is None else [document]
    while waiting:
        node = waiting[-1]
        parts = _parts(node)
        if id(node) not in sizes:
            sizes[id(node)] = 0
            for part in parts:
                if sizes.get(id(part)) == 0:
                    raise ZooError(
                        f"{name}:{part.start_mark.line + 1} holds an alias of itself, and has no "
                        "end: write out what is meant"
                    )
            waiting += [part for part in parts if id(part) not in sizes]
            continue
        waiting.pop()
        sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
        if sizes[id(node)] > MOST:
            raise ZooError(
                f"{name}:{node.start_mark.line + 1} unfolds to more than {MOST:,} values by "
                "aliases of aliases: write out what is meant"
            )


def _parts(node: yaml.Node) -> list[yaml.Node]:
    """Returns the keys and values of a mapping, the items of a sequence."""
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _refuse_twice(document: yaml.Node | None, name: str) -> None:
    """Raises ZooError where a mapping has a key twice.

    YAML's reader would drop the first without a word.
    """
    waiting, seen = [document], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue  # an alias leads to the same node once more
        seen.add(id(node))
        if node is not None:
            waiting += _parts(node)
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise ZooError(
                        f"{name}:{line} gives {key.value!r} a second time (first in line "
                        f"{lines[key.value]}), and only one would count: leave one of the two out"
                    )
                lines[key.value] = line
