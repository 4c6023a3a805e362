"""Detects the format of a caption file, for commands that accept any format."""

import re
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.readers.base import Reader
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.karpathy import SPLITS, KarpathyJson
from zoo.sources.readers.negclip_tsv import NegClipTsv
from zoo.sources.readers.parquet_table import ParquetTable, parquet_file
from zoo.sources.readers.plain_text import PlainText
from zoo.sources.readers.scenes import Scenes
from zoo.sources.readers.tables import CAPTION_COLUMNS, IMAGE_COLUMNS
from zoo.sources.readers.trohn_img import TrohnImg
from zoo.sources.readers.web_dataset import WebDataset
from zoo.sources.remote_files import is_url
from zoo.support.text_files import NotJson, open_bytes, parse_json

_HEAD = 1 << 16
_FLICKR_LINE = re.compile(r"[^\t#]+\.jpe?g(?:\.\d+)?#\d+\t", re.IGNORECASE)


def guess_reader(path: str | Path) -> Reader:
    """Returns a reader of a file or folder, chosen by its ending and its first 64 KB.

    URLs, .tar files and folders of tars are read by `WebDataset`. Any other folder has Parquet
    files, in the format of TROHN-Img or as a general table, or rendered scenes. A .jsonl file has
    JSON lines, a .json file Karpathy's or COCO's captions. A .csv or .tsv file is a table, in
    NegCLIP's format if it has its columns. Anything else is a Flickr token file or has one caption
    per line. The format of a file without an ending, such as a pipe, depends on its first line.

    Raises:
        ZooError: The file is missing or its format is unknown.
    """
    if is_url(str(path)):
        return WebDataset(str(path))
    path = Path(path)
    kind = path.suffix.lower()
    # img2dataset writes Parquet tables into the same folder as its tars
    if kind == ".tar" or (path.is_dir() and any(path.glob("*.tar"))):
        return WebDataset(str(path))
    if path.is_dir() or kind == ".parquet":
        table = ParquetTable(path)
        return _parquet_reader(table) if table.files else Scenes(str(path))
    head = _head(path)
    first_line = next((line for line in head.splitlines() if line.strip()), "")
    kind = kind or _guess_ending(first_line)
    if kind in (".jsonl", ".ndjson"):
        return JsonLines(path)
    if kind == ".json":
        return _json_reader(path, head)
    if kind in (".csv", ".tsv"):
        return _table_reader(path, head.partition("\n")[0], "\t" if kind == ".tsv" else ",")
    return FlickrToken(path) if _FLICKR_LINE.match(first_line) else PlainText(path)


def _head(path: Path) -> str:
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror}): give the path of a readable caption file"
        ) from error
    if b"\0" in head or head.startswith(b"\x1f\x8b"):
        raise ZooError(
            f"{path} is not a text file: unpack it, or give a .txt, .token, .csv, .tsv, .json or "
            ".jsonl file of captions"
        )
    return head.decode("utf-8-sig", errors="replace")


def _parquet_reader(table: ParquetTable) -> Reader:
    columns = parquet_file(table.files[0]).schema_arrow.names
    return TrohnImg(table.path) if "negative_caption" in columns else table


def _json_reader(path: Path, head: str) -> Reader:
    if not head.lstrip().startswith("{"):
        raise ZooError(
            f"{path} is not a single JSON object: "
            "give Karpathy's or COCO's captions, or JSON lines in a .jsonl file"
        )
    return (
        KarpathyJson(path, SPLITS)
        if '"sentences"' in head or '"sentids"' in head
        else CocoCaptions(path)
    )


def _guess_ending(first_line: str) -> str:
    """Returns the file ending that fits the first line of a file."""
    if first_line.startswith("{"):
        try:
            return ".jsonl" if "caption" in parse_json(first_line) else ".json"
        except NotJson:
            return ".json"
    for kind, separator in ((".tsv", "\t"), (".csv", ",")):
        columns = _columns(first_line, separator)
        if not columns.isdisjoint(IMAGE_COLUMNS) and not columns.isdisjoint(CAPTION_COLUMNS):
            return kind
    return ""


def _columns(header: str, separator: str) -> set[str]:
    return {column.strip().strip('"') for column in header.split(separator)}


def _table_reader(path: Path, header: str, separator: str) -> Reader:
    if "neg_caption" in _columns(header, separator) and separator == "\t":
        return NegClipTsv(path)
    return CsvTable(path, separator=separator)
