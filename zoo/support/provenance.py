"""Provenance of weights, as recorded in checkpoints and results."""

from collections.abc import Mapping

RANDOM, LOADED, TRAINED = "random", "loaded", "trained"
IMAGE, TEXT, HEAD = "image tower", "text tower", "head"


def describe_pretrained(source: object) -> str:
    """Returns the description of weights that were loaded from a tag or a file."""
    return f"pretrained, {source}"


def describe_random_weights(weights: Mapping[str, str]) -> str | None:
    """Returns a sentence about the parts of a model that have random weights.

    Args:
        weights: Provenance of the weights, by part.

    Returns:
        A sentence, or None if no part is random.
    """
    parts = [part for part, came in weights.items() if came == RANDOM]
    if not parts:
        return None
    were = "was" if len(parts) == 1 else "were"
    return f"random weights: the {' and the '.join(parts)} {were} neither pretrained nor trained"


def mark_loaded(module: object, keys: object) -> None:
    """Records that weights were loaded into a module; a hook of `load_state_dict`."""
    module.__dict__["zoo_loaded"] = True


def was_loaded(module: object) -> bool:
    """Returns whether weights were loaded into a module."""
    return "zoo_loaded" in module.__dict__
