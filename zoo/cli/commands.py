"""The command line: `zoo fit` and `zoo validate` are Lightning's, small commands stand beside them.

A command is imported when it runs.
"""

import importlib
import sys

from zoo import __version__
from zoo.cli.user_code import user_code
from zoo.errors import Stopped, ZooError, suggest_names
from zoo.support.signals import AtOnce, signals_raise

LIGHTNING = {
    "fit": (
        "train: zoo fit --config cs_clip.yaml [--config tiny_from_scratch.yaml] [--ckpt_path last]"
    ),
    "validate": (
        "measure: zoo validate --benchmarks aro,sugarcrepe "
        "--data_root DIR [--ckpt_path P] [--out DIR]"
    ),
}
COMMANDS = {
    "export": (
        "zoo.cli.export:main",
        "write a checkpoint as a plain model for open_clip "
        "or Hugging Face, with its head and a model card beside it",
    ),
    "push": (
        "zoo.cli.push:main",
        "upload an exported model, with its card, to the Hugging Face hub",
    ),
    "merge": (
        "zoo.cli.merge:main",
        "interpolate a tuned model with the weights it "
        "started from (WiSE-FT), and measure what comes out",
    ),
    "rescore": (
        "zoo.cli.rescore:main",
        "make a run's metrics again from its cases.parquet, under another preset",
    ),
    "compare": (
        "zoo.cli.compare:main",
        "set runs side by side: differences, intervals, p-values; Markdown, LaTeX, csv, a picture",
    ),
    "report": (
        "zoo.cli.report:main",
        "write a folder of pages about runs, with the cases behind every number",
    ),
    "study": (
        "zoo.cli.study:main",
        "train, measure and compare what a file says, and go on where it was killed: "
        "zoo study methods_on_coco --data_root DIR",
    ),
    "doctor": (
        "zoo.cli.doctor:main",
        "say what a data root holds, what is missing and how to get it",
    ),
    "plan": (
        "zoo.cli.plan:main",
        "say what a recipe's training step costs on devices: operations, memory, hours",
    ),
    "ls": (
        "zoo.cli.ls:main",
        "list what can be named: objectives, heads, generators of negatives, readers and so on",
    ),
    "negatives": (
        "zoo.cli.negatives:main",
        "preview or export sentence negatives of captions, or build the table of replacements",
    ),
    "units": (
        "zoo.cli.units:main",
        "extract units and foils from captions, or show a file of them",
    ),
    "data": (
        "zoo.cli.data:main",
        "pack captions and their images into shards, resized where asked",
    ),
    "bindings": (
        "zoo.cli.bindings:main",
        "count which attributes captions give to which objects, for --familiar_with",
    ),
    "halftruth": (
        "zoo.cli.halftruth:main",
        "settle half-truths in a case file, or show what models made of them",
    ),
    "scenes": ("zoo.cli.scenes:main", "render scenes with exact captions, units and foils"),
    "demo": (
        "zoo.cli.demo:main",
        "render, train and measure in small: what the paper does, in ten minutes",
    ),
}


# what is told of a command that a signal ends before it has anything to keep
NOTHING_KEPT = {
    "fit": "nothing was trained yet and nothing is kept, the same command begins again",
    "validate": "nothing of the measurement is kept, the same command begins again",
    "push": "the hub did not say that anything was committed, the same command begins again",
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The command and its arguments; those of the process by default.

    Returns:
        The exit status: 0, 1 after a mistake that a sentence names, 2 for wrong arguments, or 128
        plus the signal's number where a signal ended it (docs/guides/exit_codes.md).
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    with (
        signals_raise(NOTHING_KEPT.get(argv[0], "") if argv else "") as ending,
        user_code(argv) as words,
    ):
        return run_command(words, ending)


def run_command(argv: list[str], ending: AtOnce) -> int:
    """Runs one command, and says in a sentence what ends it.

    Args:
        argv: The command and its arguments.
        ending: Answers signals, and knows whether something is kept.

    Returns:
        The exit status.
    """
    try:
        return dispatch(argv)
    except ZooError as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        said = str(stop) or ending.kept
        print(f"zoo: interrupted: {said}" if said else "zoo: interrupted", file=sys.stderr)
        return 130
    except Stopped as stop:
        if stop.tells:
            print(f"zoo: {stop}", file=sys.stderr)
        return 128 + stop.signum
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno is None:
            raise
        from zoo.support.files import mend_of

        print(
            f"zoo: {error.filename or 'a file'} cannot be "
            f"used ({error.strerror}): {mend_of(error)}",
            file=sys.stderr,
        )
        return 1


def dispatch(argv: list[str]) -> int:
    """Runs the command that the first argument names.

    Args:
        argv: The command and its arguments.

    Returns:
        The exit status: 2 where there is no such command.

    Raises:
        ZooError: The command finds a mistake that the user can mend.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"zoo {__version__}")
        return 0
    name, rest = argv[0], argv[1:]
    if name == "--print_completion":
        from zoo.cli.completion import script

        print(script(chosen_shell(rest)))
        return 0
    if name in LIGHTNING:
        asked = next((i for i, argument in enumerate(rest) if argument in ("-h", "--help")), None)
        if asked is not None and rest[asked + 1 :] != ["all"]:
            from zoo.cli.explain import page

            return page(name, rest)
        if asked is not None:
            argv = argv[:-1]
        from zoo.cli.fit import run

        return run(argv)
    if name not in COMMANDS:
        print(
            f"zoo: there is no command {name!r}{suggest_names(name, [*LIGHTNING, *COMMANDS])}; "
            "`zoo --help` lists them",
            file=sys.stderr,
        )
        return 2
    module, function = COMMANDS[name][0].split(":")
    status: int = getattr(importlib.import_module(module), function)(rest)
    return status


def chosen_shell(rest: list[str]) -> str:
    """Returns the shell that `--print_completion` is for.

    Raises:
        ZooError: It is neither bash nor zsh.
    """
    if rest not in (["bash"], ["zsh"]):
        raise ZooError(
            f"--print_completion {' '.join(rest)}: name the shell, as in "
            "`zoo --print_completion bash` or `zoo --print_completion zsh`"
        )
    return rest[0]


def usage() -> str:
    """Returns the text of `zoo --help`."""
    lines = ["usage: zoo COMMAND [ARGUMENTS]; `zoo COMMAND --help` says more", ""]
    lines += [f"  {name:<10} {text}" for name, text in LIGHTNING.items()]
    lines += [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    lines += [
        "",
        "--trust_code, with any command, lets checkpoints, exported models, results and model YAML "
        "files name",
        "classes that neither zoo nor an installed package offers, and runs their code",
        "",
        "`zoo --print_completion bash`, or zsh, prints what the shell completes commands by",
    ]
    return "\n".join(lines)
