"""`zoo ls`: lists what is built in and what installed packages provide.

Classes are read from source code, which is imported only for `--long`. The first column is the name
to type.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.cli.command_parser import CommandParser
from zoo.cli.recipes import shipped_recipes, shipped_studies
from zoo.errors import ZooError
from zoo.support.class_names import BASE_CLASS_BY_KIND, list_classes

# a width that no line exceeds: piped output and names to copy must not be wrapped
UNBROKEN = 10_000
# a description of each list, and the flag that takes its names
LISTS = {
    "objectives": ("losses", "--objective"),
    "heads": ("scorers of image-text pairs", "--head"),
    "views": ("crops of an image, for some heads", "--model.head.views"),
    "segments": ("phrases of a text, for some heads", "--model.head.segments"),
    "negatives": ("generators of hard negative captions", "--data.negatives"),
    "positives": ("generators of further true texts", "--data.positives"),
    "readers": ("readers of files of training captions", "--data.train"),
    "datamodules": ("data modules for training and evaluation", "--data"),
    "benchmarks": ("evaluation benchmarks", "--benchmarks"),
    "extractors": (
        "makers of units (phrases of captions) and foils (wrong units)",
        "zoo units extract --extractor",
    ),
    "taggers": ("part-of-speech taggers", "zoo units extract --tagger"),
    "published_weights": (
        "loaders of weights that are not in open_clip's format",
        "--model.backbone.pretrained",
    ),
    "protocols": ("rules that decide which answers are right", ""),
    "presets": ("rules for ties and averages", "--presets"),
    "models": ("published models, in addition to open_clip's", "--model"),
    "backbones": ("architectures", "--model.backbone.name"),
    "configs": ("recipes, and overlays that change recipes", "--config"),
    "studies": (
        "studies (comparisons of trained models), and files that make them smaller",
        "zoo study",
    ),
}
MODEL_FOLDER = Path(__file__).parents[1] / "backbones" / "catalogue" / "entries"
BY_NAME = ("benchmarks", "protocols", "presets")  # lists whose names appear in results and commands


def main(argv: list[str]) -> int:
    """Prints one list, or the names of all lists, and returns the exit status."""
    args = parser().parse_args(argv)
    list_name = args.what
    if args.long:
        print("\n\n".join(_detailed_entries(list_name)))
    elif list_name is None:
        print_table(("list", "entries", "contents", "used with"), _list_rows(), fold_column=3)
        print("\n`zoo ls LIST` shows one list, for example `zoo ls objectives`")
    elif list_name in BY_NAME:
        rows = (
            (name, command_line_name(path), text) for name, path, text in list_classes(list_name)
        )
        print_table(("name", "class", "description"), rows)
    elif list_name in BASE_CLASS_BY_KIND:
        print_table(
            ("name", "description"),
            ((command_line_name(path), text) for _, path, text in list_classes(list_name)),
        )
    elif list_name == "configs":
        recipes = shipped_recipes().items()
        print_table(
            ("name", "description"), ((name, first_comment(file)) for name, file in recipes)
        )
    elif list_name == "studies":
        studies = shipped_studies().values()
        print_table(("name", "description"), ((file.stem, first_comment(file)) for file in studies))
    elif list_name == "models":
        from zoo.cli.detailed_listing import model_rows

        print_table(("name", "description", "weights", "published"), model_rows(), fold_column=1)
    else:
        shipped = shipped_backbones()
        print_table(
            ("name", "description"),
            (
                (name, "shipped with zoo" if name in shipped else "open_clip")
                for name in backbones()
            ),
        )
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo ls", description="List the names that YAML files and flags accept."
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=list(LISTS),
        help="the list to show (default: an overview of all lists)",
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="show details of `benchmarks` (cases, licence, citation, download) or of `models` "
        "(architecture, weights, licence, training data, paper)",
    )
    return parser


def print_table(
    header: tuple[str, ...], rows: Iterable[tuple[str, ...]], fold_column: int = -1
) -> None:
    """Prints a table whose names are never wrapped.

    Args:
        header: The columns.
        rows: The lines.
        fold_column: The index of the column that is wrapped on a narrow terminal.
    """
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(header):
        folds = i == fold_column % len(header)
        table.add_column(column, no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    size = console.measure(table, options=console.options.update(width=UNBROKEN))
    console.width = max(console.width, size.minimum) if console.is_terminal else size.maximum
    console.print(table)


def _detailed_entries(what: str | None) -> Iterable[str]:
    """Returns the detailed entries of a list.

    Raises:
        ZooError: The list has no details.
    """
    from zoo.cli.detailed_listing import describe_benchmark, describe_models

    if what == "models":
        return describe_models()
    if what == "benchmarks":
        return (describe_benchmark(name) for name, _, _ in list_classes(what))
    raise ZooError(
        "--long works only with benchmarks and models: run `zoo ls benchmarks --long`, or "
        f"`zoo ls{'' if what is None else f' {what}'}`"
    )


def _list_rows() -> Iterable[tuple[str, ...]]:
    counts = {"backbones": len(backbones()), "configs": len(shipped_recipes())}
    counts["studies"] = len(shipped_studies())
    counts["models"] = len(list(MODEL_FOLDER.glob("*.yaml")))
    for name, (description, flag) in LISTS.items():
        count = counts[name] if name in counts else len(list_classes(name))
        yield name, str(count), description, f"{flag} NAME" if flag else ""


def command_line_name(path: str) -> str:
    """Returns the name of a class to type: short if zoo provides it, else the full path."""
    return path.rpartition(".")[2] if path.startswith("zoo.") else path


def first_comment(file: Path) -> str:
    """Returns the first sentence of the comment at the top of a YAML file."""
    comment_lines: list[str] = []
    for line in file.read_text("utf-8").splitlines():
        if not line.startswith("# ") or line.startswith("#  "):
            break
        comment_lines.append(line.removeprefix("# ").strip())
        if ". " in f"{comment_lines[-1]} ":
            break
    text, end, _ = f"{' '.join(comment_lines)} ".partition(". ")
    return (text + end).strip()


def shipped_backbones() -> list[str]:
    """Returns the names of the architectures that are shipped with zoo."""
    return sorted(
        p.stem for p in (Path(__file__).parents[1] / "backbones/architectures").glob("*.json")
    )


def backbones() -> list[str]:
    """Returns the names of all architectures: shipped ones first, then those of open_clip."""
    spec = find_spec("open_clip")
    assert spec is not None
    assert spec.origin is not None
    open_clip_names = sorted(
        p.stem for p in (Path(spec.origin).parent / "model_configs").glob("*.json")
    )
    shipped = shipped_backbones()
    return shipped + [name for name in open_clip_names if name not in shipped]
