"""Windows: bounded, and counted where they encode an item again."""

from pathlib import Path

import numpy as np

from tests.evaluation.fakes import (
    FakeBackbone,
    TokenHead,
    cases,
    drawn_images,
    evaluation,
    measured,
)
from zoo.benchmarks.base import Case
from zoo.evaluation.token_windows import windows


def test_windows_hold_bounded_bytes_and_count_what_is_encoded_twice(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7), retrieval=False), FakeBackbone()
    found = measured(evaluation(tmp_path, made, window_bytes=4000), backbone, TokenHead())
    scoring = found.header["scoring"]
    assert scoring["windows"] > 1
    assert backbone.images_seen == 7 + scoring["images encoded twice"] > 7
    assert (
        backbone.texts_seen == scoring["texts"] + scoring["texts encoded twice"] > scoring["texts"]
    )


def test_windows_keep_to_their_limit(tmp_path: Path) -> None:
    engine = evaluation(tmp_path, cases(drawn_images(tmp_path, 9), retrieval=False))
    made = windows(engine.plan, image_bytes=100, text_bytes=10, limit=400)
    assert sorted(q for w in made for q in w.questions) == list(range(len(engine.plan.cases)))
    assert all(
        100 * len(w.images) + 10 * len(w.texts) <= 400 or len(w.questions) == 1 for w in made
    )
    assert len(made) < len(engine.plan.cases)


def test_questions_of_one_image_share_a_window_that_holds_them(tmp_path: Path) -> None:
    made = [
        Case(
            (image,), (f"{i} {k} a", f"{i} {k} b"), np.array([[True, False]]), "i2t", "p", f"{i}{k}"
        )
        for i, image in enumerate(drawn_images(tmp_path, 4))
        for k in range(3)
    ]
    plan = evaluation(tmp_path, made).plan
    # an image and its six texts take 160: two of the next image's questions would still fit
    found = windows(plan, image_bytes=100, text_bytes=10, limit=300)
    assert [len(window.questions) for window in found] == [3, 3, 3, 3]
    assert [len(w.questions) for w in windows(plan, 100, 10, limit=320)] == [6, 6]
    assert [len(w.questions) for w in windows(plan, 100, 10, limit=140)] == [2, 1] * 4
