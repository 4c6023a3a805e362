"""Arguments of the small commands."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.support.arguments import Parser, split_list, whole_number


@pytest.fixture
def parser() -> Parser:
    parser = Parser(prog="zoo thing")
    made = parser.add_subparsers(dest="command", required=True).add_parser("make")
    made.add_argument("--splits")
    made.add_argument("--n", type=whole_number(1), default=1)
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
        ([], "zoo: the following arguments are required: command"),
    ],
)
def test_a_mistake_is_one_line(
    parser: Parser, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(arguments)
    told = capsys.readouterr().err
    assert stop.value.code == 2
    assert told.startswith(says)
    assert told.count("\n") == 1


def test_whole_options_are_understood(parser: Parser) -> None:
    assert parser.parse_args(["make", "--splits", "x", "--n", "3"]) == argparse.Namespace(
        command="make", splits="x", n=3
    )


@given(
    st.lists(st.text("abc:./", min_size=1), min_size=1, unique=True),
    st.sampled_from([",", ", ", " ,"]),
)
def test_names_between_commas_lose_the_space_around_them(names: list[str], comma: str) -> None:
    assert split_list(comma.join(names), "--names") == names


@pytest.mark.parametrize("text", ["", "a,", ",a", "a,,b", " "])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(ZooError, match=f"--names '{text}' has an empty name"):
        split_list(text, "--names")


def test_a_list_that_is_given_twice_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="made")
    parser.add_argument("--data_root", nargs="+")
    assert parser.parse_args(["--data_root", "a", "b"]).data_root == ["a", "b"]
    with pytest.raises(SystemExit):
        parser.parse_args(["--data_root=a", "--data_root", "b"])
    error = capsys.readouterr().err
    assert error == "zoo: --data_root is given 2 times: put all values after one\n"


@pytest.mark.parametrize("words", [["make", "--splits", ""], ["make", "--splits="]])
def test_an_empty_value_of_a_flag_is_refused(
    words: list[str], parser: Parser, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert "--splits has an empty value" in capsys.readouterr().err


def test_a_name_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(
        ZooError, match="--reference_models 'negclip,negclip': negclip is repeated: name it once"
    ):
        split_list("negclip,negclip", "--reference_models")
