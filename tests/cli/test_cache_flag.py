"""`--cache`: where vectors are kept, or none of them, wherever it is typed."""

import pytest

from zoo.cli.fit import settings_of
from zoo.datamodules.benchmarks import EvaluationDataModule

BENCHMARKS = ["--benchmarks", "sugarcrepe", "--model.backbone.name", "zoo-tiny"]


@pytest.mark.parametrize(
    ("typed", "folder", "limit"),
    [
        (BENCHMARKS, None, 4.0),
        (["--cache", "there", *BENCHMARKS], "there", 4.0),
        ([*BENCHMARKS, "--data.cache.limit_gib", "0.5", "--cache", "there"], "there", 0.5),
    ],
)
def test_it_names_a_folder(typed: list[str], folder: str | None, limit: float) -> None:
    cache = settings_of(["validate", *typed]).data.init_args.cache
    assert (cache.folder, cache.limit_gib) == (folder, limit)


def test_it_turns_the_cache_off() -> None:
    settings = settings_of(["validate", *BENCHMARKS, "--cache", "off"])
    assert settings.data.class_path.endswith(EvaluationDataModule.__name__)
    assert settings.data.init_args.cache is None
