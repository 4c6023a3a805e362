import textwrap

import numpy as np
import pytest
from PIL import Image, ImageDraw

from zoo.errors import ZooError
from zoo.scenes.sheet import CELL, LEGEND, LETTER, LINE, SWAPPED, write_contact_sheet


def test_a_sheet_shows_images_with_text_beneath_and_a_title_that_says_what_red_means(
    tmp_path, rendered, monkeypatch
):
    written = []
    text = ImageDraw.ImageDraw.text
    monkeypatch.setattr(
        ImageDraw.ImageDraw,
        "text",
        lambda *given, **how: (written.append(given[2]), text(*given, **how)),
    )
    path = write_contact_sheet(rendered, tmp_path / "sheet.png", n=3, split="test")
    sheet = np.asarray(Image.open(path).convert("RGB"))
    with Image.open(rendered / "images/000003.png") as image:  # the first of the test scenes
        shown = np.asarray(image.convert("RGB").resize((CELL, CELL), Image.Resampling.LANCZOS))
    title = textwrap.wrap(f"3 of 6 scenes of test. {LEGEND}", sheet.shape[1] // LETTER)
    assert written[: len(title)] == title
    assert "Red: a caption with one attribute exchanged, false" in " ".join(title)
    below = sheet[(len(title) + 1) * LINE :]
    assert np.array_equal(below[:CELL, :CELL], shown)
    assert (below[CELL:, :CELL].max(2) < 100).any(), "dark letters"
    assert (below[CELL:] == SWAPPED).all(2).any(), "and red ones"


def test_an_unknown_or_empty_split_is_an_error(tmp_path, rendered):
    with pytest.raises(ZooError, match="unknown split 'dev'"):
        write_contact_sheet(rendered, tmp_path / "sheet.png", split="dev")
    assert list(tmp_path.iterdir()) == []
