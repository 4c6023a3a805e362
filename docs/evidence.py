"""Writes evidence.md from evidence.yaml: `python docs/evidence.py`."""

from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parent
RESULTS = "../benchmarks/results/"
HEAD = """<!-- generated from docs/evidence.yaml by `python docs/evidence.py` -->
# Evidence

What was run, what was measured, and what was not.

|what|device|weights|
|---|---|---|
|losses, gradients, training, resuming, evaluation, throughput|one NVIDIA H200|random|
|the [packaged tower](studies/world.md)|trained on one NVIDIA H100, evaluated on CPUs|its own|
|[studies of it](studies/objectives.md)|CPUs|its own|
|other studies, and tests|CPUs|random, or trained in minutes|
|published weights, and their published values|**not run**| |
|training at the scale of a paper|**not run**| |
|complete benchmarks of photographs (only samples were there)|**not run**| |
|several GPUs, several machines (only processes on one CPU)|**not run**| |
|`torch.compile`, fp32 and TF32 on a GPU (GPU time was too short)|**not run**| |

`zoo study published` and `zoo study trained_as_published` run the first two missing rows.

## Exactness

|what|reference|test|
|---|---|---|
|losses and gradients of objectives|the papers' formulas as loops|`tests/objectives`|
|scores of benchmarks|official rules as loops, made files|`tests/benchmarks/test_every_rule.py`|
|losses and gradients on several processes|one process|`tests/test_two_processes.py`|
|a resumed run on a CPU|an unbroken run, equal to the last bit|`tests/training/test_resume.py`|
|CLIP's losses, same weights|open_clip, five steps|[file]({results}open_clip_trainer.md)|

The rules of CREPE's systematicity, Hard Positives' swaps and COLA's single objects were written
without the benchmarks' files.

## Speed

- NVIDIA H200, bf16, ViT-B/32, CLIP: 2,240.4 images per second, by open_clip's trainer 1,058.7
  ([gpu.md]({results}gpu.md)).
- The same GPU, CS-CLIP with loading: 842.2 images per second, 0.284 of the bare towers'
  ([gpu.md]({results}gpu.md)).
- CPU, `zoo-tiny`: 0.732 of open_clip's processor time, 1.068 of its memory
  ([open_clip_trainer.md]({results}open_clip_trainer.md)).
- CPU, ViT-B/32: evaluation is 3.82 times as fast as a plain loop, best of two runs
  ([engine_speed]({results}engine_speed_ViT-B-32-quickgelu.json)).

One run each on the GPU, without interval.
"""


def render(kinds: list[dict[str, Any]]) -> str:
    """Returns the page."""
    parts = [HEAD.format(results=RESULTS)]
    for kind in kinds:
        table = [
            f"## {kind['kind']}\n",
            "|result|n|seeds or runs|interval|control|",
            "|---|---|---|---|---|",
        ]
        for files, what, *cells in kind["rows"]:
            first, *others = files.split()
            links = [f"[{what}]({RESULTS}{first})"]
            links += [f"[{Path(file).suffix[1:]}]({RESULTS}{file})" for file in others]
            table.append(f"|{', '.join(links)}|" + "|".join(map(str, cells)) + "|")
        parts.append("\n".join(table) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the page."""
    kinds = yaml.safe_load((DOCS / "evidence.yaml").read_text("utf-8"))
    (DOCS / "evidence.md").write_text(render(kinds), "utf-8")


if __name__ == "__main__":
    main()
