"""The public names of packages.

They are loaded on first use, can be given by their short names, and are recorded with the path of
the package.
"""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

import zoo
from tests.support.runs import last_checkpoint
from zoo.cli import main
from zoo.support.configurable import class_path

PACKAGES = sorted(
    ".".join(("zoo", *stub.parent.relative_to(Path(zoo.__file__).parent).parts))
    for stub in Path(zoo.__file__).parent.rglob("__init__.pyi")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_package_can_be_imported_from_it(package: str) -> None:
    module = importlib.import_module(package)
    assert dir(module)
    for name in dir(module):
        assert getattr(module, name) is not None


def test_importing_packages_does_not_import_torch() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("package", [package for package in PACKAGES if package != "zoo"])
def test_a_class_is_recorded_with_the_package_that_exports_it(package: str) -> None:
    shown = [
        value
        for value in vars(importlib.import_module(package)).values()
        if isinstance(value, type)
    ]
    assert {class_path(cls).rpartition(".")[0] for cls in shown} <= {package}


def test_short_names_are_enough_and_checkpoints_record_packages(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = yaml.safe_load((made_root / "recipe.yaml").read_text())
    recipe["data"]["class_path"] = "CaptionDataModule"
    recipe["data"]["init_args"]["train"]["class_path"] = "CsvTable"
    recipe["data"]["init_args"]["units"] = None
    recipe["trainer"] |= {"max_steps": 1, "limit_val_batches": 0}
    Path("short.yaml").write_text(yaml.safe_dump(recipe))
    arguments = ["fit", "--config", "short.yaml", "--model.objective", "NegCLIP"]
    arguments += ["--data.negatives", "NegCLIPSwap", "--model.head", "MaxSim"]
    assert main(arguments) == 0
    recorded = torch.load(last_checkpoint(tmp_path), weights_only=True)["hyper_parameters"]
    assert recorded["objective"]["class_path"] == "zoo.objectives.NegCLIP"
    assert recorded["head"]["class_path"] == "zoo.heads.MaxSim"


def test_recipes_name_classes_as_a_user_types_them() -> None:
    for path in sorted((Path(zoo.__file__).parents[1] / "configs").glob("*.yaml")):
        named = [
            line.strip() for line in path.read_text().splitlines() if "class_path: zoo." in line
        ]
        assert not named, f"{path.name} names a class by its module: {named[0]}"


def test_an_entry_point_that_cannot_be_imported_is_reported_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from zoo.support.class_names import import_all

    installed = tmp_path / "broken-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[zoo.objectives]\nBroken = broken_lab:Broken\n")
    (tmp_path / "broken_lab.py").write_text("raise RuntimeError('out of order')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    import_all()
    assert "broken_lab.Broken" in caplog.text
    assert "out of order" in caplog.text


def test_stubs_name_what_their_files_define() -> None:
    for package in PACKAGES:
        folder = Path(str(importlib.import_module(package).__file__)).parent
        for node in ast.parse((folder / "__init__.pyi").read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                defined = ast.parse(
                    folder.joinpath(*node.module.split(".")).with_suffix(".py").read_text()
                ).body
                names = {getattr(item, "name", None) for item in defined}
                assert {alias.name for alias in node.names} <= names
