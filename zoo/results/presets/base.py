"""Preset: a way of counting and averaging."""

from abc import ABC

from zoo.results.averages import Mean
from zoo.results.metrics import Rules
from zoo.support.spec import Configurable


class Preset(Configurable, ABC):
    """Base of presets: ways of counting and averaging.

    Attributes:
        name: Name by which results tell it from others.
        says: What the report says of it.
        rules: What counts as right.
        means: Means that are taken.
    """

    name: str
    says: str
    rules: Rules
    means: tuple[Mean, ...] = ()
