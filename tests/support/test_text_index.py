"""TextIndex: rows of a table by the text of a column."""

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zoo.support import text_index as module
from zoo.support.text_index import TextIndex, build_text_index


def keys(texts: list[str]) -> TextIndex:
    return TextIndex(
        pa.chunked_array([texts], pa.string()), pa.Table.from_batches([build_text_index(texts)])
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=3), max_size=20))
def test_a_text_has_all_of_its_rows_in_their_order(texts: list[str]) -> None:
    found = keys(texts)
    for text in {*texts, "absent"}:
        assert found.rows(text) == [i for i, other in enumerate(texts) if other == text]


def test_texts_of_one_hash_are_told_apart(monkeypatch) -> None:
    monkeypatch.setattr(module, "crc32", lambda content: 7)
    found = keys(["b", "a", "b"])
    assert (found.rows("b"), found.rows("a"), found.rows("c")) == ([0, 2], [1], [])
