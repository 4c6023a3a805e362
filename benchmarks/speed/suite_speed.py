r"""What it saves to encode the suite's images and texts once, and to keep their vectors.

    python benchmarks/speed/suite_speed.py --data_root DATA_ROOT [DATA_ROOT ...] \
        [--parts benchmarks loop again gallery cases] [--name ViT-B-32-quickgelu]

The towers have random weights, which take the time of trained ones. There are five parts; each
ratio is of two measurements of one process, in seconds of processor time (children included), so
that other work on the machine hardly counts. Wall time stands beside.

- benchmarks: nine benchmarks over the same photographs in one run, and each in a run of its own.
- loop: SugarCrepe's cases by the engine, and by a loop that encodes the image and both texts of
  every case, texts at full length, as the public script does. Outcomes are compared.
- again: the nine benchmarks where no vectors are kept, and the same run again.
- gallery: the same of a gallery of Flickr8k.
- cases: one, two and four times as many cases over the same images and texts.

A part writes its numbers into suite_speed.json, beside those of other parts, and suite_speed.md and
suite_speed.svg are written again.
"""

import argparse
import csv
import json
import os
import platform
import random
import resource
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from figures import draw_suite_speed
from PIL import Image

import zoo
from zoo.api import Model
from zoo.evaluation import EmbeddingCache
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import outcome_differences
from zoo.results.drawing import render_figure
from zoo.results.report import Results

RESULTS = Path(__file__).parents[1] / "results"
NINE = [
    "sugarcrepe",
    "sugarcrepe_pp",
    "negbench:coco_mcq",
    "negbench:coco_retrieval",
    "negbench:coco_negated_retrieval",
    "fg_ovd",
    "colorfoil",
    "valse:plurals:relations:foil-it",
    "aro:COCO-Order",
]
T = TypeVar("T")
Cases = Mapping[tuple[str, str], tuple[str, ...]]  # file name, caption and foil of a case


class Taken(dict[str, float]):
    """Seconds of processor time, `cpu`, and of wall time, `wall`."""


def timed(work: Callable[[], T]) -> tuple[T, Taken]:
    wall, cpu = time.perf_counter(), processor()
    made = work()
    took = Taken(cpu=round(processor() - cpu, 2), wall=round(time.perf_counter() - wall, 2))
    print(json.dumps(took), flush=True)
    return made, took


def processor() -> float:
    """Returns the processor time of this process and of those that ended before it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    """Measures some parts, and writes suite_speed.json, .md and .svg."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", nargs="+", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--photographs", type=int, default=24, help="of COCO, in all but a gallery")
    parser.add_argument("--gallery", type=int, default=120, help="photographs of Flickr8k")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the files")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = zoo.load(arguments.name, device="cpu")
    assert isinstance(model, zoo.Model)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for part in arguments.parts:
        print(part, flush=True)
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "root").mkdir()
            found = PARTS[part](model, arguments, folder)
        machine = {
            "backbone": arguments.name,
            "threads": torch.get_num_threads(),
            "processor": platform.processor() or platform.machine(),
            "torch": version("torch"),
            "load": [round(load, 1) for load in os.getloadavg()],
        }
        write(arguments.out, part, {**found, "machine": machine})


def several(model: Model, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Nine benchmarks in one run, and in nine."""
    roots = photographs(arguments, folder)
    apart = [timed(lambda name=name: measured(model, [name], roots)) for name in NINE]  # type: ignore[misc]
    together, took = timed(lambda: measured(model, NINE, roots))
    pairs = [align_runs([found.cases, together.cases]).tables for found, _ in apart]
    return {
        "in one run": {**took, **asked(together)},
        "one by one": [
            {"benchmark": name, **taken, **asked(found)}
            for name, (found, taken) in zip(NINE, apart, strict=True)
        ],
        "times faster": ratio(sum(taken["cpu"] for _, taken in apart), took["cpu"]),
        "outcomes that differ": sum(len(outcome_differences(*pair)) for pair in pairs),
        "largest difference of scores": max(largest_score_difference(*pair) for pair in pairs),
    }


def against_a_loop(model: Model, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """SugarCrepe by the engine and case by case."""
    (root,) = photographs(arguments, folder)[:1]
    cases = own_sugarcrepe(root, arguments.data_root)
    engine, took = timed(lambda: measured(model, ["sugarcrepe"], [root]))
    right, loop = timed(lambda: by_the_public_script(model, root, cases))
    ours = {
        (row["subset"], row["case"]): row["right"]
        for row in engine.cases.select(["subset", "case", "right"]).to_pylist()
    }
    return {
        "engine": {**took, **asked(engine)},
        "loop": {**loop, "cases": len(right)},
        "times faster": ratio(loop["cpu"], took["cpu"]),
        "outcomes that differ": sum(ours[case] != found for case, found in right.items()),
    }


def gallery_again(model: Model, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A gallery of Flickr8k, whose vectors are kept, and again."""
    root = folder / "gallery"
    flickr8k(root, arguments.data_root, arguments.gallery)
    return twice(model, ["retrieval:flickr8k"], [root], folder)


def several_again(model: Model, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Nine benchmarks, whose vectors are kept, and again."""
    return twice(model, NINE, photographs(arguments, folder), folder)


def twice(
    model: Model, benchmarks: Sequence[str], roots: Sequence[Path], folder: Path
) -> dict[str, Any]:
    cache = EmbeddingCache(str(folder / "kept"))
    first, before = timed(lambda: measured(model, benchmarks, roots, cache))
    second, after = timed(lambda: measured(model, benchmarks, roots, cache))
    pair = align_runs([first.cases, second.cases]).tables
    assert cache.store is not None
    return {
        "first": {**before, **asked(first)},
        "second": after,
        "times faster": ratio(before["cpu"], after["cpu"]),
        "outcomes that differ": len(outcome_differences(*pair)),
        "largest difference of scores": largest_score_difference(*pair),
        "MiB kept": round(cache.store.summarize().bytes / 2**20, 1),
    }


def more_cases(model: Model, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One, two and four times as many cases over the same images and texts."""
    root = photographs(arguments, folder)[0]
    captions = captions_of(root, arguments.data_root)
    generator, rows = random.Random(0), []
    for _ in range(4):
        foils = [text for _, text in captions]
        generator.shuffle(foils)
        rows += [(name, text, foil) for (name, text), foil in zip(captions, foils, strict=True)]
    engine = []
    for times in (1, 2, 4):
        file = folder / f"{times}.csv"
        with file.open("w", encoding="utf-8", newline="") as out:
            table = csv.writer(out)
            table.writerow(["image", "caption", "foil"])
            table.writerows(
                (root / "coco" / "val2017" / name, text, foil)
                for name, text, foil in rows[: times * len(captions)]
            )
        found, took = timed(lambda: measured(model, [f"pairs:{file}"], [root]))  # noqa: B023
        engine.append({"times": times, **took, **asked(found)})
    few = {("", str(i)): row for i, row in enumerate(rows[:16])}
    _, loop = timed(lambda: by_the_public_script(model, root, few))
    return {"engine": engine, "loop": {**loop, "cases": len(few)}}


def measured(
    model: Model,
    benchmarks: Sequence[str],
    roots: Sequence[Path],
    cache: EmbeddingCache | None = None,
) -> Results:
    """Returns what a run finds; it writes its files, as a command does."""
    with tempfile.TemporaryDirectory() as out:
        return zoo.evaluate(model, list(benchmarks), list(roots), out=out, cache=cache)


def asked(found: Results) -> dict[str, int]:
    """Returns how many cases were scored, over how many distinct images and texts."""
    scored = {
        (row["run"], row["benchmark"], row["subset"], row["case"])
        for row in found.cases.select(["run", "benchmark", "subset", "case", "right"]).to_pylist()
        if row["right"] is not None
    }
    scoring = found.header["scoring"]
    return {"cases": len(scored), "images": scoring["images"], "texts": scoring["texts"]}


def ratio(slow: float, fast: float) -> float:
    return round(slow / fast, 2)


def photographs(arguments: argparse.Namespace, folder: Path) -> list[Path]:
    """Makes a data root with all annotations and some of COCO's photographs."""
    root = folder / "root"
    given: Path = arguments.data_root[0]
    for part in given.iterdir():
        if part.is_dir() and part.name not in ("coco", "flickr8k"):
            (root / part.name).symlink_to(part.resolve())
    (root / "coco" / "val2017").mkdir(parents=True)
    (root / "coco" / "annotations").symlink_to((given / "coco" / "annotations").resolve())
    images = sorted((given / "coco" / "val2017").glob("*.jpg"))[: arguments.photographs]
    for image in images:
        (root / "coco" / "val2017" / image.name).symlink_to(image.resolve())
    return [root, *arguments.data_root[1:]]


def own_sugarcrepe(root: Path, given: Sequence[Path]) -> Cases:
    """Gives the root SugarCrepe's cases of its own photographs alone, and returns them."""
    there = {path.name for path in (root / "coco" / "val2017").iterdir()}
    (root / "sugarcrepe").unlink()
    (root / "sugarcrepe").mkdir()
    cases: dict[tuple[str, str], tuple[str, ...]] = {}
    for file in sorted((given[0] / "sugarcrepe").glob("*.json")):
        entries = json.loads(file.read_text(encoding="utf-8"))
        own = {key: entry for key, entry in entries.items() if entry["filename"] in there}
        (root / "sugarcrepe" / file.name).write_text(json.dumps(own), encoding="utf-8")
        for key, e in own.items():
            cases[file.stem, key] = (e["filename"], e["caption"], e["negative_caption"])
    return cases


def flickr8k(root: Path, given: Sequence[Path], n: int) -> None:
    """Makes a data root of some test photographs of Flickr8k and their captions."""
    source, made = given[0] / "flickr8k", root / "flickr8k"
    (made / "images").mkdir(parents=True)
    names = (source / "Flickr_8k.testImages.txt").read_text().split()[:n]
    (made / "Flickr_8k.testImages.txt").write_text("\n".join(names) + "\n")
    tokens = (source / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines(True)
    own = [line for line in tokens if line.partition("#")[0] in set(names)]
    (made / "Flickr8k.token.txt").write_text("".join(own), encoding="utf-8")
    for name in names:
        (made / "images" / name).symlink_to((source / "images" / name).resolve())


def captions_of(root: Path, given: Sequence[Path]) -> list[tuple[str, str]]:
    """Returns the captions of the root's photographs, each with a file name."""
    file = given[0] / "coco" / "annotations" / "captions_val2017.json"
    held = json.loads(file.read_text(encoding="utf-8"))
    there = {path.name for path in (root / "coco" / "val2017").iterdir()}
    names = {image["id"]: image["file_name"] for image in held["images"]}
    return [
        (names[a["image_id"]], a["caption"].strip())
        for a in held["annotations"]
        if names[a["image_id"]] in there
    ]


@torch.no_grad()
def by_the_public_script(model: Model, root: Path, cases: Cases) -> dict[tuple[str, str], bool]:
    """Encodes the image and both texts of every case, and returns which cases are right."""
    backbone, right = model.module.backbone, {}
    transform, clip = backbone.eval_transform, backbone.model
    for case, (name, *texts) in cases.items():
        image = Image.open(root / "coco" / "val2017" / name).convert("RGB")
        picture = F.normalize(clip.encode_image(transform(image)[None]), dim=-1)
        scores = [
            float(picture[0] @ F.normalize(clip.encode_text(backbone.tokenizer([t])[0]), dim=-1)[0])
            for t in texts
        ]
        right[case] = scores[0] > scores[1]
    return right


def write(folder: Path, part: str, found: dict[str, Any]) -> None:
    """Puts the numbers of a part beside those of others, and makes text and picture of all."""
    file = folder / "suite_speed.json"
    held = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    held[part] = found
    held = {name: held[name] for name in PARTS if name in held}
    file.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
    (folder / "suite_speed.md").write_text(told(held), encoding="utf-8")
    if "cases" in held:
        figure = draw_suite_speed(held)
        (folder / "suite_speed.svg").write_bytes(render_figure(figure, "svg"))


def told(held: dict[str, Any]) -> str:
    """Returns a table of all parts."""
    lines = [
        "# Speed of the suite",
        "",
        "Written by `benchmarks/speed/suite_speed.py`: random weights, seconds of processor time,",
        "one measurement each; the machine did other work meanwhile.",
        "",
        "| what | cases | images | texts | slow, s | fast, s | times faster | other outcomes |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]

    def row(what: str, of: dict[str, Any], slow: float, fast: float, part: dict[str, Any]) -> None:
        counts = " | ".join(f"{of[n]:,}" for n in ("cases", "images", "texts"))
        lines.append(
            f"| {what} | {counts} | {slow:.1f} | {fast:.1f} | {part['times faster']} | "
            f"{part['outcomes that differ']} |"
        )

    if part := held.get("benchmarks"):
        one = part["in one run"]
        slow = sum(each["cpu"] for each in part["one by one"])
        row("nine benchmarks one by one, and in one run", one, slow, one["cpu"], part)
    if part := held.get("loop"):
        engine = part["engine"]
        row("case by case, and the engine", engine, part["loop"]["cpu"], engine["cpu"], part)
    for name, what in (("again", "nine benchmarks"), ("gallery", "a gallery of Flickr8k")):
        if part := held.get(name):
            first = part["first"]
            row(f"{what}, first and second run", first, first["cpu"], part["second"]["cpu"], part)
    if part := held.get("cases"):
        each = part["loop"]["cpu"] / part["loop"]["cases"]
        lines += [
            "",
            "Over the same images and texts:",
            "",
            "| cases | images | texts | engine, s | case by case, s |",
            "|--:|--:|--:|--:|--:|",
        ]
        lines += [
            f"| {e['cases']:,} | {e['images']:,} | {e['texts']:,} | {e['cpu']:.1f} | "
            f"{each * e['cases']:.1f} |"
            for e in part["engine"]
        ]
        lines += ["", f"Case by case is reckoned from {part['loop']['cases']} cases."]
    return "\n".join(lines) + "\n"


PARTS = {
    "benchmarks": several,
    "loop": against_a_loop,
    "again": several_again,
    "gallery": gallery_again,
    "cases": more_cases,
}

if __name__ == "__main__":
    main()
