"""Samples scene graphs of the world. A graph depends only on the arguments."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from zoo.errors import ZooError
from zoo.scenes.world.drawings import hand_position
from zoo.scenes.world.graph import (
    ALIGNED,
    BESIDE,
    DEEPER,
    WorldGraph,
    WorldObject,
    interval_overlap,
)
from zoo.scenes.world.kinds import KINDS, PEOPLE, PLACES, SIZES

# minimum and maximum number of objects or groups, with their frequencies
N_OBJECTS = {2: 0.3, 3: 0.38, 4: 0.22, 5: 0.1}
TRIES = 400
NEAR, FAR = 0.96, 0.64  # y of the nearest and of the furthest objects
NEAR_SCALE, FAR_SCALE = 0.5, 0.33  # length of a unit there
ZOOM = {1: 1.1, 2: 1.02, 3: 0.9, 4: 0.78, 5: 0.7}  # by number of objects on the ground
TYPICAL = 5.0  # weight of kinds that are frequent at a place
MAX_HIDDEN = 0.42  # share of an object that may be hidden by one in front of it
LINK_SHARE, BEHIND_SHARE, GROUP_SHARE, TWIN_SHARE = 0.75, 0.35, 0.12, 0.12
SIZED_SHARE, PATTERN_SHARE = 0.25, 0.4
# portable things that are too large for a surface or an opening
TALL_THINGS = ("umbrella", "balloon", "kite")
SMALL_ANIMALS = ("cat", "rabbit", "duck")
SITTERS = ("chair", "bed", "sofa")


def sample_graph(key: str, index: int) -> WorldGraph:
    """Samples a scene.

    Args:
        key: The seed of all scenes, as a text.
        index: The number of the scene.

    Raises:
        ZooError: The objects could not be placed, which does not happen with the kinds of `KINDS`.
    """
    rng = Random(f"world {key} {index}")
    n = rng.choices(list(N_OBJECTS), list(N_OBJECTS.values()))[0]
    for _ in range(TRIES):
        place = rng.choice(list(PLACES))
        objects = _sample_objects(rng, place, n)
        placed = _place_objects(rng, objects)
        if placed is not None:
            return WorldGraph(f"{index:06d}", rng.getrandbits(31), place, tuple(placed))
    raise ZooError(f"could not place the objects of scene {index} in {TRIES} tries")


def _sample_objects(rng: Random, place: str, n: int) -> list[WorldObject]:
    """Returns n objects without positions; hosts come before what they carry."""
    objects: list[WorldObject] = []
    while len(objects) < n:
        kinds = {object.kind for object in objects}
        hosts = {object.host for object in objects}
        pair = (
            _sample_link(rng, place, kinds)
            if n - len(objects) > 1 and rng.random() < LINK_SHARE and len(hosts) < 3
            else None
        )
        if pair is not None:
            host, link, child = pair
            row = len(objects)
            objects.append(_sample_look(rng, host, alone=True))
            objects.append(
                replace(_sample_look(rng, child, alone=link != "on"), link=link, host=row)
            )
        else:
            twins = [object for object in objects if object.host is None and object.count == 1]
            if twins and rng.random() < TWIN_SHARE:  # the same kind in another colour
                twin = rng.choice(twins)
                look = _sample_look(rng, twin.kind, alone=True)
                if look.color != twin.color and sum(o.kind == twin.kind for o in objects) == 1:
                    objects.append(look)
            else:
                objects.append(_sample_look(rng, _sample_kind(rng, place, list(KINDS), kinds)))
    return objects


def _sample_kind(rng: Random, place: str, kinds: Sequence[str], present: set[str]) -> str:
    choices = [kind for kind in kinds if kind not in present]
    weights = [TYPICAL if place in KINDS[kind].places else 1.0 for kind in choices]
    return rng.choices(choices, weights)[0]


def _sample_link(rng: Random, place: str, present: set[str]) -> tuple[str, str, str] | None:
    """Returns a host, a link and what is attached, of kinds that are not present."""
    link = rng.choice(("on", "on", "under", "inside", "holding", "holding", "riding"))
    hosts = {
        "on": [k for k, kind in KINDS.items() if kind.surface],
        "under": [k for k, kind in KINDS.items() if kind.gap],
        "inside": [k for k, kind in KINDS.items() if kind.rim],
        "holding": list(PEOPLE),
        "riding": [k for k, kind in KINDS.items() if kind.saddle],
    }[link]
    hosts = [kind for kind in hosts if kind not in present]
    if not hosts:
        return None
    host = _sample_kind(rng, place, hosts, present)
    children = [kind for kind in attachable_kinds(host, link) if kind not in {*present, host}]
    if not children:
        return None
    return host, link, _sample_kind(rng, place, children, present)


def attachable_kinds(host: str, link: str) -> list[str]:
    """Returns the kinds that can be attached to a host.

    Args:
        host: The kind of the host.
        link: How they are attached, one of `LINKS`.
    """
    things = [k for k, kind in KINDS.items() if kind.portable]
    small = [*(k for k in things if k not in TALL_THINGS), *SMALL_ANIMALS]
    if link == "riding":
        return list(PEOPLE)
    if link == "holding":
        return things
    if link == "inside":
        return [kind for kind in small if kind not in ("duck", "hat")]
    if link == "under":
        return [kind for kind in (*small, "dog") if kind != "flower"]
    extra = {"table": ["lamp", "bowl", "basket", "box", "bucket"], "car": []}
    return [*small, *extra.get(host, ["dog"] if host in ("bed", "sofa") else [])]


def _sample_look(rng: Random, name: str, alone: bool = False) -> WorldObject:
    kind = KINDS[name]
    weights = [1 / (1 + 0.25 * k) for k in range(len(kind.colors))]
    color = rng.choices(kind.colors, weights)[0]
    pattern = rng.choice(kind.patterns) if kind.patterns and rng.random() < PATTERN_SHARE else None
    group = not alone and kind.width <= 0.75 and rng.random() < GROUP_SHARE
    count = rng.choice((2, 3)) if group else 1
    size = (
        rng.choice(list(SIZES))
        if count == 1 and kind.group != "people" and rng.random() < SIZED_SHARE
        else None
    )
    return WorldObject(name, color, pattern, size, count, 0.0, 0.0, 0.0, rng.random() < 0.5)


def _place_objects(rng: Random, objects: list[WorldObject]) -> list[WorldObject] | None:
    """Returns the objects with positions, or None if they do not fit."""
    placed: list[WorldObject] = []
    n_roots = sum(object.host is None for object in objects)
    for object in objects:
        if object.host is not None:
            host = placed[object.host]
            child = attach(object, host)
            if not _fits(child, host):
                return None
            placed.append(child)
            if not _is_in_image(child) or not _keeps_clear(placed, len(placed) - 1):
                return None
            continue
        for _ in range(40):
            candidate = _sample_position(rng, object, placed, ZOOM[n_roots])
            if _is_in_image(candidate) and _keeps_clear([*placed, candidate], len(placed)):
                placed.append(candidate)
                break
        else:
            return None
    return placed


def scale_at(y: float) -> float:
    """Returns the length of a unit on the ground, before zoom and size."""
    return FAR_SCALE + (y - FAR) / (NEAR - FAR) * (NEAR_SCALE - FAR_SCALE)


def _sample_position(
    rng: Random, object: WorldObject, placed: list[WorldObject], zoom: float
) -> WorldObject:
    y = rng.uniform(FAR, NEAR)
    x = rng.uniform(0.05, 0.95)
    roots = [root for root in placed if root.host is None]
    if roots and rng.random() < BEHIND_SHARE:
        root = rng.choice(roots)
        x = root.x + rng.uniform(-0.08, 0.08)
    scale = scale_at(y) * zoom * SIZES.get(object.size or "", 1.0)
    return replace(object, x=x, y=y, scale=scale)


def attach(child: WorldObject, host: WorldObject) -> WorldObject:
    """Returns an object at its position on, under or in its host.

    Args:
        child: The object, with its link.
        host: The object that carries it.
    """
    unit = host.scale / SIZES.get(host.size or "", 1.0)
    scale = unit * SIZES.get(child.size or "", 1.0)
    height = KINDS[child.kind].height * scale
    kind, x, y = KINDS[host.kind], host.x, host.y
    if child.link == "on":
        assert kind.surface is not None
        y -= kind.surface[0] * host.scale
    elif child.link == "under":
        y -= 0.03 * host.scale
    elif child.link == "inside":
        assert kind.rim is not None
        y -= kind.rim[0] * host.scale - 0.4 * height
    elif child.link == "holding":
        hand_x, hand_y = hand_position(host.kind)
        x += (-1 if host.flipped else 1) * hand_x * host.scale
        y -= hand_y * host.scale
        y += 0.06 * scale if child.kind in (*TALL_THINGS, "flower") else 0.35 * height
    else:
        assert kind.saddle is not None
        y -= kind.saddle * host.scale - 0.44 * height
        return replace(child, x=x, y=y, scale=scale, flipped=host.flipped)
    return replace(child, x=x, y=y, scale=scale)


def _fits(child: WorldObject, host: WorldObject) -> bool:
    """Returns whether a child is not too wide and not too high for its host."""
    kind = KINDS[host.kind]
    left, top, right, bottom = child.box
    if child.link == "on":
        assert kind.surface is not None
        return right - left <= 2.3 * kind.surface[1] * host.scale
    if child.link == "inside":
        assert kind.rim is not None
        return right - left <= 2.1 * kind.rim[1] * host.scale
    if child.link == "under":
        assert kind.gap is not None
        limit = 1.0 if host.kind == "table" else 1.1
        return (
            right - left <= 2 * kind.gap[1] * host.scale * limit
            and bottom - top <= kind.gap[0] * host.scale * limit
        )
    return True


def _is_in_image(object: WorldObject) -> bool:
    left, top, right, bottom = object.box
    return left >= 0.015 and right <= 0.985 and top >= 0.015 and bottom <= 0.985


def _keeps_clear(placed: list[WorldObject], row: int) -> bool:
    """Returns whether the last object is in clear relations to all others, and none is hidden."""
    object = placed[row]
    for earlier in placed[:row]:
        if object.host is not None and placed[object.host] is earlier:
            continue
        overlap = interval_overlap(object, earlier)
        if overlap <= BESIDE and abs(object.x - earlier.x) > 0.06:
            if overlap > 0 and _hidden_share(object, earlier) > 0.2:
                return False
            continue
        if object.host is not None or earlier.host is not None:
            # what is carried may only be above or beside other objects
            if _hidden_share(object, earlier) > 0.12:
                return False
            continue
        if overlap < ALIGNED or abs(object.y - earlier.y) < 1.2 * DEEPER:
            return False
        if _hidden_share(object, earlier) > MAX_HIDDEN:
            return False
    return True


def _hidden_share(a: WorldObject, b: WorldObject) -> float:
    """Returns the overlap of the boxes of two objects, as a share of the smaller one."""
    (al, at, ar, ab), (bl, bt, br, bb) = a.box, b.box
    width, height = min(ar, br) - max(al, bl), min(ab, bb) - max(at, bt)
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / min((ar - al) * (ab - at), (br - bl) * (bb - bt))


def is_clear(graph: WorldGraph) -> bool:
    """Returns whether all objects of a graph are in the image, visible and in clear relations."""
    objects = list(graph.objects)
    return all(map(_is_in_image, objects)) and all(
        _keeps_clear(objects[: row + 1], row) for row in range(len(objects))
    )


def reattach(graph: WorldGraph) -> WorldGraph | None:
    """Returns the scene with everything that is carried at its place, after an edit.

    It returns None if something does not fit, or if the result is not clear.

    Args:
        graph: The scene, in which hosts come before what they carry.
    """
    placed: list[WorldObject] = []
    for object in graph.objects:
        child = object
        if object.host is not None:
            host = placed[object.host]
            child = attach(object, host)
            if not _fits(child, host):
                return None
        placed.append(child)
    result = replace(graph, objects=tuple(placed))
    return result if is_clear(result) else None


def move_object(rng: Random, graph: WorldGraph, row: int) -> WorldGraph | None:
    """Returns the scene with an object on the ground, and what it carries, at another position.

    It returns None if the drawn position is not clear.

    Args:
        rng: The source of random numbers.
        graph: The scene.
        row: The row of the object.
    """
    others = [o for k, o in enumerate(graph.objects) if k != row]
    moved = _sample_position(rng, graph.objects[row], others, zoom_of(graph.objects[row]))
    objects = tuple(moved if k == row else o for k, o in enumerate(graph.objects))
    return reattach(replace(graph, objects=objects))


def add_object(rng: Random, graph: WorldGraph) -> WorldGraph | None:
    """Returns the scene with one more object on the ground, of a kind that it does not have.

    It returns None if the drawn position is not clear.

    Args:
        rng: The source of random numbers.
        graph: The scene.
    """
    present = {object.kind for object in graph.objects}
    look = _sample_look(rng, _sample_kind(rng, graph.place, list(KINDS), present), alone=True)
    zoom = zoom_of(next(object for object in graph.objects if object.host is None))
    added = _sample_position(rng, look, list(graph.objects), zoom)
    return reattach(replace(graph, objects=(*graph.objects, added)))


def zoom_of(object: WorldObject) -> float:
    """Returns the zoom that an object on the ground was placed with."""
    return object.scale / SIZES.get(object.size or "", 1.0) / scale_at(object.y)
