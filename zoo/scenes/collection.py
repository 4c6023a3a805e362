"""Collection: the scenes of a folder and their captions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from zoo.scenes.captions import SceneDescription
from zoo.scenes.graph import SceneGraph


@dataclass(frozen=True)
class Scene:
    """A scene of a folder.

    Attributes:
        image_id: The path of its image inside the folder.
        graph: The graph.
        split: The split.
        descriptions: The captions.
    """

    image_id: str
    graph: SceneGraph
    split: str
    descriptions: list[SceneDescription]


class SceneCollection(ABC):
    """Base of collections of scenes. The scenes depend only on the arguments.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.

    Attributes:
        splits: The splits of its scenes.
    """

    splits: ClassVar[tuple[str, ...]]

    def __init__(self, seed: int, size: int) -> None:
        self.seed, self.size = seed, size

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns further settings of the scenes and captions, as JSON data."""

    @abstractmethod
    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts. A larger n only appends layouts.

        Args:
            n_layouts: Number of layouts.
        """


def image_id(index: int, suffix: str = "") -> str:
    """Returns the path of a scene's image inside the folder.

    Args:
        index: The number of the layout.
        suffix: Distinguishes several scenes of one layout.
    """
    return f"images/{index:06d}{suffix}.png"
