"""Files of tensors, torch's and safetensors', read without running what they hold."""

import argparse
import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zoo.errors import ZooError

# What files may hold beside tensors and Python's plain data. Lightning's loops, optimizers and
# schedulers need none of it; a callback may keep numbers of numpy. open_clip's training keeps
# learning rates as numpy's numbers in its files, under the names of numpy before and after version
# 2; CoN-CLIP's keeps the arguments of its script.
NUMBER: Callable[..., Any] = np.float64(0).__reduce__()[0]  # type: ignore[assignment]
PLAIN: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    np.dtype,
    *(type(np.dtype(kind)) for kind in (np.float64, np.float32, np.int64)),
    *((NUMBER, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
    (codecs.encode, "_codecs.encode"),
    argparse.Namespace,
]


@contextmanager
def plain_objects() -> Iterator[None]:
    """Allows `torch.load` with `weights_only` to read what is plain beside tensors."""
    with torch.serialization.safe_globals(PLAIN):
        yield


def read_tensors(
    file: Path,
    what: str = "weights",
    mend: str = "give one that holds a state_dict of tensors alone",
    mapped: bool = False,
) -> dict[str, Any]:
    """Returns what a file holds, tensors and plain data by name.

    Args:
        file: A file of torch's or of safetensors'.
        what: What the file should be, for the message.
        mend: What the user can do, the end of the message.
        mapped: Whether torch's tensors stay in the file until they are used.

    Raises:
        ZooError: The file cannot be read without running what it holds, or holds no names.
    """
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(file))
        with plain_objects():
            held = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # torch raises many kinds on what it cannot read
        if "TorchScript" in str(error):
            raise ZooError(
                f"{file} is a TorchScript archive: take the same weights by tag, or save its "
                "state_dict() alone"
            ) from error
        # after its first sentence torch advises to run a file that one trusts
        said = next(iter(str(error).splitlines()), "").split(". ")[0]
        reason = ": ".join(filter(None, [type(error).__name__, said]))
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise ZooError(f"{file} cannot be read as {what} ({reason}): {mend}") from error
    if not isinstance(held, dict):
        raise ZooError(
            f"{file} holds a {type(held).__name__} and no state_dict: save the model's "
            "state_dict() instead"
        )
    return held
