"""`zoo negatives`: shows what a generator makes of captions, or writes a file of it.

`fit` can replay such a file. `build` writes the table of words that Replace draws from.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zoo.cli.naming import NamingParser, in_words, lend, samples_of
from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.language.text import only_reordered, same_words
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.entity_foil import EntityFoilInPlace
from zoo.negatives.making import Seeded, make, make_on_ray
from zoo.sources.sample import Sample
from zoo.sources.seeds import seed_of
from zoo.support.files import check_place, write_atomically
from zoo.support.names import import_all
from zoo.support.on_ray import Ray
from zoo.support.progress import counting, track
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.units.record import UnitRecord
from zoo.units.table import unit_table

JUDGED = 10_000


def main(argv: list[str]) -> int:
    """Runs `preview`, `export` or `build`, and returns the exit status."""
    import_all(("negatives", "readers", "taggers"))
    declared = parser()
    given = declared.parse_args(argv)
    arguments = given[given.command]
    if given.command in ("build", "export"):
        check_place(Path(arguments.out), arguments.overwrite)
    if given.command != "build":
        lend(arguments.generator, "--generator", tagger=arguments.tagger)
    made = declared.build_classes(given)
    if given.command == "build":
        _build_table(samples_of(arguments.captions, made.reader), made)
        return 0
    generator: NegativeGenerator = made.generator
    if isinstance(generator, EntityFoilInPlace) and arguments.units is None:
        raise ZooError(
            f"{type(generator).__name__} puts foils of a units file in place: name one with "
            "--units, `zoo units extract` makes it"
        )
    samples = samples_of(arguments.captions, made.reader)
    generator.check([sample.caption for sample in samples])
    units = None if arguments.units is None else Path(arguments.units)
    records = {} if units is None else _records(units, samples)
    if given.command == "preview":
        preview(generator, samples, records, arguments.seed, arguments.n, arguments.judged)
        return 0
    captions = with_seeds(enumerate(samples), arguments.seed)
    if made.ray.workers:
        negatives = make_on_ray(made.ray, generator, list(captions), units)
    else:
        negatives = make(generator, captions, records)
    made_by = {**generator.describe(), "seed": arguments.seed}
    export(samples, negatives, made_by, Path(arguments.out))
    return 0


@dataclass(frozen=True)
class Made:
    """A caption and its negative.

    Attributes:
        sample: The caption.
        negative: What the generator made of it, None where it made nothing.
    """

    sample: Sample
    negative: str | None


def with_seeds(samples: Iterable[tuple[int, Sample]], seed: int) -> Iterator[Seeded]:
    """Yields captions with the seeds by which `fit` makes their negatives in its first epoch.

    Args:
        samples: The captions, with their positions in the source.
        seed: The seed of the run.
    """
    for index, sample in samples:
        yield sample.caption, sample.caption_id, seed_of(seed, 0, index, "negative/0")


def preview(
    generator: NegativeGenerator,
    samples: Sequence[Sample],
    records: Mapping[str, UnitRecord],
    seed: int,
    n: int,
    judged: int = JUDGED,
) -> None:
    """Prints captions with their negatives, and the shares of useful and useless ones.

    Args:
        generator: Makes the negatives.
        samples: The captions, in the order of the source.
        records: Units by caption id.
        seed: Draws captions, and seeds their negatives.
        n: How many captions are printed.
        judged: How many captions the shares are of; all, where there are fewer.
    """
    drawn = sorted(Random(seed).sample(range(len(samples)), min(judged, len(samples))))
    captions = with_seeds([(i, samples[i]) for i in drawn], seed)
    negatives = track(make(generator, captions, records), "negatives", len(drawn))
    made = [Made(samples[i], negative) for i, negative in zip(drawn, negatives, strict=True)]
    table = Table("caption", "negative", show_lines=True)
    for item in Random(seed).sample(made, min(n, len(made))):
        table.add_row(*_highlight_difference(item.sample.caption, item.negative))
    console = Console()
    console.print(table)
    console.print(
        "\n".join(
            [
                in_words(generator.describe().items()),
                *rates(made),
            ]
        ),
        highlight=False,
        soft_wrap=True,
    )


def rates(made: Sequence[Made]) -> list[str]:
    """Returns the shares that tell how useful negatives are, a line each.

    The first counts captions that have a negative. The others count negatives that are their
    caption, only reorder it, repeat another negative, or are another caption.
    """
    negatives = [(item.sample.caption, item.negative) for item in made if item.negative is not None]
    captions = {_key(item.sample.caption) for item in made}
    identical = sum(same_words(caption, negative) for caption, negative in negatives)
    reordered = sum(only_reordered(caption, negative) for caption, negative in negatives)
    distinct = len({_key(negative) for _, negative in negatives})
    captioned = sum(
        _key(negative) in captions and not same_words(caption, negative)
        for caption, negative in negatives
    )
    return [
        _share("yield", len(negatives), len(made), "captions have a negative"),
        _share(
            "identity",
            identical,
            len(negatives),
            "negatives are their caption in other spacing or case",
        ),
        _share(
            "reordered",
            reordered,
            len(negatives),
            "negatives only put the members of a list (joined by 'and', 'or' or commas) in "
            "another order, and stay true",
        ),
        _share(
            "duplicates", len(negatives) - distinct, len(negatives), "negatives repeat another one"
        ),
        _share(
            "captions",
            captioned,
            len(negatives),
            "negatives are another caption of these, perhaps a true one",
        ),
    ]


def export(
    samples: Sequence[Sample],
    negatives: Iterable[str | None],
    made_by: Mapping[str, str | int],
    out: Path,
) -> None:
    """Writes the negatives of captions as JSON lines.

    Each line has caption_id, caption, negative (null where there is none), and what made it. The
    file appears when it is whole.

    Args:
        samples: The captions, in the order of the source.
        negatives: Their negatives, None where there is none.
        made_by: What made them.
        out: The file to write.

    Raises:
        ZooError: The file cannot be written.
    """
    n = 0
    with write_atomically(out) as part, part.open("w", encoding="utf-8") as file:
        shown = track(negatives, "negatives", len(samples))
        for sample, negative in zip(samples, shown, strict=True):
            line = {
                "caption_id": sample.caption_id,
                "caption": sample.caption,
                "negative": negative,
                **made_by,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            n += negative is not None
    print(f"{out}: {n:,} negatives of {len(samples):,} captions")


def parser() -> NamingParser:
    """Returns the parser of the command."""
    parser = NamingParser(prog="zoo negatives", description="Make sentence negatives of captions.")
    commands = parser.add_subcommands(dest="command", required=True)
    show = NamingParser(description="Print captions beside their negatives, and rates.")
    _add_generator(show)
    show.add_argument("--n", type=NonNegativeInt, default=20, help="how many to print")
    show.add_argument(
        "--judged", type=PositiveInt, default=JUDGED, help="how many captions the rates are of"
    )
    write = NamingParser(description="Write the negatives of captions into a file.")
    _add_generator(write)
    write.add_argument("--out", type=str, required=True, help="the file to write, .jsonl")
    write.add_argument("--overwrite", action="store_true", help="write over a file that is there")
    write.add_class_arguments(Ray, "ray", help="Ray, for many machines")
    table = NamingParser(description="Write the table of words that Replace draws from.")
    table.add_captions()
    table.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the class that finds words and tags, one of `zoo ls taggers` or of your own; spaCy's "
        "where it is installed, else TextBlob's",
    )
    table.add_argument(
        "--out",
        required=True,
        type=Path,
        help="the file to write, .arrow; a build that was stopped goes on",
    )
    table.add_argument("--overwrite", action="store_true", help="write over a file that is there")
    table.add_argument(
        "--wordnet",
        type=Path,
        help="the folder of WordNet's database files (NLTK's own, or Debian's)",
    )
    table.add_argument(
        "--sense_prior",
        action="store_true",
        help="weigh the senses of a word by how often it has them",
    )
    table.add_argument(
        "--min_count",
        type=NonNegativeInt,
        default=0,
        help="how often WordNet's texts must have an alternative",
    )
    commands.add_subcommand(
        "preview", show, help="print captions beside their negatives, and rates"
    )
    commands.add_subcommand("export", write, help="write a file that Replay reads")
    commands.add_subcommand("build", table, help="write the table of words that Replace draws from")
    return parser


def _add_generator(parser: NamingParser) -> None:
    parser.add_captions()
    parser.add_argument(
        "--generator",
        type=NegativeGenerator,
        metavar="CLASS",
        default={"class_path": "zoo.negatives.NegCLIPSwap"},
        help="the class that makes negatives, one of `zoo ls negatives` or of your own; its "
        "arguments as in --generator.table FILE",
    )
    parser.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the generator's tagger, one of `zoo ls taggers` or of your own; short for "
        "--generator.tagger",
    )
    parser.add_argument("--units", type=str, help="a units file, for entity foils")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="settles the negatives, as a run's does",
    )


def _records(units: Path, samples: Sequence[Sample]) -> Mapping[str, UnitRecord]:
    """Returns the units of captions by caption id.

    Raises:
        ZooError: They are of other captions.
    """
    records = unit_table(units)
    captions = {sample.caption_id: sample.caption for sample in samples}
    common = 0
    for caption_id, of in zip(records.caption_ids, records.captions, strict=True):
        caption = captions.get(caption_id.as_py())
        if caption is not None and not same_words(caption, of.as_py()):
            raise ZooError(
                f"{units} has other words than the captions for "
                f"{caption_id.as_py()!r}: extract the units of these captions"
            )
        common += caption is not None
    if not common:
        raise ZooError(
            f"{units} has no units of these captions (their "
            "ids differ): extract the units of these captions"
        )
    return records


def _highlight_difference(caption: str, negative: str | None) -> tuple[Text, Text]:
    """Returns both with the words in which they differ marked."""
    if negative is None:
        return Text(caption), Text("none", style="dim")
    left, right = caption.split(), negative.split()
    matcher = difflib.SequenceMatcher(
        None, [w.lower() for w in left], [w.lower() for w in right], autojunk=False
    )
    same = matcher.get_matching_blocks()
    kept_left = {i for block in same for i in range(block.a, block.a + block.size)}
    kept_right = {i for block in same for i in range(block.b, block.b + block.size)}
    return _mark_words(left, kept_left, "yellow"), _mark_words(right, kept_right, "bold red")


def _mark_words(words: Sequence[str], kept: set[int], style: str) -> Text:
    return Text(" ").join(
        Text(word) if i in kept else Text(word, style) for i, word in enumerate(words)
    )


def _key(text: str) -> str:
    return "".join(text.split()).casefold()


def _share(name: str, part: int, whole: int, what: str) -> str:
    return f"{name:<11}{part / whole if whole else 0:7.1%}  {part:,} of {whole:,} {what}"


def _build_table(samples: Sequence[Sample], arguments: Namespace) -> None:
    """Looks every word of the captions up in WordNet, and prints what was found."""
    # NLTK takes a second to import
    from zoo.language.inflection import inflection
    from zoo.language.wordnet import WordNet
    from zoo.negatives.build import build, replacements, vocabulary
    from zoo.negatives.table import ReplacementTable

    tagger = arguments.tagger or default_tagger()
    wordnet = WordNet(arguments.wordnet)
    keys = vocabulary((sample.caption for sample in samples), tagger)
    rule = {"sense_prior": arguments.sense_prior, "min_count": arguments.min_count}
    made_by = (
        tagger.describe()
        | inflection()
        | {"wordnet": wordnet.version}
        | {name: str(value).lower() for name, value in rule.items()}
    )
    with counting("words", len(keys)) as done:
        build(
            keys,
            lambda key: replacements(key, wordnet, **rule),
            arguments.out,
            done,
            **made_by,
        )
    table = ReplacementTable(arguments.out)
    counts = [count for key in keys if (count := table.count(key))]
    print(
        f"{arguments.out}: {len(counts):,} of {len(keys):,} words of {len(samples):,} captions "
        f"have alternatives, {sum(counts) / max(len(counts), 1):,.0f} each; "
        f"{in_words(made_by.items())}"
    )
