"""Which options say what the right text says."""

import numpy as np
import pytest

from zoo.benchmarks.base import Case
from zoo.results.outcomes import identical
from zoo.sources.sample import ImageRef

RIGHT = "a smiling baseball player with a catcher's gear, on"


@pytest.mark.parametrize(
    ("option", "same"),
    [
        (RIGHT, True),
        ("a smiling baseball player with a catcher 's gear , on", True),
        ("a smiling baseball player with a catcher's gear on", False),
        ("a smiling base ball player with a catcher's gear, on", False),
        ("a smiling catcher player with a baseball's gear, on", False),
    ],
)
def test_an_option_is_the_right_text_but_for_blanks_before_marks(option: str, same: bool) -> None:
    for right, wrong in ((RIGHT, option), (option, RIGHT)):
        case = Case(
            (ImageRef("file", "a.png"),),
            (right, wrong),
            np.array([[True, False]]),
            "i2t",
            "COCO-Order",
            "1#0",
        )
        assert identical(case, 0) == [False, same]
