"""How weights came about, in words that checkpoints and results keep."""

from collections.abc import Mapping

RANDOM, LOADED, TRAINED = "random", "loaded", "trained"
IMAGE, TEXT, HEAD = "image tower", "text tower", "head"


def describe_pretrained(source: object) -> str:
    """Returns what is said of weights that a tag or a file brought."""
    return f"pretrained, {source}"


def random_weights(weights: Mapping[str, str]) -> str | None:
    """Says which parts of a model are as random numbers made them.

    Args:
        weights: How the weights of every part came about.

    Returns:
        A sentence, or None where no part is random.
    """
    parts = [part for part, came in weights.items() if came == RANDOM]
    if not parts:
        return None
    were = "was" if len(parts) == 1 else "were"
    return f"random weights: the {' and the '.join(parts)} {were} neither pretrained nor trained"


def mark_loaded(module: object, keys: object) -> None:
    """Remembers that weights were put into a module, by hand too; a hook of `load_state_dict`."""
    module.__dict__["zoo_loaded"] = True


def was_loaded(module: object) -> bool:
    """Returns whether `mark_loaded` was called on a module."""
    return "zoo_loaded" in module.__dict__
