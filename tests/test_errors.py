import json

import pytest

from zoo.errors import ZooError, import_optional, suggest_names


def test_near_names_come_with_their_own_capitals() -> None:
    assert (
        suggest_names("sugarcrep", ["SugarCrepe", "aro", "winoground"])
        == " (did you mean SugarCrepe?)"
    )


def test_nothing_near_offers_nothing() -> None:
    assert suggest_names("zzz", ["aro"]) == ""


def test_an_absent_library_names_the_extra_that_brings_it() -> None:
    with pytest.raises(
        ZooError, match=r"no_such_module is not installed: pip install 'clip-zoo\[spacy\]'$"
    ):
        import_optional("no_such_module", "spacy")


def test_an_absent_library_that_no_extra_installs_is_named_itself() -> None:
    with pytest.raises(ZooError, match="no_such_module is not installed: pip install no_such_mod"):
        import_optional("no_such_module")


def test_a_present_library_is_returned() -> None:
    assert import_optional("json", "spacy") is json
