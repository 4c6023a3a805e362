"""Phrases: groups the tagged words of a caption into noun phrases, verb groups and prepositions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zoo.language.tagger import Token
from zoo.units.rules.kinds import BEINGS, BODY_PARTS, CLOTHES, MOVERS, SUPPORTS, TRAITS
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    COLOURS,
    NOUN_FOILS,
    NUMBERS,
    PICTURES,
    PLACEHOLDERS,
    PREPOSITION_PHRASES,
    PREPOSITIONS,
    QUANTITIES,
    THIRD_PERSONS,
    participle,
    word_set,
)
from zoo.units.rules.words import BINDING, BOUND_PARTICIPLES, NOUNS_IN_ING

Kind = Literal["noun", "verb", "preposition", "joiner", "relative", "stop", "break"]

_DETERMINERS = {"DT", "PRP$", "PDT", "WP$"}
_NOUNS = {"NN", "NNS", "NNP", "NNPS"}
_ADJECTIVES = {"JJ", "JJR", "JJS", "CD"}
_VERBS = {"VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD"}
_AFTER_VERB = _DETERMINERS | {"IN", "TO", "RP", "RB", ".", ",", "CC", "PRP"}
_AUXILIARIES = word_set(
    "is are was were be been being am 's has have had having do does did can will would could may "
    "might"
)
_DOING = word_set("do does did doing")
_HAVING = word_set("has have had having")
_SUBORDINATORS = word_set(
    "as while whilst because if than like unlike during after before until since though although "
    "when where how"
)
_ADVERBIAL = word_set("outside inside")
# who acts is one of those before, or somebody else
_SOME_OF_THEM = word_set("one another others both each some")
_OBJECT_PRONOUNS = word_set("them him her it us me")
_RELATIVES = word_set("that who which")
_PICTURES = word_set(
    "picture pictures photo photos photograph photographs image images shot closeup close-up "
    "painting drawing"
)
_SEEMING = word_set("appear appears appeared appearing seem seems seemed seeming")
_PREPOSITIONS_BY_FIRST = {
    word: tuple(several for several in PREPOSITION_PHRASES if several[0] == word)
    for word in {several[0] for several in PREPOSITION_PHRASES}
}
_NAMING = PLACEHOLDERS | MOVERS | BODY_PARTS | CLOTHES | SUPPORTS
_APART = word_set("each both all")
_BINDING = word_set(BINDING)
_BOUND_PARTICIPLES = word_set(BOUND_PARTICIPLES)
_NOUNS_IN_ING = word_set(NOUNS_IN_ING)
# "rock climbing", "snow boarding": what is done
_RUN_TOGETHER = word_set(
    "climbing boarding parking fishing racing swimming wrestling boxing skiing"
)
_SPORTS = word_set("climb fish race swim wrestle box ski skate dance surf dive jump")
_NO_SUBJECTS = word_set("sports clothes lots dozens hundreds pieces hands thumbs mid")
_FINITE = {"VB", "VBZ", "VBP", "VBD"}
# what only a noun phrase follows
_BEHIND_SEVERAL = (_AFTER_VERB | {"VBG"}) - {"CC", ",", "."}
_GOVERNING = word_set("in at of with into from near under behind between against beside")
# "matching hats": participles that compare one thing with another
_COMPARING = word_set("matching coordinating contrasting")
_ANYONE = word_set("someone somebody everyone everybody another one each who background foreground")
# where one goes and no thing is
_WAYS = word_set("down up into onto through across along off towards toward past")
_LOOKED_ON = word_set("watch see let make help")
_SUBJECT_PRONOUNS = word_set("he she it they we")
_WORN_AFTER = word_set("in wearing")
# deeds more often than things
_DEEDS = word_set("smile smiles watch watches jump jumps point points talk talks")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A group of words.

    Attributes:
        kind: What the group is.
        words: Its words in lower case, without determiners and auxiliaries.
        head: Where a noun phrase's head begins and ends in `words`.
        compound: Where the compound begins that the head ends ("nose ring"). Where there is none,
            it is the start of the head.
        owned: Whether it follows "his", "its" or another's name.
        pictured: Whether it is what a picture shows ("a picture of a dog").
        finite: Whether a verb group needs a subject before it ("runs", "is running"), or may
            qualify the noun before it ("running", "covered").
        passive: Whether a verb group is a past participle.
    """

    kind: Kind
    words: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)
    compound: int = 0
    owned: bool = False
    pictured: bool = False
    finite: bool = False
    passive: bool = False

    @property
    def text(self) -> str:
        """The words in a row."""
        return " ".join(self.words)

    @property
    def head_text(self) -> str:
        """The words of the head."""
        return " ".join(self.words[slice(*self.head)])

    @property
    def compound_text(self) -> str:
        """The words of the compound, up to the end of the head."""
        return " ".join(self.words[self.compound : self.head[1]])


def phrases(tokens: Sequence[Token]) -> list[Phrase]:
    """Returns the phrases of a tagged caption in order; adverbs are left out."""
    words = [token.text.lower() for token in tokens]
    tags = _mend(words, [token.tag for token in tokens])
    found: list[Phrase] = []
    i = 0
    while i < len(words):
        phrase, i = _next(words, tags, i)
        if phrase:
            found.append(phrase)
    return found


def _next(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    word, tag = words[i], tags[i]
    if several := _preposition_phrase(words, i):
        return Phrase("preposition", several), i + len(several)
    if (
        word == "after"
        and i
        and tags[i - 1] in _VERBS
        and _starts(tags, i + 1, _DETERMINERS | _NOUNS)
    ):
        return Phrase("preposition", (word,)), i + 1
    if word == "what" and (seeming := _seeming(words, i + 1)):
        return None, i + 1 + seeming
    if word in _SUBORDINATORS:
        return Phrase("break"), i + 1
    if _negates(word):
        return Phrase("stop"), i + 1
    if word in _SOME_OF_THEM and (
        _starts(tags, i + 1, _VERBS)
        or (words[i + 1 : i + 2] == ["of"] and _starts(tags, i + 2, {"PRP", "WDT", "WP"}))
    ):
        return Phrase("stop"), i + 1
    if word in _OBJECT_PRONOUNS and tags[i + 1 : i + 2] == ["VBG"]:
        return Phrase("stop"), i + 1
    if word == "about" and tags[i + 1 : i + 2] == ["TO"]:
        return Phrase("stop"), i + 1
    if word == "no":
        return Phrase("break"), max(_noun_phrase(words, tags, i)[1], i + 1)
    named = i - 1 if words[i - 1] != "," else i - 2
    if word in _RELATIVES and named >= 0 and tags[named] in _NOUNS:
        return Phrase("relative", (word,)), i + 1
    if word in _ADVERBIAL and not _starts(tags, i + 1, _DETERMINERS | _NOUNS | _ADJECTIVES):
        return None, i + 1
    if (
        tag in ("IN", "RP")
        or _governs(words, tags, i)
        or (tag == "TO" and not _starts(tags, i + 1, {"VB"}))
    ):
        return Phrase("preposition", (word,)), i + 1
    if tag in _VERBS and not _qualifies_noun(words, tags, i):
        return _verb_group(words, tags, i)
    noun, after = _noun_phrase(words, tags, i)
    if noun:
        return noun, after
    if tag == "TO":
        return Phrase("break", ("to",)), i + 1
    if word in ("and", "&", ","):
        return Phrase("joiner", (word,)), i + 1
    return (None if tag in ("RB", "RBR") or tag in _ADJECTIVES else Phrase("break")), i + 1


def _preposition_phrase(words: Sequence[str], i: int) -> tuple[str, ...]:
    """Returns the preposition of several words at i, or nothing."""
    for several in _PREPOSITIONS_BY_FIRST.get(words[i], ()):
        if tuple(words[i : i + len(several)]) == several:
            return several
    return ()


def _seeming(words: Sequence[str], i: int) -> int:
    """Returns how many words at i say that what follows only seems so.

    Such are "appears to be" and "looks like".
    """
    if words[i : i + 1] and words[i] in _SEEMING and words[i + 1 : i + 2] == ["to"]:
        return 3 if words[i + 2 : i + 3] == ["be"] else 2
    return 2 if words[i : i + 2] in (["looks", "like"], ["look", "like"]) else 0


def _negates(word: str) -> bool:
    return word in ("not", "never") or word.endswith(("n't", "n’t"))


def _mend(words: list[str], tags: list[str]) -> list[str]:
    """Turns nouns into verbs, verbs into nouns and so on, where their place says so.

    A verb is so in "a girl in a dress jumps over", and a noun in "looks at leaves".
    """
    tags = list(tags)
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        before, after = (tags[i - 1] if i else ""), (tags[i + 1] if i + 1 < len(tags) else ".")
        if word in NUMBERS:
            tags[i] = "CD"
        elif (word == "like" and before in ("NN", "NNP") and after in _NOUNS) or (
            word in _COMPARING and after in _NOUNS | _ADJECTIVES
        ):
            tags[i] = "JJ"
        elif word in _SUBORDINATORS:
            tags[i] = "IN"
        elif word in _NOUNS_IN_ING and tag in ("VBG", "NN", "JJ"):
            builds = before in _VERBS | {"NNS", "NN"} and after in _DETERMINERS | {"NNS"}
            tags[i] = "VBG" if builds else "NN"
        elif (tag == "NN" or word == "cross-country") and _says_how(words, tags, i):
            tags[i] = "RB"
        elif _is_noun(words, tags, i, before, after):
            tags[i] = "NNS" if tag == "VBZ" else "NN"
        elif tag in ("NN", "NNS", "NNP", "JJ") and _acts(words, tags, i, before, after):
            tags[i] = "VBG" if word.endswith("ing") else "VBP" if BASES.get(word) == word else "VBZ"
        elif (
            tag == "NN"
            and before == "TO"
            and (after in ("DT", "PRP$") or (BASES.get(word) == word and after in _AFTER_VERB))
        ):
            tags[i] = "VB"
        elif tag == "JJ" and "-" in word and word.endswith("s") and after not in _NOUNS:
            tags[i] = "NNS"
    return tags


def _says_how(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a noun belongs to the participle behind it: "two men rock climbing"."""
    if i == 0 or words[i] in CLOTHES | MOVERS:
        return False
    sport = BASES.get("".join(words[i + 1 : i + 2])) in _SPORTS
    after_verb = tags[i - 1] == "VBG" and tags[i + 1 : i + 2] == ["VBG"]
    return sport and (words[i - 1] in BEINGS | _AUXILIARIES or after_verb)


def _is_noun(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    """Whether what is tagged a verb or adjective is a noun by its place."""
    word, tag = words[i], tags[i]
    if tag == "JJ":
        if word in ATTRIBUTE_FOILS and (word not in BEINGS or after == "CC"):
            return False
        listed = word in NOUN_FOILS or word in BEINGS or _ends_phrase(words, tags, i)
        return word in CLOTHES or (listed and after not in _NOUNS | _ADJECTIVES)
    if tag not in _VERBS or tag == "VBG":
        return False
    return (
        (before == "DT" and word in NOUN_FOILS and after not in _NOUNS)
        or (word in NOUN_FOILS and word not in BASES and _is_thing(words, tags, i))
        or (word in ("top", "set", "match") and before == "NN" and after not in _NOUNS)
        or (tag == "VB" and before == "NN" and after == "." and _is_ride(words, i))
        or (tag in ("VB", "VBP", "VBD") and _is_named(words, tags, i, before, after))
        or (tag in _FINITE and _is_governed(words, tags, i))
        or (
            (tag in _FINITE or word in NOUN_FOILS)
            and after not in _NOUNS
            and _ends_phrase(words, tags, i)
        )
    )


def _is_thing(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a noun of the lists stands where a noun may: "railroad tracks", not "kids sled"."""
    previous = words[i - 1] if i else ""
    if tags[i] in ("VBZ", "MD"):
        return previous in NOUN_FOILS and previous not in MOVERS | CLOTHES
    return previous not in BEINGS | _SUBJECT_PRONOUNS and tags[i - 1 : i] != ["TO"]


def _is_governed(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a finite verb follows what a noun phrase alone follows.

    It does in "looks at leaves", "in karate form" and "an elaborate costume".
    """
    before = words[i - 1] if i else ""
    if tags[i] == "VBZ":
        return before in _GOVERNING | {"a", "an", "the"}
    if tags[i] == "VBD" and words[i].endswith("ed"):
        return False
    return before in _GOVERNING | {"a", "an"} or (i > 0 and tags[i - 1] == "PRP$")


def _ends_phrase(words: list[str], tags: list[str], i: int) -> bool:
    """Whether "a" and its adjectives have no noun but this word: "a red sled", "a black top and".

    A participle or another adjective may still follow ("a black and white dog").
    """
    after = tags[i + 1] if i + 1 < len(tags) else "."
    joined = after == "CC" and not _starts(tags, i + 2, _ADJECTIVES | {"VBN", "VBG"})
    placed = after == "RB" and (words[i + 1] in PREPOSITIONS)
    if not (joined or placed or after in ("IN", "TO", ".", "VBZ") or words[i + 1] == "being"):
        return False
    if words[i - 1] in BEINGS:
        return False
    first = i - 1
    while first > 0 and tags[first] == "JJ":
        first -= 1
    return first >= 0 and first < i - (tags[i] == "JJ") and words[first] in ("a", "an")


def _is_ride(words: list[str], i: int) -> bool:
    """Whether a verb at the end names what is done there ("on a playground ride").

    Nobody stands before it who does it.
    """
    return words[i] in PLACEHOLDERS and words[i - 1] not in BEINGS


def _is_named(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    """Whether a verb is a noun by its place.

    Such are "pulls a sled in the snow", "has a confused look on" and "hangs from outdoor play
    equipment".
    """
    if tags[i] != "VBD" and after in _NOUNS and before == "JJ":
        return True
    if BASES.get(words[i]) != words[i]:
        return False
    if before == "VBG" and words[i] in NOUN_FOILS:
        return True
    if after in _NOUNS and before == "NN" and words[i - 1] not in MOVERS:
        # "blue plastic play equipment": none does it but several
        return "NNS" not in tags[:i] or "IN" in tags[i - 3 : i]
    first = i - 1
    while first >= 0 and tags[first] in ("JJ", "VBN", "CD", "NN") and words[first] not in MOVERS:
        first -= 1
    if words[i - 1] in NOUN_FOILS and not {"CC", "NNS"}.isdisjoint(tags[: first + 1]):
        # "a girl and a boy in a hat stand"
        return False
    return first >= 0 and tags[first] == "DT" and words[first] in ("a", "an") and after != "NNS"


def _acts(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    """Whether what is tagged a noun or adjective is a verb by its place."""
    word = words[i]
    if (word in CLOTHES and word not in _DEEDS) or not i:
        return False
    if word.endswith("ing"):
        return _is_participle(words, tags, i, before, after)
    if words[i - 1] in _SUBJECT_PRONOUNS | _RELATIVES and tags[i] != "JJ":
        return after not in _NOUNS or word.endswith("s")
    if BASES.get(word) == word and before == "NN" and words[i - 1] in BEINGS:
        # "watches a boy drink from a bottle"
        watched = any(BASES.get(w) in _LOOKED_ON for w in words[:i])
        if watched and after in _AFTER_VERB:
            return True
    acts = words[i - 1] in BEINGS or (tags[i] == "NNS" and not _names_thing(word))
    if before == "NN" and acts and word not in NOUN_FOILS and _goes(words, i):
        # "a dog hike up", "water flows over"
        return True
    if before == "RB" and word in THIRD_PERSONS and words[i - 2] in BEINGS:
        return True
    if tags[i] != "JJ" and word in BASES and after in _AFTER_VERB and _is_dressed(words, tags, i):
        return True
    if word in THIRD_PERSONS:
        return _is_third_person(words, tags, i, before, after)
    if tags[i] == "NNS" and before == "NN" and words[i - 1] in BEINGS:
        return after in _AFTER_VERB - {","} and not _names_thing(word)
    if before == "NNS" and tags[i] == "NN" and _are_several(words[i - 1]):
        # "four boys mug for": several are no part of a compound
        ends = after == "." and (word in BASES or word not in NOUN_FOILS)
        parts = word in BODY_PARTS - _DEEDS and not _goes(words, i)
        if not parts and (ends or after in _BEHIND_SEVERAL):
            return True
    if tags[i] == "NNS" and before == "CC" and after in _NOUNS and "VBZ" in tags[:i]:
        return not _names_thing(word) and word not in _NO_SUBJECTS
    if BASES.get(word) != word:
        return False
    if before == "CC" and after in _AFTER_VERB and not {"VB", "VBP"}.isdisjoint(tags[:i]):
        return word in _DEEDS or not _names_thing(word)
    of_several = i > 2 and words[i - 2] == "of" and tags[i - 3] == "NNS"
    subject = of_several or (before == "NNS" and words[i - 1] not in _NO_SUBJECTS)
    return (subject or _several_before(words, tags, i)) and (
        after in _AFTER_VERB - {",", "."}
        or (after == "." and words[i - 1] in BEINGS and word not in BODY_PARTS - _DEEDS)
        or (after in _ADJECTIVES | _NOUNS and word not in NOUN_FOILS)
    )


def _are_several(word: str) -> bool:
    return word in BEINGS or (word in CLOTHES and word not in _NO_SUBJECTS)


def _goes(words: list[str], i: int) -> bool:
    return "".join(words[i + 1 : i + 2]) in _WAYS


def _is_participle(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    word = words[i]
    after_noun = before in _NOUNS and (
        after in ("DT", "PRP$") or (word in BASES and after in _AFTER_VERB)
    )
    return (
        after_noun
        or (before in (",", "CC") and word in BASES and after not in _NOUNS)
        or after in ("DT", "PRP$")
        or (i > 0 and words[i - 1] in _SUBORDINATORS | BEINGS and before in _NOUNS | {"IN"})
        or (before in ("NN", "NNS") and after == "IN" and word not in _RUN_TOGETHER)
        or (after not in _NOUNS and _is_dressed(words, tags, i))
    )


def _is_third_person(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    word, previous = words[i], words[i - 1] if i else ""
    if previous in _ANYONE or (previous in BEINGS and before in ("NN", "JJ")):
        return True
    if previous == "her" and i > 1 and tags[i - 2] == "IN":
        # "the crowd behind her watches"
        return word in _DEEDS
    goes = _goes(words, i)
    if before in ("CC", ","):
        done = before == "CC" and i > 1 and tags[i - 2] == "VBZ"
        taken = after in ("DT", "PRP$") or goes or words[i + 1 : i + 2] in (["at"], ["for"])
        return (
            done
            or taken
            or (before == "CC" and after in _AFTER_VERB and not _names_thing(word))
            or (word in _DEEDS and after in _AFTER_VERB | _NOUNS)
        )
    if goes and before in _NOUNS:
        return True
    if before == "NN" and _ends_compound(words, tags, i):
        return False
    return before in ("NN", "NNP", "PRP") or (
        before == "NNS" and after in ("IN", "TO", "RP", "DT", "PRP$")
    )


def _is_dressed(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a garment or colour that somebody wears ends before i: "in blue", "in wetsuits"."""
    if not i:
        return False
    if words[i - 1] in CLOTHES:
        return tags[i - 1] in _NOUNS
    first = i - 1
    while first > 0 and (words[first] in COLOURS or tags[first] == "CC"):
        first -= 1
    return 0 <= first < i - 1 and words[first] in _WORN_AFTER


def _ends_compound(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a plural is no verb: "wearing dress pants", "making hand gestures".

    It is one in "in a coat skis", for "a" has no plural, and none in "sits on the cement steps".
    """
    first = i - 1
    while first >= 0 and tags[first] in _NOUNS | _ADJECTIVES:
        first -= 1
    if words[i - 1] in MOVERS or words[i] in TRAITS:
        return False
    if first >= 0 and tags[first] in _DETERMINERS:
        placed = first > 0 and tags[first - 1] == "IN" and not _VERBS.isdisjoint(tags[: first - 1])
        listed = words[i] in NOUN_FOILS and words[i] not in _DEEDS
        return placed and words[first] not in ("a", "an") and listed
    return words[i] in NOUN_FOILS or (first == i - 2 and tags[first] in ("VBG", "VBN"))


def _names_thing(word: str) -> bool:
    return word in NOUN_FOILS or word in _NAMING


def _several_before(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a being stands before i that "and" joins to others: "a man and a woman"."""
    if tags[i - 1] != "NN" or words[i - 1] not in BEINGS:
        return False
    first = i - 2
    while first >= 0 and tags[first] in _ADJECTIVES | _DETERMINERS | {"NN"}:
        first -= 1
    return first > 0 and words[first] in ("and", "&") and tags[first - 1] in _NOUNS


def _governs(words: list[str], tags: list[str], i: int) -> bool:
    """Whether what is tagged an adverb is a preposition ("skating down a rail")."""
    follows = _DETERMINERS if words[i] == "nearby" else _DETERMINERS | _NOUNS | _ADJECTIVES
    return words[i] in PREPOSITIONS and tags[i] in ("RB", "JJ") and _starts(tags, i + 1, follows)


def _starts(tags: list[str], i: int, wanted: set[str]) -> bool:
    return i < len(tags) and tags[i] in wanted


def _qualifies_noun(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a participle stands before its noun.

    It does in "a running dog", "brightly lit room" and "snow covered hill", and not in "a man
    wearing socks".
    """
    if tags[i] in ("VBN", "VBD") and i and tags[i - 1] == "NN":
        return words[i] in _BOUND_PARTICIPLES and _starts(tags, i + 1, _NOUNS | {"JJ"})
    before = i - 1
    while before >= 0 and tags[before] == "RB":
        before -= 1
    if (
        tags[i] not in ("VBG", "VBN", "VBD")
        or before < 0
        or tags[before] not in _DETERMINERS | _ADJECTIVES | {"IN", "TO"}
        or words[before] in _APART
    ):
        return False
    if tags[before] in ("IN", "TO") and words[before] != "of" and words[i] in BASES:
        return False
    return _starts(tags, i + 1, _NOUNS | {"JJ"})


def _noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the noun phrase at i, its "of" phrases included, and where it ends."""
    noun, end = _simple_noun_phrase(words, tags, i)
    while noun and end + 1 < len(words) and words[end] == "of":
        other, after = _simple_noun_phrase(words, tags, end + 1)
        if other is None:
            break
        if noun.head_text in QUANTITIES:
            start = len(noun.words) + 1
            noun = replace(
                other,
                words=(*noun.words, "of", *other.words),
                head=(start + other.head[0], start + other.head[1]),
                compound=start + other.compound,
            )
        elif noun.head_text in PICTURES | PLACEHOLDERS:
            noun = replace(other, pictured=noun.head_text in _PICTURES)
        else:
            noun = replace(noun, words=(*noun.words, "of", *other.words))
        end = after
    return noun, end


def _simple_noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    kept: list[tuple[str, str]] = []
    end, after_noun, owned = i, 0, False
    j = i
    while j < len(words):
        tag = tags[j]
        if tag in _NOUNS:
            kept.append((words[j], tag))
            end, after_noun = j + 1, len(kept)
        elif tag in _ADJECTIVES or _qualifies_noun(words, tags, j):
            kept.append((words[j], tag))
        elif tag == "POS" or (words[j] in ("'s", "’s") and after_noun):
            kept, after_noun, owned = [], 0, True
        elif not kept and (
            tag in _DETERMINERS
            or (tag == "RB" and not _negates(words[j]) and not _governs(words, tags, j))
        ):
            owned = owned or tag == "PRP$"
        elif (
            words[j] in ("and", ",")
            and not after_noun
            and kept
            and _starts(tags, j + 1, _ADJECTIVES)
        ):
            if words[j] == "and":
                kept.append(("and", "CC"))
        else:
            break
        j += 1
    kept = kept[:after_noun]
    while kept and kept[0][1] == "CC":
        kept = kept[1:]
    if not kept:
        return None, i
    own = tuple(word for word, _ in kept)
    known = len(own) > 1 and " ".join(own[-2:]) in NOUN_FOILS
    head = (len(own) - (2 if known else 1), len(own))
    return Phrase("noun", own, head, _compound(kept, head[0]), owned=owned), end


def _compound(kept: list[tuple[str, str]], head: int) -> int:
    """Returns where the compound begins that the head ends.

    It has nouns, and participles that say what a thing is for ("diving board").
    """
    start = head
    while start > 0:
        word, tag = kept[start - 1]
        for_use = tag == "VBG" or word.endswith("ing")
        if word in _BINDING or (
            word not in ATTRIBUTE_FOILS
            and (tag in _NOUNS or (for_use and kept[head][0] not in BEINGS))
        ):
            start -= 1
        else:
            break
    return start


def _verb_group(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the verb group at i, and where it ends.

    Auxiliaries go, and finite verbs take their -ing form: "is running", "runs" and "running" are
    one predicate.
    """
    j = i
    group: list[tuple[str, str]] = []
    while j < len(words):
        if tags[j] in _VERBS and not (group and _qualifies_noun(words, tags, j)):
            if tags[j - 1] == "RB" and group and group[-1][0] not in _AUXILIARIES:
                break
            group.append((words[j], tags[j]))
        elif tags[j] == "TO" and _starts(tags, j + 1, {"VB"}) and group:
            group.append(("to", "TO"))
        elif (
            tags[j] != "RB"
            or _negates(words[j])
            or _governs(words, tags, j)
            or _preposition_phrase(words, j)
        ):
            break
        j += 1
    if j < len(words) and _negates(words[j]):
        return Phrase("stop"), j + 1
    finite = group[0][1] in ("VBZ", "VBP", "VBD", "MD", "VB")
    if group[0][0] in _SEEMING and len(group) > 2 and group[1][0] == "to":
        group = group[2:]
    # "waiting to be fed"
    main = [
        (word, tag)
        for k, (word, tag) in enumerate(group)
        if word not in _AUXILIARIES or (word == "be" and k > 1)
    ]
    if (
        not main
        and group[-1][0] in _DOING
        and _starts(tags, j, _DETERMINERS | _NOUNS | _ADJECTIVES)
    ):
        main = [group[-1]]
    if not main:
        return Phrase("verb", ("with",) if group[-1][0] in _HAVING else (), finite=finite), j
    (verb, tag), *rest = main
    passive = tag == "VBN" or (group[0][0] == "being" and tag != "VBG")
    first = verb if passive or _stays(verb, tag) else participle(verb)
    return Phrase(
        "verb",
        (first, *(word for word, _ in rest)),
        finite=finite,
        passive=passive,
    ), j


def _stays(verb: str, tag: str) -> bool:
    return (
        tag in ("VBG", "VBN")
        or verb.endswith("ing")
        or (tag == "VBD" and (verb.endswith("ed") or verb not in BASES))
    )
