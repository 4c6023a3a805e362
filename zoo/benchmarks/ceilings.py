"""Ceilings: what a file of cases comes to for one who cannot see word order, images or answers.

They are properties of the file, whatever is measured on it. Queries whose right answer is not found
by choosing among a case's texts or places, as those of a retrieval or classification, have none.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import comb, fsum, log
from types import MappingProxyType
from typing import Any

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols import group
from zoo.benchmarks.protocols.base import Query, protocol_name
from zoo.errors import ZooError
from zoo.support.caches import cache_folder
from zoo.support.files import write_bytes

VERSION = 2  # raised when the same cases come to something else
WORTH_KEEPING = 5_000  # cases; fewer are looked through in less than a second
EVERY = "*"  # all subsets together
LONGER, SHORTER, COMMONER, RARER = "longer", "shorter", "commoner", "rarer"
GUESSES = LONGER, SHORTER, COMMONER, RARER


@dataclass(frozen=True)
class Ceiling:
    """What one metric of a subset comes to for the blind; in per cent.

    Attributes:
        n: Number of queries in the file, those without an image among them.
        chance: What a guess gets: by the protocol, else as the benchmark declares it, else by the
            number of answers.
        order_only: The most that a bag of words can get, which has to guess where a right and a
            wrong text have the same words. None where nothing chooses among texts.
        text_only: What is got without the image, by taking the texts that are longer, shorter, or
            of words that are commoner or rarer in the file. Empty where a text is right for one
            image and wrong for another, or where texts alone are asked about.
        always_first: What is got by always taking one place, the best of them, where the file puts
            the answers in an order. None where it does not.
    """

    n: int
    chance: float
    order_only: float | None
    text_only: Mapping[str, float]
    always_first: float | None

    @property
    def best_guess(self) -> tuple[str, float] | None:
        """The best of `text_only` with its name, None where there is none."""
        return max(self.text_only.items(), key=lambda guess: guess[1], default=None)


Ceilings = dict[str, dict[str, Ceiling]]
Declared = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class _Blind:
    """The chances that one query is answered rightly."""

    chance: float
    order_only: float | None = None
    text_only: tuple[float, ...] | None = None
    place: int | None = None


def ceilings(cases: Sequence[Case], declared: Declared = MappingProxyType({})) -> Ceilings:
    """Returns the ceilings by subset and metric; those of all subsets stand under EVERY.

    Those of many cases are kept in the cache folder, and found there by what the cases hold.

    Args:
        cases: All cases of a benchmark that were read.
        declared: Chance levels that the benchmark declares, in per cent, by subset and metric.
    """
    if len(cases) < WORTH_KEEPING:
        return found_of(cases, declared)
    file = cache_folder("ceilings") / f"{_digest(cases, declared)}.json"
    try:
        return from_plain(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        made = found_of(cases, declared)
    with suppress(ZooError):  # they are found anew next time
        write_bytes(file, json.dumps(as_plain(made)).encode())
    return made


def as_plain(found: Ceilings) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns ceilings as plain data, as results.json has them."""
    return {
        subset: {metric: asdict(ceiling) for metric, ceiling in of.items()}
        for subset, of in found.items()
    }


def from_plain(plain: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Ceilings:
    """Returns the ceilings of which `as_plain` made plain data."""
    return {
        subset: {metric: Ceiling(**ceiling) for metric, ceiling in of.items()}
        for subset, of in plain.items()
    }


def _digest(cases: Iterable[Case], declared: Declared) -> str:
    """Returns a hash of all that ceilings are made of."""
    chances = sorted((subset, sorted(of.items())) for subset, of in declared.items())
    seen = hashlib.blake2b(repr((VERSION, chances)).encode(), digest_size=12)
    for case in cases:
        said = (case.subset, protocol_name(case.judged_by), case.argmax, case.correct_first)
        texts = (len(case.images), case.texts, case.asking)
        seen.update(repr((said, texts)).encode() + np.packbits(case.match).tobytes())
    return seen.hexdigest()


def found_of(cases: Iterable[Case], declared: Declared) -> Ceilings:
    """Returns what `ceilings` does, without its cache; see there for the arguments."""
    asking = [case for case in cases if not (case.gallery or case.judged_by.by_image)]
    texts = _TextStatistics(text for case in asking for text in (*case.texts, *case.asking))
    found: dict[str, dict[str, list[_Blind]]] = {}
    known: dict[tuple[str, tuple[int, ...]], frozenset[str]] = {}
    chances: dict[tuple[str, str, str, int, int], float | None] = {}
    for case in asking:
        protocol = case.protocol if isinstance(case.protocol, str) else protocol_name(case.protocol)
        key = protocol, case.match.shape
        if key not in known:
            known[key] = choosing_metrics(case)
        for query in case.queries():
            if query.metric not in known[key]:
                continue
            options = len(query.match) if query.options is None else query.options
            kind = protocol, case.subset, query.metric, options, query.right_options or 0
            if kind not in chances:
                chances[kind] = _chance(case, *kind[2:], declared)
            blind = _blind(case, query, texts, chances[kind])
            if blind is not None:
                found.setdefault(case.subset, {}).setdefault(query.metric, []).append(blind)
    made = {
        subset: {metric: _ceiling(of) for metric, of in by_metric.items()}
        for subset, by_metric in found.items()
    }
    if len(found) < 2:
        return made
    together: dict[str, list[_Blind]] = {}
    for by_metric in found.values():
        for metric, of in by_metric.items():
            together.setdefault(metric, []).extend(of)
    return {EVERY: {metric: _ceiling(of) for metric, of in together.items()}, **made}


def words(text: str) -> list[str]:
    """Returns the words of a text in lower case, without marks but apostrophes."""
    return re.findall(r"[\w']+", text.lower())


class _TextStatistics:
    """What can be told of texts by themselves.

    Args:
        texts: All texts of a benchmark; each counts once, however often it stands there.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = {text: words(text) for text in texts}
        self._bags = {text: tuple(sorted(own)) for text, own in distinct.items()}
        counts = Counter(word for own in distinct.values() for word in own)
        logs = {word: log(n) for word, n in counts.items()}
        self._guesses = {}
        for text, own in distinct.items():
            length = float(len(" ".join(text.split())))
            common = fsum(map(logs.__getitem__, own)) / max(1, len(own))
            self._guesses[text] = (length, -length, common, -common)

    def bag(self, text: str) -> tuple[str, ...]:
        """Returns the words of a text, their order forgotten."""
        return self._bags[text]

    def guesses(self, text: str) -> tuple[float, ...]:
        """Returns how high each of GUESSES puts a text."""
        return self._guesses[text]


def choosing_metrics(case: Case) -> frozenset[str]:
    """Returns the metrics that a model without fault gets: their queries choose what is right."""
    judged = case.judge(case.match.astype(np.float32))
    return frozenset(outcome.metric for outcome in judged if outcome.right)


def _chance(
    case: Case, metric: str, options: int, right_options: int, declared: Declared
) -> float | None:
    """Returns the chance level of a query as metrics have it, a share; None if it is not known."""
    found = case.judged_by.chance(metric, np.array([options]), np.array([right_options]))
    if found is not None:
        return float(found[0])
    level = declared.get(case.subset, {}).get(metric)
    return None if level is None else level / 100


def _blind(case: Case, query: Query, texts: _TextStatistics, known: float | None) -> _Blind | None:
    """Returns the chances of a query, None where it chooses neither text nor place.

    Args:
        case: The case.
        query: One of its queries.
        texts: All texts of the benchmark.
        known: The chance level of protocol or benchmark, None where neither says one.
    """
    if case.asking:
        right, wrong = _sides(case.texts, case.match[query.query].tolist())
        same = _count_shared(texts, (*case.asking, *right), wrong)
        chance = 1 / len(query.match) if known is None else known
        return _Blind(chance, chance if any(same) else 1.0)
    own = [case.texts[j] for j in query.texts]
    if (len(query.images), len(own)) == (2, 2) and query.metric in group.CHANCE:
        chance = group.CHANCE[query.metric] / 100 if known is None else known
        return _Blind(chance, chance if texts.bag(own[0]) == texts.bag(own[1]) else 1.0)
    if 1 not in (len(query.images), len(own)) or not 0 < query.match.sum() < len(query.match):
        return None
    n, k = len(query.match), int(query.match.sum())
    chance = 1 / comb(n, k) if known is None else known
    ordered = k == 1 and (case.argmax or case.correct_first)
    place = int(np.argmax(query.match)) if ordered else None
    if len(own) != n:
        return None if place is None else _Blind(chance, place=place)
    right, wrong = _sides(own, query.match.tolist())
    put = [[texts.guesses(text) for text in side] for side in (right, wrong)]
    guesses = tuple(
        put_in_order(*([guess[g] for guess in side] for side in put)) for g in range(len(GUESSES))
    )
    same = _count_shared(texts, right, wrong)
    return _Blind(chance, 1 / comb(sum(same), same[0]), guesses, place)


def _sides(texts: Sequence[str], match: Sequence[bool]) -> tuple[list[str], list[str]]:
    """Returns the right and the wrong texts."""
    right = [text for text, is_right in zip(texts, match, strict=True) if is_right]
    return right, [text for text, is_right in zip(texts, match, strict=True) if not is_right]


def _count_shared(
    texts: _TextStatistics, right: Sequence[str], wrong: Sequence[str]
) -> tuple[int, int]:
    """Counts the right and the wrong texts whose words are those of one of the other side."""
    bags = [texts.bag(text) for text in right], [texts.bag(text) for text in wrong]
    return sum(bag in bags[1] for bag in bags[0]), sum(bag in bags[0] for bag in bags[1])


def put_in_order(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Returns the chance that all right ones come above the wrong, equals in an order by chance."""
    least = min(right)
    if max(wrong) > least:
        return 0.0
    equal = right.count(least)
    return 1 / comb(equal + wrong.count(least), equal)


def _ceiling(blind: Sequence[_Blind]) -> Ceiling:
    order = [one.order_only for one in blind if one.order_only is not None]
    guessed = [one.text_only for one in blind if one.text_only is not None]
    places = Counter(one.place for one in blind if one.place is not None)
    return Ceiling(
        len(blind),
        _per_cent([one.chance for one in blind]),
        _per_cent(order) if order else None,
        dict(zip(GUESSES, map(_per_cent, zip(*guessed, strict=True)), strict=False)),
        100 * max(places.values()) / places.total() if places else None,
    )


def _per_cent(shares: Sequence[float]) -> float:
    return 100 * fsum(shares) / len(shares)
