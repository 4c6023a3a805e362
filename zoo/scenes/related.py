"""Related: scenes of two or more objects, described by relations and a conjunction."""

from collections.abc import Iterator
from typing import Any

from zoo.errors import ZooError
from zoo.scenes.captions import describe_scene
from zoo.scenes.collection import Scene, SceneCollection, image_id
from zoo.scenes.graph import ColorShape, SceneGraph, sample_scene

# two colours per shape and each colour at most once, so that training has all colours and shapes
HELD_OUT: frozenset[ColorShape] = frozenset(
    {
        ("gray", "cube"),
        ("green", "cube"),
        ("red", "cylinder"),
        ("purple", "cylinder"),
        ("blue", "sphere"),
        ("yellow", "sphere"),
    }
)


def split_of(index: int) -> str:
    """Returns the split of a scene, independent of the number of scenes.

    Of every 25 scenes, 18 are train, 1 val, 3 test, and 3 have a held-out pair.
    """
    place = index % 25
    return "held_out" if place < 3 else "test" if place < 6 else "val" if place == 6 else "train"


class RelatedScenes(SceneCollection):
    """Scenes of CLEVR's shapes, with four relations and a conjunction as captions.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.
        n_objects: Minimum and maximum number of objects in a scene.
        held_out: Pairs of colour and shape that occur only in the split `held_out`, in images and
            texts.

    Raises:
        ZooError: There are too few objects.
    """

    splits = ("train", "val", "test", "held_out")

    def __init__(
        self,
        seed: int,
        size: int,
        n_objects: tuple[int, int],
        held_out: frozenset[ColorShape] = HELD_OUT,
    ) -> None:
        minimum, maximum = n_objects
        if minimum < 2:
            raise ZooError(f"the minimum number of objects is {minimum}: give at least 2")
        if maximum < minimum:
            raise ZooError(
                f"the maximum number of objects, {maximum}, is below the minimum: give at least "
                f"{minimum}"
            )
        super().__init__(seed, size)
        self.n_objects, self.held_out = n_objects, held_out

    def settings(self) -> dict[str, Any]:
        """Returns the numbers of objects and what is held out."""
        return {
            "n_objects": list(self.n_objects),
            "held_out": sorted(map(list, self.held_out)),
        }

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts, one each."""
        for index in range(n_layouts):
            split, graph, image = split_of(index), self._graph(index), image_id(index)
            avoid = frozenset[ColorShape]() if split == "held_out" else self.held_out
            yield Scene(image, graph, split, describe_scene(graph, image, avoid))

    def _graph(self, index: int) -> SceneGraph:
        arguments = self.seed, index, self.size, self.n_objects
        if self.held_out and split_of(index) == "held_out":
            return sample_scene(*arguments, required_any=self.held_out)
        return sample_scene(*arguments, excluded=self.held_out)
