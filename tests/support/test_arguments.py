"""Arguments of the small commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.support.arguments import split_list


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


def test_a_name_that_is_listed_twice_is_refused() -> None:
    with pytest.raises(
        ZooError, match="--reference_models 'negclip,negclip': negclip is repeated: name it once"
    ):
        split_list("negclip,negclip", "--reference_models")
