"""Seeds of which each has its own cases: means over seeds, and tests over the cases of all."""

from statistics import mean, stdev

import pyarrow as pa
import pytest

from tests.support.compared import outcomes, results
from zoo.errors import ZooError
from zoo.results.comparison.own_cases import compare_seeds_with_own_cases
from zoo.results.report import Results
from zoo.results.statistics import mcnemar_mid_p

N = 40
RIGHT = {"base": (20, 24, 28), "better": (30, 30, 36)}  # of 40 cases of each seed


def run(right: int, seed: int) -> Results:
    """Images of a seed are others than those of the seeds before."""
    images = range(100 * seed, 100 * seed + N)
    return results(outcomes([i < right for i in range(N)], images))


@pytest.fixture
def rows() -> dict[str, dict[int, Results]]:
    return {
        name: {seed: run(n, seed) for seed, n in enumerate(right)} for name, right in RIGHT.items()
    }


def test_values_are_means_over_seeds_and_tests_are_over_the_cases_of_all(
    rows: dict[str, dict[int, Results]],
) -> None:
    (line,) = compare_seeds_with_own_cases(rows).lines
    assert line.n == 3 * N
    for value, right in zip(line.values, RIGHT.values(), strict=True):
        shares = [100 * n / N for n in right]
        assert value.value == pytest.approx(mean(shares))
        assert value.deviation == pytest.approx(stdev(shares))
        assert value.seeds == 3
    (test,) = line.tests
    only_better = sum(b - a for a, b in zip(*RIGHT.values(), strict=True))
    assert test.right_only == (0, only_better)
    assert test.p == pytest.approx(mcnemar_mid_p(0, only_better))
    assert test.difference == pytest.approx(100 * only_better / (3 * N))


def test_a_case_that_several_seeds_have_counts_for_each_of_them() -> None:
    same = {name: {seed: run(right[seed], 0) for seed in (0, 1)} for name, right in RIGHT.items()}
    (line,) = compare_seeds_with_own_cases(same).lines
    assert line.n == 2 * N
    assert line.images == N


def test_seeds_that_a_row_does_not_have_are_left_out(
    rows: dict[str, dict[int, Results]],
) -> None:
    del rows["better"][1]
    comparison = compare_seeds_with_own_cases(rows)
    (line,) = comparison.lines
    assert [value.value for value in line.values] == pytest.approx([60.0, 82.5])
    assert "2 seeds (0, 2)" in comparison.notes[0]
    del rows["better"][0], rows["base"][2]
    with pytest.raises(ZooError, match="base, better have no seed in common"):
        compare_seeds_with_own_cases(rows)


def with_subsets(right: dict[str, int]) -> Results:
    return results(
        pa.concat_tables(
            outcomes([i < n for i in range(N)], subset=subset) for subset, n in right.items()
        )
    )


def test_gaps_of_the_splits_of_a_block_are_printed_as_in_the_paper() -> None:
    right = {"seen": (36, 38), "partial": (30, 28), "unseen": (20, 16)}
    rows = {
        name: {
            seed: with_subsets({subset: n[seed] + more for subset, n in right.items()})
            for seed in (0, 1)
        }
        for name, more in (("map", 0), ("tuned", 1))
    }
    text = repr(compare_seeds_with_own_cases(rows))
    shown = [line.split() for line in text.splitlines() if " to " in line]
    by_gap = {tuple(words[-5:-2]): words[-2:] for words in shown}
    assert by_gap["seen", "to", "partial"] == ["+20.0", "+20.0"]
    assert by_gap["seen", "to", "unseen"] == ["+47.5", "+47.5"]
    assert by_gap["partial", "to", "unseen"] == ["+27.5", "+27.5"]
