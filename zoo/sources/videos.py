"""Frames of videos, decoded by PyAV."""

import re
from pathlib import Path
from typing import Any

from PIL import Image

from zoo.errors import ZooError, import_optional
from zoo.sources.sample import ImageRef


def frame_refs(path: str, n_frames: int) -> tuple[ImageRef, ...]:
    """Returns references to frames that are spread evenly over a video.

    Args:
        path: Path of the video, absolute or under a data root.
        n_frames: Number of frames.
    """
    return tuple(ImageRef("video", f"{path}#{k}/{n_frames}") for k in range(1, n_frames + 1))


def split_frame_key(ref: ImageRef) -> tuple[str, int, int]:
    """Returns the path of the video, the number of the frame from 1, and the number of frames.

    Raises:
        ZooError: The key has another form.
    """
    match = re.fullmatch(r"(.+)#([1-9]\d*)/([1-9]\d*)", ref.key)
    if match is None or int(match[2]) > int(match[3]):
        raise ZooError(f"{ref} does not name a frame of a video: write FILE#K/N, such as FILE#1/4")
    return match[1], int(match[2]), int(match[3])


def frame_index(length: int, number: int, n_frames: int) -> int:
    """Returns the index of one of several frames that are spread evenly over a video.

    The video is cut into `n_frames` parts of equal length, and the frame in the middle of a part is
    taken, as in the public code of NegBench (`UniformFrameSampler`).

    Args:
        length: Number of frames of the video.
        number: Number of the part, from 1.
        n_frames: Number of parts.
    """
    start, end = ((length - 1) * part // n_frames for part in (number - 1, number))
    return round((start + end) / 2)  # a half is rounded to the even number, as torch.round does


def check_video_reader() -> None:
    """Checks that videos can be read.

    Raises:
        ZooError: PyAV is not installed.
    """
    import_optional("av")


def read_frame(path: Path, number: int, n_frames: int) -> Image.Image:
    """Returns a frame of a video in RGB.

    If the video ends before the frame that its header promises, the last frame is returned.

    Args:
        path: The video.
        number: Number of the part that the frame is the middle of, from 1.
        n_frames: Number of parts.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a video, or has no frames.
        ZooError: PyAV is not installed.
    """
    av: Any = import_optional("av")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise ValueError("it has no video stream")
            length = container.streams.video[0].frames or _count_frames(av, path)
            index, last = frame_index(length, number, n_frames), None
            for i, frame in enumerate(container.decode(video=0)):
                last = frame
                if i == index:
                    break
            if last is None:
                raise ValueError("it has no frames")
            image: Image.Image = last.to_image()
            return image
    except av.error.FFmpegError as error:
        raise ValueError(str(error)) from error


def _count_frames(av: Any, path: Path) -> int:
    """Returns the number of frames of a video whose header does not state it."""
    with av.open(str(path)) as container:
        return sum(1 for packet in container.demux(video=0) if packet.size)
