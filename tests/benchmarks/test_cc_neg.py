"""CC-Neg: the last entries of a file of torch, which is read without running code from it."""

import os
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.samples import counted, tied_scores
from zoo.benchmarks import CCNeg, cc_neg
from zoo.benchmarks.plain_pickles import read_plain_pickle
from zoo.benchmarks.roots import read_benchmark
from zoo.errors import ZooError

FILE = "cc_neg/ccneg_preprocessed.pt"


def entry(caption: str, negated: str) -> dict[str, Any]:
    return {"json": {"caption": caption, "key": "0"}, "sop_data": {"negative-prompt": negated}}


def write(root: Path, annotations: Sequence[Any], paths: Sequence[Any] | None = None) -> Path:
    path = root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [f"/workspace/datasets/cc3m/x/{i:08}.jpg" for i in range(len(annotations))]
    content = {"image_paths": names if paths is None else paths, "annotations": list(annotations)}
    torch.save(content, path)
    return path


def test_the_last_entries_are_cases_whose_negations_have_no_commas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cc_neg, "EVALUATED", 2)
    write(tmp_path, [entry(f"a {i}", f"not a {i}, but b,") for i in range(5)])
    contents = read_benchmark(CCNeg(), [tmp_path])
    assert [case.id for case in contents.cases] == ["3", "4"]
    case = contents.cases[0]
    assert case.texts == ("a 3", "not a 3 but b")
    folder = "cc_neg/ccneg_images/cc3m_subset_images_extracted_final"
    assert str(case.images[0]) == f"published:{folder}/00000003.jpg"
    assert contents.notes == {"evaluation cases": "2 in the file, 40,000 as published"}


def test_an_argmax_over_caption_and_negation_decides(tmp_path: Path) -> None:
    write(tmp_path, [entry("a", "not a")])
    (case,) = read_benchmark(CCNeg(), [tmp_path]).cases
    for scores in tied_scores((1, 2)):
        assert counted(case, scores) == {"i2t": [int(np.argmax(scores[0])) == 0]}


@pytest.mark.parametrize(
    ("annotations", "paths", "message"),
    [
        ([entry("a", "not a")] * 2, ["1.jpg"], "has 2 annotations and 1 image paths"),
        ([{"json": {}}], None, r"\[annotations/0\]: field 'json.caption' is missing"),
        ([entry("a", "")], None, r"'sop_data.negative-prompt' is blank"),
        ([entry("a", "not a")], [3], r"\[image_paths/0\]"),
    ],
)
def test_a_broken_entry_is_named(
    annotations: list[Any], paths: list[Any] | None, message: str, tmp_path: Path
) -> None:
    write(tmp_path, annotations, paths)
    with pytest.raises(ZooError, match=message):
        read_benchmark(CCNeg(), [tmp_path])


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


def test_no_code_of_a_file_is_run(tmp_path: Path) -> None:
    path = write(tmp_path, [entry("a", "not a")])
    assert read_plain_pickle(path) == torch.load(path, weights_only=True)
    torch.save({"annotations": Runs(tmp_path / "made")}, path)
    with pytest.raises(ZooError, match=r"has posix\.mkdir, but must have only numbers, texts"):
        read_plain_pickle(path)
    assert not (tmp_path / "made").exists()
    torch.save({"annotations": torch.zeros(2)}, path)
    with pytest.raises(ZooError, match=r"has torch._utils._rebuild_tensor_v2, but must have only"):
        read_plain_pickle(path)


def test_a_file_that_is_cut_or_of_another_format_is_one_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, [entry("a", "not a")] * 40)
    content = path.read_bytes()
    other = pickle.dumps({"annotations": []})
    with zipfile.ZipFile(tmp_path / "cut.pt", "w") as archive:
        archive.writestr("a/data.pkl", other[:10])
    for broken in (content[: len(content) // 2], other, (tmp_path / "cut.pt").read_bytes()):
        path.write_bytes(broken)
        with pytest.raises(ZooError, match=r"is not a complete file of torch\.save"):
            read_plain_pickle(path)
