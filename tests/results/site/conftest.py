"""Two runs over drawn images, measured once, and the report of both."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.made import make_root
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.retrieval import Retrieval
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.evaluation.engine import Evaluation
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.results.site.write import write_report
from zoo.sources.readers import CsvTable

SUBSETS = [f"{kind}_{what}" for kind in ("add", "replace", "swap") for what in ("att", "obj")]
SUBSETS.append("replace_rel")
PRESET = [preset_of(name) for name in ("official", "capabilities")]


class Guess:
    """Scores by the bytes of a text and the colour of an image, with some ties."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus

    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        colours = [sum(image.resize((1, 1)).getpixel((0, 0))) for image in images]
        guessed = [
            [(zlib.crc32(text.encode()) + colour) % self.modulus / 7 for text in texts]
            for colour in colours
        ]
        return np.array(guessed, dtype=np.float32)


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn images, twelve of them under COCO's names, a SugarCrepe that asks about one more."""
    root = make_root(tmp_path_factory.mktemp("reported"))
    (root / "sugarcrepe").mkdir()
    (root / "coco" / "val2017").mkdir(parents=True)
    for i, drawn in enumerate(sorted((root / "pictures").iterdir())):
        Image.open(drawn).save(root / "coco" / "val2017" / f"{i + 1:012}.jpg")
    for subset in SUBSETS:
        cases = {
            str(i): {
                "filename": f"{i + 1:012}.jpg",
                "caption": f"a <b>red</b> square, {subset} {i}",
                "negative_caption": f"a blue square, {subset} {i}",
            }
            for i in range(13)
        }
        (root / "sugarcrepe" / f"{subset}.json").write_text(json.dumps(cases))
    return root


@pytest.fixture(scope="session")
def runs(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of two runs, by name."""
    folders = {}
    for name, modulus in (("first", 11), ("second", 5)):
        folders[name] = tmp_path_factory.mktemp(name)
        benchmarks = [
            SugarCrepe(),
            HalfTruth(str(root / "units.jsonl"), "paper"),
            Retrieval(CsvTable(str(root / "captions.tsv"))),
        ]
        Evaluation(benchmarks, str(root), out=str(folders[name]), workers=0).run_plain_model(
            Guess(modulus)
        )
    return folders


@pytest.fixture(scope="session")
def results(runs: dict[str, Path]) -> dict[str, Results]:
    """The results of both runs."""
    return {name: read_results(folder) for name, folder in runs.items()}


def only(run: Results, *benchmarks: str, subsets: tuple[str, ...] = ()) -> Results:
    """Returns the results of some benchmarks and subsets alone, of which fewer charts are drawn."""
    kept = [
        row["benchmark"] in benchmarks and (not subsets or row["subset"] in subsets)
        for row in run.cases.to_pylist()
    ]
    described = {name: run.header["benchmarks"][name] for name in benchmarks}
    header = {**run.header, "benchmarks": described}
    return Results(header, (), run.cases.filter(kept)).recount(PRESET[:1])


@pytest.fixture(scope="session")
def site(results: dict[str, Results], root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the report of both runs."""
    out = tmp_path_factory.mktemp("site") / "report"
    write_report(results, PRESET, out, roots=[root])
    return out


@pytest.fixture
def tab(browser: SimpleNamespace) -> Iterator[Any]:
    """A page of the browser; its end fails where the page said a fault or asked the network."""
    view, faults = browser.new_page(viewport={"width": 1200, "height": 900}), []
    view.on("console", lambda message: faults.append(message.text))
    view.on("pageerror", lambda error: faults.append(str(error)))
    view.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
    yield view
    view.close()
    assert faults == []
