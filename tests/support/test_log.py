"""What is filtered of a dependency's warnings, and what has to be true of it.

Lightning is imported where a test needs it: a torch without what it imports is then told by a
test's name.
"""

import ast
import logging
import re
import warnings
from importlib.metadata import distribution
from pathlib import Path

import pytest
from torch.utils import _pytree

from zoo.support.log import DEPRECATION, filter_notices


def test_torch_has_whatever_lightning_makes_trees_of_loaders_from() -> None:
    """Lightning cannot be imported without, whatever its own bounds on torch say."""
    file = distribution("lightning").locate_file("lightning/pytorch/utilities/_pytree.py")
    asked = [
        alias.name
        for node in ast.walk(ast.parse(Path(str(file)).read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "torch.utils._pytree"
        for alias in node.names
    ]
    assert "tree_unflatten" in asked
    assert [name for name in asked if not hasattr(_pytree, name)] == []


def test_lightning_makes_the_trees_of_its_loaders_in_silence() -> None:
    from lightning.pytorch.utilities import CombinedLoader

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        filter_notices()
        loader = CombinedLoader([[1, 2], [3, 4]], "sequential")
        assert [batch for batch, _, _ in loader] == [1, 2, 3, 4]
    assert [str(warning.message) for warning in told] == []


@pytest.mark.parametrize("module", ["zoo.support.distributed", "lightning.pytorch.trainer"])
def test_the_same_warning_of_another_module_is_shown(module: str) -> None:
    message = "`isinstance(treespec, LeafSpec)` is deprecated, use another"
    assert re.match(DEPRECATION[0], message)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        filter_notices()
        for name in (module, "lightning.pytorch.utilities._pytree"):
            warnings.warn_explicit(message, FutureWarning, "a.py", 1, name)
    assert [str(warning.message) for warning in told] == [message]


def test_the_notice_about_tensor_cores_is_left_out() -> None:
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    filter_notices()
    notice = "You are using a CUDA device ('A100') that has Tensor Cores. To properly utilize them"
    shown = [
        logger.filter(logging.LogRecord(logger.name, logging.INFO, "", 1, line, None, None))
        for line in (notice, "LOCAL_RANK: 0")
    ]
    assert [bool(each) for each in shown] == [False, True]
