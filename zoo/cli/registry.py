"""The commands of `zoo`, their summaries and modules."""

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Command:
    """A command of `zoo`.

    Args:
        summary: What it does, in one line of `zoo --help`.
        interrupt_hint: The message for a user who interrupts it before a checkpoint, if any.
    """

    summary: str
    interrupt_hint: str = ""


LIGHTNING = ("fit", "validate")  # the commands of LightningCLI
# the message for a user who interrupts `zoo study` or `zoo validate --models`
RUNS_ARE_KEPT = "finished runs are kept, run the same command to continue"


COMMANDS = {
    "fit": Command(
        "train: zoo fit --config cs_clip.yaml [--config tiny_from_scratch.yaml] [--ckpt_path last]",
        "nothing was trained or saved yet, run the same command to start again",
    ),
    "validate": Command(
        "evaluate: zoo validate --benchmarks aro,sugarcrepe "
        "--data_root DIR [--ckpt_path P] [--out DIR]",
        "nothing was saved, run the same command to start again",
    ),
    "export": Command(
        "export a checkpoint, with a model card, for open_clip, Hugging Face or onnxruntime",
    ),
    "push": Command(
        "upload an exported model, with its card, to the Hugging Face hub",
        "the hub did not confirm a commit, run the same command to start again",
    ),
    "merge": Command(
        "interpolate between initial and fine-tuned weights (WiSE-FT), and evaluate the results",
    ),
    "rescore": Command(
        "recompute metrics from the saved scores of a run, with other rules for ties and averages",
    ),
    "compare": Command(
        "compare evaluations, with intervals and p-values, as a table, LaTeX, CSV or a figure",
    ),
    "report": Command(
        "write an HTML report of evaluations, with the cases behind every number",
    ),
    "study": Command(
        "train, evaluate and compare models of several recipes and seeds (a study): zoo study "
        "methods_on_coco --data_root DIR",
        RUNS_ARE_KEPT,
    ),
    "doctor": Command(
        "list which data files are present and which are missing, and how to get them",
    ),
    "plan": Command(
        "estimate the operations, memory and hours that training needs on a GPU",
    ),
    "ls": Command(
        "list names that flags and YAML files accept, such as the names of objectives and "
        "benchmarks",
    ),
    "negatives": Command(
        "preview or export hard negative captions, or build a table of replacement words",
    ),
    "units": Command(
        "extract phrases (units) and wrong versions of them (foils) from captions, or inspect them",
    ),
    "data": Command(
        "download benchmarks, captions and images, or pack captions and images into tar shards: "
        "zoo data get sugarcrepe,aro --data_root DIR",
    ),
    "bindings": Command(
        "count attribute-object pairs in training captions, to evaluate unseen pairs separately",
    ),
    "halftruth": Command(
        "evaluate models on half-truths (true texts with a wrong detail added), or create them",
    ),
    "scenes": Command(
        "render synthetic scenes with exact captions, units and foils",
    ),
    "demo": Command(
        "fine-tune a small CLIP on rendered scenes, and show what changes",
    ),
}


def command_module(name: str) -> ModuleType:
    """Imports the module of a command, which has the functions `main` and `parser`.

    Args:
        name: The command, none of LIGHTNING.
    """
    return importlib.import_module(f"zoo.cli.{name}")
