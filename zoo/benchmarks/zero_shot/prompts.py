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
    """The names of classes, and the templates for them.

    Attributes:
        names: Names of the classes, in their order.
        templates: Texts with a placeholder for the name, {} or {c}.
        names_from: The source of the names.
        templates_from: The source of the templates.
        files: The user's files among these sources.
    """

    names: tuple[str, ...]
    templates: tuple[str, ...]
    names_from: str
    templates_from: str
    files: tuple[Path, ...] = ()

    def by_class(self) -> tuple[tuple[str, ...], ...]:
        """Returns the prompts of each class."""
        return tuple(
            tuple(_PLACE.sub(lambda _, name=name: name, template) for template in self.templates)  # type: ignore[misc]
            for name in self.names
        )

    @property
    def note(self) -> str:
        """The note for the report."""
        names, templates = (Path(text).name for text in (self.names_from, self.templates_from))
        n = len(self.templates)
        template_text = f"the template {self.templates[0]!r}" if n == 1 else f"{n} templates"
        return f"class names of {names}, {template_text} of {templates}"


def read_names(path: Path) -> tuple[str, ...]:
    """Returns the class names of a file, one per line.

    Raises:
        ZooError: A line is blank, or the file is empty.
    """
    return _read_nonblank_lines(path, "name")


def read_templates(path: Path) -> tuple[str, ...]:
    """Returns the templates of a file, one per line.

    Raises:
        ZooError: A line is blank or has no placeholder for the name, or the file is empty.
    """
    return check_templates(_read_nonblank_lines(path, "template"), str(path))


def check_templates(templates: Sequence[str], origin: str) -> tuple[str, ...]:
    """Checks that templates have a placeholder for the name, and returns them.

    Raises:
        ZooError: A template has none.
    """
    for number, template in enumerate(templates, 1):
        if not _PLACE.search(template):
            raise ZooError(
                f"{origin}:{number}: template {template!r} has no placeholder for the class name: "
                "write {} where it goes"
            )
    return tuple(templates)


def _read_nonblank_lines(path: Path, line_content: str) -> tuple[str, ...]:
    lines = [line.strip() for line in text_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise ZooError(f"{path} is empty: write one {line_content} per line")
    if "" in lines:
        raise ZooError(f"{path}:{lines.index('') + 1} is blank: write one {line_content} per line")
    return tuple(lines)
