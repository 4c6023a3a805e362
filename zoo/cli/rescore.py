"""`zoo rescore`: metrics made again from cases.parquet."""

from pathlib import Path

from zoo.familiarity.captions import COCO, familiar_table, training_captions
from zoo.familiarity.images import TRAINED, seen_images
from zoo.results.familiar import Familiarity
from zoo.results.leaks import trained_images
from zoo.results.presets.named import preset_of
from zoo.results.reading import read
from zoo.results.report import TRAINED_IMAGES, finish_results, refuse_results
from zoo.results.show import show
from zoo.support.arguments import Parser, split_list


def main(argv: list[str]) -> int:
    """Counts a run's outcomes under presets, and returns the exit status."""
    given = parser().parse_args(argv)
    refuse_results(given.out, given.overwrite, given.familiar_with is not None)
    presets = [preset_of(name) for name in split_list(given.preset, "--preset")]
    results = read(given.run)
    roots = given.data_root or [Path(root) for root in results.header["data_root"]]
    familiarity = None
    if given.familiar_with is not None:
        trained = training_captions(results.header["model"])
        familiarity = Familiarity(familiar_table(given.familiar_with, roots, trained))
    seen = None
    if given.exclude_images is not None:
        model = results.header["model"]
        own = trained_images(results.cases)
        sources = model.get(TRAINED_IMAGES)
        captions = training_captions(model)
        seen = seen_images(given.exclude_images, roots, own, captions, sources)
    results = finish_results(results, presets, given.out, familiarity, seen)
    show(results, long=given.long)
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo rescore", description="Make the metrics of a run again from its cases.parquet."
    )
    parser.add_argument("run", type=Path, help="the folder that `zoo validate --out` wrote")
    parser.add_argument(
        "--preset",
        "--presets",
        default="official",
        help="one or several, by commas, of `zoo ls presets`, or the dotted path of a Preset",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for the new results; without it they are only printed"
    )
    parser.add_argument(
        "--familiar_with",
        metavar="CAPTIONS",
        nargs="?",
        const=COCO,
        help="captions by whose bindings cases are split, or their table (`zoo bindings`); "
        "`training`, the model's own; `coco`, its training captions, which count where none are "
        "named",
    )
    parser.add_argument(
        "--exclude_images",
        metavar="IDS",
        nargs="?",
        const=TRAINED,
        help="leave out cases of images that the model has seen, beside the full metrics: a file "
        "of them, one a line, or of captions; `karpathy_train`, train and restval; `trained`, the "
        "model's own, which count where none are named",
    )
    parser.add_argument(
        "--data_root",
        type=Path,
        nargs="+",
        help="where `--familiar_with` and `--exclude_images` look for files; by default where the "
        "run did",
    )
    parser.add_argument(
        "--long",
        action="store_true",
        help="print every subset, note and way of getting files, however many there are",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over the results that --out holds"
    )
    return parser
