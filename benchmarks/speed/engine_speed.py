r"""The engine on SugarCrepe against a loop that encodes image and both texts case by case.

What is compared is wall time, and whether outcomes agree.

    python benchmarks/speed/engine_speed.py --data_root DATA_ROOT \
        [--name ViT-B-32-quickgelu] [--pretrained TAG]

Both run the same weights on the same processor in fp32, turn by turn; each metric is the best of
--repeats runs. The engine's time has everything in it: reading the annotations, finding images,
encoding, scoring, judging, intervals, and writing both files. The loop's has only loading, encoding
and scoring: `cut` tokenises and cuts texts as the engine does, `whole` gives the tower all of its
context, as the public scripts do.
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import zoo
from zoo.api import Model
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import outcome_differences
from zoo.results.report import Results

RESULTS = Path(__file__).parents[1] / "results"


class CaseByCase:
    """The model as a plain object: what it is asked twice it encodes twice."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        return self.model.score(images, texts)


def main() -> None:
    """Measures, prints and writes engine_speed_NAME.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", required=True)
    parser.add_argument("--name", default="zoo-tiny")
    parser.add_argument("--pretrained")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the file")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = zoo.load(arguments.name, arguments.pretrained, device=arguments.device)
    assert isinstance(model, zoo.Model)
    backbone = model.module.backbone
    lengths = {
        "engine": backbone.text_lengths,
        "loop, texts cut": backbone.text_lengths,
        "loop, texts whole": [backbone.context],
    }
    runs: dict[str, Callable[[], Results]] = {
        "engine": lambda: with_engine(model, arguments.data_root),
        "loop, texts cut": lambda: zoo.evaluate(
            CaseByCase(model), ["sugarcrepe"], arguments.data_root
        ),
        "loop, texts whole": lambda: zoo.evaluate(
            CaseByCase(model), ["sugarcrepe"], arguments.data_root
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Results] = {}
    for _ in range(
        arguments.repeats
    ):  # turn by turn, so that what else the machine does falls on all
        for name, run in runs.items():
            backbone.text_lengths = lengths[name]
            start = time.perf_counter()
            results[name] = run()
            seconds[name].append(time.perf_counter() - start)
    engine = results["engine"]
    report = {
        "backbone": arguments.name,
        "weights": arguments.pretrained or "random",
        "device": torch.cuda.get_device_name()
        if arguments.device == "cuda"
        else f"cpu, {torch.get_num_threads()} threads",
        "processor": platform.processor() or platform.machine(),
        "torch": version("torch"),
        "cases": sum(f.n for f in engine.metrics),
        "images": engine.header["scoring"]["images"],
        "texts": engine.header["scoring"]["texts"],
        "seconds": {name: [round(s, 2) for s in took] for name, took in seconds.items()},
        "times faster than the loop": {
            name: round(min(took) / min(seconds["engine"]), 2)
            for name, took in seconds.items()
            if name != "engine"
        },
        "largest difference of scores": {
            name: largest_score_difference(*align_runs([engine.cases, r.cases]).tables)
            for name, r in results.items()
            if name != "engine"
        },
        "outcomes that differ, with margins": {
            name: [
                (d.subset, d.case, d.first_margin, d.second_margin)
                for d in outcome_differences(*align_runs([engine.cases, r.cases]).tables)
            ]
            for name, r in results.items()
            if name != "engine"
        },
    }
    text = json.dumps(report, indent=2)
    print(text)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"engine_speed_{arguments.name}.json").write_text(
        text + "\n", encoding="utf-8"
    )


def with_engine(model: Model, data_root: str) -> Results:
    """Returns the engine's results, files written."""
    with tempfile.TemporaryDirectory() as out:
        found: Results = zoo.evaluate(model, ["sugarcrepe"], data_root, out=out)
    return found


if __name__ == "__main__":
    main()
