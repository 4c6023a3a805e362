"""Kinds of objects and places of the world, with their names, colours, patterns and sizes.

Lengths are in units of the height of a man. The lowest point of an object is y = 0, y points up
and x = 0 is its middle.
"""

from dataclasses import dataclass

COLORS: dict[str, tuple[int, int, int]] = {
    "red": (208, 38, 38),
    "blue": (42, 84, 214),
    "green": (44, 148, 58),
    "yellow": (246, 208, 40),
    "orange": (242, 134, 28),
    "purple": (134, 58, 184),
    "pink": (244, 138, 182),
    "white": (244, 244, 240),
    "black": (44, 44, 50),
    "gray": (140, 144, 150),
    "brown": (134, 84, 42),
}
BRIGHT = ("red", "blue", "green", "yellow", "orange", "purple", "pink")
ANY_COLOR = (*BRIGHT, "white", "black", "gray", "brown")
PATTERNS = ("striped", "spotted", "checkered")
WOODEN = "wooden"  # a pattern that replaces the colour
SIZES = {"small": 0.7, "big": 1.32}
PAIR_KINDS = ("attribute", "order")  # what the pairs of scenes of `zoo scenes world_pairs` exchange
# how the scenes of `zoo scenes image_half_truths` differ from those that their texts describe
EDITS = (
    "object", "attribute", "relation", "count", "swap_color", "swap_position", "missing", "extra",
)  # fmt: skip
# whether a scene of `zoo scenes world_bindings` has a held-out pair, its false caption, or neither
BINDING_SPLITS = ("seen", "unseen_true", "unseen_false")
NUMBERS = {2: "two", 3: "three"}


@dataclass(frozen=True)
class Kind:
    """What all objects of one kind have in common.

    Attributes:
        group: People, animals, vehicles, furniture, containers, food or things.
        width: The width.
        height: The height.
        colors: Possible colours, the frequent ones first.
        patterns: Possible patterns.
        plural: The plural.
        surface: Height and half-width of a surface that carries things, or None.
        gap: Height and half-width of the room below; None if there is none.
        rim: Height and half-width of an opening for things; None if there is none.
        saddle: Height of the seat of a rider; None if it cannot be ridden.
        portable: Whether a person can hold it, and it fits on surfaces and into openings.
        worn: The garment that has the colour; None if the object itself has it.
        places: Places where it is frequent.
    """

    group: str
    width: float
    height: float
    colors: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    plural: str = ""
    surface: tuple[float, float] | None = None
    gap: tuple[float, float] | None = None
    rim: tuple[float, float] | None = None
    saddle: float | None = None
    portable: bool = False
    worn: str | None = None
    places: tuple[str, ...] = ()


FUR = ("brown", "black", "white", "gray", "orange")
INDOORS = ("kitchen", "bedroom", "living room")
PLACES: dict[str, str] = {
    "kitchen": "in a kitchen",
    "bedroom": "in a bedroom",
    "living room": "in a living room",
    "street": "on a street",
    "park": "in a park",
    "beach": "on a beach",
    "snow": "in the snow",
    "desert": "in a desert",
    "farm": "on a farm",
}

KINDS: dict[str, Kind] = {
    "man": Kind("people", 0.46, 1.0, ANY_COLOR, ("striped", "checkered"), "men", worn="shirt"),
    "woman": Kind("people", 0.5, 0.96, BRIGHT, ("striped", "spotted"), "women", worn="dress"),
    "boy": Kind("people", 0.42, 0.72, BRIGHT, ("striped",), worn="shirt"),
    "girl": Kind("people", 0.44, 0.7, BRIGHT, ("spotted",), worn="dress"),
    "dog": Kind("animals", 0.72, 0.56, FUR, ("spotted",), places=("park", "living room", "street")),
    "cat": Kind("animals", 0.52, 0.52, FUR, ("striped",), places=INDOORS),
    "horse": Kind("animals", 1.0, 0.95, FUR, ("spotted",), saddle=0.62, places=("farm", "park")),
    "cow": Kind("animals", 0.95, 0.75, ("brown", "black", "white"), ("spotted",), places=("farm",)),
    "sheep": Kind(
        "animals", 0.7, 0.6, ("white", "black", "gray"), plural="sheep", places=("farm",)
    ),
    "elephant": Kind("animals", 1.15, 0.95, ("gray", "blue", "pink"), saddle=0.86),
    "rabbit": Kind("animals", 0.36, 0.54, ("white", "gray", "brown"), places=("park", "snow")),
    "duck": Kind("animals", 0.5, 0.46, ("yellow", "white", "brown"), places=("farm", "beach")),
    "car": Kind("vehicles", 1.2, 0.56, ANY_COLOR, surface=(0.53, 0.2), places=("street",)),
    "bus": Kind("vehicles", 1.5, 0.84, BRIGHT, places=("street",), plural="buses"),
    "truck": Kind("vehicles", 1.35, 0.78, ANY_COLOR, places=("street", "farm")),
    "bicycle": Kind("vehicles", 0.98, 0.66, BRIGHT, saddle=0.5, places=("street", "park")),
    "boat": Kind("vehicles", 1.1, 0.95, ANY_COLOR, ("striped",), places=("beach",)),
    "chair": Kind("furniture", 0.5, 0.8, ANY_COLOR, (WOODEN,), surface=(0.4, 0.17), places=INDOORS),
    "table": Kind(
        "furniture",
        1.15,
        0.56,
        ANY_COLOR,
        (WOODEN,),
        surface=(0.5, 0.46),
        gap=(0.42, 0.34),
        places=("kitchen", "living room"),
    ),
    "bed": Kind("furniture", 1.3, 0.62, BRIGHT, PATTERNS, surface=(0.4, 0.4), places=("bedroom",)),
    "sofa": Kind(
        "furniture", 1.25, 0.62, ANY_COLOR, PATTERNS, surface=(0.34, 0.4), places=("living room",)
    ),
    "lamp": Kind("furniture", 0.4, 0.85, BRIGHT, ("striped",), places=("bedroom", "living room")),
    "box": Kind("containers", 0.6, 0.42, ANY_COLOR, (WOODEN, "striped"), "boxes", rim=(0.36, 0.22)),
    "basket": Kind(
        "containers",
        0.62,
        0.4,
        ("brown", "yellow", "white", "pink", "blue"),
        rim=(0.36, 0.22),
        places=("kitchen", "park"),
    ),
    "bowl": Kind(
        "containers",
        0.6,
        0.3,
        ANY_COLOR,
        ("striped", "spotted"),
        rim=(0.27, 0.22),
        places=("kitchen",),
    ),
    "bucket": Kind(
        "containers",
        0.46,
        0.46,
        ANY_COLOR,
        ("striped",),
        rim=(0.42, 0.18),
        places=("beach", "farm"),
    ),
    "apple": Kind(
        "food", 0.3, 0.34, ("red", "green", "yellow"), portable=True, places=("kitchen",)
    ),
    "banana": Kind("food", 0.4, 0.26, ("yellow", "green"), portable=True, places=("kitchen",)),
    "pear": Kind(
        "food", 0.27, 0.38, ("green", "yellow", "red"), portable=True, places=("kitchen",)
    ),
    "cake": Kind(
        "food", 0.4, 0.4, ("pink", "white", "brown", "yellow"), portable=True, places=("kitchen",)
    ),
    "ball": Kind(
        "things",
        0.34,
        0.34,
        ANY_COLOR,
        ("striped", "spotted"),
        portable=True,
        places=("park", "beach"),
    ),
    "cup": Kind(
        "things", 0.36, 0.32, ANY_COLOR, ("striped", "spotted"), portable=True, places=("kitchen",)
    ),
    "book": Kind("things", 0.4, 0.32, ANY_COLOR, portable=True, places=("bedroom", "living room")),
    "hat": Kind("things", 0.46, 0.28, ANY_COLOR, ("striped",), portable=True, places=("beach",)),
    "flower": Kind(
        "things",
        0.3,
        0.46,
        ("red", "yellow", "pink", "white", "purple", "blue", "orange"),
        portable=True,
        places=("park", "farm"),
    ),
    "umbrella": Kind(
        "things",
        0.74,
        0.8,
        BRIGHT,
        ("striped", "spotted"),
        gap=(0.5, 0.2),
        portable=True,
        places=("beach", "street"),
    ),
    "balloon": Kind("things", 0.3, 0.62, BRIGHT, ("spotted", "striped"), portable=True),
    "kite": Kind("things", 0.42, 0.62, BRIGHT, ("checkered",), portable=True, places=("beach",)),
    "tree": Kind(
        "plants", 0.8, 1.25, ("green", "orange", "yellow", "pink"), places=("park", "farm", "snow")
    ),
}
PEOPLE = tuple(name for name, kind in KINDS.items() if kind.group == "people")
# nouns that several kinds share, with their plurals
GENERAL_NOUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "person": ("people", ("man", "woman")),
    "child": ("children", ("boy", "girl")),
    "animal": (
        "animals",
        tuple(name for name, kind in KINDS.items() if kind.group == "animals"),
    ),
    "vehicle": (
        "vehicles",
        tuple(name for name, kind in KINDS.items() if kind.group == "vehicles"),
    ),
    "container": (
        "containers",
        tuple(name for name, kind in KINDS.items() if kind.group == "containers"),
    ),
    "fruit": ("fruits", ("apple", "banana", "pear")),
    "toy": ("toys", ("ball", "balloon", "kite")),
    "seat": ("seats", ("chair", "sofa")),
}


def plural(noun: str) -> str:
    """Returns the plural of a kind's name or of a general noun."""
    if noun in GENERAL_NOUNS:
        return GENERAL_NOUNS[noun][0]
    return KINDS[noun].plural or f"{noun}s"


def general_noun(kind: str) -> str | None:
    """Returns the general noun of a kind, such as animal of dog; None if it has none."""
    return next((noun for noun, (_, kinds) in GENERAL_NOUNS.items() if kind in kinds), None)
