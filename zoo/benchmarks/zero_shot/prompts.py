"""Prompts: class names in templates, and the files that hold both."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.text_files import text_lines

NAMES = "classnames.txt"
TEMPLATES = ("templates.txt", "zeroshot_classification_templates.txt")
_PLACE = re.compile(r"\{c?\}")


@dataclass(frozen=True)
class ClassPrompts:
    """The names of classes and the templates that they are put into.

    Attributes:
        names: Names of the classes, in their order.
        templates: Texts with a place for the name, {} or {c}.
        names_from: Where the names are from.
        templates_from: Where the templates are from.
        files: The user's files among them.
    """

    names: tuple[str, ...]
    templates: tuple[str, ...]
    names_from: str
    templates_from: str
    files: tuple[Path, ...] = ()

    def of_classes(self) -> tuple[tuple[str, ...], ...]:
        """Returns the prompts of each class."""
        return tuple(
            tuple(_PLACE.sub(lambda _, name=name: name, template) for template in self.templates)  # type: ignore[misc]
            for name in self.names
        )

    @property
    def note(self) -> str:
        """What the report says of them."""
        names, templates = (Path(text).name for text in (self.names_from, self.templates_from))
        n = len(self.templates)
        said = f"the template {self.templates[0]!r}" if n == 1 else f"{n} templates"
        return f"class names of {names}, {said} of {templates}"


def names_file(path: Path) -> tuple[str, ...]:
    """Returns the class names of a file, one a line.

    Raises:
        ZooError: A line is blank, or there is none.
    """
    return _lines(path, "name")


def templates_file(path: Path) -> tuple[str, ...]:
    """Returns the templates of a file, one a line.

    Raises:
        ZooError: A line is blank or has no place for the name, or there is none.
    """
    return check_templates(_lines(path, "template"), str(path))


def check_templates(templates: Sequence[str], origin: str) -> tuple[str, ...]:
    """Returns templates that have a place for the name.

    Raises:
        ZooError: One has none.
    """
    for number, template in enumerate(templates, 1):
        if not _PLACE.search(template):
            raise ZooError(
                f"{origin}:{number}: the template {template!r} has no place for the class name: "
                "write {} where it goes"
            )
    return tuple(templates)


def _lines(path: Path, what: str) -> tuple[str, ...]:
    lines = [line.strip() for line in text_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise ZooError(f"{path} is empty: write one {what} a line")
    if "" in lines:
        raise ZooError(f"{path}:{lines.index('') + 1} is blank: write one {what} a line")
    return tuple(lines)
