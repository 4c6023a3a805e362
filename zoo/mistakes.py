"""What jsonargparse, Lightning and torch say of a user's mistake, in one sentence."""

import inspect
import re
from itertools import takewhile
from pathlib import Path
from traceback import walk_tb

from zoo.errors import ZooError, suggest_names
from zoo.support import ranges
from zoo.support.names import ROOMS, import_path, paths, suggest_class

LONGEST = 400
START = {
    "fit": "begin with a recipe, as in `zoo fit --config clip.yaml` (`zoo ls configs` lists them)",
    "validate": "name --benchmarks, and --ckpt_path or --model",
}
LISTED = "`--help` lists what can be given"
# jsonargparse tries a value against each of its types, and says what is wrong for every one
NOT_MEANT = (
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
_LIST_FOR_ONE = re.compile(r"Not a valid subclass of \w+(\.|;|$)")
_UNKNOWN = re.compile(
    r"import path string: ([\w.]+)|(?:takes no|accept option) '([\w.-]+)'"
    r"|nrecognized arguments: -*([^\s=]+)|has no attribute '(\w+)'",
    re.IGNORECASE,
)
_GONE = re.compile(r"([\w.]+\.\w+): No (?:module named )?'?[\w.]+")
_OUT_OF_RANGE = re.compile(
    r"(\w+): Not of type (\w+): (?:(?:(\S+) )?does not conform to restriction (v[^;]*\w)|[^;]*)"
)
_ABSTRACT = re.compile(r"Expected an instantiatable class, but is abstract\. Got value: ([\w.]+\w)")
# an overlay's data, which lacks what recipes say
_NO_RECIPE = re.compile(r"data: zoo\.[\w.]+: the following arguments are required: ")
_CLASS = r"Problem with given class_path '([\w.]+)': "
_GIVEN = re.compile(r"Given value: (?:NestedArg\(key='[\w.]+', val=(.*)\)|(.*))")
_MAKER = r"Type [^ ]*Callable\[.*?\] expects a function or a callable class: "
# what jsonargparse says, and what is meant
PLAINLY = (
    (re.compile(r'Parser key "(.*?)"'), r"\1"),
    (re.compile(r"(?:a )?<class '(?:\w+\.)*(\w+)'>"), r"\1"),
    (re.compile(r"typing\."), ""),
    (re.compile(rf": {_CLASS}(?=\w+: )"), "."),
    (
        re.compile(rf"{_MAKER}Option '([\w.-]+)' is not .*Namespace\(class_path='([\w.]+)'.*"),
        r"\2 takes no '\1'",
    ),
    (re.compile(_MAKER), ""),
    (re.compile(r"\.\. Got value: .*"), ""),
    (re.compile(rf"{_CLASS}Option '([\w.-]+)' is not accepted"), r"\1 takes no '\2'"),
    (re.compile(r"Option '([\w.-]+)' is not accepted"), r"takes no '\1'"),
    (re.compile(_CLASS), r"\1: "),
)


def sentence(message: str) -> str:
    """Says in one sentence what is wrong with an argument or a YAML.

    Args:
        message: What jsonargparse says.

    Returns:
        The sentence, with the names most like an unknown one.
    """
    required = re.search(r"arguments are required: (\w+)\.", message)
    if required is not None:
        return f"{message}: {START.get(required[1], LISTED)}"
    lines = [line for line in message.splitlines() if line.strip()]
    said = [line for line in lines if not line.strip(" -").startswith(NOT_MEANT)]
    listed = [line for line in said if not _LIST_FOR_ONE.search(line)]
    problem = next((i for i, line in enumerate(said) if _names_class(line)), None)
    if problem is not None:  # the class that was named is meant, and none of the other types
        inside = list(
            takewhile(lambda line: _indent(line) > _indent(said[problem]), said[problem + 1 :])
        )
        meant_within = {_indent(line) for line in inside if _names_class(line)}
        other_types = [
            line
            for line in inside
            if _indent(line) in meant_within and line.strip(" -").startswith("Expected")
        ]
        inside = [line for line in inside if line not in other_types]
        said = [*said[: min(problem, 1)], said[problem], *inside]
    elif len(listed) < len(said) and not all(line.endswith(":") for line in listed):
        said = listed  # a list was given: what is wrong with one of its items is meant
    elif len(said) < 2:
        said = lines
    text = " ".join(
        line.strip(" -") if line.endswith(":") else f"{line.strip(' -')};" for line in said
    ).rstrip("; ")
    for pattern, plain in PLAINLY:
        text = pattern.sub(plain, text)
    text = _cut(_with_methods(_with_ranges(_with_values(text, message), message)))
    if _NO_RECIPE.match(text):
        text = f"{text}: give them, or {START['fit']}"
    return f"{text}{_near_names(text)}"


def _with_values(text: str, message: str) -> str:
    """Says what was given where jsonargparse says only what is wanted."""
    argument, given = text.partition(":")[0], _GIVEN.search(message)
    if given is None:
        return text
    value = _given_value(argument.rpartition(".")[2], message)
    text = re.sub(r"Import path does not", f"{value} does not", text)
    if text.startswith(f"{argument}: Expected") and value not in text:
        text = f"{text}. Got value: {value}"
    return text


def _with_methods(text: str) -> str:
    """Says what a class has to define where it cannot be built without."""
    found = _ABSTRACT.search(text)
    if found is None:
        return text
    cls = import_path(found[1])
    lacking = sorted(cls.__abstractmethods__)
    above = (c for c in cls.__mro__[1:] if lacking[0] in getattr(c, "__abstractmethods__", ()))
    base = next(above, cls)
    return _ABSTRACT.sub(
        f"{found[1]} lacks {', '.join(lacking)}: define what {base.__name__} leaves open", text
    )


def _with_ranges(text: str, message: str) -> str:
    """Says in words which number an argument takes, and which it was given."""

    def words(found: re.Match[str]) -> str:
        argument, kind, value, restriction = found.groups()
        restriction = restriction or getattr(getattr(ranges, kind, None), "_expression", None)
        if restriction is None:  # no number, but another type that jsonargparse makes of text
            return found[0]
        value = value or _given_value(argument, message)
        return f"{argument}: {value} is not {ranges.describe_restriction(kind, restriction)}"

    return _OUT_OF_RANGE.sub(words, text)


def _given_value(argument: str, message: str) -> str:
    """Returns the value that an argument was given, by itself or among those of its class."""
    given = _GIVEN.search(message)
    if given is None:
        literal = re.search(r"(?:base 10|to float): '(.*)'", message)
        return literal[1] if literal else "this"
    inside = re.search(rf"'{argument}': ([^,}}]+)", given[0])
    return (inside[1] if inside else given[1] or given[2]).strip("'")


def _names_class(line: str) -> bool:
    """Tells whether a line says what is wrong with a class that was named."""
    return line.strip(" -").startswith("Problem with")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def mistake(error: BaseException) -> ZooError | None:
    """Finds what a user can mend about an exception or about one that it came from.

    Args:
        error: The exception.

    Returns:
        The mistake, or None for a defect, whose traceback is wanted.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ZooError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        return cause
    text = _cut(" ".join(str(error).split()))
    package, file = _raised_in(error)
    if package == "jsonargparse":
        return ZooError(sentence(str(error)))
    import torch
    from lightning.fabric.utilities.exceptions import MisconfigurationException

    from zoo.support.distributed import rank, rank_lost, world_size

    gone = rank_lost(error)
    if gone is not None:
        return ZooError(
            f"process {rank()} of {world_size()} ends, since another one ended or cannot be "
            f"reached ({gone}): mend what that one says; a run that wrote a checkpoint goes on by "
            "--ckpt_path last"
        )
    if isinstance(error, torch.OutOfMemoryError):
        return ZooError(
            f"the device has too little memory ({text}): set model.backbone.compute.chunk to "
            "encode fewer items at once, with the same gradients, or lower data.batch_size"
        )
    if text.startswith("DataLoader worker"):
        return ZooError(
            f"a process that loads data was killed ({text}): give it more memory, or lower "
            "data.workers or data.batch_size"
        )
    if (package, file) == ("torch", "optimizer.py") and "state dict" in text:
        return ZooError(
            f"the checkpoint's optimiser had other parameters to train ({text}): set "
            "model.backbone.tuning, head and objective as they were, or start anew from its "
            "weights by --model.backbone.pretrained"
        )
    if isinstance(error, MisconfigurationException) or package == "lightning":
        return ZooError(f"Lightning refuses the settings, change what it names: {text}")
    return None


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _raised_in(error: BaseException) -> tuple[str, str]:
    """Returns package and file name of the frame that raised."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if not frames:
        return "", ""
    return str(frames[-1].f_globals.get("__name__", "")).partition(".")[0], Path(
        frames[-1].f_code.co_filename
    ).name


def _near_names(text: str) -> str:
    kind = re.search(r"(?:a|valid) subclass of (\w+)", text)
    if kind is not None:
        return next(
            (f" (`zoo ls {room}` lists some)" for room, base in ROOMS.items() if base == kind[1]),
            "",
        )
    short = {name for room in ROOMS for name in paths(room)}
    gone = _GONE.search(text)
    if gone is not None:
        return suggest_class(gone[1]) or suggest_names(gone[1].rpartition(".")[2], short)
    asked = _UNKNOWN.search(text)
    if asked is None:
        return ""
    name = next(group for group in asked.groups() if group)
    owner = re.search(r"([\w.]+\.\w+) takes no '", text)
    if owner is not None:
        takes = _arguments_of(owner[1])
        return suggest_names(name, takes) or f" (it takes {', '.join(takes) or 'no arguments'})"
    if name in short:
        return f" (it is {next(paths(room)[name] for room in ROOMS if name in paths(room))})"
    if asked[1]:
        flag = re.search(r"--(?:[\w.]+\.)?(\w+):", text)
        rooms = [room for room in ROOMS if flag and room == f"{flag[1]}s"]
        if rooms:
            return (
                suggest_names(name, paths(rooms[0]))
                or f": `zoo ls {rooms[0]}` lists what can be named"
            )
        return suggest_names(name, short) or ": `zoo ls` lists what can be named"
    return suggest_names(name, settings()) or f": {LISTED}"


def settings() -> list[str]:
    """Returns the dotted names of settings of the model, its optimiser and the trainer."""
    from lightning import Trainer

    from zoo.module import ZooModule
    from zoo.optim import Optimization

    made_of = (("model.", ZooModule), ("model.optimizer.", Optimization), ("trainer.", Trainer))
    return [
        prefix + argument
        for prefix, made in made_of
        for argument in inspect.signature(made.__init__).parameters
        if argument not in ("self", "args", "kwargs")
    ]


def _arguments_of(class_path: str) -> list[str]:
    """Returns the names of a class's arguments, those that it hands on to its bases included."""
    made = (
        cls.__init__
        for cls in import_path(class_path).__mro__
        if "__init__" in vars(cls) and cls is not object
    )
    return [
        argument
        for function in made
        for argument, of in inspect.signature(function).parameters.items()
        if argument != "self" and of.kind not in (of.VAR_POSITIONAL, of.VAR_KEYWORD)
    ]
