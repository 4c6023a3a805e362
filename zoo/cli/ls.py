"""`zoo ls`: what is built in and what installed packages offer.

Classes are read from source, which is not imported but for `--long`. What is listed first is what
one types.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.cli.recipes import shipped_recipes, shipped_studies
from zoo.errors import ZooError
from zoo.support.arguments import Parser
from zoo.support.names import ROOMS, classes

# columns, more than any line has: programs read what is piped, and people copy names and paths
UNBROKEN = 10_000
# what each list is of, and the flag that takes a name of it
LISTS = {
    "objectives": ("losses", "--objective"),
    "heads": ("ways to score pairs", "--head"),
    "views": ("views of an image that a head compares", "--model.head.views"),
    "segments": ("segments of a text that a head compares", "--model.head.segments"),
    "negatives": ("generators of sentence negatives", "--data.negatives"),
    "positives": ("finders of further positives", "--data.positives"),
    "readers": ("formats of captions", "--data.train"),
    "datamodules": ("data to train on or to measure", "--data"),
    "benchmarks": ("what a model is measured on", "--benchmarks"),
    "extractors": ("ways to find units", "zoo units extract --extractor"),
    "taggers": ("taggers of words", "zoo units extract --tagger"),
    "published_weights": ("publications of weights", "--model.backbone.pretrained"),
    "protocols": ("ways to judge scores, which benchmarks ask for", ""),
    "presets": ("ways to count and average", "--presets"),
    "models": ("published models, beside open_clip's weights", "--model"),
    "backbones": ("architectures", "--model.backbone.name"),
    "configs": ("recipes and overlays", "--config"),
    "studies": ("studies, and overlays that make them small", "zoo study"),
}
MODELS = Path(__file__).parents[1] / "backbones" / "catalogue" / "entries"
BY_NAME = ("benchmarks", "protocols", "presets")  # by which results tell them apart, and commands


def main(argv: list[str]) -> int:
    """Prints one list, or which there are, and returns the exit status."""
    given = parser().parse_args(argv)
    what = given.what
    if given.long:
        print("\n\n".join(_at_length(what)))
    elif what is None:
        show(("list", "", "what it has", "where a name is typed"), _lists(), fold=3)
        print("\n`zoo ls LIST` shows one, as in `zoo ls objectives`")
    elif what in BY_NAME:
        rows = ((name, typed_name(path), text) for name, path, text in classes(what))
        show(("name", "class", "what it is"), rows)
    elif what in ROOMS:
        show(("name", "what it is"), ((typed_name(path), text) for _, path, text in classes(what)))
    elif what == "configs":
        recipes = shipped_recipes().items()
        show(("name", "what it is"), ((name, first_comment(file)) for name, file in recipes))
    elif what == "studies":
        studies = shipped_studies().values()
        show(("name", "what it is"), ((file.stem, first_comment(file)) for file in studies))
    elif what == "models":
        from zoo.cli import models

        show(("name", "what it is", "weights", "published"), models.lines(), fold=1)
    else:
        own = shipped_backbones()
        show(
            ("name", "what it is"),
            ((name, "shipped with zoo" if name in own else "open_clip") for name in backbones()),
        )
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo ls", description="List what can be named in a YAML or on the command line."
    )
    parser.add_argument(
        "what", nargs="?", choices=list(LISTS), help="which list; all lists where none is named"
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="of benchmarks: their cases, licences, what to cite, and how to get them; of models: "
        "all that is known of them",
    )
    return parser


def show(header: tuple[str, ...], rows: Iterable[tuple[str, ...]], fold: int = -1) -> None:
    """Prints a table whose names are never broken.

    Args:
        header: The columns.
        rows: The lines.
        fold: The column that is broken where a terminal is narrow.
    """
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(header):
        folds = i == fold % len(header)
        table.add_column(column, no_wrap=not folds, overflow="fold" if folds else "ellipsis")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, markup=False)
    size = console.measure(table, options=console.options.update(width=UNBROKEN))
    console.width = max(console.width, size.minimum) if console.is_terminal else size.maximum
    console.print(table)


def _at_length(what: str | None) -> Iterable[str]:
    """Returns all that is known of what a list has.

    Raises:
        ZooError: No more is known of it.
    """
    if what == "models":
        from zoo.cli import models

        return models.at_length()
    if what == "benchmarks":
        from zoo.cli.at_length import at_length as benchmark_at_length

        return (benchmark_at_length(name) for name, _, _ in classes(what))
    raise ZooError(
        "--long tells of benchmarks and of models: write `zoo ls benchmarks --long`, or "
        f"`zoo ls{'' if what is None else f' {what}'}`"
    )


def _lists() -> Iterable[tuple[str, ...]]:
    counts = {"backbones": len(backbones()), "configs": len(shipped_recipes())}
    counts["studies"] = len(shipped_studies())
    counts["models"] = len(list(MODELS.glob("*.yaml")))
    for name, (says, flag) in LISTS.items():
        count = counts[name] if name in counts else len(classes(name))
        yield name, str(count), says, f"{flag} NAME" if flag else ""


def typed_name(path: str) -> str:
    """Returns what names a class: a short name, or the path of one from outside."""
    return path.rpartition(".")[2] if path.startswith("zoo.") else path


def first_comment(file: Path) -> str:
    """Returns the first sentence of the comment that a YAML begins with, without the marks."""
    said: list[str] = []
    for line in file.read_text("utf-8").splitlines():
        if not line.startswith("# ") or line.startswith("#  "):
            break
        said.append(line.removeprefix("# ").strip())
        if ". " in f"{said[-1]} ":
            break
    text, end, _ = f"{' '.join(said)} ".partition(". ")
    return (text + end).strip()


def shipped_backbones() -> list[str]:
    """Returns the names of the architectures that zoo ships."""
    return sorted(
        p.stem for p in (Path(__file__).parents[1] / "backbones/architectures").glob("*.json")
    )


def backbones() -> list[str]:
    """Returns the names of architectures: shipped ones first, then open_clip's, by its files."""
    spec = find_spec("open_clip")
    assert spec is not None
    assert spec.origin is not None
    theirs = sorted(p.stem for p in (Path(spec.origin).parent / "model_configs").glob("*.json"))
    own = shipped_backbones()
    return own + [name for name in theirs if name not in own]
