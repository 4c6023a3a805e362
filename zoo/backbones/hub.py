"""Checks once whether the Hugging Face hub is reachable before files are downloaded."""

from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 5  # to answer in


@contextmanager
def hub_offline_if_unreachable() -> Iterator[None]:
    """Uses only the hub's cache if the hub is not reachable.

    Otherwise its client would try for half a minute per file, and open_clip needs several.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or _is_there():
        yield
        return
    constants.HF_HUB_OFFLINE = True  # same as the environment variable
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = False


def _is_there() -> bool:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception:  # the client's own; which client it is depends on the hub's version
        return False
    return True
