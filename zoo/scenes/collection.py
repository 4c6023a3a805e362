"""Collection: which scenes a folder holds, and what is said of each."""

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
        told: Its captions.
    """

    image_id: str
    graph: SceneGraph
    split: str
    told: list[SceneDescription]


class Collection(ABC):
    """Base of collections of scenes. What a collection has depends on its arguments alone.

    Args:
        seed: The seed of everything that is drawn.
        size: The side of an image, in pixels.

    Attributes:
        splits: The splits of its scenes.
    """

    splits: ClassVar[tuple[str, ...]]

    def __init__(self, seed: int, size: int) -> None:
        self.seed, self.size = seed, size

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Returns what else scenes and captions depend on, as JSON has it."""

    @abstractmethod
    def scenes(self, n: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts. More layouts come after them.

        Args:
            n: How many layouts.
        """


def image_id(index: int, suffix: str = "") -> str:
    """Returns the path of a scene's image inside the folder.

    Args:
        index: The number of the layout.
        suffix: What tells several scenes of one layout apart.
    """
    return f"images/{index:06d}{suffix}.png"
