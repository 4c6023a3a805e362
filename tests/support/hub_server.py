"""A stand-in for the Hugging Face hub on this machine, with repositories that can be downloaded."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + 34 * "0"


@dataclass
class HubServer:
    """What it has, and what it was asked.

    Attributes:
        datasets: The files of each data set and each model.
        gated: The data sets whose licence the user `reader` alone has accepted.
        faults: What goes wrong with the downloads of a file, in order: `cut` or a status.
        downloads: The file and range of each download, in order.
        url: Its address.
    """

    datasets: dict[str, dict[str, bytes]]
    gated: frozenset[str]
    faults: dict[str, list[str]]
    downloads: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serve_hub(
    datasets: Mapping[str, Mapping[str, bytes]],
    gated: frozenset[str] = frozenset(),
    faults: Mapping[str, list[str]] | None = None,
) -> Iterator[HubServer]:
    hub = HubServer(
        {name: dict(files) for name, files in datasets.items()},
        gated,
        {name: list(names) for name, names in (faults or {}).items()},
    )

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, with_body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            kinds = r"/(?:api/)?(?:datasets/|models/)?"
            match = re.fullmatch(
                kinds + r"([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)/?(.*)", path
            ) or re.fullmatch(kinds + r"([^/]+/[^/]+)()()()", path)
            if match is None or match[1] not in hub.datasets:
                self.refuse(404, "RepoNotFound")
                return
            name, kind, _, file = match.groups()
            accepted = self.headers.get("Authorization") == "Bearer reader"
            if name in hub.gated and kind == "resolve" and not accepted:
                self.refuse(403, "GatedRepo")
            elif kind == "resolve":
                self.send_file(name, file, with_body)
            else:
                files = hub.datasets[name]
                entries = [
                    {"type": "file", "path": p, "size": len(c), "oid": etag(c)}
                    for p, c in files.items()
                ]
                siblings = [{"rfilename": p} for p in files]
                about = {"id": name, "sha": COMMIT, "private": False, "siblings": siblings}
                self.send_json(entries if kind == "tree" else about)

        def refuse(self, status: int, code: str) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def send_json(self, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def send_file(self, name: str, file: str, with_body: bool) -> None:
            content = hub.datasets[name].get(file)
            if content is None:
                self.refuse(404, "EntryNotFound")
                return
            fault = ""
            span = self.headers.get("Range", "")
            if with_body:
                hub.downloads.append((file, span))
                queued = hub.faults.get(file, [])
                fault = queued.pop(0) if queued else ""
            if fault.isdecimal():
                self.refuse(int(fault), "")
                return
            start = int(span[6:].partition("-")[0]) if span else 0
            body = content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}"
                )
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{etag(content)}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def etag(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
