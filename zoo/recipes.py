"""Recipes: where `--config NAME` finds a YAML, from any directory. Free of torch."""

from pathlib import Path

from zoo.errors import ZooError, near


def recipe_folder() -> Path:
    """Returns the folder of shipped recipes: zoo/configs in a wheel, configs/ beside the package in an editable install."""
    package = Path(__file__).parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def shipped_recipes() -> dict[str, Path]:
    """Returns the shipped recipes by file name."""
    return {path.name: path for path in sorted(recipe_folder().glob("*.yaml"))}


def find_recipe(name: str) -> Path:
    """Returns the file that `--config name` means: a path that exists, else a shipped recipe; raises ZooError with near names."""
    if Path(name).is_file():
        return Path(name)
    shipped = shipped_recipes()
    for candidate in (name, f"{name}.yaml"):
        if candidate in shipped:
            return shipped[candidate]
    raise ZooError(f"--config {name} is neither a file nor a shipped recipe{near(name, shipped)}: `zoo ls configs` lists them")


def with_recipes(argv: list[str]) -> list[str]:
    """Returns the arguments with every `--config NAME` made a path; inline JSON is left as it is."""
    out: list[str] = []
    expects = False
    for argument in argv:
        if expects:
            argument, expects = _located(argument), False
        elif argument in ("--config", "-c"):
            expects = True
        elif argument.startswith("--config="):
            argument = "--config=" + _located(argument.removeprefix("--config="))
        out.append(argument)
    return out


def _located(value: str) -> str:
    return value if value.lstrip().startswith("{") else str(find_recipe(value))
