"""Logging on the command line, without Lightning's advertising and irrelevant notices.

The filtered notices are about settings that zoo chooses on purpose.
"""

import logging
import sys
import warnings

HIDDEN_MESSAGES = (
    "Tip:",
    "litlogger",
    "GPU available",
    "TPU available",
    "Seed set to",
    "Detected KeyboardInterrupt",
    "Loading `train_dataloader` to estimate",
    "`Trainer.fit` stopped",
    "that has Tensor Cores",  # `trainer.tf32` is the setting
)
HIDDEN_WARNINGS = (
    ".*does not have many workers.*",
    ".*LightningCLI's args parameter.*",
    ".*exists and is not empty.*",
    ".*callbacks used to create the checkpoint need.*",
    ".*across ranks is zero.*",
    ".*interconnected.*",
    "The dirpath has changed.*",
    ".*in eval mode at the start of training.*",
)

# Lightning (as of 2.6.6) uses a deprecated class of torch in every loop, which no setting avoids.
# Warnings about its use in other modules are still shown.
DEPRECATION = (
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    r"lightning\.pytorch\.utilities\._pytree",
)


def filter_notices() -> None:
    """Filters Lightning's advertising and notices in this process."""
    for name in ("lightning.pytorch.utilities.rank_zero", "lightning.fabric.utilities.seed"):
        logger = logging.getLogger(name)
        if _is_shown not in logger.filters:
            logger.addFilter(_is_shown)
    for pattern in HIDDEN_WARNINGS:
        warnings.filterwarnings("ignore", pattern)
    message, module = DEPRECATION
    warnings.filterwarnings("ignore", message, FutureWarning, module)


def enable_log_output() -> None:
    """Prints log messages of zoo to standard error, one line each."""
    logger = logging.getLogger("zoo")
    logger.setLevel(logging.INFO)
    if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
        logger.addHandler(_StderrHandler())


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to the current `sys.stderr`."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _is_shown(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(line in message for line in HIDDEN_MESSAGES)
