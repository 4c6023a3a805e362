"""Scene graphs: the objects of a CLEVR-like scene, their positions and their relations.

Vocabulary, sizes, camera and lamps are from CLEVR (Johnson et al., 2017, `image_generation`).
Lengths are in its units, and z points up.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from zoo.errors import ZooError

Vector = tuple[float, float, float]
ColorShape = tuple[str, str]

COLORS = ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow")
SHAPES = ("cube", "sphere", "cylinder")
# with the shapes of `solids`, for scenes that need more combinations of colour and shape
ALL_SHAPES = (*SHAPES, "cone", "torus", "capsule", "pyramid", "star")
SIZES = {"large": 0.7, "small": 0.35}
MATERIALS = ("rubber", "metal")
PAIRS: tuple[ColorShape, ...] = tuple((color, shape) for color in COLORS for shape in SHAPES)
OPPOSITE = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "in front of": "behind",
    "behind": "in front of",
}

# half-edge of a cube and radius of a cylinder relative to a sphere, so that all look equally large
BLOCK = 0.8
# height of an object's centre above the ground, relative to a sphere
REST = {
    "cube": BLOCK,
    "sphere": 1.0,
    "cylinder": BLOCK,
    "cone": 0.8,
    "torus": 0.3,
    "capsule": 0.5,
    "pyramid": 0.65,
    "star": 0.3,
}
# radius of the disc that covers an object's outline, relative to a sphere
OUTLINE = {
    "cube": 1.3,
    "sphere": 1.0,
    "cylinder": 1.13,
    "cone": 1.21,
    "torus": 1.0,
    "capsule": 1.15,
    "pyramid": 1.33,
    "star": 1.19,
}
RELATED = 0.2  # minimum offset along an axis for a relation, as in CLEVR
MARGIN = 0.4  # minimum offset in a sampled scene, so that all relations are clear, as in CLEVR
LAMPS: tuple[Vector, Vector, Vector] = (
    (6.45, -2.91, 4.26),
    (-4.67, -4.01, 3.01),
    (-1.17, 2.65, 5.82),
)
# tries of layouts per scene, and of positions per object; 50 is from CLEVR
TRIES, PLACES = 200, 50


@dataclass(frozen=True)
class SceneObject:
    """One object of a scene.

    Attributes:
        shape: One of `ALL_SHAPES`.
        size: One of `SIZES`.
        radius: The radius.
        material: One of `MATERIALS`.
        color: One of `COLORS`.
        position: The centre. The object rests on the ground.
        rotation: The angle about the vertical, in radians.
    """

    shape: str
    size: str
    radius: float
    material: str
    color: str
    position: Vector
    rotation: float

    @property
    def pair(self) -> ColorShape:
        """Its colour and shape."""
        return self.color, self.shape

    def with_changes(self, **changes: str) -> "SceneObject":
        """Returns the object at the same position with another shape, size, material or colour."""
        changed = replace(self, **changes)  # type: ignore[arg-type]
        radius = SIZES[changed.size]
        x, y, _ = self.position
        return replace(changed, radius=radius, position=(x, y, REST[changed.shape] * radius))


@dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Attributes:
        origin: The position of the camera.
        target: The point it looks at.
        fov: The field of view across the square frame, in degrees.
    """

    origin: Vector
    target: Vector
    fov: float

    @property
    def axes(self) -> tuple[Vector, Vector, Vector]:
        """Unit vectors that point right, up and forward as the camera sees it."""
        forward = _unit(_minus(self.target, self.origin))
        right = _unit((forward[1], -forward[0], 0.0))
        return right, _cross(right, forward), forward

    def project_with_scale(self, point: Vector) -> tuple[float, float, float]:
        """Returns the position of a point in the image, and the scale there.

        Args:
            point: The point.

        Returns:
            x to the right and y upwards, from -1 to 1 in the frame, and the image size of a length
            of 1 in the same unit.
        """
        right, up, forward = self.axes
        offset = _minus(point, self.origin)
        enlargement = 1 / (_dot(offset, forward) * math.tan(math.radians(self.fov / 2)))
        return _dot(offset, right) * enlargement, _dot(offset, up) * enlargement, enlargement


@dataclass(frozen=True)
class SceneGraph:
    """A scene.

    Attributes:
        id: Its number, of six digits.
        seed: The random seed of the renderer.
        objects: The objects.
        camera: The camera.
        lamps: The positions of the key, fill and back lamps.
        visible_attributes: The attributes that are visible at the resolution of the scene, in the
            order in which a phrase lists them.
    """

    id: str
    seed: int
    objects: tuple[SceneObject, ...]
    camera: Camera
    lamps: tuple[Vector, Vector, Vector]
    visible_attributes: tuple[str, ...]

    def holds(self, subject: int, predicate: str, object: int) -> bool:
        """Returns whether one object is in a relation to another.

        Relations are evaluated along the ground, from the view of the camera. A relation and its
        opposite never both hold, but both may fail.

        Args:
            subject: The row of the first object.
            predicate: A relation of `OPPOSITE`.
            object: The row of the second object.
        """
        return self.offset(subject, predicate, object) > RELATED

    def offset(self, subject: int, predicate: str, object: int) -> float:
        """Returns the distance of one object from another in the direction of a relation.

        Args:
            subject: The row of the first object.
            predicate: A relation of `OPPOSITE`.
            object: The row of the second object.
        """
        right, _, forward = self.camera.axes
        ground_forward = _unit((forward[0], forward[1], 0.0))
        sign, axis = {
            "to the left of": (-1, right),
            "to the right of": (1, right),
            "in front of": (-1, ground_forward),
            "behind": (1, ground_forward),
        }[predicate]
        return sign * _dot(
            _minus(self.objects[subject].position, self.objects[object].position), axis
        )

    def relations(self) -> Iterator[tuple[int, str, int]]:
        """Yields every relation that holds, as subject, predicate and object.

        Subject and object are rows of `objects`.
        """
        for subject in range(len(self.objects)):
            for object in range(len(self.objects)):
                for predicate in OPPOSITE:
                    if subject != object and self.holds(subject, predicate, object):
                        yield subject, predicate, object

    def to_dict(self) -> dict[str, Any]:
        """Returns the graph in plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "SceneGraph":
        """Returns the graph from the output of `to_dict`, also after a round trip through JSON."""
        return cls(
            plain["id"],
            plain["seed"],
            tuple(SceneObject(**{**o, "position": tuple(o["position"])}) for o in plain["objects"]),
            Camera(
                tuple(plain["camera"]["origin"]),
                tuple(plain["camera"]["target"]),
                plain["camera"]["fov"],
            ),
            tuple(tuple(lamp) for lamp in plain["lamps"]),  # type: ignore[arg-type]
            tuple(plain["visible_attributes"]),
        )


@dataclass(frozen=True)
class Framing:
    """How scenes of one resolution are laid out.

    Attributes:
        camera: The camera.
        reach: Maximum x and y of the centres of objects.
        sizes: The possible sizes of objects.
        materials: The possible materials of objects.
        visible_attributes: The visible attributes.
    """

    camera: Camera
    reach: float
    sizes: tuple[str, ...]
    materials: tuple[str, ...]
    visible_attributes: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """The appearance of an object without a position.

    Attributes:
        color: The colour.
        shape: The shape.
        sizes: The possible sizes.
        materials: The possible materials.
    """

    color: str
    shape: str
    sizes: tuple[str, ...]
    materials: tuple[str, ...]


def choose_framing(resolution: int, n_objects: int) -> Framing:
    """Returns the layout of scenes: CLEVR's view from 128 pixels on, a closer one below.

    Size and gloss are not visible at lower resolutions. There the view is closer and steeper, and
    objects of one size and one material fill the frame.

    Args:
        resolution: The side of an image, in pixels.
        n_objects: Number of objects in a scene.
    """
    if resolution >= 128:
        camera = Camera((7.48, -6.51, 5.34), (-0.4, 0.8, 0.0), 37.9)
        return Framing(camera, 3.0, tuple(SIZES), MATERIALS, ("size", "color", "material"))
    # at the target, so that any number of objects covers the same share of the frame
    half_frame = 1.4 * math.sqrt(n_objects)
    origin, target = (6.8, -6.2, 8.0), (0.0, 0.0, 0.5)
    fov = 2 * math.degrees(math.atan(half_frame / math.dist(origin, target)))
    return Framing(
        Camera(origin, target, fov), 1.3 * half_frame, ("large",), ("rubber",), ("color",)
    )


def sample_scene(
    seed: int,
    index: int,
    resolution: int,
    n_objects: tuple[int, int] = (2, 4),
    excluded: frozenset[ColorShape] = frozenset(),
    required_any: frozenset[ColorShape] = frozenset(),
) -> SceneGraph:
    """Samples a scene. It depends only on the arguments.

    No two objects have the same colour and shape. All objects are completely in the frame, and
    none occludes another. Every two objects are separated by a margin along both ground axes, and
    appear in the same order in the image.

    Args:
        seed: The seed of all scenes.
        index: The number of the scene.
        resolution: The side of its image, in pixels.
        n_objects: Minimum and maximum number of objects.
        excluded: Pairs of colour and shape that must not occur.
        required_any: Pairs of colour and shape of which at least one must occur.

    Returns:
        The scene.

    Raises:
        ZooError: Too few pairs are allowed, or the objects do not fit.
    """
    rng = Random(f"scene {seed} {index}")
    n = rng.randint(*n_objects)
    allowed = [pair for pair in PAIRS if pair not in excluded]
    candidates = [pair for pair in allowed if pair in required_any] if required_any else allowed
    if not candidates or len(allowed) < n:
        raise ZooError(
            f"cannot sample a scene of {n} objects: too many of the {len(PAIRS)} pairs of colour "
            "and shape are held out"
        )
    pairs = [rng.choice(candidates)]
    pairs += rng.sample([pair for pair in allowed if pair != pairs[0]], n - 1)
    frame = choose_framing(resolution, n)
    looks = [Look(*pair, frame.sizes, frame.materials) for pair in pairs]
    graph = sample_scene_of_looks(
        rng,
        index,
        frame,
        looks,
        lambda graph: has_fully_visible_objects(graph) and has_clear_relations(graph),
    )
    if graph is None:
        raise ZooError(
            f"could not place {n} objects at {resolution} pixels in {TRIES} tries: use fewer "
            "objects"
        )
    return graph


def sample_scene_of_looks(
    rng: Random,
    index: int,
    frame: Framing,
    looks: Sequence[Look],
    accepts_partial: Callable[[SceneGraph], bool],
    accepts_complete: Callable[[SceneGraph], bool] = lambda graph: True,
) -> SceneGraph | None:
    """Samples positions for objects.

    Args:
        rng: Random generator.
        index: The number of the scene.
        frame: The layout of the scene.
        looks: The appearance of the objects.
        accepts_partial: Condition that is checked after each object is placed.
        accepts_complete: Condition that is checked for the complete scene.

    Returns:
        The scene, or None if the objects could not be placed.
    """
    for _ in range(TRIES):
        camera = Camera(
            _jitter(rng, frame.camera.origin, 0.5), frame.camera.target, frame.camera.fov
        )
        key, fill, back = (_jitter(rng, lamp, 1.0) for lamp in LAMPS)
        graph = SceneGraph(
            f"{index:06d}",
            rng.getrandbits(31),
            (),
            camera,
            (key, fill, back),
            frame.visible_attributes,
        )
        for look in looks:
            larger_graph = _add_object(rng, graph, frame.reach, look, accepts_partial)
            if larger_graph is None:
                break
            graph = larger_graph
        else:
            if accepts_complete(graph):
                return graph
    return None


def _add_object(
    rng: Random,
    graph: SceneGraph,
    reach: float,
    look: Look,
    accepts_partial: Callable[[SceneGraph], bool],
) -> SceneGraph | None:
    """Returns the graph with one more object, or None if it could not be placed."""
    for _ in range(PLACES):
        larger_graph = replace(graph, objects=(*graph.objects, _sample_object(rng, reach, look)))
        if accepts_partial(larger_graph):
            return larger_graph
    return None


def has_fully_visible_objects(graph: SceneGraph) -> bool:
    """Returns whether all objects are completely in the frame and none occludes another."""
    return is_in_frame(graph) and has_separate_objects(graph)


def is_in_frame(graph: SceneGraph) -> bool:
    """Returns whether all outlines keep a distance of 3 % of the frame from its borders."""
    return all(
        abs(x) + r <= 0.94 and abs(y) + r <= 0.94
        for x, y, r in (_project_outline(graph.camera, o) for o in graph.objects)
    )


def has_separate_objects(graph: SceneGraph) -> bool:
    """Returns whether no two outlines touch, in the image or on the ground."""
    discs = [_project_outline(graph.camera, o) for o in graph.objects]
    return all(math.dist(a[:2], b[:2]) >= a[2] + b[2] for a, b in _unordered_pairs(discs)) and all(
        math.dist(a.position[:2], b.position[:2])
        >= OUTLINE[a.shape] * a.radius + OUTLINE[b.shape] * b.radius
        for a, b in _unordered_pairs(graph.objects)
    )


def has_clear_relations(graph: SceneGraph) -> bool:
    """Returns whether all relations between objects are unambiguous.

    Every two objects must be separated by a margin along both ground axes, and appear in the same
    order in the image.
    """
    projections = [graph.camera.project_with_scale(o.position) for o in graph.objects]
    for i, j in _unordered_pairs(range(len(graph.objects))):
        side_offset, depth_offset = (
            graph.offset(i, "to the right of", j),
            graph.offset(i, "behind", j),
        )
        if min(abs(side_offset), abs(depth_offset)) < MARGIN:
            return False
        if (projections[i][0] - projections[j][0]) * math.copysign(1, side_offset) < 0.1 or (
            projections[i][1] - projections[j][1]
        ) * math.copysign(1, depth_offset) < 0.1:
            return False
    return True


def _sample_object(rng: Random, reach: float, look: Look) -> SceneObject:
    size = rng.choice(look.sizes)
    radius = SIZES[size]
    x, y = (rng.uniform(-reach, reach) for _ in range(2))
    return SceneObject(
        look.shape,
        size,
        radius,
        rng.choice(look.materials),
        look.color,
        (x, y, REST[look.shape] * radius),
        rng.uniform(0, 2 * math.pi),
    )


def _project_outline(camera: Camera, object: SceneObject) -> tuple[float, float, float]:
    x, y, enlargement = camera.project_with_scale(object.position)
    return x, y, OUTLINE[object.shape] * object.radius * enlargement


def _unordered_pairs(items: Any) -> Iterator[tuple[Any, Any]]:
    return ((items[i], items[j]) for i in range(len(items)) for j in range(i))


def _jitter(rng: Random, point: Vector, by: float) -> Vector:
    x, y, z = (coordinate + rng.uniform(-by, by) for coordinate in point)
    return x, y, z


def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _unit(a: Vector) -> Vector:
    length = math.hypot(*a)
    return a[0] / length, a[1] / length, a[2] / length
