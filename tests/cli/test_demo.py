"""The demo, at a size of seconds."""

from pathlib import Path

import pytest
from PIL import Image

from zoo.cli import main


@pytest.mark.slow
@pytest.mark.usefixtures("renderer")
def test_the_demo_prints_a_table_with_intervals_and_chance_and_names_its_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    sizes = ["--scenes", "50", "--steps", "3", "--tuning_steps", "2", "--workers", "0"]
    assert main(["demo", "--out", str(out), *sizes]) == 0
    printed = capsys.readouterr().out
    for shown in (
        "+Obj",
        "+Attr",
        "Ant",
        "Swap",
        "Subj",
        "attribute swaps",
        "CS-CLIP",
        "chance",
        "noise",
        "half_truths.png",
    ):
        assert shown in printed
    with Image.open(out / "half_truths.png") as picture:
        assert picture.width > 600
    assert (out / "scenes.png").is_file()
