"""Singulars of English nouns, so that "red cars" and "a red car" name the same object."""

import re

# nouns in -s that are not plurals, or whose singular has another meaning
_UNINFLECTED = """
    glasses sunglasses eyeglasses goggles binoculars scissors tongs tweezers pliers shears pants
    sweatpants jeans shorts trousers slacks tights leggings overalls pajamas pyjamas boxers
    suspenders headphones earphones clothes bleachers gas lens canvas christmas atlas iris tennis
    trellis axis chassis debris species series news specimen omen
"""
_UNCHANGED = frozenset(_UNINFLECTED.split())
_PAIRS = """
    people:person men:man children:child feet:foot teeth:tooth geese:goose mice:mouse oxen:ox
    dice:die axes:axe gases:gas lenses:lens canvases:canvas irises:iris quizzes:quiz leaves:leaf
    loaves:loaf knives:knife wives:wife lives:life halves:half calves:calf scarves:scarf
    shelves:shelf bookshelves:bookshelf wolves:wolf hooves:hoof thieves:thief elves:elf menus:menu
    emus:emu toes:toe canoes:canoe ties:tie neckties:necktie pies:pie movies:movie cookies:cookie
    zombies:zombie brownies:brownie hoodies:hoodie selfies:selfie smoothies:smoothie veggies:veggie
    rookies:rookie beanies:beanie goalies:goalie collies:collie mustaches:mustache
    moustaches:moustache headaches:headache avalanches:avalanche
"""
_IRREGULAR = dict(pair.split(":") for pair in _PAIRS.split())
# plural endings and their singular endings; the first match is used
_ENDINGS = (
    (re.compile(r"(?<=\w)men$"), "man"),
    (re.compile(r"(?<=[su])s$"), "s"),
    (re.compile(r"(?<=[^aeiou])ies$"), "y"),
    (re.compile(r"(?<=sh)oes$"), "oe"),
    (re.compile(r"oes$"), "o"),
    (re.compile(r"(?<=ss|sh|ch|\wx|zz)es$"), ""),
    (re.compile(r"(?<=[^aeo]us)es$"), ""),
    (re.compile(r"s$"), ""),
)


def singular(noun: str) -> str:
    """Returns the singular of a noun.

    Nouns that are worn or held in pairs ("glasses", "scissors") are unchanged. The rules
    cover the nouns of captions, and treat any other word in -s as a regular plural.

    Args:
        noun: One word, in lower case.
    """
    if noun in _UNCHANGED or noun in _IRREGULAR:
        return _IRREGULAR.get(noun, noun)
    for plural, ending in _ENDINGS:
        if plural.search(noun):
            return plural.sub(ending, noun)
    return noun
