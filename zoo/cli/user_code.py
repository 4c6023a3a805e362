"""Which code a command may import: classes that the user names, or all with `--trust_code`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from zoo.support.trust import FLAG, allow_all_code, enable_user_modules, trust_names

# first parts of flags that name classes or whose arguments do
NAMING_FLAGS = {
    "benchmarks",
    "corpus_reader",
    "data",
    "extractor",
    "generator",
    "head",
    "model",
    "objective",
    "optimizer",
    "preset",
    "presets",
    "reader",
    "tagger",
    "trainer",
}


@contextmanager
def allow_user_code(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Lets a command import the classes that its flags name, including from the working folder.

    Args:
        arguments: The words of the command.

    Yields:
        The words without `--trust_code`.
    """
    with enable_user_modules(), allow_all_code(FLAG in arguments):
        trust_classes_in_flags(arguments)
        yield [word for word in arguments if word != FLAG]


def trust_classes_in_flags(arguments: Sequence[str]) -> None:
    """Trusts the classes that flags name, ignoring flags of files and folders.

    Args:
        arguments: The words of a command.
    """
    values, names_classes = list[str](), False
    for word in arguments:
        flag, _, value = word.partition("=")
        if word.startswith("--"):
            names_classes = flag.removeprefix("--").partition(".")[0] in NAMING_FLAGS
        else:
            value = word
        if names_classes:
            values.append(value)
    trust_names(values, Path.cwd())
