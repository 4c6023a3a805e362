"""Labelled drawings in every layout that is read."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

COLORS = ("blue", "green", "red")
PER_CLASS = 2
FEATURES = {
    "image": {"_type": "Image"},
    "label": {"names": list(COLORS), "_type": "ClassLabel"},
}


def drawing(color: str, number: int) -> Image.Image:
    """An image of one colour, whose size tells its number."""
    return Image.new("RGB", (4 + number, 4), color)


def png(color: str, number: int) -> bytes:
    buffer = io.BytesIO()
    drawing(color, number).save(buffer, "PNG")
    return buffer.getvalue()


def rows() -> list[tuple[int, int]]:
    """(class, number of the image in it), with the classes mixed."""
    return [(label, number) for number in range(PER_CLASS) for label in range(len(COLORS))]


def image_folder(folder: Path) -> Path:
    for color in COLORS:
        (folder / color).mkdir(parents=True)
        for number in range(PER_CLASS):
            (folder / color / f"{number}.png").write_bytes(png(color, number))
    return folder


def tars(folder: Path, multilabel: bool = False, n: int = 2) -> Path:
    """As clip_benchmark_export_wds writes them."""
    (folder / "test").mkdir(parents=True)
    (folder / "classnames.txt").write_text("\n".join(COLORS) + "\n")
    (folder / "zeroshot_classification_templates.txt").write_text("a {c} square\n{c}\n")
    (folder / "test/nshards.txt").write_text(f"{n}\n")
    if multilabel:
        (folder / "dataset_type.txt").write_text("multilabel\n")
    for shard in range(n):
        with tarfile.open(folder / f"test/{shard}.tar", "w") as tar:
            for index, (label, number) in list(enumerate(rows()))[shard::n]:
                add(tar, f"s{index:07}.png", png(COLORS[label], number))
                if multilabel:
                    buffer = io.BytesIO()
                    np.save(buffer, (np.arange(3) >= label).astype(np.int64))
                    add(tar, f"s{index:07}.npy", buffer.getvalue())
                else:
                    add(tar, f"s{index:07}.cls", str(label).encode())
    return folder


def add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def table() -> pa.Table:
    images = [{"bytes": png(COLORS[label], number), "path": None} for label, number in rows()]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    labels = pa.array([label for label, _ in rows()], pa.int64())
    return pa.table({"image": pa.array(images, kind), "label": labels})


def parquet(folder: Path) -> Path:
    """As the hub has a data set."""
    (folder / "data").mkdir(parents=True)
    told = json.dumps({"info": {"features": FEATURES}})
    made = table().replace_schema_metadata({"huggingface": told})
    for split in ("train", "test"):
        pq.write_table(made, folder / f"data/{split}-00000-of-00001.parquet")
    return folder


def saved(folder: Path) -> Path:
    """As `save_to_disk` of datasets writes a dictionary of splits."""
    split = folder / "test"
    split.mkdir(parents=True)
    whole, files = table(), []
    for number, part in enumerate((whole.slice(0, 4), whole.slice(4))):
        name = f"data-{number:05}-of-00002.arrow"
        with pa.ipc.new_stream(split / name, part.schema) as stream:
            stream.write_table(part, max_chunksize=3)
        files.append({"filename": name})
    (split / "state.json").write_text(json.dumps({"_data_files": files}))
    (split / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    return folder
