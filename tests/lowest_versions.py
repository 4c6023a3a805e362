"""Prints the lowest versions that pyproject.toml allows, one pin per line.

    python tests/lowest_versions.py hf llm > lowest.txt

The arguments are extras, whose requirements are pinned too. `make test-lowest` installs them.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest_versions(requirements: list[str]) -> list[str]:
    """Returns each requirement `name>=1.2,...` as `name==1.2`."""
    pins = []
    for requirement in requirements:
        name, floor = re.fullmatch(r"([\w.\[\]-]+)>=([\w.]+)(?:,.*)?", requirement).groups()
        pins.append(f"{name}=={floor}")
    return pins


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    required = [*project["dependencies"]]
    for extra in sys.argv[1:]:
        required += project["optional-dependencies"][extra]
    print(*dict.fromkeys(lowest_versions(required)), sep="\n")
