"""Plurals and singulars of one noun come to one word, and other nouns keep theirs."""

import pytest

from zoo.language.plurals import singular

PAIRS = """
    cars:car children:child teeth:tooth geese:goose women:woman firemen:fireman shelves:shelf
    boxes:box dishes:dish benches:bench dresses:dress buses:bus houses:house horses:horse vases:vase
    berries:berry keys:key ties:tie shoes:shoe horseshoes:horseshoe potatoes:potato toes:toe
    octopuses:octopus skis:ski menus:menu
"""
NO_PLURALS = "glasses scissors pants jeans grass bus tennis lens cactus sheep police"


@pytest.mark.parametrize("pair", PAIRS.split())
def test_a_plural_has_the_singular_of_its_noun(pair: str) -> None:
    plural, expected = pair.split(":")
    assert singular(plural) == expected
    assert singular(expected) == expected


@pytest.mark.parametrize("noun", NO_PLURALS.split())
def test_what_is_no_plural_stays(noun: str) -> None:
    assert singular(noun) == noun
