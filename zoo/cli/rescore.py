"""`zoo rescore`: metrics made again from cases.parquet."""

from pathlib import Path

from zoo.familiarity.captions import COCO, familiar_table, training_captions
from zoo.results.familiar import Familiarity
from zoo.results.presets.named import preset_of
from zoo.results.reading import read
from zoo.results.report import finished, refuse_results
from zoo.results.show import show
from zoo.support.arguments import Parser, listed


def main(argv: list[str]) -> int:
    """Counts a run's outcomes under presets, and returns the exit status."""
    given = parser().parse_args(argv)
    refuse_results(given.out, given.overwrite, given.familiar_with is not None)
    presets = [preset_of(name) for name in listed(given.preset, "--preset")]
    results = read(given.run)
    familiarity = None
    if given.familiar_with is not None:
        trained = training_captions(results.header["model"])
        familiarity = Familiarity(familiar_table(given.familiar_with, given.data_root, trained))
    results = finished(results, presets, given.out, familiarity)
    show(results)
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
        "--data_root",
        type=Path,
        nargs="+",
        default=[Path()],
        help="where `--familiar_with coco` looks for its captions",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over the results that --out holds"
    )
    return parser
