"""Commands whose arguments name classes: what help says, what is lent, and what is imported."""

import subprocess
import sys

import pytest
from jsonargparse import Namespace

from zoo.cli import main, negatives, units
from zoo.cli.command_parser import CommandParser, pass_arguments
from zoo.cli.library_internals import parser_actions, subcommand_parsers
from zoo.errors import ZooError
from zoo.support.arguments import integer_at_least

COMMANDS = [
    (parser.prog, name, command)
    for parser in (units.parser(), negatives.parser())
    for name, command in subcommand_parsers(parser).items()
]


@pytest.mark.parametrize(("program", "name", "command"), COMMANDS)
def test_help_has_a_text_for_every_argument_and_no_type(
    program: str, name: str, command: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*program.split()[1:], name, "--help"])
    assert stop.value.code == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "<class" not in page
    assert "class_path" not in page
    for action in parser_actions(command):
        assert action.help
        assert " ".join(action.help.split())[1:] in page


def test_help_shows_the_class_that_is_taken_where_none_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words, named in (("units extract", "RuleExtractor"), ("negatives export", "NegCLIPSwap")):
        with pytest.raises(SystemExit):
            main([*words.split(), "--help"])
        assert f"(default: {named})" in " ".join(capsys.readouterr().out.split())


def test_what_is_given_to_the_command_goes_to_the_class_that_takes_it() -> None:
    maker = Namespace(class_path="a.B", init_args=Namespace(seed=0, tagger=None))
    pass_arguments(maker, "--maker", seed=3, tagger=None)
    assert maker.init_args == Namespace(seed=3, tagger=None)
    pass_arguments(maker, "--maker", other=None)
    with pytest.raises(ZooError, match="--maker B takes no other: remove --other"):
        pass_arguments(maker, "--maker", other=1)


def test_a_missing_command_is_asked_for_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["units"])
    assert capsys.readouterr().err == (
        "zoo: `zoo units` needs one of the commands extract, count, show, report, audit, as in "
        "`zoo units extract`: `zoo units --help` lists the commands\n"
    )


def test_torch_is_not_imported_to_extract_or_export(tmp_path: str) -> None:
    code = (
        "import sys; from zoo.cli import main; open('c.txt', 'w').write('A man rides a horse');"
        "assert main(['units', 'extract', 'c.txt', '--out', 'units.jsonl']) == 0; "
        "assert main(['negatives', 'export', 'c.txt', '--out', 'negatives.jsonl']) == 0; "
        "assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_a_list_that_is_given_twice_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["data", "pack", "x", "--out", "y", "--data_root", "a", "--data_root=b"])
    assert stop.value.code == 2
    said = "zoo: --data_root is given 2 times: put all values after one\n"
    assert capsys.readouterr().err == said


@pytest.fixture
def parser() -> CommandParser:
    parser = CommandParser(prog="zoo thing")
    subparser = CommandParser()
    subparser.add_argument("--splits")
    subparser.add_argument("--n", type=integer_at_least(1), default=1)
    parser.add_subcommands(dest="command", required=True).add_subcommand("make", subparser)
    return parser


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["make", "--spilts", "x"],
            "zoo: unrecognized arguments: --spilts x (did you mean --splits?)\n",
        ),
        (
            ["make", "--split", "x"],
            "zoo: unrecognized arguments: --split x (did you mean --splits?)",
        ),  # no abbreviations
        (["make", "--n", "-3"], "zoo: argument --n: '-3' is not an integer of at least 1"),
        (["make", "--n", "many"], "zoo: argument --n: 'many' is not an integer of at least 1"),
        (["mak"], "zoo: argument command: invalid choice: 'mak'"),
        ([], "zoo: `zoo thing` needs one of the commands make, as in `zoo thing make`"),
    ],
)
def test_a_mistake_is_one_line(
    parser: CommandParser, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(arguments)
    told = capsys.readouterr().err
    assert stop.value.code == 2
    assert told.startswith(says)
    assert told.count("\n") == 1


def test_whole_options_are_understood(parser: CommandParser) -> None:
    assert parser.parse_args(["make", "--splits", "x", "--n", "3"]) == Namespace(
        command="make", make=Namespace(splits="x", n=3)
    )


@pytest.mark.parametrize("words", [["make", "--splits", ""], ["make", "--splits="]])
def test_an_empty_value_of_a_flag_is_refused(
    words: list[str], parser: CommandParser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert "--splits has an empty value" in capsys.readouterr().err


def test_flags_of_another_command_are_split_off_with_their_values() -> None:
    parser = CommandParser(prog="zoo thing")
    parser.add_argument("--n", type=int)
    words = ["--config", "a.yaml", "--n", "-3", "--data_root", "x", "y", "--n=4"]
    own_words, other_words = parser.split_words(words)
    assert own_words == ["--n", "-3", "--n=4"]
    assert other_words == ["--config", "a.yaml", "--data_root", "x", "y"]
