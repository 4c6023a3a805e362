"""What a wheel carries."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from zoo.cli.recipes import shipped_recipes

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_wheel_carries_every_recipe_and_architecture_and_finds_them(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    assert {f"zoo/configs/{name}" for name in shipped_recipes()} <= names
    assert "zoo/backbones/architectures/zoo-tiny.json" in names
    code = "from zoo.cli.recipes import find_recipe; print(find_recipe('cs_clip.yaml'))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "installed",
        check=True,
        capture_output=True,
        text=True,
    )
    assert Path(found.stdout.strip()) == tmp_path / "installed" / "zoo" / "configs" / "cs_clip.yaml"
