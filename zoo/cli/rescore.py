"""`zoo rescore`: recomputes metrics from cases.parquet."""

from collections.abc import Sequence
from pathlib import Path

from zoo.cli.command_parser import CommandParser
from zoo.familiarity.captions import COCO, load_binding_table, training_captions_description
from zoo.familiarity.images import TRAINED, seen_images
from zoo.results.familiarity import Familiarity
from zoo.results.header import TRAINED_IMAGES
from zoo.results.leaks import trained_images
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.reader import read_results
from zoo.results.report import Results, check_overwrite, finish_results, print_results
from zoo.support.arguments import split_list


def main(argv: list[str]) -> int:
    """Recomputes the metrics of a run under presets, and returns the exit status."""
    args = parser().parse_args(argv)
    check_overwrite(args.out, args.overwrite, args.familiar_with is not None)
    presets = [preset_of(name) for name in split_list(args.preset, "--preset")]
    results = read_results(args.run)
    roots = args.data_root or [Path(root) for root in results.header["data_root"]]
    results = recompute_results(
        results, presets, args.out, roots, args.familiar_with, args.exclude_images
    )
    print_results(results, long=args.long)
    return 0


def recompute_results(
    results: Results,
    presets: Sequence[Preset],
    out: Path | None,
    roots: Sequence[Path],
    familiar_with: str | None = None,
    exclude_images: str | None = None,
) -> Results:
    """Recomputes the metrics of results, and writes them.

    Args:
        results: Header and cases.
        presets: Rules for counting and averaging.
        out: Folder of the new results; nothing is written if None.
        roots: Data folders.
        familiar_with: Captions by whose bindings cases are split, as in `Evaluation`.
        exclude_images: Images whose cases are left out of additional metrics, as in `Evaluation`.

    Raises:
        ZooError: Captions or images are missing, or the files cannot be written.
    """
    model = results.header["model"]
    captions = training_captions_description(model)
    familiarity = None
    if familiar_with is not None:
        familiarity = Familiarity(load_binding_table(familiar_with, roots, captions))
    excluded_images = None
    if exclude_images is not None:
        own_images = trained_images(results.cases)
        sources = model.get(TRAINED_IMAGES)
        excluded_images = seen_images(exclude_images, roots, own_images, captions, sources)
    return finish_results(results, presets, out, familiarity, excluded_images)


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo rescore",
        description="Recompute the metrics of a run from its saved scores (cases.parquet), without "
        "the model.",
    )
    parser.add_argument("run", type=Path, help="the folder that `zoo validate --out` wrote")
    parser.add_argument(
        "--preset",
        "--presets",
        default="official",
        help="rules for ties and averages, separated by commas: names of `zoo ls presets`, preset "
        "files (YAML or JSON) or dotted paths of Preset classes",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for the new results; by default, they are only printed"
    )
    parser.add_argument(
        "--familiar_with",
        metavar="CAPTIONS",
        nargs="?",
        const=COCO,
        help="split cases by whether their attribute-object pairs occur in these captions: a file, "
        "a table of `zoo bindings`, `training` (training captions of the model), or `coco` "
        "(training captions of COCO). Without a value: `coco`",
    )
    parser.add_argument(
        "--exclude_images",
        metavar="IDS",
        nargs="?",
        const=TRAINED,
        help="also report metrics without these images: a file of ids (one per line), a file of "
        "captions (their images), "
        "`karpathy_train` (train and restval of Karpathy's split of COCO), or `trained` (training "
        "images of the model). Without a value: `trained`",
    )
    parser.add_argument(
        "--data_root",
        type=Path,
        nargs="+",
        help="the folders in which --familiar_with and --exclude_images look for files (default: "
        "those of the run)",
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="print all subsets, notes and download hints",
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite the results in --out")
    return parser
