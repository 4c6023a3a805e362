"""The picture of the imports in docs/ matches the code, and no arrow leads upward."""

import importlib.util
from pathlib import Path
from types import ModuleType

import grimp
import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "imports.py"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    spec = importlib.util.spec_from_file_location("drawn_imports", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_the_imports_is_that_of_the_code(drawing: ModuleType) -> None:
    drawn = drawing.PICTURE.read_text("utf-8")
    assert drawing.picture(drawing.imports()) == drawn, "run `python docs/imports.py`"


def test_no_arrow_leads_upward_or_sideways(drawing: ModuleType) -> None:
    arrows = drawing.imports()
    assert {("module", "objectives"), ("results", "benchmarks"), ("sources", "scenes")} <= arrows
    assert drawing.not_downward(arrows) == []
    wrong = {("heads", "module"), ("units", "heads")}
    assert drawing.not_downward(arrows | wrong) == sorted(wrong)


def test_each_import_changes_the_picture_and_an_upward_one_is_highlighted(
    drawing: ModuleType,
) -> None:
    arrows = drawing.imports()
    assert drawing.picture(arrows - {("module", "objectives")}) != drawing.picture(arrows)
    assert "arrow upward" not in drawing.picture(arrows)
    assert "arrow upward" in drawing.picture(arrows | {("heads", "module")})


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("zoo", cache_dir=None)  # imports inside functions are included
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    remaining = set(imported)
    while leaves := {name for name in remaining if not imported[name] & remaining}:
        remaining -= leaves
    assert remaining == set(), "these import each other, or import those that do"


def test_an_objective_loads_few_files() -> None:
    graph = grimp.build_graph("zoo", cache_dir=None)
    # base and head, and for CS-CLIP the losses of CLIP, NegCLIP and SigLIP
    for name in graph.find_children("zoo.objectives"):
        modules = {name, *graph.find_upstream_modules(name)}
        packages = {m.rsplit(".", n)[0] for m in modules for n in range(1, m.count(".") + 1)}
        assert len(modules | packages) <= 21, sorted(modules | packages)
