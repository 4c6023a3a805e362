"""The folder of rendered scenes: what is in it, and how several processes fill it.

    manifest.json                     what the images depend on
    images/000000.png ...             one a scene; this path is the image id
    scenes.jsonl, captions.jsonl      graphs; captions with their split and attribute swap
    units.jsonl, units.SPLIT.jsonl    units and foils, of all splits and of one

What scenes there are and what is said of them is a `Collection`'s. Rendering can be killed at any
time. Every file is written beside its place and renamed. The lists come last, and captions.jsonl at
the very end, so that a folder which has them is whole.
"""

import io
import json
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from PIL import Image

from zoo.errors import ZooError
from zoo.scenes.captions import VERSION as CAPTIONS_VERSION
from zoo.scenes.collection import Collection, Scene
from zoo.scenes.graph import ColorShape, SceneGraph
from zoo.scenes.grid import Grid
from zoo.scenes.pairs import KINDS
from zoo.scenes.related import HELD_OUT, Related
from zoo.scenes.render import render, renderer_version, use_one_thread
from zoo.support.files import check_place, sweep, write_bytes
from zoo.support.helpers import helps_its_parent
from zoo.support.progress import track
from zoo.support.schema import lines
from zoo.support.text_files import json_value
from zoo.units.reader import write_units

VERSION = 1
GRAPHS, CAPTIONS = "scenes.jsonl", "captions.jsonl"
MANIFEST = "manifest.json"
SPLITS = tuple(dict.fromkeys((*Related.splits, *Grid.splits, *KINDS)))

Line = TypeVar("Line")


class SceneCaption(Struct):
    """A line of captions.jsonl: a caption with its image, split and attribute swap, if any."""

    image_id: str
    caption: str
    caption_id: str
    split: str
    attribute_swap: str | None = None


def render_scenes(
    folder: str | Path,
    n: int,
    seed: int = 0,
    size: int = 48,
    samples: int = 16,
    n_objects: tuple[int, int] = (2, 2),
    workers: int = 2,
    held_out: frozenset[ColorShape] = HELD_OUT,
) -> int:
    """Fills a folder with scenes. Images that are there already are kept.

    Args:
        folder: The folder.
        n: How many scenes it holds.
        seed: The seed of everything that is drawn.
        size: The side of an image, in pixels.
        samples: How many paths a pixel are traced.
        n_objects: The fewest and the most objects of a scene.
        workers: How many processes render, on one core each; 0 renders in this process.
        held_out: Pairs of colour and shape that only the split `held_out` has, in images and in
            texts.

    Returns:
        How many images were rendered now.

    Raises:
        ZooError: The folder was rendered with other settings, has more scenes, or cannot be
            written.
    """
    return fill(folder, n, Related(seed, size, n_objects, held_out), samples, workers)


def fill(folder: str | Path, n: int, collection: Collection, samples: int, workers: int = 2) -> int:
    """Fills a folder with the scenes of a collection. Images that are there already are kept.

    Args:
        folder: The folder.
        n: How many layouts it holds.
        collection: The collection.
        samples: How many paths a pixel are traced.
        workers: How many processes render, on one core each; 0 renders in this process.

    Returns:
        How many images were rendered now.

    Raises:
        ZooError: The folder was rendered with other settings, has more scenes, or cannot be
            written.
    """
    folder, size = Path(folder), collection.size
    for name, value in {"n": n, "size": size, "samples": samples}.items():
        if value < 1:
            raise ZooError(f"scenes cannot be rendered with {name} {value}: give at least 1")
    there = _settings_of(folder)  # before the renderer is looked for, which may be absent
    settings = {
        "version": VERSION,
        "captions": CAPTIONS_VERSION,
        "renderer": renderer_version(),
        "seed": collection.seed,
        "size": size,
        "samples": samples,
        **collection.settings(),
    }
    _claim(folder, settings, there)
    scenes = list(collection.scenes(n))
    _refuse_to_shrink(folder, len(scenes))
    sweep(folder / "images")
    missing = [
        (folder / scene.image_id, scene.graph, size, samples)
        for scene in scenes
        if not (folder / scene.image_id).exists()
    ]
    rendered = _render_jobs(missing, workers)
    for _ in track(rendered, f"rendering {size} px scenes", len(missing)):
        pass
    _write_lists(folder, scenes, collection.splits)
    return len(missing)


def read_captions(folder: str | Path) -> list[SceneCaption]:
    """Returns the captions of a folder of scenes.

    Raises:
        ZooError: The folder has no list of them, or the list is broken.
    """
    return _read(folder, CAPTIONS, SceneCaption)


def read_lines(folder: str | Path, name: str) -> list[dict[str, Any]]:
    """Reads a list of a folder of scenes.

    Args:
        folder: The folder.
        name: `scenes.jsonl` or `captions.jsonl`.

    Returns:
        Its lines.

    Raises:
        ZooError: The folder does not have the list, or the list is broken.
    """
    return _read(folder, name, dict[str, Any])


def _read(folder: str | Path, name: str, schema: type[Line]) -> list[Line]:
    path = Path(folder) / name
    if not path.is_file():
        raise ZooError(
            f"{path} does not exist: `zoo scenes render --out {folder}` makes it, and goes on "
            "where it was interrupted"
        )
    mend = "delete the file and run `zoo scenes render` again"
    return [line for _, line in lines(path, schema, mend)]


def _settings_of(folder: Path) -> dict[str, Any] | None:
    """Returns the settings that a folder was rendered with, None where it was not yet.

    Raises:
        ZooError: They cannot be read, or nothing can be written there.
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        check_place(manifest)
        return None
    try:
        return dict(json_value(manifest.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise ZooError(
            f"{manifest} is not JSON of settings ({error}): name another folder or delete this one"
        ) from error


def _claim(folder: Path, settings: dict[str, Any], there: dict[str, Any] | None) -> None:
    """Marks the folder with its settings, or checks that it has the same."""
    if there is None:
        write_bytes(folder / MANIFEST, json.dumps(settings, indent=2).encode())
        return
    for name in settings:
        if there.get(name) != settings[name]:
            raise ZooError(
                f"{folder} was rendered with {name} {there.get(name)}, not {settings[name]}: "
                "name another folder or delete this one"
            )


def _refuse_to_shrink(folder: Path, n: int) -> None:
    """Checks that the lists of captions and units would lose no scenes."""
    if (folder / GRAPHS).is_file():
        there = len(read_lines(folder, GRAPHS))
        if there > n:
            raise ZooError(
                f"{folder} has {there:,} scenes and would be left with {n:,}: render at least as "
                "many, or name another folder"
            )


def _render_jobs(jobs: list[tuple[Path, SceneGraph, int, int]], workers: int) -> Iterator[None]:
    """Yields once for each image that was written."""
    if workers == 0:
        for job in jobs:
            _render_to(*job)
            yield
        return
    if not jobs:
        return
    # spawn: a fork of a process in which Mitsuba's threads run may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(jobs)), context, initializer=_helps) as pool:
        try:
            for done in as_completed([pool.submit(_render_to, *job) for job in jobs]):
                yield done.result()
        except BrokenProcessPool as error:
            raise ZooError(
                "a process that rendered scenes was killed: run the same command again with fewer "
                "--workers"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _helps() -> None:
    helps_its_parent()
    use_one_thread()


def _render_to(path: Path, graph: SceneGraph, size: int, samples: int) -> None:
    data = io.BytesIO()
    Image.fromarray(render(graph, size, samples)).save(data, "png")
    write_bytes(path, data.getvalue(), sweeps=False)


def _write_lists(folder: Path, scenes: list[Scene], splits: tuple[str, ...]) -> None:
    write_units((d.record for scene in scenes for d in scene.told), folder / "units.jsonl")
    for split in splits:
        of_split = (d.record for scene in scenes if scene.split == split for d in scene.told)
        write_units(of_split, folder / f"units.{split}.jsonl")
    _write_lines(
        folder / GRAPHS, (scene.graph.to_dict() | {"split": scene.split} for scene in scenes)
    )
    _write_lines(
        folder / CAPTIONS,
        (
            {
                "caption_id": d.record.caption_id,
                "image_id": d.record.image_id,
                "caption": d.record.caption,
                "split": scene.split,
                "attribute_swap": d.attribute_swap,
            }
            for scene in scenes
            for d in scene.told
        ),
    )


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    write_bytes(path, "".join(json.dumps(row) + "\n" for row in rows).encode())
