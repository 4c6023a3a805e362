"""Classes and functions that people combine have an example, which gives what it shows.

An example runs in an empty folder and imports what it uses. Only `batch` and `scores` come from the
examples of `Batch` and `Scores`, which show how the two are built.
"""

import contextlib
import doctest
import inspect
import io
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from zoo.batch import Batch
from zoo.cli.detailed_listing import describe_benchmark
from zoo.cli.help_pages import class_arguments
from zoo.scores import Scores
from zoo.support.class_names import import_path, list_classes

# whatever `zoo ls` lists of these, all public names of these packages, and further names
KINDS = ("objectives", "heads", "benchmarks")
PACKAGES = ("zoo.backbones", "zoo.datamodules")
OTHERS = (
    "zoo.Model",
    "zoo.as_mteb",
    "zoo.batch.Batch",
    "zoo.benchmarks.Case",
    "zoo.compare",
    "zoo.evaluate",
    "zoo.heads.Head",
    "zoo.load",
    "zoo.module.ZooModule",
    "zoo.objectives.Objective",
    "zoo.regions_and_phrases.Segments",
    "zoo.regions_and_phrases.Views",
    "zoo.scores.Block",
    "zoo.scores.Scores",
)
LISTED = [
    (kind, path, description)
    for kind in KINDS
    for _, path, description in list_classes(kind)
    if path.startswith("zoo.")
]
PATHS = [
    *(path for _, path, _ in LISTED),
    *(f"{name}.{public}" for name in PACKAGES for public in import_module(name).__all__),
    *OTHERS,
]
SECTION = "\nExamples:\n"
MOST_LINES = 10  # of an example; that of `Batch` names all its arguments


def parse_example(item: Any, names: dict[str, Any]) -> doctest.DocTest:
    """Returns the example in the docstring of a class or function itself.

    Args:
        item: The class or function.
        names: The names that the example may use.
    """
    docstring = inspect.cleandoc(item.__doc__ or "")
    return doctest.DocTestParser().get_doctest(docstring, names, item.__name__, None, None)


def run_example(example: doctest.DocTest) -> str:
    """Runs an example, and returns what is wrong: nothing if it gives what it shows."""
    report = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        doctest.DocTestRunner(verbose=False).run(example, out=report.write, clear_globs=False)
    return report.getvalue()


@pytest.fixture(scope="module")
def shared_names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for item, name in ((Batch, "batch"), (Scores, "scores")):
        example = parse_example(item, names)
        assert run_example(example) == ""
        names[name] = example.globs[name]
    return names


@pytest.mark.parametrize("path", PATHS)
def test_an_example_gives_what_it_shows(
    path: str, shared_names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    item = import_path(path)
    example = parse_example(item, {} if item is Batch else shared_names)
    assert example.examples, f"{path} has no example in its docstring"
    assert SECTION in example.docstring, (
        f"the site needs the example of {path} in a section `Examples:`"
    )
    source = "".join(part.source for part in example.examples)
    assert item.__name__ in source, f"the example of {path} does not use it"
    assert item is Batch or len(source.splitlines()) <= MOST_LINES
    failure = run_example(example)
    assert failure == "", failure


@pytest.mark.parametrize(("kind", "path", "description"), LISTED)
def test_lists_and_help_leave_examples_out(kind: str, path: str, description: str) -> None:
    help_texts = [text for _, _, text in class_arguments(import_path(path))]
    assert not [text for text in (description, *help_texts) if "Example" in text or ">>>" in text]
    if kind == "benchmarks":
        assert ">>>" not in describe_benchmark(path.rpartition(".")[2])


def test_a_wrong_example_is_noticed() -> None:
    def double(x: int) -> int:
        """Doubles a number.

        Examples:
            >>> 2 * 2
            5
        """
        return 2 * x

    assert "Expected:\n    5\nGot:\n    4" in run_example(parse_example(double, {}))
