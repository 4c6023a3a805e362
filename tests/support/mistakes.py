"""How mistakes are tried.

There are what a command says, a disk that is full after so many bytes, and files that are broken.
"""

import io
import json
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from zoo.cli import main


@dataclass(frozen=True)
class Said:
    """What a command left: its exit status and what it printed."""

    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one line that names a mistake.

        Fails where there is another number of them, a traceback, or success.
        """
        told = [line for line in self.err.splitlines() if line.startswith("zoo: ")]
        assert "Traceback" not in self.out + self.err, self.err
        assert self.status not in (0, None)
        assert len(told) == 1, self.err
        return told[0]


def said(arguments: Sequence[str]) -> Said:
    """Runs a command in this process.

    Any other exception than the parser's exit would be a traceback, and is raised.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(list(arguments))
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Said(status, out.getvalue(), err.getvalue())


@contextmanager
def full_after(n: int) -> Iterator[None]:
    """Lets the kernel refuse the byte after the n-th of every file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    """Returns the content of every file under a folder, hidden ones included."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def names(folder: Path) -> set[str]:
    """Returns the names of every file and folder under a folder, hidden and empty ones included."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def truncated_jpeg(root: Path) -> Path:
    """Makes the image of the fourth caption of a made root a JPEG that ends too early.

    Returns its path.
    """
    picture, broken = root / "pictures" / "003.png", root / "pictures" / "003.jpg"
    Image.open(picture).resize((200, 200)).save(broken)
    broken.write_bytes(broken.read_bytes()[:900])
    for table in ("captions.tsv", "pairs.csv"):
        edit(root / table, lambda text: text.replace(str(picture), str(broken)))
    return broken


def edit(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


def edit_units(root: Path, line: int, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Changes one record of the units file of a made root; line: from 0."""
    rows = [json.loads(row) for row in (root / "units.jsonl").read_text().splitlines()]
    rows[line] = change(rows[line])
    (root / "units.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def caption_of(root: Path, row: int, change: Callable[[str], str]) -> None:
    """Changes one caption of the table of a made root; row: from 1."""
    lines = (root / "captions.tsv").read_text().splitlines()
    image, caption = lines[row].split("\t")
    lines[row] = f"{image}\t{change(caption)}"
    (root / "captions.tsv").write_text("\n".join(lines) + "\n")


def long_table(root: Path, line: int, broken: bytes) -> Path:
    """Writes a table of 2,000 captions in which one line is broken.

    Lines count from 1, which is the header. Returns the table's path.
    """
    header, *rows = (root / "captions.tsv").read_bytes().splitlines()
    lines = [header, *(rows[i % len(rows)] for i in range(2_000))]
    lines[line - 1] = broken
    (root / "long.tsv").write_bytes(b"\n".join(lines) + b"\n")
    return root / "long.tsv"
