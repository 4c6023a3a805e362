"""The command line: `zoo fit` and `zoo validate` use LightningCLI, other commands are functions.

The module of a command is imported when the command runs.
"""

import sys

from zoo import __version__
from zoo.cli.postponed_imports import scipy_signal_postponed
from zoo.cli.registry import COMMANDS, LIGHTNING, RUNS_ARE_KEPT, command_module
from zoo.cli.user_code import allow_user_code
from zoo.errors import Stopped, ZooError, suggest_names
from zoo.support.garbage_collection import collector_off
from zoo.support.signals import ImmediateStop, signals_raise

OTHER_NAMES = {  # what the same command is called in other programs
    "train": "fit",
    "finetune": "fit",
    "eval": "validate",
    "evaluate": "validate",
    "test": "validate",
    "download": "data get",
    "list": "ls",
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The command and its arguments; by default those of the process.

    Returns:
        The exit status: 0, 1 after an error that the user can fix, 2 for wrong arguments, or 128
        plus the signal's number if a signal ended it (docs/guides/exit_codes.md).
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    command = COMMANDS.get(argv[0]) if argv else None
    hint = command.interrupt_hint if command else ""
    with (
        signals_raise(RUNS_ARE_KEPT if _has_several_models(argv) else hint) as ending,
        allow_user_code(argv) as words,
    ):
        return run_command(words, ending)


def run_command(argv: list[str], signal_handler: ImmediateStop) -> int:
    """Runs one command, and prints one line if an error or a signal ends it.

    Args:
        argv: The command and its arguments.
        signal_handler: Handles signals, and knows what was saved.

    Returns:
        The exit status.
    """
    try:
        return dispatch(argv)
    except ZooError as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        hint = str(stop) or signal_handler.saved_note
        print(f"zoo: interrupted: {hint}" if hint else "zoo: interrupted", file=sys.stderr)
        return 130
    except Stopped as stop:
        if stop.is_reported:
            print(f"zoo: {stop}", file=sys.stderr)
        return 128 + stop.signum
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno is None:
            raise
        from zoo.support.files import advice_on

        print(
            f"zoo: {error.filename or 'a file'} cannot be "
            f"used ({error.strerror}): {advice_on(error)}",
            file=sys.stderr,
        )
        return 1


def dispatch(argv: list[str]) -> int:
    """Runs the command that the first argument names.

    Args:
        argv: The command and its arguments.

    Returns:
        The exit status: 2 if there is no such command.

    Raises:
        ZooError: The command fails with an error that the user can fix.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if argv[0] in ("-V", "--version"):
        print(f"zoo {__version__}")
        return 0
    name, rest = argv[0], argv[1:]
    if name == "--print_completion":
        from zoo.cli.completion import completion_script

        print(completion_script(chosen_shell(rest)))
        return 0
    if name not in COMMANDS:
        advice = (
            f": use `zoo {OTHER_NAMES[name]}`"
            if name in OTHER_NAMES
            else f"{suggest_names(name, COMMANDS)}; `zoo --help` lists them"
        )
        print(f"zoo: unknown command {name!r}{advice}", file=sys.stderr)
        return 2
    if name in LIGHTNING:
        help_index = next(
            (i for i, argument in enumerate(rest) if argument in ("-h", "--help")), None
        )
        if help_index is not None and rest[help_index + 1 :] != ["all"]:
            from zoo.cli.help_pages import print_help_page

            return print_help_page(name, rest)
        if help_index is not None:
            argv = argv[:-1]
        elif _has_several_models(argv):
            from zoo.cli.sweep import main as sweep

            return sweep(rest)
        from zoo.cli.early_checks import find_mistake

        if (mistake := find_mistake(argv)) is not None:
            print(f"zoo: {mistake}", file=sys.stderr)
            return 2
        with collector_off(), scipy_signal_postponed():
            from zoo.cli.fit import run

        return run(argv)
    status: int = command_module(name).main(rest)
    return status


def _has_several_models(argv: list[str]) -> bool:
    """Returns whether a command is `zoo validate --models`."""
    return argv[:1] == ["validate"] and any(w.partition("=")[0] == "--models" for w in argv)


def chosen_shell(rest: list[str]) -> str:
    """Returns the shell that follows `--print_completion`.

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
    lines = ["usage: zoo COMMAND [ARGUMENTS]; `zoo COMMAND --help` shows the arguments", ""]
    lines += [f"  {name:<10} {command.summary}" for name, command in COMMANDS.items()]
    lines += [
        "",
        "--trust_code, with any command, runs the code of classes that a checkpoint, exported "
        "model,",
        "results file or model YAML names and that neither zoo nor an installed package provides",
        "",
        "`zoo --print_completion bash` (or zsh) prints a completion script for the shell",
    ]
    return "\n".join(lines)
