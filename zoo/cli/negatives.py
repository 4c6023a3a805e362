"""`zoo negatives`: previews the negatives that a generator makes, or writes them to a file.

`zoo fit` can replay such a file. `build` writes the table of replacement words for Replace.
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

from zoo.cli.caption_arguments import add_caption_arguments, read_samples
from zoo.cli.command_parser import CommandParser, format_pairs, pass_arguments
from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.language.text import differ_only_in_list_order, equal_when_normalized
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.entity_foil import EntityFoilInPlace
from zoo.negatives.equivalent_swaps import is_equivalent_swap
from zoo.negatives.generation import SeededCaption, make_negatives, make_negatives_on_ray
from zoo.sources.sample import Sample
from zoo.sources.seeds import seed_of
from zoo.support.class_names import import_all
from zoo.support.files import check_writable, write_atomically
from zoo.support.progress import show_progress, track
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.support.ray_jobs import Ray
from zoo.units.record import UnitRecord
from zoo.units.table import unit_table

SAMPLE_SIZE = 10_000


def main(argv: list[str]) -> int:
    """Runs `preview`, `export` or `build`, and returns the exit status."""
    import_all(("negatives", "readers", "taggers"))
    declared = parser()
    args = declared.parse_args(argv)
    arguments = args[args.command]
    if args.command in ("build", "export"):
        check_writable(Path(arguments.out), arguments.overwrite)
    if args.command != "build":
        pass_arguments(arguments.generator, "--generator", tagger=arguments.tagger)
    built_args = declared.instantiate_subcommand(args)
    if args.command == "build":
        _build_table(read_samples(arguments.captions, built_args.reader), built_args)
        return 0
    generator: NegativeGenerator = built_args.generator
    if isinstance(generator, EntityFoilInPlace) and arguments.units is None:
        raise ZooError(
            f"{type(generator).__name__} inserts foils of a units file: give one with --units "
            "(`zoo units extract` writes it)"
        )
    samples = read_samples(arguments.captions, built_args.reader)
    generator.check([sample.caption for sample in samples])
    units = None if arguments.units is None else Path(arguments.units)
    records = {} if units is None else _unit_records(units, samples)
    if args.command == "preview":
        preview(generator, samples, records, arguments.seed, arguments.n, arguments.sample_size)
        return 0
    captions = with_seeds(enumerate(samples), arguments.seed)
    if built_args.ray.workers:
        negatives = make_negatives_on_ray(built_args.ray, generator, list(captions), units)
    else:
        negatives = make_negatives(generator, captions, records)
    made_by = {**generator.describe(), "seed": arguments.seed}
    write_negatives(samples, negatives, made_by, Path(arguments.out))
    return 0


@dataclass(frozen=True)
class CaptionNegative:
    """A caption and its negative.

    Attributes:
        sample: The caption.
        negative: The negative, None if the generator made none.
    """

    sample: Sample
    negative: str | None


def with_seeds(samples: Iterable[tuple[int, Sample]], seed: int) -> Iterator[SeededCaption]:
    """Yields captions with the seeds that `zoo fit` uses for their negatives in the first epoch.

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
    sample_size: int = SAMPLE_SIZE,
) -> None:
    """Prints captions with their negatives, and the quality rates of the negatives.

    Args:
        generator: Makes the negatives.
        samples: The captions, in the order of the source.
        records: Units by caption id.
        seed: The seed for sampling captions and making their negatives.
        n: The number of captions to print.
        sample_size: The number of captions for the rates; all captions if there are fewer.
    """
    indices = sorted(Random(seed).sample(range(len(samples)), min(sample_size, len(samples))))
    captions = with_seeds([(i, samples[i]) for i in indices], seed)
    negatives = track(make_negatives(generator, captions, records), "negatives", len(indices))
    examples = [
        CaptionNegative(samples[i], negative)
        for i, negative in zip(indices, negatives, strict=True)
    ]
    table = Table("caption", "negative", show_lines=True)
    for item in Random(seed).sample(examples, min(n, len(examples))):
        table.add_row(*_highlight_difference(item.sample.caption, item.negative))
    console = Console()
    console.print(table)
    console.print(
        "\n".join(
            [
                format_pairs(generator.describe().items()),
                *quality_rates(examples, getattr(generator, "tagger", None)),
            ]
        ),
        highlight=False,
        soft_wrap=True,
    )


def quality_rates(made: Sequence[CaptionNegative], tagger: Tagger | None = None) -> list[str]:
    """Returns rates that measure the quality of negatives, one line each.

    The first is the share of captions that have a negative. The others are shares of negatives that
    equal their caption, only reorder a list of it, exchange parts of it without changing what it
    says, repeat another negative, or equal another caption.

    Args:
        made: The captions with their negatives.
        tagger: The tagger that finds the parts of captions; None takes the default.
    """
    tagger = tagger or default_tagger()
    negatives = [(item.sample.caption, item.negative) for item in made if item.negative is not None]
    captions = {_normalize(item.sample.caption) for item in made}
    identical = sum(equal_when_normalized(caption, negative) for caption, negative in negatives)
    reordered = sum(differ_only_in_list_order(caption, negative) for caption, negative in negatives)
    equivalent = sum(is_equivalent_swap(caption, swap, tagger) for caption, swap in negatives)
    distinct = len({_normalize(negative) for _, negative in negatives})
    captioned = sum(
        _normalize(negative) in captions and not equal_when_normalized(caption, negative)
        for caption, negative in negatives
    )
    return [
        _format_share("yield", len(negatives), len(made), "captions have a negative"),
        _format_share(
            "identity",
            identical,
            len(negatives),
            "negatives equal their caption except for whitespace or case",
        ),
        _format_share(
            "reordered",
            reordered,
            len(negatives),
            "negatives only reorder the items of a list (joined by 'and', 'or' or commas), and "
            "remain true",
        ),
        _format_share(
            "equivalent",
            equivalent,
            len(negatives),
            "negatives say the same as their caption (reordered lists and other forms that rules "
            "find)",
        ),
        _format_share(
            "duplicates", len(negatives) - distinct, len(negatives), "negatives repeat another one"
        ),
        _format_share(
            "captions",
            captioned,
            len(negatives),
            "negatives equal another caption of this file, and may be true",
        ),
    ]


def write_negatives(
    samples: Sequence[Sample],
    negatives: Iterable[str | None],
    made_by: Mapping[str, str | int],
    out: Path,
) -> None:
    """Writes the negatives of captions as JSON lines.

    Each line has caption_id, caption, negative (null if there is none), and the generator's
    settings. The file appears only when it is complete.

    Args:
        samples: The captions, in the order of the source.
        negatives: Their negatives, None for a caption without one.
        made_by: The settings of the generator.
        out: The file to write.

    Raises:
        ZooError: The file cannot be written.
    """
    n = 0
    with write_atomically(out) as part, part.open("w", encoding="utf-8") as file:
        progress = track(negatives, "negatives", len(samples))
        for sample, negative in zip(samples, progress, strict=True):
            line = {
                "caption_id": sample.caption_id,
                "caption": sample.caption,
                "negative": negative,
                **made_by,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            n += negative is not None
    print(f"{out}: {n:,} negatives of {len(samples):,} captions")


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo negatives",
        description="Make hard negatives: captions with a small change that should make the "
        "caption wrong.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    preview_parser = CommandParser(
        description="Print captions with their negatives, and rates that measure the quality of "
        "the negatives."
    )
    _add_generator(preview_parser)
    preview_parser.add_argument(
        "--n", type=NonNegativeInt, default=20, help="number of captions to print"
    )
    preview_parser.add_argument(
        "--sample_size",
        type=PositiveInt,
        default=SAMPLE_SIZE,
        help="number of captions from which the rates are computed",
    )
    export_parser = CommandParser(
        description="Write a negative for each caption to a file. The generator Replay reads "
        "this file in training."
    )
    _add_generator(export_parser)
    export_parser.add_argument("--out", type=str, required=True, help="the file to write (.jsonl)")
    export_parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing file"
    )
    export_parser.add_class_arguments(Ray, "ray", help="settings of Ray, to use several machines")
    build_parser = CommandParser(
        description="Look up the words of captions in WordNet, and write a table of replacement "
        "words. The generator Replace reads this table."
    )
    add_caption_arguments(build_parser)
    build_parser.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the part-of-speech tagger: a name of `zoo ls taggers` or a custom class (default: "
        "TextBlobTagger)",
    )
    build_parser.add_argument(
        "--out",
        required=True,
        type=Path,
        help="the file to write (.arrow); the same command resumes an interrupted build",
    )
    build_parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    build_parser.add_argument(
        "--wordnet",
        type=Path,
        help="the folder of WordNet's database files (default: NLTK's folder, or if it does "
        "not exist, Debian's)",
    )
    build_parser.add_argument(
        "--sense_prior",
        action="store_true",
        help="prefer replacements for the frequent senses of a word, as counted by WordNet. "
        "By default, senses with many replacements are preferred",
    )
    build_parser.add_argument(
        "--min_count",
        type=NonNegativeInt,
        default=0,
        help="leave out replacements with a lower count in WordNet",
    )
    commands.add_subcommand(
        "preview", preview_parser, help="print captions with their negatives, and quality rates"
    )
    commands.add_subcommand(
        "export", export_parser, help="write the negatives to a file that Replay reads"
    )
    commands.add_subcommand(
        "build", build_parser, help="write the table of replacement words for Replace"
    )
    return parser


def _add_generator(parser: CommandParser) -> None:
    add_caption_arguments(parser)
    parser.add_argument(
        "--generator",
        type=NegativeGenerator,
        metavar="CLASS",
        default={"class_path": "zoo.negatives.NegCLIPSwap"},
        help="the class that makes the negatives: a name of `zoo ls negatives` or a custom class. "
        "Flags such as --generator.table FILE set its arguments",
    )
    parser.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the part-of-speech tagger: a name of `zoo ls taggers` or a custom class; short for "
        "--generator.tagger",
    )
    parser.add_argument(
        "--units",
        type=str,
        help="a file of units and foils (`zoo units extract`), for generators that use them",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="the seed of the negatives. With the same seed, `zoo fit` makes the same negatives in "
        "its first epoch",
    )


def _unit_records(units: Path, samples: Sequence[Sample]) -> Mapping[str, UnitRecord]:
    """Returns the units of captions by caption id.

    Raises:
        ZooError: The units belong to other captions.
    """
    records = unit_table(units)
    captions = {sample.caption_id: sample.caption for sample in samples}
    common = 0
    for caption_id, unit_caption in zip(records.caption_ids, records.captions, strict=True):
        caption = captions.get(caption_id.as_py())
        if caption is not None and not equal_when_normalized(caption, unit_caption.as_py()):
            raise ZooError(
                f"{units}: the text of caption {caption_id.as_py()!r} differs from the captions "
                "file: extract the units of these captions"
            )
        common += caption is not None
    if not common:
        raise ZooError(
            f"{units} has no units of these captions (no id matches): extract the units of "
            "these captions"
        )
    return records


def _highlight_difference(caption: str, negative: str | None) -> tuple[Text, Text]:
    """Returns both texts with the differing words marked."""
    if negative is None:
        return Text(caption), Text("none", style="dim")
    caption_words, negative_words = caption.split(), negative.split()
    matcher = difflib.SequenceMatcher(
        None,
        [w.lower() for w in caption_words],
        [w.lower() for w in negative_words],
        autojunk=False,
    )
    matching_blocks = matcher.get_matching_blocks()
    kept_left = {i for block in matching_blocks for i in range(block.a, block.a + block.size)}
    kept_right = {i for block in matching_blocks for i in range(block.b, block.b + block.size)}
    return _mark_words(caption_words, kept_left, "yellow"), _mark_words(
        negative_words, kept_right, "bold red"
    )


def _mark_words(words: Sequence[str], kept: set[int], style: str) -> Text:
    return Text(" ").join(
        Text(word) if i in kept else Text(word, style) for i, word in enumerate(words)
    )


def _normalize(text: str) -> str:
    return "".join(text.split()).casefold()


def _format_share(name: str, part: int, whole: int, what: str) -> str:
    return f"{name:<11}{part / whole if whole else 0:7.1%}  {part:,} of {whole:,} {what}"


def _build_table(samples: Sequence[Sample], arguments: Namespace) -> None:
    """Looks up every word of the captions in WordNet, and prints a summary."""
    # imported here because NLTK takes a second to import
    from zoo.language.inflection import describe_inflection_library
    from zoo.language.offensive_words import offensive_words
    from zoo.language.wordnet import WordNet
    from zoo.negatives.table import OFFENSIVE_WORDS, ReplacementTable
    from zoo.negatives.word_table import build_table, replaceable_vocabulary, replacements

    tagger = arguments.tagger or default_tagger()
    wordnet = WordNet(arguments.wordnet)
    keys = replaceable_vocabulary((sample.caption for sample in samples), tagger)
    rule = {"sense_prior": arguments.sense_prior, "min_count": arguments.min_count}
    made_by = (
        tagger.describe()
        | describe_inflection_library()
        | {OFFENSIVE_WORDS: offensive_words().digest(), "wordnet": wordnet.version}
        | {name: str(value).lower() for name, value in rule.items()}
    )
    with show_progress("words", len(keys)) as advance:
        build_table(
            keys,
            lambda key: replacements(key, wordnet, **rule),
            arguments.out,
            advance,
            **made_by,
        )
    table = ReplacementTable(arguments.out)
    counts = [count for key in keys if (count := table.count_alternatives(key))]
    print(
        f"{arguments.out}: {len(counts):,} of {len(keys):,} words of {len(samples):,} captions "
        f"have replacements, {sum(counts) / max(len(counts), 1):,.0f} each; "
        f"{format_pairs(made_by.items())}"
    )
