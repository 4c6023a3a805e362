"""The modules of zoo do not import each other in a circle, and an objective loads few of them."""

import grimp


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
