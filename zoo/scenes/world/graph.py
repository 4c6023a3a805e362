"""Graphs of the world: objects, their places in the image, and what is true of them.

Positions are fractions of the side of the image: x to the right, y downwards.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from zoo.scenes.world.kinds import KINDS, WOODEN

Box = tuple[float, float, float, float]

# each predicate with the one that is true if subject and object are exchanged
INVERSES = {
    "to the left of": "to the right of",
    "to the right of": "to the left of",
    "in front of": "behind",
    "behind": "in front of",
    "bigger than": "smaller than",
    "smaller than": "bigger than",
}
LINKS = ("on", "under", "inside", "holding", "riding")
PREDICATES = (*INVERSES, *LINKS)
SPREAD = 1.08  # distance of the middles of neighbours in a group, in widths
# maximum overlap of two intervals for left and right, minimum for behind, in shares of the smaller
BESIDE, ALIGNED = 0.25, 0.4
DEEPER = 0.05  # minimum difference of depth for behind, as a difference of y
BIGGER = 1.5  # minimum ratio of heights and of widths for bigger


@dataclass(frozen=True)
class WorldObject:
    """One object, or a group of two or three equal objects next to each other.

    Attributes:
        kind: A name of `KINDS`.
        color: A name of `COLORS`.
        pattern: One of the kind's patterns; None if it is plain.
        size: A name of `SIZES`; None if it has the usual size.
        count: Number of objects in the group.
        x: The middle.
        y: Where it touches the ground.
        scale: The length of a unit of its drawing.
        flipped: Whether it looks to the left.
        link: How it is attached to `host`, one of `LINKS`. If it is holding, the host holds it.
        host: Row of the object it is attached to.
    """

    kind: str
    color: str
    pattern: str | None
    size: str | None
    count: int
    x: float
    y: float
    scale: float
    flipped: bool
    link: str | None = None
    host: int | None = None

    @property
    def looks(self) -> tuple[str, str, str | None, str | None]:
        """Kind, colour, pattern and size."""
        return self.kind, self.color, self.pattern, self.size

    @property
    def shown_color(self) -> str:
        """The colour that is visible: wood hides the colour."""
        return WOODEN if self.pattern == WOODEN else self.color

    @property
    def offsets(self) -> list[float]:
        """The positions of the members of the group relative to `x`."""
        step = KINDS[self.kind].width * self.scale * SPREAD
        return [(k - (self.count - 1) / 2) * step for k in range(self.count)]

    @property
    def box(self) -> Box:
        """Left, top, right and bottom."""
        kind = KINDS[self.kind]
        half = kind.width * self.scale / 2 + max(self.offsets)
        return self.x - half, self.y - kind.height * self.scale, self.x + half, self.y


@dataclass(frozen=True)
class WorldGraph:
    """A scene of the world.

    Attributes:
        id: Its number, of six digits.
        seed: The seed of the details of the picture that no text mentions.
        place: A name of `PLACES`.
        objects: The objects.
    """

    id: str
    seed: int
    place: str
    objects: tuple[WorldObject, ...]

    def holds(self, subject: int, predicate: str, object: int) -> bool:
        """Returns whether a relation is clearly true, so that a caption can state it.

        Args:
            subject: The row of the first object.
            predicate: One of `PREDICATES`.
            object: The row of the second object.
        """
        if predicate in LINKS:
            return self._is_linked(subject, predicate, object)
        a, b = self.objects[subject], self.objects[object]
        if predicate in ("bigger than", "smaller than"):
            large, small = (a, b) if predicate == "bigger than" else (b, a)
            return large.count == small.count == 1 and self._size_ratio(large, small) >= BIGGER
        if self._is_connected(subject, object):
            return False
        overlap = interval_overlap(a, b)
        if predicate in ("to the left of", "to the right of"):
            right = predicate == "to the right of"
            return overlap <= BESIDE and (a.x > b.x) == right
        if a.host is not None or b.host is not None:
            return False
        deeper = (b.y - a.y) if predicate == "behind" else (a.y - b.y)
        return overlap >= ALIGNED and deeper >= DEEPER

    def may_hold(self, subject: int, predicate: str, object: int) -> bool:
        """Returns whether a relation is true or in doubt, so that it cannot serve as a falsehood.

        Args:
            subject: The row of the first object.
            predicate: One of `PREDICATES`.
            object: The row of the second object.
        """
        if predicate in LINKS:
            return self._is_linked(subject, predicate, object)
        a, b = self.objects[subject], self.objects[object]
        if predicate == "bigger than":
            return self._size_ratio(a, b) > 0.9 or self._size_ratio(b, a) < 1.1
        if predicate == "smaller than":
            return self.may_hold(object, "bigger than", subject)
        if predicate == "to the left of":
            return a.x < b.x + 0.02
        if predicate == "to the right of":
            return b.x < a.x + 0.02
        root_a, root_b = self.root(subject), self.root(object)
        deeper = root_b.y - root_a.y if predicate == "behind" else root_a.y - root_b.y
        return deeper > -0.02

    def relations(self) -> Iterator[tuple[int, str, int]]:
        """Yields every relation that clearly holds, as subject, predicate and object."""
        rows = range(len(self.objects))
        for subject in rows:
            for object in rows:
                for predicate in PREDICATES:
                    if subject != object and self.holds(subject, predicate, object):
                        yield subject, predicate, object

    def root(self, row: int) -> WorldObject:
        """Returns the object on the ground that carries an object, which may be itself."""
        host = self.objects[row].host
        return self.objects[row] if host is None else self.root(host)

    def to_dict(self) -> dict[str, Any]:
        """Returns the graph in plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "WorldGraph":
        """Returns the graph from the output of `to_dict`, also after a round trip through JSON."""
        objects = tuple(WorldObject(**object) for object in plain["objects"])
        return cls(plain["id"], plain["seed"], plain["place"], objects)

    def _is_linked(self, subject: int, predicate: str, object: int) -> bool:
        child, host = (object, subject) if predicate == "holding" else (subject, object)
        return self.objects[child].link == predicate and self.objects[child].host == host

    def _is_connected(self, a: int, b: int) -> bool:
        """Returns whether one object carries the other, or both are carried by one."""
        hosts = self.objects[a].host, self.objects[b].host
        return hosts[0] == b or hosts[1] == a

    def _size_ratio(self, a: WorldObject, b: WorldObject) -> float:
        """Returns how many times larger a is than b, by the smaller of two ratios."""
        kind_a, kind_b, ratio = KINDS[a.kind], KINDS[b.kind], a.scale / b.scale
        return ratio * min(kind_a.width / kind_b.width, kind_a.height / kind_b.height)


def interval_overlap(a: WorldObject, b: WorldObject) -> float:
    """Returns the horizontal overlap of two objects, as a share of the narrower one."""
    (left_a, _, right_a, _), (left_b, _, right_b, _) = a.box, b.box
    overlap = min(right_a, right_b) - max(left_a, left_b)
    return max(0.0, overlap) / min(right_a - left_a, right_b - left_b)
