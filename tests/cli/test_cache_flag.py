"""`--cache`: where vectors are kept, or none of them, wherever it is typed."""

import pytest

from zoo.cli.fit import parse_settings
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.errors import ZooError

BENCHMARKS = ["--benchmarks", "sugarcrepe", "--model.backbone.name", "zoo-tiny"]


@pytest.mark.parametrize(
    ("typed", "folder", "limit"),
    [
        (["--cache", "there", *BENCHMARKS], "there", 4.0),
        ([*BENCHMARKS, "--data.cache.limit_gib", "0.5", "--cache", "there"], "there", 0.5),
    ],
)
def test_it_names_a_folder(typed: list[str], folder: str | None, limit: float) -> None:
    cache = parse_settings(["validate", *typed]).data.init_args.cache
    assert (cache.folder, cache.limit_gib) == (folder, limit)


@pytest.mark.parametrize(
    ("typed", "tokens", "folder"),
    [
        (BENCHMARKS, False, None),
        ([*BENCHMARKS, "--cache_tokens"], True, None),
        (["--cache_tokens", "--cache", "there", *BENCHMARKS], True, "there"),
        (["--cache", "there", *BENCHMARKS, "--cache_tokens", "false"], False, "there"),
        ([*BENCHMARKS, "--data.cache.tokens", "true"], True, None),
    ],
)
def test_tokens_are_kept_where_it_is_asked(
    typed: list[str], tokens: bool, folder: str | None
) -> None:
    cache = parse_settings(["validate", *typed]).data.init_args.cache
    assert (cache.tokens, cache.folder) == (tokens, folder)


def test_tokens_of_no_cache_are_refused() -> None:
    for off in (["--cache", "off"], ["--cache=off"]):
        with pytest.raises(ZooError, match=r"--cache off and --cache_tokens contradict each other"):
            parse_settings(["validate", *BENCHMARKS, "--cache_tokens", *off])


def test_tokens_without_benchmarks_are_refused_by_the_name_of_the_setting() -> None:
    with pytest.raises(ZooError, match=r"requires --benchmarks.*--data.cache.tokens$"):
        parse_settings(["validate", "--cache_tokens", "--model.backbone.name", "zoo-tiny"])


@pytest.mark.parametrize(
    "flags",
    [
        ["--cache", "off"],
        ["--cache", "off", "--cache_tokens", "false"],
        ["--cache_tokens", "false", "--cache", "off"],
    ],
)
def test_it_turns_the_cache_off_in_any_order(flags: list[str]) -> None:
    settings = parse_settings(["validate", *BENCHMARKS, *flags])
    assert settings.data.class_path.endswith(EvaluationDataModule.__name__)
    assert settings.data.init_args.cache is None
