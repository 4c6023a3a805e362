"""Collection: the scenes of a folder and their captions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from zoo.scenes import render
from zoo.scenes.captions import SceneDescription


class Graph(Protocol):
    """A scene graph of any world."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the graph in plain data."""


class Renderer(NamedTuple):
    """Functions that render the graphs of a collection, importable by other processes.

    Attributes:
        version: Returns what the pixels depend on besides the graph.
        use_one_thread: Prepares a worker process.
        render: Returns the image of a graph, `[size, size, 3]`, given its size and samples.
    """

    version: Callable[[], str]
    use_one_thread: Callable[[], None]
    render: Callable[[Any, int, int], NDArray[np.uint8]]


class CaptionFoil(NamedTuple):
    """A caption with a false variant.

    Attributes:
        caption: The caption.
        foil: The variant.
        subset: The kind of the edit.
    """

    caption: str
    foil: str
    subset: str


@dataclass(frozen=True)
class Scene:
    """A scene of a folder.

    Attributes:
        image_id: The path of its image inside the folder.
        graph: The graph.
        split: The split.
        descriptions: The captions.
        foils: Captions with false variants.
    """

    image_id: str
    graph: Graph
    split: str
    descriptions: list[SceneDescription]
    foils: tuple[CaptionFoil, ...] = ()


class SceneCollection(ABC):
    """Base of collections of scenes. The scenes depend only on the arguments.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.

    Attributes:
        splits: The splits of its scenes.
        renderer: Renders its graphs.
    """

    splits: tuple[str, ...]
    renderer: ClassVar[Renderer] = Renderer(
        render.renderer_version, render.use_one_thread, render.render
    )

    def __init__(self, seed: int, size: int) -> None:
        self.seed, self.size = seed, size

    @abstractmethod
    def extra_settings(self) -> dict[str, Any]:
        """Returns further settings of the scenes and captions, as JSON data."""

    @abstractmethod
    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts. A larger n only appends layouts.

        Args:
            n_layouts: Number of layouts.
        """

    def graphs(self, n_layouts: int) -> Iterator[tuple[str, Graph]]:
        """Yields image id and graph of each scene of the first n layouts.

        Args:
            n_layouts: Number of layouts.
        """
        for scene in self.scenes(n_layouts):
            yield scene.image_id, scene.graph


def image_id(index: int, suffix: str = "") -> str:
    """Returns the path of a scene's image inside the folder.

    Args:
        index: The number of the layout.
        suffix: Distinguishes several scenes of one layout.
    """
    return f"images/{index:06d}{suffix}.png"
