"""`zoo plan` reads a recipe and prints what limits it; what it cannot count it refuses."""

import pytest

from zoo.cli import main

TINY = ["--model.backbone.name", "zoo-tiny"]
CS_CLIP = ["plan", "--config", "cs_clip.yaml", "--device"]


def test_a_recipe_s_step_is_planned_without_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CS_CLIP, "a100", "--devices", "8", "--workers", "64"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "one step of 128 rows on 8 x NVIDIA A100 SXM 80 GB: 16 rows per device, bf16" in out
    assert "limited by towers" in out
    assert "25 epochs of 566,435 samples" in out
    # of 151,277,313 numbers in fp32, of which 7/8 are sent twice
    assert " weights 577 " in out
    assert " gradients 1,010 " in out
    assert "not counted" not in out


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["a100", "--devices", "3"], "the batch of 128 rows is not divisible by 3 devices"),
        (["abacus"], "--device abacus is unknown"),
        (["a100", "--trainer.precision", "64"], "trainer.precision is 64"),
        (
            ["a100", "--model.backbone.tuning.lora.rank", "4"],
            "zoo plan supports only full towers",
        ),
        (
            [
                *("a100", "--model.backbone.tuning.towers", "text"),
                *("--model.backbone.tuning.image_groups", "2"),
            ],
            "zoo plan supports only full towers: set model.backbone.tuning.image_groups to null",
        ),
        (
            ["a100", "--data.features.folder", "F"],
            "data.features encodes images and texts only",
        ),
    ],
)
def test_what_cannot_be_planned_is_told_in_a_sentence(
    flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CS_CLIP, *flags, *TINY]) == 1
    assert sentence in capsys.readouterr().err


def planned(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["plan", "--device", "a100", *argv]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_run_ends_at_its_steps_or_epochs_whichever_come_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    by_steps = ["--config", "cs_clip.yaml", "--trainer.max_steps", "1000", "--workers", "2"]
    # 1,000 steps of 128 rows at 3.17 ms and 2 workers are 203 s
    for epochs in ("-1", "25"):
        out = planned(capsys, *by_steps, "--trainer.max_epochs", epochs)
        assert "0.1 hours for 1,000 steps" in out
    endless = planned(capsys, "--config", "cs_clip.yaml", "--trainer.max_epochs", "-1")
    assert "hours: unknown, give --trainer.max_epochs or --trainer.max_steps" in endless


def test_costs_of_an_objective_beyond_scores_are_reported_as_not_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "costs of DeGLA beyond the scores" in planned(capsys, "--config", "degla.yaml", *TINY)


@pytest.mark.parametrize(
    ("flags", "ms"),
    [
        ([], "284.0"),
        (["--data.decoder", "pil"], "738.0"),
        (["--data.image_cache.folder", "F"], "57.0"),
        (["--image_ms", "1"], "100.0"),
    ],
)
def test_an_image_takes_as_long_as_it_is_decoded(
    flags: list[str], ms: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--config", "clip.yaml", *TINY, "--data.batch_size", "100", "--workers", "1"]
    assert f"loading {ms} ms" in planned(capsys, *given, "--texts_ms", "1e-9", *flags)


def test_a_joined_row_loads_two_images(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--config", "clic.yaml", *TINY, "--data.batch_size", "100", "--workers", "1"]
    costs = ["--image_ms", "10", "--texts_ms", "1"]
    assert "loading 2,100.0 ms" in planned(capsys, *given, *costs)


@pytest.mark.slow
def test_recomputed_blocks_are_planned_with_less_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    flag = ["--config", "cs_clip.yaml", "--model.backbone.compute.checkpoint_blocks", "true"]
    plain = planned(capsys, "--config", "cs_clip.yaml")
    less = planned(capsys, *flag)

    def activations(out: str) -> int:
        return int(out.split("activations of images ")[1].split()[0].replace(",", ""))

    assert activations(less) < activations(plain) / 4
    assert "not counted" not in less
    resnet = planned(capsys, *flag, "--model.backbone.name", "RN50")
    assert "what checkpoint_blocks saves in the image tower is not counted" in resnet
