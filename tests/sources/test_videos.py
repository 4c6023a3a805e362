"""Frames of videos: which ones are taken, and that they are decoded exactly."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from zoo.errors import ZooError
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.sample import ImageRef
from zoo.sources.videos import frame_index, frame_refs


def write_video(path: Path, n_frames: int) -> Path:
    """Writes a video whose frames get brighter by five levels each."""
    av: Any = pytest.importorskip("av", reason="videos are decoded by PyAV: pip install av")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.bit_rate = 4_000_000
        for i in range(n_frames):
            grey = np.full((48, 64, 3), 20 + 5 * i, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode())
    return path


def test_frames_are_those_of_the_uniform_sampler_of_negbench() -> None:
    """The public code computes with torch: integer ticks, and their middles rounded to even."""
    for length in range(1, 400):
        for n in (1, 2, 4, 7):
            ticks = torch.linspace(0, length - 1, n + 1, dtype=torch.int)
            middles = (ticks[:-1] + ticks[1:]) / 2
            expected = torch.round(middles).int().tolist()
            assert [frame_index(length, k, n) for k in range(1, n + 1)] == expected


def test_a_frame_of_a_video_is_decoded_exactly(tmp_path: Path) -> None:
    write_video(tmp_path / "msr_vtt/video1.mp4", 40)
    finder = ImageFinder([tmp_path])
    refs = frame_refs("msr_vtt/video1.mp4", 4)
    assert finder.find_missing(refs) == []
    brightness = [np.asarray(finder.load(ref)).mean() for ref in refs]
    indices = [frame_index(40, k, 4) for k in (1, 2, 3, 4)]
    assert indices == [4, 14, 24, 34]
    assert brightness == pytest.approx([20 + 5 * i for i in indices], abs=2)
    assert finder.load(refs[0]).size == (64, 48)


def test_a_missing_video_is_missing_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    pytest.importorskip("av", reason="videos are decoded by PyAV: pip install av")
    (ref,) = frame_refs("video1.mp4", 1)
    assert ImageFinder([tmp_path]).find(ref) is None
    (tmp_path / "video2.mp4").write_bytes(b"not a video")
    with pytest.raises(BrokenImage, match=r"video2.mp4 .* is damaged or not a video"):
        ImageFinder([tmp_path]).load(*frame_refs("video2.mp4", 1))


def test_without_pyav_a_video_that_exists_is_refused_before_anything_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    (tmp_path / "video1.mp4").touch()
    finder = ImageFinder([tmp_path])
    assert finder.find_missing(frame_refs("video2.mp4", 4)) == [*frame_refs("video2.mp4", 4)]
    with pytest.raises(ZooError, match="av is not installed: pip install av"):
        finder.find_missing(frame_refs("video1.mp4", 4))


@pytest.mark.parametrize("key", ["video1.mp4", "video1.mp4#0/4", "video1.mp4#5/4", "#1/4"])
def test_a_key_that_names_no_frame_is_refused(key: str, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="write FILE#K/N"):
        ImageFinder([tmp_path]).find(ImageRef("video", key))
