"""Renders scenes into a folder with several processes, and reads such folders.

    manifest.json                     what the images depend on
    images/000000.png ...             one per scene; this path is the image id
    scenes.jsonl, captions.jsonl      graphs; captions with their split and attribute swap
    units.jsonl, units.SPLIT.jsonl    units and foils, of all splits and of one
    foils.csv                         captions with one edit, for collections that have them

A `SceneCollection` defines the scenes and their captions. Rendering can be interrupted at any time:
every file is written under a temporary name and renamed. The lists are written after the images,
and captions.jsonl at the end, so that a folder with this file is complete.
"""

import csv
import hashlib
import io
import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image

from zoo.errors import ZooError
from zoo.scenes.captions import VERSION as CAPTIONS_VERSION
from zoo.scenes.collection import Graph, Renderer, Scene, SceneCollection
from zoo.scenes.graph import ColorShape
from zoo.scenes.grid import BindingGrid
from zoo.scenes.pairs import KINDS
from zoo.scenes.related import HELD_OUT, RelatedScenes
from zoo.scenes.world.kinds import BINDING_SPLITS, EDITS, PAIR_KINDS
from zoo.support.files import check_writable, remove_leftovers, write_atomically, write_bytes
from zoo.support.progress import track
from zoo.support.schema import read_json_lines
from zoo.support.text_files import parse_json
from zoo.support.worker_init import initialize_worker
from zoo.units.reader import record_to_dict

VERSION = 1
GRAPHS, CAPTIONS, FOILS = "scenes.jsonl", "captions.jsonl", "foils.csv"
MANIFEST = "manifest.json"
SPLITS = tuple(
    dict.fromkeys(
        (*RelatedScenes.splits, *BindingGrid.splits, *KINDS, *PAIR_KINDS, *EDITS, *BINDING_SPLITS)
    )
)

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
    """Renders scenes into a folder. Existing images are kept.

    Args:
        folder: The folder.
        n: Number of scenes in the folder.
        seed: The random seed.
        size: The side of an image, in pixels.
        samples: Number of paths traced per pixel.
        n_objects: Minimum and maximum number of objects in a scene.
        workers: Number of processes that render, on one core each; 0 renders in this process.
        held_out: Pairs of colour and shape that occur only in the split `held_out`, in images and
            texts.

    Returns:
        Number of newly rendered images.

    Raises:
        ZooError: The folder was rendered with other settings, has more scenes, or cannot be
            written.
    """
    return render_collection(
        folder, n, RelatedScenes(seed, size, n_objects, held_out), samples, workers
    )


def render_collection(
    folder: str | Path, n_layouts: int, collection: SceneCollection, samples: int, workers: int = 2
) -> int:
    """Renders the scenes of a collection into a folder. Existing images are kept.

    Args:
        folder: The folder.
        n_layouts: Number of layouts in the folder.
        collection: The collection.
        samples: Number of paths traced per pixel.
        workers: Number of processes that render, on one core each; 0 renders in this process.

    Returns:
        Number of newly rendered images.

    Raises:
        ZooError: The folder was rendered with other settings, has more scenes, or cannot be
            written.
    """
    folder, size = Path(folder), collection.size
    for name, value in {"n": n_layouts, "size": size, "samples": samples}.items():
        if value < 1:
            raise ZooError(f"scenes cannot be rendered with {name} {value}: give at least 1")
    former_settings = _read_settings(
        folder
    )  # before the renderer is imported, which may be missing
    settings = {
        "version": VERSION,
        "captions": CAPTIONS_VERSION,
        "renderer": collection.renderer.version(),
        "seed": collection.seed,
        "size": size,
        "samples": samples,
        **collection.extra_settings(),
    }
    _write_or_check_settings(folder, settings, former_settings)
    graphs = list(collection.graphs(n_layouts))
    _refuse_to_shrink(folder, len(graphs))
    remove_leftovers(folder / "images")
    missing = [
        (folder / image_id, graph, size, samples)
        for image_id, graph in graphs
        if not (folder / image_id).exists()
    ]
    rendered = _render_jobs(missing, collection.renderer, workers)
    for _ in track(rendered, f"rendering {size} px scenes", len(missing)):
        pass
    _write_lists(folder, collection.scenes(n_layouts), collection.splits)
    return len(missing)


def read_captions(folder: str | Path) -> list[SceneCaption]:
    """Returns the captions of a folder of scenes.

    Raises:
        ZooError: The file of captions is missing or invalid.
    """
    return _read(folder, CAPTIONS, SceneCaption)


def hash_scenes(folder: str | Path) -> str:
    """Returns the SHA-256 of the graphs, the captions and the pixels of a folder of scenes.

    It does not depend on how images are compressed.

    Raises:
        ZooError: The folder is incomplete.
    """
    digest = hashlib.sha256()
    image_ids = dict.fromkeys(row.image_id for row in read_captions(folder))
    for name in (GRAPHS, CAPTIONS):
        digest.update((Path(folder) / name).read_bytes())
    for image_id in image_ids:
        with Image.open(Path(folder) / image_id) as image:
            digest.update(image.convert("RGB").tobytes())
    return digest.hexdigest()


def read_lines(folder: str | Path, name: str) -> list[dict[str, Any]]:
    """Reads a JSON lines file from a folder of scenes.

    Args:
        folder: The folder.
        name: `scenes.jsonl` or `captions.jsonl`.

    Returns:
        Its lines.

    Raises:
        ZooError: The file is missing or invalid.
    """
    return _read(folder, name, dict[str, Any])


def _read(folder: str | Path, name: str, schema: type[Line]) -> list[Line]:
    path = Path(folder) / name
    if not path.is_file():
        raise ZooError(
            f"{folder} has no {name}: rendering is not finished, or this is not a folder of `zoo "
            "scenes`. Run the same `zoo scenes` command with the same --out to complete it."
        )
    advice = "delete the file and run the same `zoo scenes` command again"
    return [line for _, line in read_json_lines(path, schema, advice)]


def _read_settings(folder: Path) -> dict[str, Any] | None:
    """Returns the settings that a folder was rendered with, or None for a new folder.

    Raises:
        ZooError: The settings cannot be read, or the folder is not writable.
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        check_writable(manifest)
        return None
    try:
        return dict(parse_json(manifest.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise ZooError(
            f"{manifest} is not a JSON object ({error}): choose another folder or delete this one"
        ) from error


def _write_or_check_settings(
    folder: Path, settings: dict[str, Any], former_settings: dict[str, Any] | None
) -> None:
    """Writes the settings into a new folder, or checks that they equal the existing ones."""
    if former_settings is None:
        write_bytes(folder / MANIFEST, json.dumps(settings, indent=2).encode())
        return
    for name in settings:
        if former_settings.get(name) != settings[name]:
            raise ZooError(
                f"{folder} was rendered with {name} {former_settings.get(name)}, not "
                f"{settings[name]}: choose another folder or delete this one"
            )


def _refuse_to_shrink(folder: Path, n: int) -> None:
    """Checks that the lists of captions and units would not lose scenes."""
    if (folder / GRAPHS).is_file():
        n_present = len(read_lines(folder, GRAPHS))
        if n_present > n:
            raise ZooError(
                f"{folder} has {n_present:,} scenes, more than the requested {n:,}: render at "
                "least as many, or choose another folder"
            )


def _render_jobs(
    jobs: list[tuple[Path, Graph, int, int]], renderer: Renderer, workers: int
) -> Iterator[None]:
    """Renders images, and yields after each one."""
    if workers == 0:
        for job in jobs:
            _render_to(renderer.render, *job)
            yield
        return
    if not jobs:
        return
    # spawn: a fork of a process with Mitsuba threads may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(workers, len(jobs)),
        context,
        initializer=_initialize_worker,
        initargs=(renderer.use_one_thread,),
    ) as pool:
        try:
            futures = [pool.submit(_render_to, renderer.render, *job) for job in jobs]
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise ZooError(
                "a worker process was killed while rendering scenes: run the command again with "
                "fewer --workers"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _initialize_worker(use_one_thread: Callable[[], None]) -> None:
    initialize_worker()
    use_one_thread()


def _render_to(
    render: Callable[[Any, int, int], NDArray[np.uint8]],
    path: Path,
    graph: Graph,
    size: int,
    samples: int,
) -> None:
    data = io.BytesIO()
    Image.fromarray(render(graph, size, samples)).save(data, "png")
    write_bytes(path, data.getvalue(), clean_up=False)


def _write_lists(folder: Path, scenes: Iterable[Scene], splits: tuple[str, ...]) -> None:
    """Writes captions, graphs and units, and foils if there are any, in one pass over the scenes.

    All files appear at the end, the captions last.
    """
    with ExitStack() as stack:

        def open_file(name: str) -> TextIO:
            path = stack.enter_context(write_atomically(folder / name))
            return stack.enter_context(path.open("w", encoding="utf-8", newline=""))

        captions, graphs = open_file(CAPTIONS), open_file(GRAPHS)
        units = {split: open_file(f"units.{split}.jsonl") for split in splits}
        # the only split of a large collection is not written twice
        all_units = open_file("units.jsonl") if len(splits) > 1 else None
        foils: Any = None
        for scene in scenes:
            graphs.write(json.dumps(scene.graph.to_dict() | {"split": scene.split}) + "\n")
            for description in scene.descriptions:
                record = description.record
                line = json.dumps(record_to_dict(record), ensure_ascii=False) + "\n"
                units[scene.split].write(line)
                if all_units is not None:
                    all_units.write(line)
                row = {
                    "caption_id": record.caption_id,
                    "image_id": record.image_id,
                    "caption": record.caption,
                    "split": scene.split,
                    "attribute_swap": description.attribute_swap,
                }
                captions.write(json.dumps(row) + "\n")
            if scene.foils and foils is None:
                foils = csv.writer(open_file(FOILS))
                foils.writerow(("image", "caption", "foil", "subset"))
            for foil in scene.foils:
                foils.writerow((scene.image_id, *foil))
