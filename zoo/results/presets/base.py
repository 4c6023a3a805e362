"""Base class of presets."""

from abc import ABC

from zoo.results.averages import Mean
from zoo.results.metrics import Rules
from zoo.support.configurable import Configurable


class Preset(Configurable, ABC):
    """Base class of presets: rules for right answers and definitions of means.

    Attributes:
        name: Unique name in results.
        description: Description in the report.
        rules: Rules for right answers.
        means: Means to compute.
    """

    name: str
    description: str
    rules: Rules
    means: tuple[Mean, ...] = ()
