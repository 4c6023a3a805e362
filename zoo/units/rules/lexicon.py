"""Look-ups in the word lists: foils of nouns and attributes, verb forms, contraries, synonyms."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from zoo.units.rules import words

Sets = tuple[tuple[str, ...], ...]


def parse_word_sets(text: str) -> Sets:
    """Returns the sets of a word list; `;` or the end of a line ends a set, `_` is a space."""
    lines = (part for line in text.strip().split("\n") for part in line.split(";"))
    return tuple(tuple(word.replace("_", " ") for word in line.split()) for line in lines)


def word_set(text: str) -> frozenset[str]:
    """Returns the words of a list; `_` is a space."""
    return frozenset(word.replace("_", " ") for word in text.split())


def _alternatives_by_word(sets: Sets) -> dict[str, tuple[str, ...]]:
    """Maps each word to the other words of its sets, in order, without those marked with `~`."""
    neighbours: dict[str, dict[str, None]] = {}
    for line in sets:
        for word in line:
            neighbours.setdefault(word.lstrip("~"), {}).update(
                dict.fromkeys(w for w in line if w != word and not w.startswith("~"))
            )
    return {word: tuple(members) for word, members in neighbours.items()}


def _regular_plural(noun: str) -> str:
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


UNCOUNTED = word_set(words.UNCOUNTED)
NUMBERS = word_set(words.NUMBERS)
PLACEHOLDERS = word_set(words.PLACEHOLDERS)
QUANTITIES = word_set(words.QUANTITIES)
PICTURES = word_set(words.PICTURES)
NOUNS_IN_ING = word_set(words.NOUNS_IN_ING)
BOUND_PARTICIPLES = word_set(words.BOUND_PARTICIPLES)
MATERIALS = word_set(words.MATERIALS)
MOTIONS = word_set(words.MOTIONS)
# verbs of people only
OF_PEOPLE = word_set(words.OF_PEOPLE)
# "watches a dog climb": a bare verb may follow the object
LOOKING_ON = word_set("watch see help let make")
_PLURALS = {line[0]: line[1] for line in parse_word_sets(words.IRREGULAR_PLURALS)}
PLURALS = frozenset(_PLURALS.values())


def plural(noun: str) -> str:
    """Returns the plural of a noun or compound ("fire truck": "fire trucks")."""
    modifiers, _, head = noun.rpartition(" ")
    return f"{modifiers} {_PLURALS.get(head) or _regular_plural(head)}".strip()


def singulars_and_plurals(nouns: Iterable[str]) -> frozenset[str]:
    """Returns the nouns in singular and plural."""
    return frozenset(form for noun in nouns for form in (noun, plural(noun)))


_BEINGS, _VEHICLES, _THINGS = (
    parse_word_sets(words.BEINGS),
    parse_word_sets(words.VEHICLES),
    parse_word_sets(words.THINGS),
)
_SINGULAR_FOILS = _alternatives_by_word((*_BEINGS, *_VEHICLES, *_THINGS))
SINGULARS = {plural(noun): noun for noun in _SINGULAR_FOILS if noun not in UNCOUNTED}
NOUN_FOILS = _SINGULAR_FOILS | {
    many: tuple(
        plural(foil)
        for foil in _SINGULAR_FOILS[singular]
        if foil not in UNCOUNTED and plural(foil) != foil
    )
    for many, singular in SINGULARS.items()
    if many != singular and many not in UNCOUNTED
}
COATS = word_set(words.COATS)
COLOURS = frozenset(
    word
    for line in parse_word_sets(words.ATTRIBUTES)
    if {"black", "blond"} & set(line)
    for word in line
)
ATTRIBUTE_FOILS = _alternatives_by_word(parse_word_sets(words.ATTRIBUTES))
FOIL_SETS = tuple(
    frozenset(word.lstrip("~") for word in line) for line in (*_BEINGS, *_VEHICLES, *_THINGS)
)
SETS_BY_FIRST_WORD = tuple(
    (line[0].lstrip("~"), frozenset(word.lstrip("~") for word in line))
    for line in (*_BEINGS, *_VEHICLES, *_THINGS)
)
BEING_SETS, VEHICLE_SETS = FOIL_SETS[: len(_BEINGS)], FOIL_SETS[len(_BEINGS) :][: len(_VEHICLES)]


def _regular_participle(base: str) -> str:
    """Returns the regular -ing form of a base."""
    if base.endswith("e") and not base.endswith(("ee", "ye", "oe")):
        return base[:-1] + "ing"
    return _double_consonant(base) + "ing"


def _double_consonant(base: str) -> str:
    short = (
        len(base) >= 3 and base[-1] in "bdgmnpt" and base[-2] in "aeiou" and base[-3] not in "aeiou"
    )
    return base + (base[-1] if short and sum(c in "aeiou" for c in base) == 1 else "")


def _regular_verb_forms(base: str) -> tuple[str, ...]:
    past_form = base + "d" if base.endswith("e") else _double_consonant(base) + "ed"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        past_form = base[:-1] + "ied"
    return base, _regular_plural(base), _regular_participle(base), past_form


VERB_FORMS = (*parse_word_sets(words.VERBS), *map(_regular_verb_forms, words.REGULAR_VERBS.split()))
BASES = {form: line[0] for line in reversed(VERB_FORMS) for form in line}
PARTICIPLES = {line[0]: line[2] for line in VERB_FORMS}
THIRD_PERSONS = frozenset(line[1] for line in VERB_FORMS)
PREPOSITION_PHRASES = tuple(
    sorted(
        (tuple(p.split()) for line in parse_word_sets(words.PREPOSITION_PHRASES) for p in line),
        key=len,
        reverse=True,
    )
)
_SYMMETRIC_PREPOSITIONS = word_set(words.SYMMETRIC_PREPOSITIONS)
_SYMMETRIC_VERBS = word_set(words.SYMMETRIC_VERBS)
PREPOSITIONS = word_set(words.PREPOSITIONS)


def _synonym_pairs() -> Iterator[frozenset[str]]:
    for line in parse_word_sets(words.SYNONYMS):
        yield from (frozenset(pair) for pair in combinations(line, 2))
    for general_word, *kinds in parse_word_sets(words.KINDS):
        yield from (frozenset((general_word, kind)) for kind in kinds)


_LIKE_MEANINGS = frozenset(_synonym_pairs())


@lru_cache(1 << 16)
def same_meaning(first: str, second: str) -> bool:
    """Returns whether two words or compounds may name the same thing.

    That is the case for synonyms, and if one word includes the other. Number and verb form are
    ignored.
    """
    a, b = _lemmas(first.lower()), _lemmas(second.lower())
    return bool(a & b) or any(frozenset((x, y)) in _LIKE_MEANINGS for x in a for y in b)


@lru_cache(1 << 16)
def other_heads(head: str) -> tuple[str, ...]:
    """Returns the heads that are false where a head is true, and of a similar sort."""
    return tuple(h for h in NOUN_FOILS.get(head, ()) if not same_meaning(h, head))


@lru_cache(1 << 16)
def _lemmas(text: str) -> frozenset[str]:
    return frozenset({text, SINGULARS.get(text, text), BASES.get(text, text)})


def is_symmetric(predicate: str) -> bool:
    """Returns whether swapping the arguments keeps the meaning: "next to", "kissing".

    "held by" is not symmetric, since it names the actor.
    """
    parts = predicate.lower().split()
    if is_passive_with_agent(parts):
        return False
    if any(" ".join(parts[i:]) in _SYMMETRIC_PREPOSITIONS for i in range(len(parts))):
        return True
    return len(parts) == 1 and BASES.get(parts[0]) in _SYMMETRIC_VERBS


def is_passive_with_agent(predicate: Sequence[str]) -> bool:
    """Returns whether a predicate is a passive with its actor: "held by", not "standing by"."""
    return len(predicate) > 1 and predicate[-1] == "by" and not predicate[-2].endswith("ing")


def present_participle(verb: str) -> str:
    """Returns the -ing form of a finite verb ("runs": "running")."""
    if verb in BASES:
        return PARTICIPLES[BASES[verb]]
    base = verb
    if verb.endswith("ies"):
        base = verb[:-3] + "y"
    elif verb.endswith(("ches", "shes", "sses", "xes", "zes")):
        base = verb[:-2]
    elif verb.endswith("s") and not verb.endswith("ss"):
        base = verb[:-1]
    return _regular_participle(base)
