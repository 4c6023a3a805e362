import json

import pytest

from zoo.errors import ZooError, near, need


def test_near_names_come_with_their_own_capitals() -> None:
    assert near("sugarcrep", ["SugarCrepe", "aro", "winoground"]) == " (near: SugarCrepe)"


def test_nothing_near_offers_nothing() -> None:
    assert near("zzz", ["aro"]) == ""


def test_an_absent_library_names_the_extra_that_brings_it() -> None:
    with pytest.raises(
        ZooError, match=r"no_such_module is not installed: pip install 'clip-zoo\[spacy\]'$"
    ):
        need("no_such_module", "spacy")


def test_an_absent_library_that_no_extra_installs_is_named_itself() -> None:
    with pytest.raises(ZooError, match="no_such_module is not installed: pip install no_such_mod"):
        need("no_such_module")


def test_a_present_library_is_returned() -> None:
    assert need("json", "spacy") is json
