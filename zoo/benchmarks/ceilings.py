"""Ceilings: scores reachable without word order, without images, or by answer position alone.

They are properties of the cases, not of a model. Retrieval and classification have none, since
their queries do not choose among a case's few texts or positions.
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

VERSION = 2  # increase it when the results for the same cases change
CACHE_FROM = 5_000  # number of cases; fewer take less than a second
ALL_SUBSETS = "*"  # all subsets together
LONGER, SHORTER, COMMONER, RARER = "longer", "shorter", "commoner", "rarer"
GUESSES = LONGER, SHORTER, COMMONER, RARER


@dataclass(frozen=True)
class Ceiling:
    """The baselines of one metric of a subset, in per cent; only `order_only` may use the image.

    Attributes:
        n: Number of queries in the file, including those whose image is missing.
        chance: The chance level: by the protocol, else as the benchmark declares it, else by the
            number of answers.
        order_only: The upper bound of a bag of words, which has to guess if a right and a wrong
            text have the same words. None if no query chooses among texts.
        text_only: The scores without the image, by choosing the texts that are longer, shorter, or
            whose words are more or less frequent in the file. Empty if a text is right for one
            image and wrong for another, or if the queries are texts.
        always_first: The score of always choosing the best position, if the file orders the
            answers. None if it does not.
    """

    n: int
    chance: float
    order_only: float | None
    text_only: Mapping[str, float]
    always_first: float | None

    @property
    def best_guess(self) -> tuple[str, float] | None:
        """The best of `text_only` with its name, None if it is empty."""
        return max(self.text_only.items(), key=lambda guess: guess[1], default=None)


Ceilings = dict[str, dict[str, Ceiling]]
Declared = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class _BlindChances:
    """The chances of a right answer to one query."""

    chance: float
    order_only: float | None = None
    text_only: tuple[float, ...] | None = None
    right_position: int | None = None


def load_or_compute_ceilings(
    cases: Sequence[Case], declared: Declared = MappingProxyType({})
) -> Ceilings:
    """Returns the ceilings by subset and metric; `ALL_SUBSETS` has those of all cases together.

    Those of many cases are cached on disk, under a hash of the cases.

    Args:
        cases: All cases of a benchmark.
        declared: Chance levels that the benchmark declares, in per cent, by subset and metric.
    """
    if len(cases) < CACHE_FROM:
        return compute_ceilings(cases, declared)
    file = cache_folder("ceilings") / f"{_digest(cases, declared)}.json"
    try:
        return ceilings_from_dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        computed = compute_ceilings(cases, declared)
    with suppress(ZooError):  # if the cache cannot be written, they are computed again next time
        write_bytes(file, json.dumps(ceilings_to_dict(computed)).encode())
    return computed


def ceilings_to_dict(values: Ceilings) -> dict[str, dict[str, dict[str, Any]]]:
    """Returns ceilings as plain data, in the form of results.json."""
    return {
        subset: {metric: asdict(ceiling) for metric, ceiling in by_metric.items()}
        for subset, by_metric in values.items()
    }


def ceilings_from_dict(plain: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Ceilings:
    """Returns ceilings from the plain data that `ceilings_to_dict` returns."""
    return {
        subset: {metric: Ceiling(**ceiling) for metric, ceiling in by_metric.items()}
        for subset, by_metric in plain.items()
    }


def _digest(cases: Iterable[Case], declared: Declared) -> str:
    """Returns a hash of everything that the ceilings depend on."""
    chances = sorted((subset, sorted(levels.items())) for subset, levels in declared.items())
    digest = hashlib.blake2b(repr((VERSION, chances)).encode(), digest_size=12)
    for case in cases:
        settings = (
            case.subset,
            protocol_name(case.resolved_protocol),
            case.argmax,
            case.right_listed_first,
        )
        texts = (len(case.images), case.texts, case.query_texts)
        digest.update(repr((settings, texts)).encode() + np.packbits(case.match).tobytes())
    return digest.hexdigest()


def compute_ceilings(cases: Iterable[Case], declared: Declared) -> Ceilings:
    """Returns the same as `load_or_compute_ceilings` without using the cache."""
    scored_cases = [
        case for case in cases if not (case.is_gallery or case.resolved_protocol.by_image)
    ]
    texts = _TextStatistics(
        text for case in scored_cases for text in (*case.texts, *case.query_texts)
    )
    blind_queries: dict[str, dict[str, list[_BlindChances]]] = {}
    choosing: dict[tuple[str, tuple[int, ...]], frozenset[str]] = {}
    chances: dict[tuple[str, str, str, int, int], float | None] = {}
    for case in scored_cases:
        protocol = case.protocol if isinstance(case.protocol, str) else protocol_name(case.protocol)
        key = protocol, case.match.shape
        if key not in choosing:
            choosing[key] = metrics_a_perfect_model_solves(case)
        for query in case.queries():
            if query.metric not in choosing[key]:
                continue
            options = len(query.match) if query.options is None else query.options
            kind = protocol, case.subset, query.metric, options, query.right_options or 0
            if kind not in chances:
                chances[kind] = _known_chance_level(case, *kind[2:], declared)
            blind_query = _blind_chances(case, query, texts, chances[kind])
            if blind_query is not None:
                blind_queries.setdefault(case.subset, {}).setdefault(query.metric, []).append(
                    blind_query
                )
    by_subset = {
        subset: {
            metric: _mean_ceiling(metric_queries) for metric, metric_queries in by_metric.items()
        }
        for subset, by_metric in blind_queries.items()
    }
    if len(blind_queries) < 2:
        return by_subset
    pooled: dict[str, list[_BlindChances]] = {}
    for by_metric in blind_queries.values():
        for metric, metric_queries in by_metric.items():
            pooled.setdefault(metric, []).extend(metric_queries)
    return {
        ALL_SUBSETS: {
            metric: _mean_ceiling(metric_queries) for metric, metric_queries in pooled.items()
        },
        **by_subset,
    }


def split_words(text: str) -> list[str]:
    """Returns the words of a text in lower case, without punctuation except apostrophes."""
    return re.findall(r"[\w']+", text.lower())


class _TextStatistics:
    """Lengths and word frequencies of texts.

    Args:
        texts: All texts of a benchmark; repeated texts count once.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = {text: split_words(text) for text in texts}
        self._bags = {text: tuple(sorted(text_words)) for text, text_words in distinct.items()}
        counts = Counter(word for text_words in distinct.values() for word in text_words)
        logs = {word: log(n) for word, n in counts.items()}
        self._guesses = {}
        for text, text_words in distinct.items():
            length = float(len(" ".join(text.split())))
            common = fsum(map(logs.__getitem__, text_words)) / max(1, len(text_words))
            self._guesses[text] = (length, -length, common, -common)

    def bag_of_words(self, text: str) -> tuple[str, ...]:
        """Returns the words of a text, sorted."""
        return self._bags[text]

    def guess_scores(self, text: str) -> tuple[float, ...]:
        """Returns the score of a text under each of GUESSES."""
        return self._guesses[text]


def metrics_a_perfect_model_solves(case: Case) -> frozenset[str]:
    """Returns the metrics that a perfect model answers: their queries choose the right answers."""
    judged = case.judge(case.match.astype(np.float32))
    return frozenset(outcome.metric for outcome in judged if outcome.right)


def _known_chance_level(
    case: Case, metric: str, options: int, right_options: int, declared: Declared
) -> float | None:
    """Returns the chance level of a query from 0 to 1, None if it is unknown."""
    chances = case.resolved_protocol.chance(metric, np.array([options]), np.array([right_options]))
    if chances is not None:
        return float(chances[0])
    level = declared.get(case.subset, {}).get(metric)
    return None if level is None else level / 100


def _blind_chances(
    case: Case, query: Query, texts: _TextStatistics, chance_level: float | None
) -> _BlindChances | None:
    """Returns the blind chances of a query, None if it chooses neither a text nor a position.

    Args:
        case: The case.
        query: One of its queries.
        texts: All texts of the benchmark.
        chance_level: The chance level of the protocol or the benchmark, None if neither has one.
    """
    if case.query_texts:
        right, wrong = _split_texts(case.texts, case.match[query.index].tolist())
        shared = _count_same_word_texts(texts, (*case.query_texts, *right), wrong)
        chance = 1 / len(query.match) if chance_level is None else chance_level
        return _BlindChances(chance, chance if any(shared) else 1.0)
    query_texts = [case.texts[j] for j in query.texts]
    if (len(query.images), len(query_texts)) == (2, 2) and query.metric in group.CHANCE:
        chance = group.CHANCE[query.metric] / 100 if chance_level is None else chance_level
        return _BlindChances(
            chance,
            chance
            if texts.bag_of_words(query_texts[0]) == texts.bag_of_words(query_texts[1])
            else 1.0,
        )
    if 1 not in (len(query.images), len(query_texts)) or not 0 < query.match.sum() < len(
        query.match
    ):
        return None
    n, k = len(query.match), int(query.match.sum())
    chance = 1 / comb(n, k) if chance_level is None else chance_level
    ordered = k == 1 and (case.argmax or case.right_listed_first)
    place = int(np.argmax(query.match)) if ordered else None
    if len(query_texts) != n:
        return None if place is None else _BlindChances(chance, right_position=place)
    right, wrong = _split_texts(query_texts, query.match.tolist())
    guess_values = [[texts.guess_scores(text) for text in side] for side in (right, wrong)]
    guesses = tuple(
        chance_right_above_wrong(*([guess[g] for guess in side] for side in guess_values))
        for g in range(len(GUESSES))
    )
    shared = _count_same_word_texts(texts, right, wrong)
    return _BlindChances(chance, 1 / comb(sum(shared), shared[0]), guesses, place)


def _split_texts(texts: Sequence[str], match: Sequence[bool]) -> tuple[list[str], list[str]]:
    """Returns the right and the wrong texts."""
    right = [text for text, is_right in zip(texts, match, strict=True) if is_right]
    return right, [text for text, is_right in zip(texts, match, strict=True) if not is_right]


def _count_same_word_texts(
    texts: _TextStatistics, right: Sequence[str], wrong: Sequence[str]
) -> tuple[int, int]:
    """Counts the right and the wrong texts that have the same words as a text of the other side."""
    bags = (
        [texts.bag_of_words(text) for text in right],
        [texts.bag_of_words(text) for text in wrong],
    )
    return sum(bag in bags[1] for bag in bags[0]), sum(bag in bags[0] for bag in bags[1])


def chance_right_above_wrong(right: Sequence[float], wrong: Sequence[float]) -> float:
    """Returns the chance that all right scores rank above the wrong ones, ties in random order."""
    least = min(right)
    if max(wrong) > least:
        return 0.0
    equal = right.count(least)
    return 1 / comb(equal + wrong.count(least), equal)


def _mean_ceiling(blind_chances: Sequence[_BlindChances]) -> Ceiling:
    order = [query.order_only for query in blind_chances if query.order_only is not None]
    guessed = [query.text_only for query in blind_chances if query.text_only is not None]
    places = Counter(
        query.right_position for query in blind_chances if query.right_position is not None
    )
    return Ceiling(
        len(blind_chances),
        _mean_per_cent([query.chance for query in blind_chances]),
        _mean_per_cent(order) if order else None,
        dict(zip(GUESSES, map(_mean_per_cent, zip(*guessed, strict=True)), strict=False)),
        100 * max(places.values()) / places.total() if places else None,
    )


def _mean_per_cent(shares: Sequence[float]) -> float:
    return 100 * fsum(shares) / len(shares)
