"""Keeps Lightning's advertising, and notices about things chosen on purpose, off the screen."""

import logging
import warnings

LINES = ("Tip:", "litlogger", "GPU available", "TPU available", "Seed set to", "Detected KeyboardInterrupt")
WARNINGS = (
    ".*does not have many workers.*",
    ".*LightningCLI's args parameter.*",
    ".*exists and is not empty.*",
    ".*isinstance.treespec.*",
    ".*callbacks used to create the checkpoint need.*",
    ".*across ranks is zero.*",
    ".*interconnected.*",
)


def quieten() -> None:
    """Filters those lines and warnings for the rest of the process."""
    for name in ("lightning.pytorch.utilities.rank_zero", "lightning.fabric.utilities.seed"):
        logger = logging.getLogger(name)
        if _wanted not in logger.filters:
            logger.addFilter(_wanted)
    for pattern in WARNINGS:
        warnings.filterwarnings("ignore", pattern)


def _wanted(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(line in message for line in LINES)
