"""Names of methods and benchmarks in tables for papers."""

from zoo.benchmarks.catalog import benchmark_names
from zoo.results import display_names, drawing


def test_every_benchmark_of_the_registry_has_a_display_name() -> None:
    assert set(benchmark_names()) <= set(display_names.BENCHMARKS)
    assert len(set(display_names.BENCHMARKS.values())) == len(display_names.BENCHMARKS)


def test_every_method_with_a_colour_has_a_display_name() -> None:
    for method, name in zip(drawing.METHODS, display_names.METHODS, strict=True):
        assert display_names.method_name(method) == name
