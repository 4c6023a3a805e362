"""Where prompts are from: files beside the images, installed packages, ELEVATER's own file."""

import ast
import runpy
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.benchmarks.zero_shot.prompts import (
    NAMES,
    TEMPLATES,
    ClassPrompts,
    check_templates,
    names_file,
    templates_file,
)
from zoo.errors import ZooError
from zoo.support.text_files import content, read_json

PLAIN: tuple[str, ...] = ("a photo of a {}.",)
OF_DATA, CLIP_BENCHMARK = "the data", "clip_benchmark"
AGAIN = "fetch ELEVATER's prompts.py again"


def own_prompts(folder: Path, found: Labelled, imagenet: bool = False) -> ClassPrompts:
    """Returns the prompts of labelled images.

    Names and templates are those of the files classnames.txt and templates.txt in the folder. Where
    there are none, they are open_clip's for ImageNet's classes; else the data's own names in a
    plain template.

    Args:
        folder: The folder.
        found: The images.
        imagenet: Whether the classes are ImageNet's 1,000.

    Raises:
        ZooError: A file is wrong, or nothing names the classes.
    """
    named, files = folder / NAMES, list[Path]()
    names, names_from = found.names, OF_DATA
    templates, templates_from = PLAIN, "zoo"
    if imagenet:
        names, templates = _open_clip()
        names_from = templates_from = "open_clip"
    if named.is_file():
        names, names_from = names_file(named), str(named)
        files.append(named)
    given = next((folder / name for name in TEMPLATES if (folder / name).is_file()), None)
    if given is not None:
        templates, templates_from = templates_file(given), str(given)
        files.append(given)
    if not names:
        raise ZooError(
            f"{found.origin} does not name its classes: write {named}, one name a line in the "
            "order of the classes"
        )
    return ClassPrompts(names, templates, names_from, templates_from, tuple(files))


@cache
def _open_clip() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns ImageNet's class names and templates, without importing open_clip and torch."""
    spec = find_spec("open_clip")
    assert spec is not None
    assert spec.origin is not None
    metadata = runpy.run_path(str(Path(spec.origin).with_name("zero_shot_metadata.py")))
    templates = tuple(template("{}") for template in metadata["OPENAI_IMAGENET_TEMPLATES"])
    return tuple(metadata["IMAGENET_CLASSNAMES"]), templates


def clip_benchmark_prompts(folder: Path, found: Labelled, key: str, called: str) -> ClassPrompts:
    """Returns the prompts that the package clip-benchmark has of a set.

    Its class names are taken where the folder has no classnames.txt and the package has as many as
    the data has classes; else the data's own.

    Args:
        folder: The folder.
        found: The images.
        key: The set's name in that package; empty where it has none.
        called: What messages call the set.

    Raises:
        ZooError: The package is not installed, or has no templates of the set, or nothing names the
            classes.
    """
    spec = find_spec(CLIP_BENCHMARK)
    if spec is None or spec.origin is None:
        raise ZooError(
            "the prompts of CLIP_benchmark are asked for, and clip_benchmark is not installed: "
            "pip install clip-benchmark"
        )
    package = Path(spec.origin).with_name("datasets")
    templates = read_json(package / "en_zeroshot_classification_templates.json").get(key)
    if templates is None:
        raise ZooError(
            f"CLIP_benchmark has no templates of {called}: ask for it with its own prompts"
        )
    placed_in = check_templates(templates, CLIP_BENCHMARK)
    named = folder / NAMES
    if named.is_file():
        return ClassPrompts(names_file(named), placed_in, str(named), CLIP_BENCHMARK, (named,))
    names = tuple(read_json(package / "en_classnames.json").get(key, ()))
    if names and (found.n in (None, len(names)) or not found.names):
        return ClassPrompts(names, placed_in, CLIP_BENCHMARK, CLIP_BENCHMARK)
    if not found.names:
        raise ZooError(
            f"neither {found.origin} nor CLIP_benchmark names the classes of {called}: write "
            f"{named}, one name a line in the order of the classes"
        )
    return ClassPrompts(found.names, placed_in, OF_DATA, CLIP_BENCHMARK)


def elevater_prompts(path: Path, name: str) -> ClassPrompts:
    """Returns the prompts of ELEVATER's file `prompts.py`, which is read and not run.

    Args:
        path: The file.
        name: The set's name there.

    Raises:
        ZooError: The file is not whole, or lacks the set.
    """
    values = _literals(path)
    classes, templates = values.get(("class_map", name)), values.get(("template_map", name))
    if not classes or not templates:
        raise ZooError(f"{path} has no class names and templates of {name!r}: {AGAIN}")
    # of several spellings of a name the toolkit takes the first
    names = tuple(one[0] if isinstance(one, list) else one for one in classes)
    return ClassPrompts(names, check_templates(templates, str(path)), str(path), str(path), (path,))


@cache
def _literals(path: Path) -> dict[tuple[str, str], Any]:
    """Returns the lists that the dictionaries of a Python file lead to, by dictionary and key."""
    lists: dict[str, Any] = {}
    found: dict[tuple[str, str], Any] = {}
    try:
        for line in ast.parse(content(path).decode("utf-8")).body:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                continue
            name = line.targets[0].id
            if isinstance(line.value, ast.List):
                lists[name] = ast.literal_eval(line.value)
            elif isinstance(line.value, ast.Dict):
                for key, value in zip(line.value.keys, line.value.values, strict=True):
                    if isinstance(key, ast.Constant):
                        found[name, str(key.value)] = (
                            lists.get(value.id)
                            if isinstance(value, ast.Name)
                            else ast.literal_eval(value)
                        )
    except (SyntaxError, ValueError) as error:
        raise ZooError(f"{path} is no whole Python file ({error}): {AGAIN}") from error
    return found
