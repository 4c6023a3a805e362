"""Safe loading of tensor files (torch and safetensors), without running code from them."""

import argparse
import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from zoo.errors import ZooError

# Types that files may contain besides tensors and plain Python data. Lightning's loops, optimizers
# and schedulers need none of them, but callbacks may save numpy numbers. open_clip saves learning
# rates as numpy numbers, under the module names of numpy before and after version 2. CoN-CLIP saves
# the arguments of its script.
NUMBER: Callable[..., Any] = np.float64(0).__reduce__()[0]  # type: ignore[assignment]
PLAIN: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    np.dtype,
    *(type(np.dtype(kind)) for kind in (np.float64, np.float32, np.int64)),
    *((NUMBER, f"numpy.{core}.multiarray.scalar") for core in ("core", "_core")),
    (codecs.encode, "_codecs.encode"),
    argparse.Namespace,
]


@contextmanager
def allow_plain_objects() -> Iterator[None]:
    """Allows `torch.load` with `weights_only` to read the types in `PLAIN`."""
    with torch.serialization.safe_globals(PLAIN):
        yield


def read_tensors(
    file: Path,
    what: str = "weights",
    advice: str = "give one that holds a state_dict of tensors alone",
    mapped: bool = False,
) -> dict[str, Any]:
    """Returns the content of a file, tensors and plain data by name.

    Args:
        file: A torch or safetensors file.
        what: The expected content, for the error message.
        advice: Advice, the end of the error message.
        mapped: Whether to memory-map tensors of torch files.

    Raises:
        ZooError: The file cannot be read without running code, or is not a dict.
    """
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(file))
        with allow_plain_objects():
            content = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # torch raises many types of errors
        if "TorchScript" in str(error):
            raise ZooError(
                f"{file} is a TorchScript archive: load the same weights by their tag, or save "
                "only its state_dict()"
            ) from error
        # the rest of torch's message recommends loading trusted files unsafely
        first_sentence = next(iter(str(error).splitlines()), "").split(". ")[0]
        reason = ": ".join(filter(None, [type(error).__name__, first_sentence]))
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        raise ZooError(f"{file} cannot be read as {what} ({reason}): {advice}") from error
    if not isinstance(content, dict):
        raise ZooError(
            f"{file} contains a {type(content).__name__} instead of a state_dict: save the model's "
            "state_dict()"
        )
    return content
