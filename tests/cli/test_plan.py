"""`zoo plan` reads a recipe and prints what limits it; what it cannot count it refuses."""

import pytest

from zoo.cli import main

CS_CLIP = ["plan", "--config", "cs_clip.yaml", "--device"]


def test_a_recipe_s_step_is_planned_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CS_CLIP, "a100", "--devices", "8", "--workers", "64"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "a step of 128 rows on 8 x NVIDIA A100 SXM 80 GB: 16 rows each, bf16" in out
    assert "towers limits" in out
    assert "25 epochs of 566,435 samples" in out
    # of 151,277,313 numbers in fp32, of which 7/8 are sent twice
    assert " weights 577 " in out
    assert " gradients 1,010 " in out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["a100", "--devices", "3"], "3 devices do not divide the batch of 128 rows"),
        (["abacus"], "--device abacus is no device whose figures are known"),
        (["a100", "--trainer.precision", "64"], "trainer.precision is 64"),
        (
            ["a100", "--model.backbone.name", "RN50"],
            "RN50 has a tower that is no plain transformer",
        ),
    ],
)
def test_what_cannot_be_planned_is_told_in_a_sentence(
    flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CS_CLIP, *flags]) == 1
    assert sentence in capsys.readouterr().err
