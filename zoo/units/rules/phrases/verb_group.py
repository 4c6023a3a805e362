"""Verb groups: a verb with its auxiliaries, as one predicate."""

from zoo.units.rules.lexicon import BASES, present_participle, word_set
from zoo.units.rules.phrases.noun_phrase import qualifies_noun
from zoo.units.rules.phrases.phrase import Phrase
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AUXILIARIES,
    DETERMINERS,
    NOUNS,
    SEEMING,
    VERBS,
    has_tag,
    is_adverb_preposition,
    is_negation,
    multiword_preposition,
)

_DOING = word_set("do does did doing")
# "getting ready to throw"
_READY = word_set("ready set prepared")
_POSTURES = word_set("sit stand lie lay kneel walk pose lean smile")
_HAVING = word_set("has have had having")
# "cuts down a tree", "holding up a sign": the particle belongs to the verb
_TAKING_PARTICLES = word_set(
    "cut chop hold pick put lift knock blow stick clean fill tear break set take throw strike pull"
)
_PARTICLES = word_set("up down out off")


def verb_group(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the verb group at i and its end.

    Auxiliaries are dropped, and finite verbs get their -ing form: "is running", "runs" and
    "running" are the same predicate.
    """
    j = i
    group: list[tuple[str, str]] = []
    while j < len(words):
        if tags[j] in VERBS and not (group and qualifies_noun(words, tags, j)):
            if group and tags[j] == group[-1][1] == "VBG" and BASES.get(group[-1][0]) in _POSTURES:
                # "sitting holding a cup"
                break
            adjectival = tags[j] == "VBN" and has_tag(tags, j + 1, NOUNS) and bool(group)
            if adjectival and group[-1][0] not in AUXILIARIES:
                # "using modified skis"
                break
            if tags[j - 1] == "RB" and group and group[-1][0] not in AUXILIARIES:
                break
            group.append((words[j], tags[j]))
        elif multiword_preposition(words, j):
            # "made to look like a truck"
            break
        elif tags[j] == "TO" and has_tag(tags, j + 1, {"VB"}) and group:
            group.append(("to", "TO"))
        elif words[j] in _READY and tags[j + 1 : j + 3] == ["TO", "VB"] and group:
            group.append((words[j], tags[j]))
        elif (
            tags[j] != "RB"
            or is_negation(words[j])
            or is_adverb_preposition(words, tags, j)
            or multiword_preposition(words, j)
        ):
            break
        j += 1
    if j < len(words) and is_negation(words[j]):
        return Phrase("stop"), j + 1
    if _takes_particle(words, tags, j, group[-1]):
        group.append((words[j], "RP"))
        j += 1
    finite = group[0][1] in ("VBZ", "VBP", "VBD", "MD", "VB")
    if group[0][0] in SEEMING and len(group) > 2 and group[1][0] == "to":
        group = group[2:]
    # "waiting to be fed"
    main = [
        (word, tag)
        for k, (word, tag) in enumerate(group)
        if word not in AUXILIARIES
        or (word == "be" and k > 1)
        or (word in _DOING and k > 1 and k == len(group) - 1)
    ]
    if not main and group[-1][0] in _DOING and has_tag(tags, j, DETERMINERS | NOUNS | ADJECTIVES):
        main = [group[-1]]
    if not main:
        return Phrase("verb", ("with",) if group[-1][0] in _HAVING else (), finite=finite), j
    (verb, tag), *rest = main
    is_perfect = group[0][0] in _HAVING and "been" not in dict(group)
    passive = (tag == "VBN" and not is_perfect) or (group[0][0] == "being" and tag != "VBG")
    keeps_form = passive or _keeps_form(verb, tag, is_perfect)
    first_word = verb if keeps_form else present_participle(verb)
    return Phrase(
        "verb",
        (first_word, *(word for word, _ in rest)),
        finite=finite,
        passive=passive,
    ), j


def _takes_particle(words: list[str], tags: list[str], i: int, verb: tuple[str, str]) -> bool:
    """Returns whether a particle at i belongs to the verb, and an object follows."""
    return (
        i < len(words)
        and words[i] in _PARTICLES
        and BASES.get(verb[0]) in _TAKING_PARTICLES
        and verb[1] != "VBN"
        and not multiword_preposition(words, i)
        and has_tag(tags, i + 1, DETERMINERS | NOUNS | ADJECTIVES)
    )


def _keeps_form(verb: str, tag: str, is_perfect: bool) -> bool:
    return (
        verb in _READY
        or (tag in ("VBG", "VBN") and not (is_perfect and verb in BASES))
        or (verb.endswith("ing") and BASES.get(verb) != verb)
        or (tag == "VBD" and (verb.endswith("ed") or verb not in BASES))
    )
