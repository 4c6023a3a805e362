"""The hub of Hugging Face, asked once whether it is there before files are fetched from it."""

from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 5  # to answer in


@contextmanager
def quick_hub() -> Iterator[None]:
    """Has what fetches files answer from the hub's cache at once where the hub is out of reach.

    Its client would try for half a minute for each file, and open_clip asks for several.
    """
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or _is_there():
        yield
        return
    constants.HF_HUB_OFFLINE = True  # as the environment's variable of this name does
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
