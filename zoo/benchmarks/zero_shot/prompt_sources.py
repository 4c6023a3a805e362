"""Sources of prompts: files in the images' folder, installed packages, ELEVATER's file."""

import ast
import runpy
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.benchmarks.zero_shot.prompts import (
    NAMES,
    TEMPLATES,
    ClassPrompts,
    check_templates,
    read_names,
    read_templates,
)
from zoo.errors import ZooError
from zoo.support.text_files import read_bytes, read_json

PLAIN: tuple[str, ...] = ("a photo of a {}.",)
OF_DATA, CLIP_BENCHMARK = "the data", "clip_benchmark"
DOWNLOAD_AGAIN = "download ELEVATER's prompts.py again"


def folder_or_default_prompts(
    folder: Path, images: LabelledImages, imagenet: bool = False
) -> ClassPrompts:
    """Returns the prompts of labelled images.

    Names and templates come from the files classnames.txt and templates.txt in the folder. Without
    these files, they are open_clip's for ImageNet's classes, else the data's class names in a plain
    template.

    Args:
        folder: The folder.
        images: The images.
        imagenet: Whether the classes are ImageNet's 1,000.

    Raises:
        ZooError: A file is invalid, or the classes have no names.
    """
    names_path, files = folder / NAMES, list[Path]()
    names, names_from = images.names, OF_DATA
    templates, templates_from = PLAIN, "zoo"
    if imagenet:
        names, templates = _open_clip_imagenet_prompts()
        names_from = templates_from = "open_clip"
    if names_path.is_file():
        names, names_from = read_names(names_path), str(names_path)
        files.append(names_path)
    templates_path = next((folder / name for name in TEMPLATES if (folder / name).is_file()), None)
    if templates_path is not None:
        templates, templates_from = read_templates(templates_path), str(templates_path)
        files.append(templates_path)
    if not names:
        raise ZooError(
            f"{images.origin} has no class names: write {names_path} with one name per "
            "line in the order of the classes"
        )
    return ClassPrompts(names, templates, names_from, templates_from, tuple(files))


@cache
def _open_clip_imagenet_prompts() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns ImageNet's class names and templates, without importing open_clip and torch."""
    spec = find_spec("open_clip")
    assert spec is not None
    assert spec.origin is not None
    metadata = runpy.run_path(str(Path(spec.origin).with_name("zero_shot_metadata.py")))
    templates = tuple(template("{}") for template in metadata["OPENAI_IMAGENET_TEMPLATES"])
    return tuple(metadata["IMAGENET_CLASSNAMES"]), templates


def clip_benchmark_prompts(
    folder: Path, images: LabelledImages, key: str, display_name: str
) -> ClassPrompts:
    """Returns the prompts of a set in the package clip-benchmark.

    Its class names are used if the folder has no classnames.txt and the package has as many names
    as the data has classes; otherwise the data's class names.

    Args:
        folder: The folder.
        images: The images.
        key: The set's name in that package; empty if it has none.
        display_name: The name of the set in messages.

    Raises:
        ZooError: The package is not installed or has no templates of the set, or the classes have
            no names.
    """
    spec = find_spec(CLIP_BENCHMARK)
    if spec is None or spec.origin is None:
        raise ZooError(
            "the prompts of CLIP_benchmark need the package clip_benchmark: "
            "pip install clip-benchmark"
        )
    package = Path(spec.origin).with_name("datasets")
    templates = read_json(package / "en_zeroshot_classification_templates.json").get(key)
    if templates is None:
        raise ZooError(f"CLIP_benchmark has no templates of {display_name}: use prompts=own for it")
    checked_templates = check_templates(templates, CLIP_BENCHMARK)
    names_path = folder / NAMES
    if names_path.is_file():
        return ClassPrompts(
            read_names(names_path),
            checked_templates,
            str(names_path),
            CLIP_BENCHMARK,
            (names_path,),
        )
    names = tuple(read_json(package / "en_classnames.json").get(key, ()))
    if names and (images.n_classes in (None, len(names)) or not images.names):
        return ClassPrompts(names, checked_templates, CLIP_BENCHMARK, CLIP_BENCHMARK)
    if not images.names:
        raise ZooError(
            f"neither {images.origin} nor CLIP_benchmark names the classes of {display_name}: "
            f"write {names_path} with one name per line in the order of the classes"
        )
    return ClassPrompts(images.names, checked_templates, OF_DATA, CLIP_BENCHMARK)


def elevater_prompts(path: Path, name: str) -> ClassPrompts:
    """Returns the prompts of ELEVATER's file `prompts.py`, which is parsed but not executed.

    Args:
        path: The file.
        name: The set's name in that file.

    Raises:
        ZooError: The file is incomplete, or does not have the set.
    """
    values = _parse_dict_entries(path)
    classes, templates = values.get(("class_map", name)), values.get(("template_map", name))
    if not classes or not templates:
        raise ZooError(f"{path} has no class names and templates of {name!r}: {DOWNLOAD_AGAIN}")
    # if a name has several spellings, the toolkit uses the first
    names = tuple(spelling[0] if isinstance(spelling, list) else spelling for spelling in classes)
    return ClassPrompts(names, check_templates(templates, str(path)), str(path), str(path), (path,))


@cache
def _parse_dict_entries(path: Path) -> dict[tuple[str, str], Any]:
    """Returns the lists in the dictionaries of a Python file, by dictionary name and key."""
    lists: dict[str, Any] = {}
    lists_by_key: dict[tuple[str, str], Any] = {}
    try:
        for line in ast.parse(read_bytes(path).decode("utf-8")).body:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                continue
            name = line.targets[0].id
            if isinstance(line.value, ast.List):
                lists[name] = ast.literal_eval(line.value)
            elif isinstance(line.value, ast.Dict):
                for key, value in zip(line.value.keys, line.value.values, strict=True):
                    if isinstance(key, ast.Constant):
                        lists_by_key[name, str(key.value)] = (
                            lists.get(value.id)
                            if isinstance(value, ast.Name)
                            else ast.literal_eval(value)
                        )
    except (SyntaxError, ValueError) as error:
        raise ZooError(f"{path} is not a valid Python file ({error}): {DOWNLOAD_AGAIN}") from error
    return lists_by_key
