"""Answers: what a head gives, held to what `Head` promises.

Training, benchmarks and Python ask a head here, so that one that breaks its contract is told so in
a sentence wherever it is used.
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
    return _prepare(head, "prepare_images", head.prepare_images(images), len(images))


def prepare_texts(head: Head, texts: Encoded) -> Encoded:
    """Returns the texts as the head prepares them.

    Raises:
        ZooError: The head gives something else.
    """
    return _prepare(head, "prepare_texts", head.prepare_texts(texts), len(texts))


def pairs(head: Head, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
    """Returns the logits of named pairs, `[P]`; see `Head.pairs`.

    Raises:
        ZooError: The head gives something else.
    """
    return _logits(head, "pairs", head.pairs(images, texts, i, j), (len(i),))


def block(head: Head, images: Encoded, texts: Encoded) -> Tensor:
    """Returns the logits of all pairs, `[n, m]`; see `Head.block`.

    Raises:
        ZooError: The head gives something else.
    """
    return _logits(head, "block", head.block(images, texts), (len(images), len(texts)))


def _prepare(head: Head, method: str, items: object, n: int) -> Encoded:
    asked = f"{type(head).__name__}.{method}"
    if not isinstance(items, Encoded):
        raise ZooError(f"{asked} returned a {type(items).__name__}: return an Encoded of zoo.batch")
    if len(items) != n:
        raise ZooError(
            f"{asked} returned {len(items)} items for {n}: return one for each, in their order"
        )
    return items


def _logits(head: Head, method: str, logits: object, wanted: tuple[int, ...]) -> Tensor:
    asked = f"{type(head).__name__}.{method}"
    if not isinstance(logits, Tensor):
        raise ZooError(
            f"{asked} returned a {type(logits).__name__}, and a tensor of logits {wanted} is "
            "wanted: return what self.logits gives"
        )
    if logits.shape != wanted:
        raise ZooError(
            f"{asked} returned logits of shape {tuple(logits.shape)}, and {wanted} is wanted: "
            f"return {'one a pair' if len(wanted) == 1 else 'images against texts'}"
        )
    return logits
