"""Does a tower prefer the scene that a text describes to one with a wrong detail?

    python benchmarks/studies/image_half_truths.py scenes --out OUT.json

Draws 800 pairs of scenes that training does not have, 100 per kind of edit, and writes how often
the scene that fits the text scores higher, with 95 % intervals over pairs. Scores that ignore the
texts give exactly 50 where both scenes of a pair have a text. `extra` is a control in which the
text is true of both scenes: its value is the preference for the scene with fewer objects.
"""

import argparse
import json
from pathlib import Path

from world_calibration import metric, row

import zoo
from zoo.benchmarks import ImageHalfTruth
from zoo.cli import main as run_command
from zoo.scenes.cache import hash_scenes
from zoo.scenes.world.kinds import EDITS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model, as `zoo validate --model` takes it")
    parser.add_argument("--n", type=int, default=800, help="pairs of scenes (default: 800)")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file to write")
    parser.add_argument(
        "--work_dir",
        type=Path,
        default=Path("build/image_half_truths"),
        help="folder of the scenes; those that are there are used again (default: %(default)s)",
    )
    arguments = parser.parse_args()
    folder = arguments.work_dir / ImageHalfTruth.default_folder
    if run_command(
        ["scenes", ImageHalfTruth.scenes_command, "--n", str(arguments.n), "--out", str(folder)]
    ):
        raise SystemExit(1)
    results = zoo.evaluate(arguments.model, [ImageHalfTruth()], arguments.work_dir)
    measures = {edit: row(metric(results, ImageHalfTruth.name, edit, "t2i")) for edit in EDITS}
    content = {
        "model": arguments.model,
        "weights_sha256": results.header["model"]["weights_sha256"],
        "scenes_sha256": hash_scenes(folder),
        "measures": {
            edit: {key: cell[key] for key in ("value", "low", "high", "n")}
            for edit, cell in measures.items()
        },
    }
    arguments.out.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    for edit, cell in measures.items():
        print(f"{edit:14} {cell['value']:5.1f} ({cell['low']}-{cell['high']})  n {cell['n']:,}")


if __name__ == "__main__":
    main()
