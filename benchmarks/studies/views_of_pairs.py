r"""What does structure-guided inference tell of pairs of scenes, and what does it cost?

This is the claim of "The role of inference" (Miranda et al., 2026): a dual encoder whose pooled
vectors do not tell two scenes with exchanged attributes tells them where crops of the image are set
against phrases of the caption.

Hypothesis, written before any run. H1: the group score of structure-guided inference is above that
of the cosine, by either way of cutting crops. H2: 270 crops tell more than 86. H3: MaxSim over
tokens that were never trained for it tells less than the cosine. Each is refuted where the mean
over three seeds points the other way.

Protocol. Towers are those of `familiar_ranks.py`: one a seed, CLIP from nothing on scenes of two
objects, 48 pixels. Asked are pairs of scenes of which the colours are exchanged (`zoo scenes
pairs`, 48 pixels); words of size, material and number the towers never read. Segments are the
phrases of the scene, from its units file. Nothing is trained. A pair is told by the group score,
chance 16.7 %; a tie is wrong. The cost is how often the image tower is run for a pair, and seconds
of processor time.

    python benchmarks/studies/views_of_pairs.py --towers build/familiar_ranks
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from bindings_training import SAMPLES, SIZE, GridTraining, measure
from scenes_data import Texts
from scenes_training import AS_TRAINED, write_json

from zoo.backbones import Backbone
from zoo.backbones.settings import TextInput
from zoo.benchmarks.scene_pairs import ScenePairs
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.max_sim import MaxSim
from zoo.heads.structure_guided import StructureGuided
from zoo.module import ZooModule
from zoo.regions_and_phrases.crops import Grid, Overlap
from zoo.regions_and_phrases.phrases import Coarse
from zoo.scenes.cache import render_collection
from zoo.scenes.pairs import KINDS, ExchangedPairs

RESULTS = Path(__file__).parents[1] / "results"
KIND = "color"
LENGTHS = (4, 6, 8, 10, 12, 14, 16)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--towers", type=Path, default=Path("build/familiar_ranks"))
    parser.add_argument("--work_dir", type=Path, default=Path("build/views_of_pairs"))
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the table")
    arguments = parser.parse_args()
    scenes = arguments.work_dir / "scenes"
    render_collection(
        scenes, len(KINDS) * arguments.pairs, ExchangedPairs(size=SIZE), SAMPLES, workers=0
    )
    for tower in sorted(arguments.towers.glob("seed*/first.pt")):
        for name, head in heads(scenes / f"units.{KIND}.jsonl").items():
            result = arguments.work_dir / tower.parent.name / f"{name.replace(' ', '_')}.json"
            if not result.exists():
                write_json(
                    result, {"seed": tower.parent.name, "head": name} | ask(tower, head, scenes)
                )
            print(result.read_text())
    runs = [
        json.loads(path.read_text()) for path in sorted(arguments.work_dir.glob("seed*/*.json"))
    ]
    print(write_report(runs, arguments.out))


def heads(units: Path) -> dict[str, Callable[[], Head]]:
    """Returns what scores a pair, by name."""
    return {
        "cosine": Cosine,
        "MaxSim": MaxSim,
        "SGI 86 crops": lambda: StructureGuided(Grid(), Coarse(str(units))),
        "SGI 270 crops": lambda: StructureGuided(Overlap(), Coarse(str(units))),
    }


def ask(tower: Path, head: Callable[[], Head], scenes: Path) -> dict[str, Any]:
    """Returns the scores of a tower with a head, and what they cost."""
    torch.set_num_threads(1)
    os.environ["ZOO_EMBEDDINGS"] = "off"  # what was kept costs nothing
    backbone = Backbone("zoo-scenes", text=TextInput(lengths=LENGTHS), preprocess=AS_TRAINED)
    Texts(backbone, GridTraining.words)  # cuts the vocabulary as the tower's was
    state = torch.load(tower)["module"].items()
    own = {k.removeprefix("backbone."): v for k, v in state if k.startswith("backbone.")}
    backbone.load_state_dict(own)
    start = time.process_time()
    found = measure(ZooModule(backbone, head=head()).eval(), ScenePairs(str(scenes), [KIND]))
    seconds = time.process_time() - start
    scores = {
        m.metric: {n: getattr(m, n) for n in ("value", "low", "high", "n")} for m in found.metrics
    }
    notes = found.header["scoring"]
    passes = notes.get("pieces", {}).get("image passes", notes["images"])
    n = scores["group"]["n"]
    return {"scores": scores, "passes a pair": passes / n, "seconds a pair": seconds / n}


def write_report(runs: list[dict[str, Any]], out: Path) -> str:
    """Writes views_of_pairs.json and .md of the runs that are there, and returns the text."""
    names = list(heads(Path()))
    seeds = sorted({run["seed"] for run in runs})
    n = runs[0]["scores"]["group"]["n"]
    lines = [
        "# Structure-guided inference on pairs of scenes",
        "",
        "Hypothesis and protocol stand in `benchmarks/studies/views_of_pairs.py`. "
        f"{n:,} pairs with colours exchanged; group score in per cent, chance 16.7, with its 95 % "
        f"interval, by {', '.join(seeds)}; seconds of processor time, model and files included.",
        "",
        f"| | mean | {' | '.join(seeds)} | text, mean | image, mean | image passes a pair | "
        "seconds a pair |",
        "|" + "---|" * (6 + len(seeds)),
    ]
    for name in names:
        its = sorted((run for run in runs if run["head"] == name), key=lambda run: run["seed"])
        if its:
            groups = [run["scores"]["group"] for run in its]
            cells = [f"{g['value']:.1f} [{g['low']:.1f}, {g['high']:.1f}]" for g in groups]
            means = [mean(run["scores"][m]["value"] for run in its) for m in ("text", "image")]
            cost = [mean(run[f"{what} a pair"] for run in its) for what in ("passes", "seconds")]
            lines.append(
                f"| {name} | {mean(g['value'] for g in groups):.1f} | {' | '.join(cells)} | "
                f"{means[0]:.1f} | {means[1]:.1f} | {cost[0]:,.1f} | {cost[1]:.3f} |"
            )
    text = "\n".join([*lines, ""])
    out.mkdir(parents=True, exist_ok=True)
    (out / "views_of_pairs.md").write_text(text)
    write_json(out / "views_of_pairs.json", {"runs": runs})
    return text


if __name__ == "__main__":
    main()
