"""The table of recent backbones, which says what trains on each."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from zoo.support.class_names import list_classes

STUDY = Path(__file__).parents[2] / "benchmarks" / "studies" / "backbone_families.py"


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return runpy.run_path(str(STUDY))


def test_the_table_has_every_family_and_names_every_objective(study: dict[str, Any]) -> None:
    text = study["OUT"].read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in text.splitlines() if "`--model" in line]
    names = [name.strip() for name, *_ in rows]
    assert [name.partition(" (")[0] for name in names] == [f.name for f in study["FAMILIES"]]
    objectives = {name for name, path, _ in list_classes("objectives") if path.startswith("zoo.")}
    for *_, trained, refused in rows:
        entries = [entry.strip() for cell in (trained, refused) for entry in cell.split(";")]
        assert {entry.split(",")[0].split(":")[0] for entry in entries if entry} == objectives


@pytest.mark.slow  # a step of every objective
@pytest.mark.parametrize("name", ["PE-Core", "MobileCLIP2"])
def test_the_smallest_families_train_as_the_table_says(name: str, study: dict[str, Any]) -> None:
    (family,) = (family for family in study["FAMILIES"] if family.name == name)
    assert study["row_of"](family) in study["OUT"].read_text("utf-8").splitlines()
