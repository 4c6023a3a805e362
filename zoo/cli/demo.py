"""`zoo demo` shows what fine-tuning with NegCLIP and CS-CLIP changes in a small CLIP.

A half-truth is a true text with a wrong detail added. CLIP gives many half-truths a higher score
than the true text, and so does the small CLIP that comes with zoo. The demo fine-tunes this small
CLIP on rendered scenes with the objectives of CLIP, NegCLIP and CS-CLIP. All models are evaluated
on other scenes. The demo writes a page with half-truths on which the models disagree. It takes
about 80 seconds on two cores.
"""

import csv
import sys
import time
import webbrowser
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from rich.console import Console
from rich.prompt import Confirm

from zoo.api import evaluate
from zoo.backbones.backbone import Backbone
from zoo.benchmarks.half_truth.baselines import LONGER
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.pairs import Pairs
from zoo.benchmarks.retrieval import Retrieval
from zoo.cli.command_parser import CommandParser
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.results.averages import Average
from zoo.results.comparison.compare import compare
from zoo.results.drawing import INK, STYLE, png, run_styles, svg
from zoo.results.half_truths import ANCHOR, COMPLETION, ScoredCase, diagnostics
from zoo.results.html_pages import mark_words, render_page, thumbnail_uris
from zoo.results.metrics import Metric
from zoo.results.number_formats import format_points
from zoo.results.presets.preset import Official
from zoo.results.report import Results
from zoo.results.tables import TextTable, print_parts
from zoo.scenes.cache import FOILS, render_collection
from zoo.scenes.world.collection import World
from zoo.scenes.world.kinds import PEOPLE
from zoo.sources.images import ImageFinder, infer_image_ref
from zoo.sources.readers.scenes import Scenes
from zoo.support.arguments import integer_at_least
from zoo.support.files import write_bytes
from zoo.support.log import filter_notices
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "demo.html"
# CLIP, tuned for as many steps as the others, is the control of tuning
BEFORE, REFERENCE = "before", "CLIP"
HALF_TRUTHS, CONTROL = "half-truth", "control"
EDITS = {
    "swap_obj": "swapped objects",
    "swap_att": "swapped attributes",
    "replace_rel": "wrong relation",
}
RECALL = "R@1"
CARDS = 6  # on the page, for each model and direction
BATCH_SIZE, LEARNING_RATE = 32, 5e-4
TRUE, WRONG = "#2c7a4b", "#c2410c"  # colours of texts
EXPLANATION = (
    "Cells: per cent right, with 95 % intervals over scenes, of one seed. Guessing gives 50, "
    "except for R@1. A half-truth is longer than its true text, so always picking the shorter text "
    "is right in all half-truths (column shorter). The control adds a right detail to one text and "
    "a wrong detail to the other: a model that looks more closely at details would gain there too. "
    "R@1: how often the caption that scores highest for a scene, among all, belongs to that scene."
)


@dataclass(frozen=True)
class Measure:
    """A measure of a model, in per cent.

    Attributes:
        value: Its value.
        low: The lower end of its 95 % interval.
        high: The upper end.
        n: The number of cases.
        shorter: How often the shorter text is the right one; None if no texts are compared.
    """

    value: float
    low: float
    high: float
    n: int
    shorter: float | None = None


@dataclass(frozen=True)
class MeasuredModel:
    """A model's results, its measures by name, and its scores of half-truths.

    Attributes:
        results: The results.
        measures: The measures.
        cases: The half-truths with their scores, by condition and texts.
    """

    results: Results
    measures: dict[str, Measure]
    cases: dict[tuple[str, str, tuple[str, str, str]], ScoredCase]


@dataclass(frozen=True)
class Difference:
    """A difference of two models in a measure, in percentage points.

    Attributes:
        value: The second minus the first.
        low: The lower end of its paired 95 % interval over scenes.
        high: The upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """The half-truths that a model answers differently after fine-tuning.

    Attributes:
        name: The objective.
        corrected: Pairs of before and after; the half-truth scored higher before, and not after.
        broken: The same of those where the true text scored higher before.
    """

    name: str
    corrected: list[tuple[ScoredCase, ScoredCase]]
    broken: list[tuple[ScoredCase, ScoredCase]]


def main(argv: list[str]) -> int:
    """Renders scenes, tunes, evaluates, writes the page, and returns the exit status."""
    args = parser().parse_args(argv)
    filter_notices()
    console, start_time = Console(), time.monotonic()
    for split, n in (("train", args.scenes), ("test", max(args.scenes // 5, 1))):
        render_collection(args.out / split, n, World(split=split), 1, args.workers)
    torch.manual_seed(0)
    models = {BEFORE: measure_model(build_module(CLIP()), args.out / "test")}
    shown_case = typical_case(models[BEFORE])
    finder = ImageFinder([args.out / "test"], confined=True)
    print_case(shown_case, finder, console)
    objectives = {REFERENCE: CLIP(), "NegCLIP": NegCLIP(), "CS-CLIP": CSCLIP()}
    for name, objective in objectives.items():
        module = build_module(objective)
        console.rule(f"fine-tuning with {name}, {args.steps} steps")
        train(module, args.out / "train", args.steps)
        models[name] = measure_model(module, args.out / "test")
    sentences = verdicts(differences(models))
    page = write_page(models, shown_case, sentences, finder, args)
    print_parts([measures_table(models).rich()], console)
    for text in (EXPLANATION, *sentences):
        console.print(text)
    console.print(
        f"wrote {page}, a page for the browser ({time.monotonic() - start_time:.0f} s in total)",
        soft_wrap=True,
    )
    if sys.stdin.isatty() and console.is_terminal and Confirm.ask("Open it in the browser?"):
        webbrowser.open(page.absolute().as_uri())
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(prog="zoo demo", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/demo"),
        help="the folder for scenes, figures and the page (demo.html)",
    )
    parser.add_argument(
        "--scenes",
        type=integer_at_least(1),
        default=800,
        help="number of scenes for fine-tuning. A fifth of this number is rendered in addition, "
        "for the evaluation",
    )
    parser.add_argument(
        "--steps",
        type=integer_at_least(1),
        default=40,
        help="number of fine-tuning steps per objective",
    )
    parser.add_argument(
        "--workers",
        type=integer_at_least(0),
        default=2,
        help="number of rendering processes; 0 renders in this process",
    )
    return parser


def build_module(objective: Objective) -> ZooModule:
    """Returns the tower of the package with an objective."""
    return ZooModule(
        Backbone("zoo-world", pretrained="scenes"),
        objective,
        optimizer=Optimization(lr=LEARNING_RATE, weight_decay=0.1, warmup_share=0.1),
        # a caption may be true of several scenes of a batch: mask those that are known
        mask_same_image=True,
        mask_same_text=True,
    )


def train(module: ZooModule, folder: Path, steps: int) -> None:
    """Trains a module in place on the scenes of a folder, with a progress bar."""
    needs = module.objective.needs
    data = CaptionDataModule(
        Scenes(str(folder), "train"),
        [str(folder)],
        batch_size=BATCH_SIZE,
        captions_per_image="one",
        negatives=NegCLIPSwap() if needs.negatives else None,
        # without replacement, so that entities are drawn too: most captions have one relation
        units=UnitSampler(str(folder / "units.train.jsonl"), with_replacement=False)
        if needs.units
        else None,
        workers=0,
    )
    quiet: dict[str, Any] = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
    }
    ZooTrainer(
        max_steps=steps, max_epochs=steps, accelerator="cpu", gradient_clip_val=1.0, **quiet
    ).fit(module, datamodule=data)


def measure_model(module: ZooModule, folder: Path) -> MeasuredModel:
    """Returns the measures of a model on the scenes of a folder."""
    benchmarks = [
        HalfTruth(units=str((folder / "units.test.jsonl").absolute())),
        Pairs(file=FOILS),
        Retrieval(source=Scenes(str(folder.absolute()), "test")),
    ]
    results = evaluate(module, benchmarks, folder, quiet=True)
    [diagnostic] = diagnostics(results, Official())
    [overall] = [line for line in diagnostic.means if line.name == "all, by cases"]
    measures = {
        name: as_measure(overall.accuracy(metric), 100 - overall.baselines[LONGER, metric])
        for name, metric in ((HALF_TRUTHS, ANCHOR), (CONTROL, COMPLETION))
    }
    shorter = shorter_text_accuracies(folder / FOILS)
    for edit, name in EDITS.items():
        if edit in shorter:  # few scenes may have none
            measures[name] = as_measure(find_metric(results, edit, "i2t"), shorter[edit])
    measures[RECALL] = as_measure(find_metric(results, "Scenes", "i2t_r@1"))
    return MeasuredModel(
        results, measures, {(c.condition, c.id, c.texts): c for c in diagnostic.cases}
    )


def shorter_text_accuracies(foils: Path) -> dict[str, float]:
    """Returns the accuracy of the guess that the shorter text is true, by edit, in per cent.

    A guess between equal lengths counts half.

    Args:
        foils: The table of captions and foils of a folder of scenes.
    """
    with foils.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    guesses: dict[str, list[float]] = {}
    for row in rows:
        caption, foil = len(row["caption"]), len(row["foil"])
        guesses.setdefault(row["subset"], []).append((caption < foil) + 0.5 * (caption == foil))
    return {subset: 100 * fmean(values) for subset, values in guesses.items()}


def find_metric(results: Results, subset: str, name: str) -> Metric:
    """Returns the metric of a subset."""
    [metric] = [m for m in results.metrics if (m.subset, m.metric) == (subset, name)]
    return metric


def as_measure(found: Metric | Average, shorter: float | None = None) -> Measure:
    """Returns a metric or an average as a measure."""
    if found.value is None or found.low is None or found.high is None:
        raise ValueError(f"{found} was not scored")
    return Measure(found.value, found.low, found.high, found.n, shorter)


def typical_case(model: MeasuredModel) -> ScoredCase:
    """Returns a half-truth of an object that scores above its true text, of the median gap.

    The object is not a person: a reader may take a man for a boy.
    """
    all_cases = list(model.cases.values())
    added = [case for case in all_cases if case.condition == "+Obj"]
    cases = [case for case in added if not {*PEOPLE} & {*case.texts[1].split()}] or all_cases
    fooled = sorted((case for case in cases if case.gap < 0), key=lambda case: case.gap)
    return fooled[len(fooled) // 2] if fooled else cases[0]


def print_case(case: ScoredCase, finder: ImageFinder, console: Console) -> None:
    """Prints a scene with a true text, a half-truth and their scores."""
    console.rule("one scene, before fine-tuning")
    console.print(finder.find(infer_image_ref(case.image)), soft_wrap=True)
    for label, text, score in zip(
        ("true text", "half-truth"), case.texts, case.scores, strict=False
    ):
        console.print(f"  {label:12}{score:.3f}  {text}", soft_wrap=True)


def measures_table(models: Mapping[str, MeasuredModel]) -> TextTable:
    """Returns one row per measure: the models, with intervals, and the shorter text."""
    rows = []
    for name, first in models[BEFORE].measures.items():
        cells = [model.measures[name] for model in models.values()]
        rows.append(
            (
                name,
                *(f"{int(m.value + 0.5)} ({m.low:.0f}-{m.high:.0f})" for m in cells),
                "" if first.shorter is None else f"{first.shorter:.0f}",
                f"{first.n:,}",
            )
        )
    header = ("% right", *models, "shorter", "cases")
    return TextTable(header, tuple(rows), n_text_columns=1)


def compared_metrics(measures: Collection[str]) -> dict[str, str]:
    """Returns the names that `zoo compare` gives to measures, of those that were measured.

    Args:
        measures: The measures of the models; few scenes may have no swap.
    """
    names = {
        HALF_TRUTHS: "half_truth, by cases",
        CONTROL: "completion, by cases",
        RECALL: "retrieval/Scenes/i2t_r@1",
    } | {name: f"pairs/{edit}/i2t" for edit, name in EDITS.items()}
    return {measure: names[measure] for measure in measures}


def differences(models: Mapping[str, MeasuredModel]) -> dict[str, dict[str, Difference]]:
    """Returns the differences of models to the control of tuning, by model and measure."""
    names = compared_metrics(models[REFERENCE].measures)
    tuned = {name: models[name].results for name in models if name not in (BEFORE, REFERENCE)}
    comparison = compare(
        {REFERENCE: models[REFERENCE].results, **tuned}, metrics=list(names.values())
    )
    lines = {str(line.name): line for line in comparison.lines}
    found: dict[str, dict[str, Difference]] = {name: {} for name in tuned}
    for measure, name in names.items():
        for test in lines[name].tests_against_first():
            if test.low is not None and test.high is not None:
                found[test.second][measure] = Difference(test.difference, test.low, test.high)
    return found


def verdicts(differences_by_model: Mapping[str, Mapping[str, Difference]]) -> list[str]:
    """Returns a sentence per model: where it differs from the control of tuning."""
    sentences = []
    for name, by_measure in differences_by_model.items():
        significant = [
            f"{measure} {format_points(d.value)} points (95 % interval {format_points(d.low)} to "
            f"{format_points(d.high)})"
            for measure, d in by_measure.items()
            if d.low > 0 or d.high < 0
        ]
        if not significant:
            significant = ["no significant difference in any row"]
        elif len(significant) < len(by_measure):
            significant.append("no significant difference in the other rows")
        sentences.append(
            f"{name} compared with {REFERENCE}, both after tuning: {'; '.join(significant)}."
        )
    return sentences


def shown_verdict(models: Mapping[str, MeasuredModel], case: ScoredCase) -> str:
    """Returns which models still prefer the half-truth of the shown scene."""
    key = case.condition, case.id, case.texts
    fooled = [name for name, model in models.items() if model.cases[key].gap <= 0]
    return f"Models that prefer the half-truth here: {', '.join(fooled) or 'none'}."


def find_changes(models: Mapping[str, MeasuredModel]) -> list[Change]:
    """Returns the half-truths that each model answers differently, the largest changes first."""
    before = models[BEFORE].cases
    found = []
    for name, model in models.items():
        if name in (BEFORE, REFERENCE):
            continue
        pairs = [(before[key], after) for key, after in model.cases.items() if key in before]
        pairs.sort(key=lambda pair: pair[0].gap - pair[1].gap)
        corrected = [(old, new) for old, new in pairs if old.gap <= 0 < new.gap]
        broken = [(old, new) for old, new in reversed(pairs) if new.gap <= 0 < old.gap]
        found.append(Change(name, corrected, broken))
    return found


def select_cards(
    pairs: Sequence[tuple[ScoredCase, ScoredCase]],
) -> list[tuple[ScoredCase, ScoredCase]]:
    """Returns the first pairs to show: one per scene, without a person as the wrong detail.

    A reader may take a man for a boy.
    """
    by_image: dict[str, tuple[ScoredCase, ScoredCase]] = {}
    for old, new in pairs:
        wrong = {word for word, differs in mark_words(*old.texts[1:]) if differs}
        if not wrong & {*PEOPLE}:
            by_image.setdefault(old.image, (old, new))
    return list(by_image.values())[:CARDS]


def write_page(
    models: Mapping[str, MeasuredModel],
    shown: ScoredCase,
    sentences: Sequence[str],
    finder: ImageFinder,
    args: Namespace,
) -> Path:
    """Writes both pictures and the page, and returns the page's path."""
    out: Path = args.out
    all_changes = find_changes(models)
    listed = [
        pair
        for change in all_changes
        for pair in (*select_cards(change.corrected), *select_cards(change.broken))
    ]
    thumbnails = thumbnail_uris([shown.image, *(old.image for old, _ in listed)], finder)
    case_figure = draw_case(models, shown, finder)
    measures_figure = draw_measures(models)
    write_bytes(out / "half_truth.png", png(case_figure))
    write_bytes(out / "before_after.png", png(measures_figure))
    text = render_page(
        PAGE,
        case=shown,
        half_truth=mark_words(shown.texts[1], shown.texts[2]),
        case_figure=svg(case_figure),
        measures_figure=svg(measures_figure),
        table_of_measures=measures_table(models),
        shown_verdict=shown_verdict(models, shown),
        verdicts=sentences,
        steps=args.steps,
        share_right=f"{models[BEFORE].measures[HALF_TRUTHS].value:.0f}",
        explanation=EXPLANATION,
        changes=all_changes,
        n_cases=len(models[BEFORE].cases),
        select_cards=select_cards,
        thumbnails=thumbnails,
        mark_words=mark_words,
    )
    write_bytes(out / PAGE, text.encode())
    return out / PAGE


def draw_case(
    models: Mapping[str, MeasuredModel], case: ScoredCase, finder: ImageFinder
) -> "Figure":
    """Draws a scene next to each model's scores of its true text and its half-truth."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        picture, axes = figure.subplots(1, 2, width_ratios=[1, 1.7])
        picture.imshow(finder.load(infer_image_ref(case.image)))
        picture.set_axis_off()
        scores = [
            model.cases[case.condition, case.id, case.texts].scores for model in models.values()
        ]
        for place, (label, colour) in enumerate((("true text", TRUE), ("half-truth", WRONG))):
            rows = [row + 0.19 * (2 * place - 1) for row in range(len(models))]
            widths = [found[place] for found in scores]
            bars = axes.barh(
                rows, widths, 0.34, color=colour, label=f"{label}: {case.texts[place]}"
            )
            axes.bar_label(bars, fmt="%.4f", padding=3)
        axes.set_yticks(range(len(models)), models)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_xlabel("score (cosine of image and text)")
        figure.legend(loc="outside upper center", frameon=False)
    return figure


def draw_measures(models: Mapping[str, MeasuredModel]) -> "Figure":
    """Draws the measures of all models with their intervals, and the guess by length."""
    import matplotlib
    from matplotlib.figure import Figure

    names = list(models[BEFORE].measures)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.2), layout="constrained")
        axes = figure.add_subplot()
        styles = run_styles("start" if label == BEFORE else label for label in models)
        styles[BEFORE] = styles["start"]
        for k, (label, model) in enumerate(models.items()):
            colour, marker = styles[label]
            found = [model.measures[name] for name in names]
            axes.errorbar(
                [m.value for m in found],
                [row + 0.2 * (k - 1.5) for row in range(len(names))],
                xerr=[[m.value - m.low for m in found], [m.high - m.value for m in found]],
                fmt=marker,
                color=colour,
                label=label,
                elinewidth=1,
            )
        guesses = [
            (model_row, models[BEFORE].measures[name].shorter)
            for model_row, name in enumerate(names)
        ]
        shown = [(row, guess) for row, guess in guesses if guess is not None]
        axes.vlines(
            [guess for _, guess in shown],
            [row - 0.4 for row, _ in shown],
            [row + 0.4 for row, _ in shown],
            color=INK,
            label="always shorter",
        )
        axes.vlines(50, -0.5, len(names) - 1.5, color=INK, linestyle=":", label="chance")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 102)
        axes.set_xlabel("% right, with 95 % interval")
        figure.legend(loc="outside upper center", ncols=6, frameon=False)
    return figure
