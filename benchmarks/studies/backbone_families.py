"""Trains one step with every objective on the smallest tower of each recent family of backbones.

    python benchmarks/studies/backbone_families.py [--only NAME ...]

The towers are built from open_clip's configurations with random weights. Vocabularies are cut to
CLIP's size, since the rows of other tokens take no part in a step of random token ids. The result
is benchmarks/results/backbone_families.md, which is written after each family. Rows of families
that are not run, or that the installed open_clip does not have, stay as they are.
"""

import argparse
import gc
import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip
import torch

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, TextBank
from zoo.errors import ZooError
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.objectives.base import Objective
from zoo.support.class_names import class_of, list_classes

OUT = Path(__file__).parents[1] / "results" / "backbone_families.md"
VOCABULARY = 49408
ROWS, IMAGES, TEXTS, LENGTH = 2, 3, 8, 8
VERSIONS = f"open_clip {open_clip.__version__}, torch {torch.__version__}, by"


@dataclass(frozen=True)
class Family:
    """A family of published towers.

    Attributes:
        name: Its name.
        architecture: The smallest architecture of it that open_clip has.
        weights: open_clip's name of its weights; empty if none are published.
        sigmoid: Whether it was trained with SigLIP's loss.
        is_released: Whether a release of open_clip has it. Its row names the version otherwise.
    """

    name: str
    architecture: str
    weights: str = ""
    sigmoid: bool = False
    is_released: bool = True

    @property
    def title(self) -> str:
        """Its name in the table."""
        version = "" if self.is_released else f" (open_clip {open_clip.__version__})"
        return f"{self.name}{version}"


FAMILIES = [
    Family("SigLIP 2", "ViT-B-32-SigLIP2-256", "webli", sigmoid=True),
    Family("PE-Core", "PE-Core-T-16-384", "meta"),
    Family("MetaCLIP", "ViT-B-32-quickgelu", "metaclip_fullcc"),
    Family("DFN", "ViT-B-16-quickgelu", "dfn2b"),
    Family("MobileCLIP2", "MobileCLIP2-S0", "dfndr2b"),
    Family("MetaCLIP 2", "ViT-H-14-worldwide-quickgelu", "metaclip2_worldwide"),
    Family("NaFlex", "naflex_ViT-B-32", is_released=False),
]


def main() -> None:
    """Trains the steps and writes the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of families")
    given = parser.parse_args()
    page_before = OUT.read_text() if OUT.is_file() else ""
    rows = {
        line[2:].partition(" | ")[0].partition(" (")[0]: line
        for line in page_before.splitlines()
        if line.startswith("| ") and "`--model" in line
    }
    versions = next((v for v in page_before.splitlines() if v.startswith("open_clip ")), VERSIONS)
    for family in FAMILIES:
        is_known = family.architecture in open_clip.list_models()
        if is_known and any(part in family.name for part in given.only):
            rows[family.name] = row_of(family)
            versions = VERSIONS if family.is_released else versions
            OUT.write_text(page([rows[f.name] for f in FAMILIES if f.name in rows], versions))
            print(rows[family.name], flush=True)


def page(rows: list[str], versions: str) -> str:
    """Returns the page.

    Args:
        rows: Rows of its table.
        versions: The line of the versions of released families.
    """
    return "\n".join(
        [
            "# Recent backbones, one step with every objective",
            "",
            "Random weights, vocabularies cut to CLIP's, two rows of random token ids, plain",
            "gradient descent in fp32; Cosine, with a bias where the objective needs one. No",
            "published weights were loaded, since there were none. Loss and gradients of a step",
            "are finite, and both towers have moved.",
            "",
            versions,
            "`python benchmarks/studies/backbone_families.py`.",
            "",
            "| family | flags | image | tokens of a text | parameters, millions | trains with "
            "| does not, and why |",
            "|---|---|---:|---:|---:|---|---|",
            *rows,
            "",
        ]
    )


def row_of(family: Family) -> str:
    """Returns a family's row of the table."""
    trained, refused = [], []
    backbone = build(family.architecture)
    start = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    for name, path, _ in list_classes("objectives"):
        if not path.startswith("zoo."):
            continue
        for arguments in variants(name, family.sigmoid):
            label = name + "".join(f", {key} {value}" for key, value in arguments.items())
            backbone.load_state_dict(start)
            try:
                step(backbone, class_of(name, "objectives", Objective)(**arguments))
            except ZooError as error:
                reason = str(error).partition(":")[0].replace(backbone.name, family.architecture)
                refused.append(f"{label}: {reason}")
            else:
                trained.append(label)
                break
    config = open_clip.get_model_config(family.architecture)
    cut = config["text_cfg"].get("vocab_size", VOCABULARY) - VOCABULARY
    parameters = sum(p.numel() for p in backbone.parameters())
    parameters += max(cut, 0) * backbone.shapes.text_width
    size = " x ".join(str(side) for side in backbone.image_size)
    name, weights = family.architecture, family.weights
    pretrained = f" --model.backbone.pretrained {weights}" if weights else ""
    flags = f"`--model.backbone.name {name}{pretrained}`"
    cells = [family.title, flags, size, backbone.context, f"{parameters / 1e6:,.0f}"]
    cells += ["; ".join(trained), "; ".join(refused)]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def variants(objective: str, sigmoid: bool) -> list[dict[str, Any]]:
    """Returns arguments of an objective to try one after another.

    Args:
        objective: The name of its class.
        sigmoid: Whether the towers were trained with SigLIP's loss.
    """
    pairs = {"pairs": "sigmoid"} if sigmoid and objective in ("CSCLIP", "FSCCLIP") else {}
    if objective != "FSCCLIP":
        return [pairs]
    return [pairs, pairs | {"project": False}, pairs | {"lambda_l": 0}]


def build(architecture: str) -> Backbone:
    """Returns random towers of an architecture with a small vocabulary."""
    gc.collect()
    config = open_clip.get_model_config(architecture)
    if config["text_cfg"].get("vocab_size", VOCABULARY) <= VOCABULARY:
        return Backbone(architecture)
    config["text_cfg"]["vocab_size"] = VOCABULARY
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{architecture}-cut.json"
        file.write_text(json.dumps(config))
        return Backbone(str(file))


def step(backbone: Backbone, objective: Objective) -> None:
    """Trains one step.

    Raises:
        RuntimeError: A loss or a gradient is not finite, or a tower has not moved.
    """
    bias = -10.0 if objective.needs.bias and backbone.shapes.bias is None else None
    module = ZooModule(backbone, objective, Cosine(bias=bias))
    encoded, scores = module.score(batch_of(backbone))
    loss = module.objective(encoded, scores).total
    loss.backward()
    moved = set()
    with torch.no_grad():
        for name, parameter in module.backbone.named_parameters():
            if parameter.grad is not None:
                if not parameter.grad.isfinite().all():
                    raise RuntimeError(f"the gradient of {name} is not finite")
                if parameter.grad.any():
                    moved.add(module.backbone.tower_of_parameter(name))
                parameter.sub_(1e-3 * parameter.grad)
                parameter.grad = None
    if not math.isfinite(loss.item()) or moved != {"image", "text"}:
        raise RuntimeError(f"loss {loss.item()}, moved {moved}")


def batch_of(backbone: Backbone) -> Batch:
    """Returns two rows with negatives, positives, a negative image, units and foils."""
    generator = torch.Generator().manual_seed(0)
    shape: Any = (IMAGES, 3, *backbone.image_size)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    ids = torch.randint(3, VOCABULARY - 1, (TEXTS, backbone.context), generator=generator)
    ids[:, LENGTH:] = 0
    ids[:, LENGTH - 1] = VOCABULARY - 1
    hashes = torch.arange(TEXTS)
    return Batch(
        images=images,
        texts=TextBank(ids, torch.full((TEXTS,), LENGTH), hashes, TEXTS),
        captions=torch.tensor([0, 1]),
        negatives=torch.tensor([[2], [3]]),
        positives=torch.tensor([[4], [5]]),
        negative_images=torch.tensor([2, -1]),
        units=torch.tensor([[6], [7]]),
        foils=torch.tensor([[2], [3]]),
        image_ids=torch.arange(ROWS),
        hashes=hashes,
        samples=torch.arange(ROWS),
        primary=ROWS,
    )


if __name__ == "__main__":
    main()
