"""Names of methods and benchmarks in tables for papers."""

import pytest

from zoo.benchmarks.catalog import benchmark_names
from zoo.results import display_names
from zoo.results.drawing import colour_and_marker, run_styles, style_numbers


def test_every_benchmark_of_the_registry_has_a_display_name() -> None:
    assert set(benchmark_names()) <= set(display_names.BENCHMARKS)
    assert len(set(display_names.BENCHMARKS.values())) == len(display_names.BENCHMARKS)


@pytest.mark.parametrize("run", ["fsc_clip", "FSC-CLIP", "fscclip"])
def test_every_spelling_of_a_method_has_its_display_name_and_colour(run: str) -> None:
    assert display_names.method_name(run) == "FSC-CLIP"
    assert style_numbers(["CLIP", run]) == {"CLIP": 0, run: 3}


def test_variants_of_a_method_have_its_colour_and_another_marker() -> None:
    names = ["CS-CLIP, exact units", "CS-CLIP + WiSE-FT", "mine, a", "mine, b"]
    styles = run_styles(names)
    exact, wise, *others = (styles[name] for name in names)
    assert exact == colour_and_marker(2)
    assert wise[0] == exact[0]
    assert wise[1] != exact[1]
    assert len({exact, wise, *others}) == 4
