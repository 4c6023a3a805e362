r"""Seconds to the first batch, private memory and rows a second, by number of captions.

    python benchmarks/speed/start.py make --captions 600000 --data DATA_ROOT --out FOLDER [--lines]
    python benchmarks/speed/start.py measure --folder FOLDER --what WHAT [--batches 300]

`make` writes Karpathy's JSON of that many captions, repeated with ids of their own from those of
Flickr8k, five to an image (more above a million, so that there are no more than 200,000 images),
their units by rule and a folder of small images. `--lines` writes JSON lines in place of
Karpathy's JSON, and no units: ten million captions are more than a reader of one JSON holds.
`measure` builds CS-CLIP's data in this process,
with two workers, and prints one line of JSON. Memory is that of the kernel's `smaps_rollup`:
`pss`, in which a process has its share of what it shares with others, and `private`, which it has
for itself and which no file backs; both after the first batch, then after all. Rows are made in
this process after that, without images, in seconds of the processor; the fastest of five passes.

    python benchmarks/speed/start.py ranks --folder FOLDER [--ranks 8 --workers 8]

`ranks` starts that many processes at once, each with its workers, and prints one line: seconds
until the last has its first batch, each one's seconds of the processor, what all of them hold
together (the sum of `pss`), and the most that a main process and a worker hold privately.

    python benchmarks/speed/start.py report LINES.jsonl

`report` writes start.md of such lines, to each of which `what` was added: `objects`
(captions as objects of Python), `tables, made` or `tables, ready`.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

STARTED = time.time()
RESULTS = Path(__file__).parents[1] / "results" / "start"
PER_IMAGE, MOST_IMAGES = 5, 200_000
SPLITS = ("train", "restval")
JSON, LINES, UNITS = "coco/dataset_coco.json", "captions.jsonl", "coco/units_train.jsonl"
ROWS, PASSES = 5_000, 5
LONGEST = 900  # seconds that ranks may take


def main() -> None:
    """Makes files, or measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--captions", type=int, required=True)
    making.add_argument("--data", type=Path, required=True)
    making.add_argument("--out", type=Path, required=True)
    making.add_argument("--lines", action="store_true")
    measuring = commands.add_parser("measure")
    measuring.add_argument("--folder", type=Path, required=True)
    measuring.add_argument("--batches", type=int, default=300)
    measuring.add_argument("--workers", type=int, default=2)
    measuring.add_argument("--what", required=True, help="what is measured, for the report")
    together = commands.add_parser("ranks")
    together.add_argument("--folder", type=Path, required=True)
    together.add_argument("--ranks", type=int, default=8)
    together.add_argument("--workers", type=int, default=8)
    reporting = commands.add_parser("report")
    reporting.add_argument("lines", type=Path)
    reporting.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    if chosen.command == "make":
        make(chosen.captions, chosen.data, chosen.out, chosen.lines)
    elif chosen.command == "measure":
        found = measure(chosen.folder, chosen.batches, chosen.workers)
        units = (chosen.folder / UNITS).is_file()
        print(json.dumps({"what": chosen.what, "units": units, **found}))
    elif chosen.command == "ranks":
        print(json.dumps(measure_ranks(chosen.folder, chosen.ranks, chosen.workers)))
    else:
        report([json.loads(line) for line in chosen.lines.read_text().splitlines()], chosen.out)


def make(n: int, data: Path, out: Path, lines: bool) -> None:
    """Writes captions and images, and units where captions are in Karpathy's JSON."""
    from zoo.sources.readers.flickr_token import FlickrToken

    (token,) = data.glob("**/Flickr8k.token.txt")
    texts = [sample.caption for sample in FlickrToken(token).read()]
    per_image = max(PER_IMAGE, -(-n // MOST_IMAGES))
    images = out / "coco" / "train2014"
    images.mkdir(parents=True)
    make_images(-(-n // per_image), images)
    if lines:
        with (out / LINES).open("w") as file:
            for k in range(n):
                image, text = f"coco:{k // per_image + 1}", texts[k % len(texts)]
                file.write(json.dumps({"image": image, "caption": text, "split": "train"}) + "\n")
    else:
        make_json(n, per_image, texts, out)
        make_units(n, per_image, texts, out)


def make_images(n: int, folder: Path) -> None:
    """Writes images under COCO's names."""
    from PIL import Image

    for i in range(n):
        if i % 10_000 == 0:  # a file has no more names than some 65,000
            first = folder / f"COCO_train2014_{i + 1:012}.jpg"
            Image.new("RGB", (40, 32), (i % 256, 90, 40)).save(first)
        else:
            os.link(first, folder / f"COCO_train2014_{i + 1:012}.jpg")


def make_json(n: int, per_image: int, texts: list[str], out: Path) -> None:
    """Writes captions as Karpathy has them."""
    with (out / JSON).open("w") as file:
        file.write('{"images": [')
        for i in range(-(-n // per_image)):
            sentences = [
                {
                    "tokens": texts[k % len(texts)].lower().split(),
                    "raw": texts[k % len(texts)],
                    "imgid": i,
                    "sentid": k,
                }
                for k in range(i * per_image, min(n, (i + 1) * per_image))
            ]
            entry = {
                "filepath": "train2014",
                "sentids": [s["sentid"] for s in sentences],
                "filename": f"COCO_train2014_{i + 1:012}.jpg",
                "imgid": i,
                "split": "train",
                "sentences": sentences,
                "cocoid": i + 1,
            }
            file.write((", " if i else "") + json.dumps(entry))
        file.write('], "dataset": "coco"}')


def make_units(n: int, per_image: int, texts: list[str], out: Path) -> None:
    """Writes units of captions, extracted by rule."""
    from zoo.units.reader import record_to_dict
    from zoo.units.rules.rule import RuleExtractor

    captions = [(text, str(k), "x") for k, text in enumerate(texts[:n])]
    found = [record_to_dict(record) for record in RuleExtractor().extract_all(captions)]
    with (out / UNITS).open("w") as file:
        for k in range(n):
            names = {"caption_id": f"coco_{k // per_image}_{k}", "image_id": f"coco:{k}"}
            file.write(json.dumps({**found[k % len(found)], **names}) + "\n")


def training_loader(folder: Path, workers: int) -> Any:
    """Returns the loader of CS-CLIP's training data."""
    import torch

    from zoo.backbones.backbone import Backbone
    from zoo.datamodules.captions import CaptionDataModule
    from zoo.negatives import EntityFoilInPlace
    from zoo.sources.readers import JsonLines, KarpathyJson
    from zoo.units.sampler import UnitSampler

    torch.set_num_threads(1)
    module = SimpleNamespace(backbone=Backbone("zoo-tiny"), head=None)
    units, lines = folder / UNITS, folder / LINES
    data = CaptionDataModule(
        JsonLines(lines) if lines.exists() else KarpathyJson(folder / JSON, SPLITS),
        [str(folder)],
        batch_size=128,
        workers=workers,
        negatives=EntityFoilInPlace() if units.exists() else None,
        units=UnitSampler(str(units)) if units.exists() else None,
    )
    trainer: Any = SimpleNamespace(
        lightning_module=module, world_size=1, global_rank=0, is_global_zero=False
    )
    data.trainer = trainer
    data.setup("fit")
    data.describe()
    return data.train_dataloader()


def measure(folder: Path, batches: int, workers: int) -> dict[str, Any]:
    """Returns seconds, MiB and rows a second."""
    import torch

    loader = training_loader(folder, workers)
    each = iter(loader)
    next(each)
    first, used = time.time() - STARTED, sum(os.times()[:2])
    at_first = memory(loader)
    taken = 1
    while taken < batches:
        try:
            next(each)
        except StopIteration:
            loader.sampler.set_epoch(loader.sampler.epoch + 1)
            each = iter(loader)
            next(each)
        taken += 1
    later = memory(loader)
    dataset: Any = loader.dataset
    dataset.images = Blank()
    n, fastest = min(ROWS, len(dataset)), float("inf")
    for _ in range(PASSES):
        begun = time.process_time()
        for entry in torch.randperm(len(dataset))[:n].tolist():
            dataset[(1, entry)]
        fastest = min(fastest, time.process_time() - begun)
    return {
        "captions": len(dataset),
        "first_batch": round(first, 2),
        "processor": round(used, 2),
        "at_first": at_first,
        "batches": taken,
        "later": later,
        "rows_a_second": round(n / fastest),
    }


def measure_ranks(folder: Path, ranks: int, workers: int) -> dict[str, Any]:
    """Returns seconds and MiB of ranks that start at once, each with loader workers."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    started, measured = context.Barrier(ranks), context.Barrier(ranks)
    found = context.Queue()
    processes = [
        context.Process(target=rank, args=(folder, workers, started, measured, found))
        for _ in range(ranks)
    ]
    for process in processes:
        process.start()
    each = [found.get(timeout=LONGEST) for _ in processes]
    for process in processes:
        process.join()
    return {
        "captions": each[0]["captions"],
        "ranks": ranks,
        "workers": workers,
        "processes": ranks * (1 + workers),
        "first_batch": max(of["first_batch"] for of in each),
        "processor": [of["processor"] for of in each],
        "all": round(sum(of["pss"] for of in each), 1),
        "private": {name: round(max(of[name] for of in each), 1) for name in ("main", "worker")},
    }


def rank(folder: Path, workers: int, started: Any, measured: Any, found: Any) -> None:
    """Puts what a rank takes into the queue; its memory is read when all ranks have a batch."""
    import multiprocessing

    multiprocessing.set_start_method("fork", force=True)  # a rank of its own forks its workers
    loader = training_loader(folder, workers)
    each = iter(loader)
    next(each)
    first, used = time.time() - STARTED, sum(os.times()[:2])
    started.wait()
    main = memory_of("self")
    below = memory_of_workers(loader)
    measured.wait()
    found.put(
        {
            "captions": len(loader.dataset),
            "first_batch": round(first, 2),
            "processor": round(used, 2),
            "pss": main["pss"] + sum(of["pss"] for of in below),
            "main": main["private"],
            "worker": max((of["private"] for of in below), default=0.0),
        }
    )


class Blank:
    """Stands where images are decoded, which takes longer than all else."""

    def __init__(self) -> None:
        import torch

        self.blank = torch.zeros(3, 2, 2)

    def __call__(self, image: object, seed: str) -> Any:
        return self.blank


def memory(loader: Any) -> dict[str, dict[str, float]]:
    """Returns the MiB of this process, and of the largest of its workers."""
    largest = max(memory_of_workers(loader), key=lambda found: found["private"], default={})
    return {"main": memory_of("self"), "worker": largest}


def memory_of_workers(loader: Any) -> list[dict[str, float]]:
    """Returns the MiB of each of the loader's workers."""
    workers = loader._iterator._workers if loader.num_workers else []
    return [memory_of(worker.pid) for worker in workers]


def memory_of(process: str | int) -> dict[str, float]:
    """Returns the MiB of a process: its own, its share of all, and all that it has."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    kib = {name: int(size.split()[0]) for name, _, size in (line.partition(":") for line in lines)}
    return {
        name: round(kib[field] / 1024, 1)
        for name, field in (("private", "Private_Dirty"), ("pss", "Pss"), ("rss", "Rss"))
    }


COLUMNS: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {
    "processor": ("processor seconds to the first batch", lambda line: line["processor"]),
    "main": ("MiB of the main process (PSS)", lambda line: line["later"]["main"]["pss"]),
    "worker": ("MiB of a worker (PSS)", lambda line: line["later"]["worker"]["pss"]),
    "main alone": (
        "of the main process, private",
        lambda line: line["later"]["main"]["private"],
    ),
    "worker alone": ("of a worker, private", lambda line: line["later"]["worker"]["private"]),
    "rows": ("rows a second, without images", lambda line: line["rows_a_second"]),
}


def named(line: dict[str, Any]) -> str:
    """Returns what was measured, and whether it was without units."""
    return f"{line['what']}" + ("" if line["units"] else ", without units")


def report(lines: list[dict[str, Any]], out: Path) -> None:
    """Writes a table."""
    lines.sort(key=lambda line: (line["what"], line["captions"]))
    head = ["captions", "what", *(name for name, _ in COLUMNS.values())]
    rows = [
        [f"{line['captions']:,}", named(line), *(f"{of(line):,}" for _, of in COLUMNS.values())]
        for line in lines
    ]
    table = [head, ["---"] * len(head), *rows]
    out.with_suffix(".md").write_text(
        "# Start, memory and rows by number of captions\n\n"
        + "\n".join(f"| {' | '.join(row)} |" for row in table)
        + "\n"
    )
    out.with_suffix(".jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
