import numpy as np
import pytest
from PIL import Image

from zoo.errors import ZooError
from zoo.scenes.sheet import CELL, contact_sheet


def test_a_sheet_shows_images_with_text_beneath(tmp_path, rendered):
    path = contact_sheet(rendered, tmp_path / "sheet.png", n=3, split="test")
    sheet = np.asarray(Image.open(path).convert("RGB"))
    with Image.open(rendered / "images/000003.png") as image:  # the first of the test scenes
        shown = np.asarray(image.convert("RGB").resize((CELL, CELL), Image.Resampling.NEAREST))
    assert np.array_equal(sheet[:CELL, :CELL], shown)
    assert (sheet[CELL:, :CELL].max(2) < 100).any(), "dark letters"


def test_an_unknown_or_empty_split_is_an_error(tmp_path, rendered):
    with pytest.raises(ZooError, match="no split 'dev'"):
        contact_sheet(rendered, tmp_path / "sheet.png", split="dev")
    assert list(tmp_path.iterdir()) == []
