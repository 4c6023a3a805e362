"""Translates errors of jsonargparse, Lightning and torch into messages of one sentence."""

import inspect
import re
from itertools import takewhile
from pathlib import Path
from traceback import walk_tb

from zoo.errors import ZooError, suggest_names
from zoo.support import ranges
from zoo.support.class_names import BASE_CLASS_BY_KIND, class_paths, import_path, suggest_class

MAX_LENGTH = 400
START_HINTS = {
    "fit": "begin with a recipe, such as --config clip.yaml (`zoo ls configs` lists them)",
    "validate": "name --benchmarks, and --ckpt_path or --model",
}
HELP_HINT = "`--help` lists the arguments"
# jsonargparse tries a value against each of its types, and reports an error for every type
IRRELEVANT_LINES = (
    "Does not validate against any of the Union",
    "Subtypes:",
    "Errors:",
    "Expected a path but",
    "Expected a <class 'NoneType'>",
    "Subclass types expect",
    "a class path (str)",
    "a dict ",
    "Given value",
)
_GIVEN_LIST = re.compile(r"([\w.]+): Not a valid subclass of (\w+)\. Got value: \[.*", re.DOTALL)
_LIST_FOR_ONE = re.compile(r"Not a valid subclass of \w+(\.|;|$)")
_UNKNOWN_NAME = re.compile(
    r"is no class ([\w.]+)|(?:takes no|accept option) '([\w.-]+)'"
    r"|nrecognized arguments: -*([^\s=]+)|has no attribute '(\w+)'",
    re.IGNORECASE,
)
_NO_MODULE = re.compile(r"([\w.]+\.\w+): No (?:module named )?'?[\w.]+")
_OUT_OF_RANGE = re.compile(
    r"(\w+): Not of type (\w+): (?:(?:(\S+) )?does not conform to restriction (v[^;]*\w)|[^;]*)"
)
_ABSTRACT = re.compile(r"Expected an instantiatable class, but is abstract\. Got value: ([\w.]+\w)")
# an overlay without a recipe has no required arguments of the data
_NO_RECIPE = re.compile(r"data: zoo\.[\w.]+: the following arguments are required: ")
_CLASS_PROBLEM = r"Problem with given class_path '([\w.]+)': "
_GIVEN_VALUE = re.compile(r"Given value: (?:NestedArg\(key='[\w.]+', val=(.*)\)|(.*))")
_CALLABLE_TYPE = r"Type [^ ]*Callable\[.*?\] expects a function or a callable class: "
# patterns of jsonargparse's messages, and their replacements
REPLACEMENTS = (
    (re.compile(r'Parser key "(.*?)"'), r"\1"),
    (re.compile(r"(?:a )?<class '(?:\w+\.)*(\w+)'>"), r"\1"),
    (re.compile(r"typing\."), ""),
    (
        re.compile(r"Expected a dot import path string: ([\w.]+\w)(?:\. Got value: .*)?"),
        r"there is no class \1",
    ),
    (re.compile(rf": {_CLASS_PROBLEM}(?=\w+: )"), "."),
    (
        re.compile(
            rf"{_CALLABLE_TYPE}Option '([\w.-]+)' is not .*Namespace\(class_path='([\w.]+)'.*"
        ),
        r"\2 takes no '\1'",
    ),
    (re.compile(_CALLABLE_TYPE), ""),
    (re.compile(r"\.\. Got value: .*"), ""),
    (re.compile(rf"{_CLASS_PROBLEM}Option '([\w.-]+)' is not accepted"), r"\1 takes no '\2'"),
    (re.compile(r"Option '([\w.-]+)' is not accepted"), r"takes no '\1'"),
    (re.compile(_CLASS_PROBLEM), r"\1: "),
)


def shorten_message(message: str) -> str:
    """Shortens an error message about an argument or a YAML to one sentence.

    Args:
        message: The message of jsonargparse.

    Returns:
        The sentence, with suggestions for an unknown name.
    """
    required = re.search(r"arguments are required: (\w+)\..*", message)
    if required is not None:
        names = re.findall(rf"{required[1]}\.([\w.]+)", required[0])
        missing = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} not given"
        return f"{missing}: {START_HINTS.get(required[1], HELP_HINT)}"
    lines = [line for line in message.splitlines() if line.strip()]
    relevant = [line for line in lines if not line.strip(" -").startswith(IRRELEVANT_LINES)]
    item_lines = [line for line in relevant if not _LIST_FOR_ONE.search(line)]
    class_problem = next((i for i, line in enumerate(relevant) if _is_class_problem(line)), None)
    if class_problem is not None:  # the user named a class: drop the errors about the other types
        nested = list(
            takewhile(
                lambda line: _indentation(line) > _indentation(relevant[class_problem]),
                relevant[class_problem + 1 :],
            )
        )
        nested_indents = {_indentation(line) for line in nested if _is_class_problem(line)}
        other_types = [
            line
            for line in nested
            if _indentation(line) in nested_indents and line.strip(" -").startswith("Expected")
        ]
        nested = [line for line in nested if line not in other_types]
        relevant = [*relevant[: min(class_problem, 1)], relevant[class_problem], *nested]
    elif len(item_lines) < len(relevant) and not all(line.endswith(":") for line in item_lines):
        relevant = item_lines  # the user gave a list: keep the errors about its items
    elif len(relevant) < 2:
        relevant = lines
    text = " ".join(
        line.strip(" -") if line.endswith(":") else f"{line.strip(' -')};" for line in relevant
    ).rstrip("; ")
    for pattern, replacement in REPLACEMENTS:
        text = pattern.sub(replacement, text)
    text = _truncate(_name_missing_methods(_state_ranges(_add_given_value(text, message), message)))
    if (list_match := _GIVEN_LIST.match(text)) is not None:
        return f"{list_match[1]} takes one {list_match[2]}, and got a list: give one"
    if _NO_RECIPE.match(text):
        text = f"{text}: give them, or {START_HINTS['fit']}"
    return f"{text}{_suggest(text)}"


def _add_given_value(text: str, message: str) -> str:
    """Adds the given value where jsonargparse names only the expected type."""
    argument, match = text.partition(":")[0], _GIVEN_VALUE.search(message)
    if match is None:
        return text
    value = _given_value(argument.rpartition(".")[2], message)
    text = re.sub(r"Import path does not", f"{value} does not", text)
    if text.startswith(f"{argument}: Expected") and value not in text:
        text = f"{text}. Got value: {value}"
    return text


def _name_missing_methods(text: str) -> str:
    """Names the methods that an abstract class does not define."""
    match = _ABSTRACT.search(text)
    if match is None:
        return text
    cls = import_path(match[1])
    missing = sorted(cls.__abstractmethods__)
    bases = (c for c in cls.__mro__[1:] if missing[0] in getattr(c, "__abstractmethods__", ()))
    base = next(bases, cls)
    return _ABSTRACT.sub(
        f"{match[1]} does not define {', '.join(missing)}: implement the abstract methods of "
        f"{base.__name__}",
        text,
    )


def _state_ranges(text: str, message: str) -> str:
    """States which numbers an argument takes, and which number it was given."""

    def describe_range(match: re.Match[str]) -> str:
        argument, kind, value, restriction = match.groups()
        restriction = restriction or getattr(getattr(ranges, kind, None), "_expression", None)
        if restriction is None:  # not a number, but another type that jsonargparse parses from text
            return match[0]
        value = value or _given_value(argument, message)
        no_value = " (null sets none)" if "NoneType" in message else ""
        allowed = ranges.describe_restriction(kind, restriction)
        return f"{argument}: {value} is not {allowed}{no_value}"

    return _OUT_OF_RANGE.sub(describe_range, text)


def _given_value(argument: str, message: str) -> str:
    """Returns the value given to an argument, alone or among the arguments of its class."""
    match = _GIVEN_VALUE.search(message)
    if match is None:
        literal = re.search(r"(?:base 10|to float): '(.*)'", message)
        return literal[1] if literal else "this"
    argument_match = re.search(rf"'{argument}': ([^,}}]+)", match[0])
    return (argument_match[1] if argument_match else match[1] or match[2]).strip("'")


def _is_class_problem(line: str) -> bool:
    """Returns whether a line reports a problem with the class that was named."""
    return line.strip(" -").startswith("Problem with")


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def to_user_error(error: BaseException) -> ZooError | None:
    """Translates an exception, or one of its causes, into an error that the user can fix.

    Args:
        error: The exception.

    Returns:
        The error, or None for a defect of the program, whose traceback should be shown.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ZooError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        return cause
    text = _truncate(" ".join(str(error).split()))
    package, file = _raising_frame(error)
    if package == "jsonargparse":
        return ZooError(shorten_message(str(error)))
    import torch
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    from zoo.support.distributed import lost_connection_message, rank, world_size

    lost_rank = lost_connection_message(error)
    if lost_rank is not None:
        return ZooError(
            f"process {rank()} of {world_size()} ends, since another process ended or cannot be "
            f"reached ({lost_rank}): fix the error that the other process reports, then resume "
            "from the last checkpoint, if there is one, with --ckpt_path last"
        )
    if isinstance(error, torch.OutOfMemoryError):
        return ZooError(
            f"the device has too little memory ({text}): set model.backbone.compute.chunk to "
            "encode fewer items at once, with the same gradients, or lower data.batch_size"
        )
    if text.startswith("DataLoader worker"):
        return ZooError(
            f"a data loading process was killed ({text}): provide more memory, or lower "
            "data.workers or data.batch_size"
        )
    if (package, file) == ("torch", "optimizer.py") and "state dict" in text:
        return ZooError(
            f"the checkpoint's optimizer trained other parameters ({text}): set "
            "model.backbone.tuning, head and objective as in that run, or start a new run from "
            "its weights with --model.backbone.pretrained"
        )
    if isinstance(error, MisconfigurationException) or package == "lightning":
        return ZooError(f"Lightning rejects the settings: {text}")
    return None


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]} ..."


def _raising_frame(error: BaseException) -> tuple[str, str]:
    """Returns the package and the file name of the frame that raised the error."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if not frames:
        return "", ""
    return str(frames[-1].f_globals.get("__name__", "")).partition(".")[0], Path(
        frames[-1].f_code.co_filename
    ).name


def _suggest(text: str) -> str:
    base_class = re.search(r"(?:a|valid) subclass of (\w+)", text)
    if base_class is not None:
        return next(
            (
                f" (`zoo ls {kind}` lists some)"
                for kind, base in BASE_CLASS_BY_KIND.items()
                if base == base_class[1]
            ),
            "",
        )
    short_names = {name for kind in BASE_CLASS_BY_KIND for name in class_paths(kind)}
    unimportable = _NO_MODULE.search(text)
    if unimportable is not None:
        return suggest_class(unimportable[1]) or suggest_names(
            unimportable[1].rpartition(".")[2], short_names
        )
    unknown = _UNKNOWN_NAME.search(text)
    if unknown is None:
        return ""
    name = next(group for group in unknown.groups() if group)
    owner = re.search(r"([\w.]+\.\w+) takes no '", text)
    if owner is not None:
        parameters = _arguments_of(owner[1])
        return (
            suggest_names(name, parameters)
            or f" (it takes {', '.join(parameters) or 'no arguments'})"
        )
    if name in short_names:
        paths_by_kind = (class_paths(kind) for kind in BASE_CLASS_BY_KIND)
        return f" (it is {next(paths[name] for paths in paths_by_kind if name in paths)})"
    if unknown[1]:
        setting = re.search(r"(?:--)?(?:[\w.]+\.)?(\w+): there is no class", text)
        kinds = [k for k in BASE_CLASS_BY_KIND if setting and k in (setting[1], f"{setting[1]}s")]
        if kinds:
            return (
                suggest_names(name, class_paths(kinds[0]))
                or f": `zoo ls {kinds[0]}` lists the names"
            )
        return suggest_names(name, short_names) or ": `zoo ls` lists the names"
    return suggest_names(name, setting_names()) or f": {HELP_HINT}"


def setting_names() -> list[str]:
    """Returns the dotted names of the settings of model, optimizer and trainer."""
    from lightning import Trainer

    from zoo.module import ZooModule
    from zoo.optim import Optimization

    sections = (("model.", ZooModule), ("model.optimizer.", Optimization), ("trainer.", Trainer))
    return [
        prefix + argument
        for prefix, cls in sections
        for argument in inspect.signature(cls.__init__).parameters
        if argument not in ("self", "args", "kwargs")
    ]


def _arguments_of(class_path: str) -> list[str]:
    """Returns the names of a class's arguments, including those of its base classes."""
    constructors = (
        cls.__init__
        for cls in import_path(class_path).__mro__
        if "__init__" in vars(cls) and cls is not object
    )
    return [
        argument
        for function in constructors
        for argument, parameter in inspect.signature(function).parameters.items()
        if argument != "self"
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
