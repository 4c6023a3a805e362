"""The private names of other libraries, with the versions in which they exist."""

import tomllib
from pathlib import Path

import pytest
from lightning.pytorch.cli import LightningCLI
from packaging.requirements import Requirement

from zoo.cli.command_parser import CommandParser
from zoo.cli.library_internals import actions_by_option, parser_actions, subcommand_parsers

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("package", "next_version"), [("jsonargparse", "5.0"), ("lightning", "2.7.0")]
)
def test_the_next_version_is_excluded(package: str, next_version: str) -> None:
    dependencies = map(
        Requirement, tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["dependencies"]
    )
    requirement = next(dependency for dependency in dependencies if dependency.name == package)
    assert not requirement.specifier.contains(next_version)


def test_a_parser_shows_its_actions_and_subcommands() -> None:
    parser, subparser = CommandParser(prog="zoo thing"), CommandParser()
    out = subparser.add_argument("--out")
    assert not subcommand_parsers(parser)
    parser.add_subcommands(dest="command").add_subcommand("make", subparser)
    assert list(subcommand_parsers(parser)) == ["make"]
    assert out in parser_actions(subparser)
    assert actions_by_option(subparser)["--out"] is out


def test_lightning_calls_the_methods_that_are_replaced() -> None:
    """`zoo fit` runs code around a command, and leaves out Lightning's reading of `ckpt_path`."""
    assert callable(LightningCLI._run_subcommand)
    assert callable(LightningCLI._parse_ckpt_path)
