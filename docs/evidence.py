"""Writes evidence.md from evidence.yaml: `python docs/evidence.py`."""

from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).parent
RESULTS = "../benchmarks/results/"
HEAD = """<!-- generated from docs/evidence.yaml by `python docs/evidence.py` -->
# Evidence

This page lists what was measured, and what was not run.

|what|device|weights|
|---|---|---|
|losses, gradients, training, resuming, evaluation, throughput|one NVIDIA H200|random|
|training a small CLIP on [rendered scenes](studies/world.md)|\
one NVIDIA H100, and again on two CPU cores|random at the start|
|[studies](studies/objectives.md) that use this small CLIP|CPUs|those of the small CLIP|
|other studies, and tests|CPUs|random, or trained in minutes|
|evaluation of published weights|**not run**| |
|training at the scale of a paper|**not run**| |
|complete benchmarks of photographs (only samples were available)|**not run**| |
|several GPUs or machines (only several processes on one CPU were run)|**not run**| |
|speed of `torch.compile`, fp32 and TF32 on a GPU|**not run**| |

`zoo study published` would evaluate published weights, and `zoo study trained_as_published` would
train at the scale of papers. Neither was run.

## Exactness

Tests compare `zoo` with independent implementations, or with other runs of `zoo`:

|what|compared with|test or results|
|---|---|---|
|losses and gradients|plain loops written from the papers' formulas|`tests/objectives`|
|benchmark results on small synthetic files|plain loops written from the official rules|\
`tests/benchmarks/test_every_rule.py`|
|losses and gradients on two and four processes|one process|`tests/test_two_processes.py`|
|losses of a resumed run on a CPU|an uninterrupted run: all losses are equal|\
`tests/training/test_resume.py`|
|CLIP's loss in five steps|open_clip with the same weights|[results]({results}open_clip_trainer.md)|

zoo's code for CREPE's systematicity, Hard Positives' swaps and COLA's single objects was written
from the authors' scripts, without the published files.

## Speed

- **Training CLIP** (ViT-B/32, bf16) on an NVIDIA H200: 2,240.4 images per second with zoo, 1,058.7
  with open_clip's trainer ([gpu.md]({results}gpu.md)).
- **Training CS-CLIP** on the same GPU, including data loading: 842.2 images per second. The
  towers alone (forward pass, backward pass and update on the same batches) process 2,960.4 images
  per second ([gpu.md]({results}gpu.md)).
- **Training on a CPU** (`zoo-tiny`, a small model): 0.732 times the processor time and 1.068 times
  the memory of open_clip's trainer ([open_clip_trainer.md]({results}open_clip_trainer.md)).
- **Evaluation on a CPU** (ViT-B/32): 3.82 times as fast as a plain loop over the cases, best of two
  runs ([engine_speed]({results}engine_speed_ViT-B-32-quickgelu.json)).

The GPU values are from one run each, without an interval.

## Terms in the tables

Tests and results:

- *Swap*: a true caption should score above its copy with two words or phrases exchanged.
- *Half-truth*: a true text (A) should score above the same text with a wrong detail added (A-).
- *A+ > A-*: the control for text length. A+ is A with a true detail added, and should score above
  A-. Both have similar lengths, so preferring shorter texts does not help.
- *Condition*: a kind of wrong detail, such as a wrong attribute.
- *Pair of words*: an attribute with its object. A pair is unseen if no training caption contains
  it.
- *Unit*: an entity or relation in a caption. A *foil* is a wrong version of it.
- *Head*: the part of a model that computes the score of an image and a text. Examples are the
  cosine head, [TF-Local](methods/cross_modal.md) and [structure-guided
  inference](methods/structure_guided.md).

Intervals:

- *bootstrap*, *Wilson*: confidence interval of one value.
- *paired*: interval of the difference between two models on the same images.
- *per seed*: one interval for each seed.
- *all shown*: no interval, but all runs are listed.
- *tests only*: significance tests without intervals.
- *standard error*: no interval, but the standard error is stated.

Compared with:

- *shorter text*, *longer text*: always choosing the shorter or the longer text.
- *CLIP*: the same model, fine-tuned with CLIP's loss.
- *before*: the model before fine-tuning.
- *towers alone*: forward pass, backward pass and update of the towers, without the rest of the
  training step.
"""


def render(kinds: list[dict[str, Any]]) -> str:
    """Returns the page."""
    parts = [HEAD.format(results=RESULTS)]
    for kind in kinds:
        table = [
            f"## {kind['kind']}\n",
            "|result|n|seeds or runs|interval|compared with|",
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
