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
        "export a checkpoint for open_clip, Hugging Face or onnxruntime, "
        "with its head and a model card",
    ),
    "push": Command(
        "upload an exported model, with its card, to the Hugging Face hub",
        "the hub did not confirm a commit, run the same command to start again",
    ),
    "merge": Command(
        "interpolate a fine-tuned model with its initial weights (WiSE-FT), "
        "and evaluate the results",
    ),
    "rescore": Command(
        "recompute the metrics of a run from its cases.parquet, under another preset",
    ),
    "compare": Command(
        "compare runs: differences, intervals, p-values; as Markdown, LaTeX, CSV or a figure",
    ),
    "report": Command(
        "write an HTML report of runs, with the cases behind every number",
    ),
    "study": Command(
        "train, evaluate and compare what a study file lists; resumes an interrupted study: "
        "zoo study methods_on_coco --data_root DIR",
        RUNS_ARE_KEPT,
    ),
    "doctor": Command(
        "check which files a data root holds, what is missing and how to get it",
    ),
    "plan": Command(
        "estimate the cost of training a recipe on a device: operations, memory, hours",
    ),
    "ls": Command(
        "list the available objectives, heads, negatives, readers, benchmarks and so on",
    ),
    "negatives": Command(
        "preview or export hard negative captions, or build the table of replacement words",
    ),
    "units": Command(
        "extract units and foils from captions, or show, report or audit a units file",
    ),
    "data": Command(
        "fetch benchmarks, captions and images, or pack captions and images into tar shards: "
        "zoo data get sugarcrepe,aro --data_root DIR",
    ),
    "bindings": Command(
        "count attribute-object pairs in captions, for --familiar_with",
    ),
    "halftruth": Command(
        "evaluate models on half-truths in one command, or build cases and show results",
    ),
    "scenes": Command(
        "render scenes with exact captions, units and foils",
    ),
    "demo": Command(
        "tune the small CLIP of the package on rendered scenes, and show what changed",
    ),
}


def command_module(name: str) -> ModuleType:
    """Imports the module of a command, which has the functions `main` and `parser`.

    Args:
        name: The command, none of LIGHTNING.
    """
    return importlib.import_module(f"zoo.cli.{name}")
