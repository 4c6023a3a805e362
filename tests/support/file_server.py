"""A server of files on this machine that fails as told, for downloads."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from zoo.downloads.files import listed_files

COCO = "s3.amazonaws.com/images.cocodataset.org"
DRIP = 64 << 10  # bytes that a slow answer sends before it pauses


@dataclass
class FileServer:
    """What it serves, and what it was asked.

    Attributes:
        files: The content by path, without the leading slash.
        faults: What goes wrong with the requests of a path, in order: a status such as `503`,
            `503 after 7` (Retry-After), `cut` (half of the bytes), `stalled` (no byte), `drip` (a
            few bytes, then none), `whole` (the range is ignored), `other` (other bytes) or
            `page` (a web page).
        requests: The path and range of each download, in order.
        url: Its address.
    """

    files: dict[str, bytes]
    faults: dict[str, list[str]]
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def ranges(self, path: str) -> list[str]:
        return [span for asked, span in self.requests if asked == path]


@contextmanager
def serve_files(
    files: Mapping[str, bytes], faults: Mapping[str, list[str]] | None = None
) -> Iterator[FileServer]:
    state = FileServer(dict(files), {path: list(names) for path, names in (faults or {}).items()})
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            content = state.files.get(self.path.lstrip("/"))
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()

        def do_GET(self) -> None:
            path, span = self.path.lstrip("/"), self.headers.get("Range", "")
            state.requests.append((path, span))
            queued = state.faults.get(path, [])
            fault = queued.pop(0) if queued else ""
            if fault == "stalled":
                over.wait()
                return
            status = re.match(r"\d{3}", fault)
            if status or path not in state.files:
                self.send_response(int(status[0]) if status else 404)
                if " after " in fault:
                    self.send_header("Retry-After", fault.rpartition(" ")[2])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = state.files[path]
            match = re.fullmatch(r"bytes=(\d+)-", span)
            start = int(match[1]) if match and fault != "whole" else 0
            if start > len(content):
                self.send_error(416)
                return
            self.send_response(206 if match and fault != "whole" else 200)
            if match and fault != "whole":
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"
                )
            body = content[start:] if fault != "other" else b"?" * len(content)
            if fault == "page":
                self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if fault == "drip":
                self.wfile.write(body[:DRIP])
                self.wfile.flush()
                over.wait()
            else:
                self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def mirrored(name: str, folder: Path) -> dict[str, bytes]:
    """The files of a set by their paths on a mirror, read from a data root."""
    return {
        file.url.partition("://")[2]: (folder / file.path).read_bytes()
        for file in listed_files()[name]
    }


def mirrored_sugarcrepe(shared_data: Path) -> dict[str, bytes]:
    """The files of SugarCrepe and the shared photographs, by their paths on a mirror."""
    photographs = (shared_data / "coco" / "val2017").glob("*.jpg")
    return mirrored("sugarcrepe", shared_data) | {
        f"{COCO}/val2017/{path.name}": path.read_bytes() for path in photographs
    }
