"""A small folder of rendered scenes, made once."""

from pathlib import Path

import pytest

from zoo.scenes.cache import render_scenes


@pytest.fixture(scope="session")
def rendered(renderer: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    assert render_scenes(folder, n=50, size=24, samples=2, workers=0) == 50
    return folder
