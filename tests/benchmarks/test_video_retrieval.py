"""NegBench's retrieval of videos: the recall of mean vectors of frames, as in the public code."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

import zoo
from tests.evaluation.fakes import InMemory, drawn_images
from tests.sources.test_videos import write_video
from tests.support.samples import tied_scores
from zoo.api import Model
from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks import Case, NegBench, VideoRecall
from zoo.benchmarks.roots import read_benchmark
from zoo.errors import ZooError
from zoo.evaluation.scoring import video_scorer
from zoo.heads import Cosine, CrossModal
from zoo.module import ZooModule
from zoo.results.plan import ScorableCase
from zoo.results.runs import BenchmarkRun

ROWS = (
    "image_id,captions,filepath",
    "video1,\"['a dog runs', 'no cat but a dog']\",/data/MSRVTT/videos/video1.mp4",
    "video2,\"['a cat sleeps']\",/data/MSRVTT/videos/video2.mp4",
)


def write(root: Path, name: str = "msr_vtt_retrieval") -> None:
    path = root / f"negbench/videos/{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(ROWS) + "\n")


def read(root: Path, subset: str = "msr_vtt_retrieval") -> Case:
    (case,) = read_benchmark(NegBench(subsets=[subset]), [root]).cases
    return case


@pytest.mark.parametrize(
    ("subset", "file"),
    [
        ("msr_vtt_retrieval", "msr_vtt_retrieval"),
        ("msr_vtt_negated_retrieval", "msr_vtt_retrieval_rephrased_llama"),
    ],
)
def test_a_gallery_has_the_frames_of_all_videos(subset: str, file: str, tmp_path: Path) -> None:
    write(tmp_path, file)
    case = read(tmp_path, subset)
    assert [str(image) for image in case.images] == [
        f"video:msr_vtt/video{n}.mp4#{k}/4" for n in (1, 2) for k in range(1, 5)
    ]
    assert case.texts == ("a dog runs", "no cat but a dog", "a cat sleeps")
    assert case.match.tolist() == [[True, True, False]] * 4 + [[False, False, True]] * 4


def official_recalls(scores: NDArray[np.float32], owner: list[int]) -> dict[str, list[bool]]:
    """Returns recalls as `retrieval.py` of the public code; a wrong answer precedes its equals."""
    found: dict[str, list[bool]] = {}
    videos, texts = scores.shape
    for k in (1, 5, 10):
        for i in range(videos):
            order = sorted(range(texts), key=lambda j, i=i: (-scores[i, j], owner[j] == i))
            found.setdefault(f"i2t_r@{k}", []).append(any(owner[j] == i for j in order[:k]))
        for j in range(texts):
            order = sorted(range(videos), key=lambda i, j=j: (-scores[i, j], owner[j] == i))
            found.setdefault(f"t2i_r@{k}", []).append(owner[j] in order[:k])
    return found


def test_queries_are_about_videos_and_name_their_frames(tmp_path: Path) -> None:
    write(tmp_path)
    case = read(tmp_path)
    for video_scores in tied_scores((2, 3), 50):
        outcomes = case.judge(np.repeat(video_scores, 4, axis=0))
        found: dict[str, list[bool]] = {}
        for outcome in outcomes:
            found.setdefault(outcome.metric, []).append(outcome.right)
        assert found == official_recalls(video_scores, [0, 0, 1])
    first = [query for query in case.queries() if query.metric.endswith("r@1")]
    assert [(query.metric, query.index, query.images, query.texts) for query in first] == [
        ("i2t_r@1", 0, (0, 1, 2, 3), (0, 1)),
        ("i2t_r@1", 4, (4, 5, 6, 7), (2,)),
        ("t2i_r@1", 0, (0, 1, 2, 3), (0,)),
        ("t2i_r@1", 1, (0, 1, 2, 3), (1,)),
        ("t2i_r@1", 2, (4, 5, 6, 7), (2,)),
    ]
    assert [query.options for query in first] == [3, 3, 2, 2, 2]


def test_a_wrong_video_is_named_by_its_first_frame(tmp_path: Path) -> None:
    write(tmp_path)
    scores = np.repeat(np.array([[1, 1, 5], [2, 0, 4]], np.float32), 4, axis=0)
    wrong = [o.wrong_image for o in read(tmp_path).judge(scores) if o.metric == "t2i_r@1"]
    assert wrong == [4, 4, 0]


def test_a_video_is_the_normalized_mean_of_normalized_frames(tmp_path: Path) -> None:
    write(tmp_path)
    case = read(tmp_path)
    generator = torch.Generator().manual_seed(3)
    # frames of very different lengths, so that each normalization matters
    frames = (
        torch.randn(8, 5, generator=generator) * torch.tensor([1, 9, 1, 1, 30, 1, 2, 1])[:, None]
    )
    texts = torch.randn(3, 5, generator=generator)
    question = ScorableCase(
        BenchmarkRun("negbench"), case, np.arange(8), np.arange(3), np.arange(0)
    )
    head = Cosine()
    images, prepared = (
        side(Encoded(vectors))
        for side, vectors in ((head.prepare_images, frames), (head.prepare_texts, texts))
    )
    with torch.no_grad():
        scores = video_scorer(head, images, prepared, question, 4)(slice(0, 2))
    expected = []
    for start in (0, 4):
        units = [frame / frame.norm() for frame in frames[start : start + 4]]
        mean = sum(units[1:], units[0]) / 4
        expected.append([float(F.cosine_similarity(mean, text, dim=0)) for text in texts])
    scale = scores[0, 0] / expected[0][0]
    assert scores == pytest.approx(np.array(expected) * scale, rel=1e-4)


def test_a_model_ranks_mean_vectors_and_other_scorers_are_refused(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 6)
    match = np.repeat(np.eye(3, dtype=bool), 2, axis=0)
    texts = ("a cat", "one more dog", "grass and a tree")
    case = Case(tuple(images), texts, match, VideoRecall(2), "videos", "all")
    module = ZooModule(Backbone("zoo-tiny"))
    results = zoo.evaluate(module, InMemory([case]), tmp_path)
    model = Model(module)
    frames = model.encode_images([tmp_path / image.key for image in images])
    videos = frames.reshape(3, 2, -1).mean(1)
    videos /= np.linalg.norm(videos, axis=1, keepdims=True)
    expected = official_recalls(videos @ model.encode_texts(list(texts)).T, [0, 1, 2])
    found: dict[str, list[bool]] = {}
    for row in results.cases.to_pylist():
        found.setdefault(row["metric"], []).append(row["right"])
    assert found == expected
    other = ZooModule(Backbone("zoo-tiny"), head=CrossModal(granularity="global", layers=1))
    with pytest.raises(ZooError, match="averages the vectors of frames, and CrossModal has no"):
        zoo.evaluate(other, InMemory([case]), tmp_path)
    with pytest.raises(ZooError, match=r"averages the vectors of frames.* only scores images"):
        zoo.evaluate(lambda i, t: np.zeros((len(i), len(t))), InMemory([case]), tmp_path)


def test_videos_of_files_are_retrieved(tmp_path: Path) -> None:
    write(tmp_path)
    for n in (1, 2):
        write_video(tmp_path / f"msr_vtt/video{n}.mp4", 12 * n)
    module = ZooModule(Backbone("zoo-tiny"))
    results = zoo.evaluate(module, "negbench:msr_vtt_retrieval", tmp_path)
    assert results.value("negbench", "msr_vtt_retrieval", "t2i_r@5") == 100
