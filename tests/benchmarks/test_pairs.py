import re

import pytest

from zoo.benchmarks.pairs import Pairs
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef


def write(tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_become_cases_with_their_subset(tmp_path):
    (tmp_path / "cat.png").write_bytes(b"")
    path = write(
        tmp_path,
        'image,caption,foil,subset\ncat.png,"a cat, asleep",a dog,pets\n'
        "000000000724.jpg,a sign,a car,\nx/y.png,a,b,pets\n",
    )
    contents = Pairs(str(path)).read(tmp_path)
    assert [case.images[0] for case in contents.cases] == [
        ImageRef("file", str(tmp_path / "cat.png")),
        ImageRef("file", "000000000724.jpg"),
        ImageRef("file", "x/y.png"),
    ]
    assert [case.subset for case in contents.cases] == ["pets", "mine", "pets"]
    assert contents.cases[0].texts == ("a cat, asleep", "a dog")
    assert [case.id for case in contents.cases] == ["2", "3", "4"]
    assert contents.cases[0].match.tolist() == [[True, False]]


def test_the_file_may_lie_under_the_data_root(tmp_path):
    write(tmp_path, "image,caption,foil\nx.png,a,b\n")
    assert [case.subset for case in Pairs("mine.csv").read(tmp_path).cases] == ["mine"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "image,captions,foil\nx.png,a,b\n",
            r"mine\.csv:1 has no column 'caption' \(did you mean captions\?\)",
        ),
        ("image,caption,foil\nx.png,a,b\nx.png,a, \n", r"mine\.csv:3: column 'foil' is empty"),
        ("image,caption,foil\nx.png,a\n", r"mine\.csv:2 has 2 fields, but the header has 3"),
        ("image,caption,foil\nx.png,a,b,c\n", r"mine\.csv:2 has 4 fields, but the header has 3"),
        ('image,caption,foil\nx.png,"a"a,b\n', r"mine\.csv:2 is not CSV"),
        ("image,caption,foil\n", r"mine\.csv has no row"),
        ("", r"mine\.csv:1 has no column 'image'"),
        ("image,words,foil\nx.png,a,b\n", r"no column 'caption'.*choose one with .*caption_column"),
        ("image,caption,foil,foil\nx.png,a,b,c\n", r"csv:1 has the column 'foil' 2 times"),
        ("image,caption,foil,subset,subset\nx.png,a,b,c,d\n", r"the column 'subset' 2 times"),
    ],
)
def test_mistakes_are_named_by_line_and_column(tmp_path, text, named):
    path = write(tmp_path, text)
    with pytest.raises(ZooError, match=named):
        Pairs(str(path)).read(tmp_path)


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("filepath\ttitle\tfoil", {}),
        ("path,sentence,negative", {}),
        ("photo;words;wrong", {"image_column": "photo", "caption_column": "words"}),
    ],
)
def test_a_table_of_captions_may_be_asked_about_as_it_is(tmp_path, header, options):
    separator = next(mark for mark in "\t,;" if mark in header)
    path = write(tmp_path, f"{header}\nx.png,a,b\n".replace(",", separator))
    if options:
        options = {**options, "foil_column": "wrong", "separator": ";"}
    (case,) = Pairs(str(path), **options).read(tmp_path).cases
    assert (case.images, case.texts) == ((ImageRef("file", "x.png"),), ("a", "b"))


def test_an_unknown_column_of_foils_is_answered_with_flags_that_set_it(tmp_path):
    path = write(tmp_path, "image,caption,wrong\nx.png,a,b\n")
    flags = f"--benchmarks pairs --benchmarks.file {path} --benchmarks.foil_column NAME"
    with pytest.raises(ZooError, match=re.escape(flags)):
        Pairs(str(path)).read(tmp_path)
