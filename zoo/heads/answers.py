"""Calls of a head that check what it returns.

Training, benchmarks and the Python interface call heads through these functions, so that a custom
head that returns something wrong gets the same error message everywhere.
"""

from torch import Tensor

from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.base import Head


def prepare_images(head: Head, images: Encoded) -> Encoded:
    """Returns the images as the head prepares them.

    Raises:
        ZooError: The head gives something else.
    """
    return _check_prepared(head, "prepare_images", head.prepare_images(images), len(images))


def prepare_texts(head: Head, texts: Encoded) -> Encoded:
    """Returns the texts as the head prepares them.

    Raises:
        ZooError: The head gives something else.
    """
    return _check_prepared(head, "prepare_texts", head.prepare_texts(texts), len(texts))


def pairs(head: Head, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
    """Returns the logits of named pairs, `[P]`; see `Head.pairs`.

    Raises:
        ZooError: The head returns something else.
    """
    return _check_logits(head, "pairs", head.pairs(images, texts, i, j), (len(i),))


def block(head: Head, images: Encoded, texts: Encoded) -> Tensor:
    """Returns the logits of all pairs, `[n, m]`; see `Head.block`.

    Raises:
        ZooError: The head returns something else.
    """
    return _check_logits(head, "block", head.block(images, texts), (len(images), len(texts)))


def _check_prepared(head: Head, method: str, items: object, n: int) -> Encoded:
    call = f"{type(head).__name__}.{method}"
    if not isinstance(items, Encoded):
        raise ZooError(f"{call} returned a {type(items).__name__}: return an Encoded of zoo.batch")
    if len(items) != n:
        raise ZooError(
            f"{call} returned {len(items)} items for {n}: return one per item, in the same order"
        )
    return items


def _check_logits(
    head: Head, method: str, logits: object, expected_shape: tuple[int, ...]
) -> Tensor:
    call = f"{type(head).__name__}.{method}"
    if not isinstance(logits, Tensor):
        raise ZooError(
            f"{call} returned a {type(logits).__name__}, not a tensor of logits of shape "
            f"{expected_shape}: return the result of self.logits"
        )
    if logits.shape != expected_shape:
        raise ZooError(
            f"{call} returned logits of shape {tuple(logits.shape)}, not {expected_shape}: return "
            f"{'one logit per pair' if len(expected_shape) == 1 else 'images against texts'}"
        )
    return logits
