"""Tars of images and captions, as img2dataset writes them, and a server of files that fails."""

import io
import re
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image


def picture(number: int, kind: str = "JPEG") -> bytes:
    """An image whose width tells its number."""
    buffer = io.BytesIO()
    Image.new("RGB", (8 + number, 8), (number * 20 % 256, 80, 40)).save(buffer, kind)
    return buffer.getvalue()


def write_tar(path: Path, files: Sequence[tuple[str, bytes]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def sample(number: int) -> list[tuple[str, bytes]]:
    """The files of a sample, whose .json has another caption."""
    key = f"{number:09}"
    return [
        (f"{key}.jpg", picture(number)),
        (f"{key}.txt", f"a picture {number}\n".encode()),
        (f"{key}.json", f'{{"said": "number {number}", "width": {8 + number}}}'.encode()),
    ]


def write_shards(folder: Path, n: int = 6, per_shard: int = 3) -> Path:
    for shard, start in enumerate(range(0, n, per_shard)):
        numbers = range(start, min(n, start + per_shard))
        files = [file for number in numbers for file in sample(number)]
        write_tar(folder / f"{shard:05}.tar", files)
    return folder


@contextmanager
def served(
    folder: Path, faults: Mapping[int, str] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Serves a folder on this machine.

    Args:
        folder: The folder.
        faults: What goes wrong with GET requests, by their numbers from 0: `503`, `404`, `cut`
            (the connection ends within the bytes), `stalled` (no byte comes) or `whole` (the part
            that is asked for is not heeded). -1 is all others.

    Yields:
        The URL, and the requests so far.
    """
    asked: list[str] = []
    over = threading.Event()
    faults = faults or {}

    class Files(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(None)

        def do_GET(self) -> None:
            number = sum(line.startswith("GET") for line in asked)
            asked.append(f"GET {self.path}")
            self.answer(faults.get(number, faults.get(-1, "none")))

        def answer(self, fault: str | None) -> None:
            file = folder / self.path.lstrip("/")
            if fault == "stalled":
                over.wait()
                return
            if fault in ("503", "404") or not file.is_file():
                self.send_error(int(fault) if fault in ("503", "404") else 404)
                return
            content = file.read_bytes()
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if span and fault != "whole":
                content = content[int(span[1]) : int(span[2]) + 1]
            self.send_response(206 if span and fault != "whole" else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if fault is not None:
                self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
