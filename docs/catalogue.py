"""Writes the pages of docs/catalogue/ and renames.md from the code: `python docs/catalogue.py`."""

import csv
import importlib
import inspect
import re
import shutil
import tomllib
from argparse import SUPPRESS
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from zoo.backbones.catalogue.entry import ModelEntry, entries
from zoo.benchmarks.base import Benchmark, Subset
from zoo.cli.completion import DATA, SETTINGS
from zoo.cli.flags import FLAGS
from zoo.cli.help_pages import class_arguments
from zoo.cli.library_internals import parser_actions, subcommand_parsers
from zoo.cli.ls import LISTS, first_comment
from zoo.cli.recipes import shipped_recipes
from zoo.cli.registry import COMMANDS, LIGHTNING, command_module
from zoo.results.presets.preset import preset_of
from zoo.results.suites import self_contained_benchmarks
from zoo.support.class_names import import_all, import_path, list_classes
from zoo.units import UnitSampler

DOCS = Path(__file__).parent
SECTION = re.compile(r"^(?:Args|Attributes|Examples|Raises|Returns):$", re.MULTILINE)
# pages of methods that are not named as the module of the class
METHOD_PAGES = {"cosine": "clip", "text_conditioned_pooling": "flair"}
METHODS_INTRO = """This page uses these terms:

- **Recipe**: a YAML file that configures a training run ([list](#recipes-and-overlays))
- **Overlay**: a YAML file that changes some settings of a recipe
- **Negative**: a similar but wrong caption
- **Unit**: a phrase of a caption, such as an object with its attributes
- **Foil**: a wrong version of a unit
- **Pooled vector, token vector**: a tower outputs one pooled vector per image or text, and one
  vector per image patch or text token
- **Public code**: the code that the authors of a paper published"""
OBJECTIVES_INTRO = """An objective is the training loss. In the table, "choose" means that the loss
is a softmax cross-entropy. In *CLIP's loss*, each image chooses its caption among all captions of
the batch, and each caption chooses its image among all images. *NegCLIP's loss* is CLIP's loss,
except that each image also chooses among the negatives of all captions."""
HEADS_INTRO = """A head computes the score of an image and a text from the outputs of the two
towers. `--head CLASS` of `zoo fit` and `zoo validate` selects a head."""
RECIPES_INTRO = """`zoo fit --config cs_clip.yaml --data_root DATA_ROOT` trains with a recipe.
`DATA_ROOT` is the folder of the data. In a command, an overlay follows the recipe: `zoo fit
--config clip.yaml --config flickr8k.yaml --data_root DATA_ROOT`. The comments in
each file name commands and known differences from the paper."""
MANY_RECIPES = 10
PROTOCOLS_INTRO = """A *protocol* decides from the scores of a case whether an answer is right, and
reports one or several metrics. A *case* is one item of a benchmark: images, texts, and which of
them match. An image *chooses* the text with the highest score, and a text chooses the image with
the highest score. A [preset](presets.md) decides how ties (equal scores) count.

A metric has the name of its protocol, unless the rule names other metrics. The last column is the
expected value of the metrics for random scores. If this column is empty, the [pages of the
benchmarks](benchmarks.md) have the values. C(n, k) is the binomial coefficient."""
PRESETS_INTRO = """\
`--presets` of `zoo validate` selects presets. A preset decides three things:

- **Ties**: whether an answer is right if the right answer and the best wrong answer have equal
  scores. "As in the script" means that ties count as in the evaluation script of the benchmark's
  authors.
- **Foils that equal their caption**: whether such foils (wrong captions) are kept or dropped.
- **Averages**: which means are reported. Most means are reported only if all of their metrics were
  measured. An average *by cases* weights each subset by its number of cases.

I2T is image to text, T2I is text to image, and MCQ is multiple choice. `half_truth` and
`completion` are the two metrics of [benchmark `half_truth`](benchmarks/half_truth.md). A
*condition* is a subset of this benchmark.

CS-CLIP, FSC-CLIP and The Role of Inference are [papers](../papers.md).
[vl_compo](https://github.com/ytaek-oh/vl_compo) is a toolkit.
[ELEVATER](https://github.com/Computer-Vision-in-the-Wild/Elevater_Toolkit_IC) is a toolkit for
zero-shot classification."""
PRESET_NOTES = {
    "strict": """Only some protocols, such as `i2t`, can drop wrong texts. If another protocol keeps
such texts, the report names this protocol.""",
    "cs_clip": """`suite of 16` is the mean over 16 benchmarks, with their metrics from image to
text. `paired 7` is the mean over the seven of these benchmarks that have several images and several
texts per case: coco_cf, cola, colorswap, mmvp, spec, vismin and winoground.""",
    "cs_clip_ablations": """Three averages have two names, one from preset `cs_clip` and one from
these tables: `suite of 16` is `Comp I2T`, `paired 7, T2I` is `Comp T2I`, and `paired 7, group` is
`Comp Grp`. In `HT Ent`, the wrong detail of a half-truth is an entity. In `HT Rel`, the wrong
detail is a relation.""",
    "capabilities": """A *capability* is a skill that several subsets test, such as counting.
`Entity Content`, `Relational Structure`, `Binding` and `Linguistic` are means over the capabilities
that directly precede them in the list. `Avg of 10 capabilities` is reported only if all ten
capabilities have a mean.""",
    "vl_compo": """`comp_avg` is the mean over the 12 benchmarks in the list. `i2t_avg` and
`t2i_avg` are mean recalls at 1 on COCO and Flickr30k.""",
}
BENCHMARKS_INTRO = """Each benchmark has a page with its files, commands and licence.
[Benchmarks](../guides/benchmarks.md) explains how to evaluate models on these benchmarks. In the
table, a *case* is one item of a benchmark, and a *foil* is a wrong caption. [Terms](#terms)
explains further terms."""
COMMON_ARGUMENTS = (
    "Paths of annotation files, by subset, if they are not the default ones.",
    "The chosen subsets; None for all.",
)
TERMS_LINK = "The catalogue explains [terms and columns](../benchmarks.md#terms)"
BENCHMARK_TERMS = """The pages of the benchmarks use these terms:

- **Case**: one item of a benchmark: images, texts, and which of them match.
- **Foil**: a wrong caption. Most cases ask whether a model gives a true caption a higher score than
  a foil.
- **Subset**: a group of cases.
- **Choose**: an image chooses the text with the highest score, and a text chooses the image with
  the highest score.
- **Protocol**: the rule that decides which answers are right. The protocol also defines the
  metrics. Each subset has one or several of these [protocols](protocols.md).
- **Authors**: the authors of the benchmark, unless the page names others.
- **Tie**: the right answer and the best wrong answer have equal scores. Pages state how ties count
  in the authors' code. If this code takes the first of equal scores, the right answer wins a tie
  only if it is listed first. [Preset](presets.md) `official` follows the authors' code, and preset
  `strict` counts all ties as wrong.
- **Note**: a remark that zoo prints with the results.
- **Head**: the part of a model that computes the score of an image and a text from the outputs of
  the image tower and the text tower ([heads](methods.md#heads)).
- **Hub**: the Hugging Face Hub. The files of a *gated* data set can be downloaded only after you
  accept its licence there.
- **`DATA_ROOT`**: the folder of all data.
- **`MODEL`**: a [published model](../guides/published.md), such as `openai/ViT-B-32`. To evaluate
  your checkpoint instead, use `--ckpt_path`.
- **`cases.parquet`**: the file with the results per case. Its column `group` is the category of a
  case. (A metric is also named `group`: each image of a
  case chooses its text, and each text chooses its image.)
- **vl_compo**: a [toolkit](https://github.com/ytaek-oh/vl_compo) whose authors published values of
  many models.

On these pages, the table of subsets has these columns:

- **cases**: the number of cases in the published files.
- **chance**: the expected value of a metric for random scores. If metrics have different values,
  the names of the metrics are in parentheses.
- **published METRIC**: the [published value](../published_values.md) of OpenAI's ViT-B/32. This
  value was not measured with zoo.
- **file**: where zoo first searches for the annotations in `DATA_ROOT`.

An empty cell means that the value is not published, or depends on the files.

If a benchmark has special arguments, a second table on its page lists them. A default `null` means
None in Python. In a name such as `pairs:FILE`, the value after the colon sets the argument that is
marked `(required)`. In a command, all other arguments follow the name of the benchmark:

```bash
zoo validate --model openai/ViT-B-32 --data_root DATA_ROOT \\
    --benchmarks valse --benchmarks.subsets '[existence, plurals]'
```

Most benchmarks have two arguments that the pages do not list: `--benchmarks.subsets '[SUBSET,
SUBSET]'` selects subsets, and `--benchmarks.files '{SUBSET: PATH}'` sets other paths of the
annotations."""
TEXT_INTROS = {
    "negatives": """A negative is a caption with a change that should make it false of its image.
The classes below are *generators*, which make negatives. `zoo fit --data.negatives` selects one or
several generators. [Negatives and units](../guides/negatives.md) explains how to preview negatives.
Some generators use a [tagger](units.md#taggers), which finds words, part-of-speech tags and
phrases.

`EntityFoilInPlace` needs a *units file*, which `zoo units extract` writes. This file contains the
entities of each caption ("a grey sofa") and their *foils*, which are wrong versions ("a red sofa").
Set the file with `--data.units.file` in `zoo fit`, and with `--units` in `zoo negatives`.""",
    "positives": """A positive is a further text that is true of the image. `zoo fit
--data.positives` selects one or several of these classes.""",
    "extractors": """An extractor finds the *units* of a caption: its entities ("a grey sofa") and
relations ("two cats sleep on a grey sofa"). It also makes *foils*, which are changed units that
should be false ("a red sofa"). `zoo units extract` writes units and foils to a *units file*. The
flag `--extractor` of this command selects one of these classes.""",
    "taggers": """A tagger finds words, their part-of-speech tags and phrases. The flag `--tagger`
of `zoo units extract` and of `zoo negatives` selects one of these classes.""",
    "segments": """Segments are phrases of a text, and the text itself. A *head* is the part of a
model that computes the score of an image and a text. In evaluation, the heads `StructureGuided` and
`ComCLIP` compare the segments of a text with the views of an image (next section). Each segment and
each view is encoded separately. `--model.head.segments` selects one of these classes.

`Coarse`, `Fine` and `Triplets` use the entities and relations of a text. Entities and relations are
read from *units files*, or found by an [extractor](units.md#extractors). The examples in
parentheses are segments of "a man in a red hat riding a brown horse".""",
    "views": """Views are crops of an image. The heads `StructureGuided` and `ComCLIP` encode each
view separately. `--model.head.views` selects one of these classes.""",
    "units in training": """While a model trains, this class draws units and foils from a units
file. Its arguments are flags of `zoo fit`, such as `--data.units.n_units`. "The paper", "the public
code", Table 16, N_u and K refer to [CS-CLIP](../methods/cs_clip.md).""",
}
MODELS_INTRO = """`--model` accepts the names in the first two tables, for example `zoo validate
--model ce_clip`. Weights of open_clip have other names, such as `openai/ViT-B-32` ([Published
models](../guides/published.md)).

- **Weights**: zoo downloads weights from Hugging Face repositories (USER/NAME). Download all other
  weights yourself, and append the file: `--model negclip:negclip.pth`. zoo's readers of weights
  follow the authors' code. Of the published files, we opened only LabCLIP's. All other readers were
  tested only on files with random weights, which we wrote in the authors' formats.
- **Licence**: "(code)" marks the licence of the authors' code; the weights have no separate
  licence. "open_clip's licence (code)" means that the authors' code has the licence of open_clip.
- **Negatives** are similar but wrong captions, or images of such captions.

`zoo ls models --long` also prints architectures, papers and hashes."""
TOWERS_INTRO = """An image tower and a text tower encode images and texts separately. `zoo fit` can
fine-tune these models."""
PAIRS_INTRO = """These models score an image and a text, and cannot be fine-tuned with zoo. They
need `pip install 'clip-zoo[hf]'`. *VQAScore* asks a model whether the image shows the text; the
score is the log-probability of the answer "Yes". [Any scorer](../guides/any_scorer.md) explains the
other scores."""
UNSUPPORTED_INTRO = """zoo rejects these names. To evaluate such a model, load it with its authors'
code and pass it to `zoo.evaluate` ([Any
scorer](../guides/any_scorer.md#models-with-two-encoders))."""
COMMANDS_INTRO = """`zoo COMMAND --help` prints the flags of a command. A *recipe* is a YAML file
that configures a training run. Its settings are also flags. `zoo fit` and `zoo validate` share the
[settings of the model](commands/settings_model.md), but have different [settings of the
data](commands/settings_data.md). The [glossary](../glossary.md) explains further terms."""
COMMAND_TERMS = {
    "Recipe": "a YAML file that configures a training run",
    "Overlay": "a YAML file that changes some settings of a recipe",
    "Run": "one training or evaluation, and its folder",
    "Head": "computes the score of an image and a text from the outputs of the two towers",
    "Objective": "the training loss",
    "Pooled vector": "the output of a tower for an image or a text",
    "Token vector": "the output of a tower for an image patch or a text token",
    "Reader": "a class that reads caption files of one format",
    "Row": "an image of a batch, with its caption and further texts",
    "Unit": 'a phrase of a caption, such as "grey sofa"',
    "Foil": 'a wrong version of a unit, such as "red sofa"; in benchmarks, a wrong caption',
    "Extractor": "a class that finds units and makes foils",
    "Negative": "a wrong caption",
    "Positive": "a further true text of the image",
    "Half-truth": "a true text with a wrong detail added",
    "Case": "one item of a benchmark: images, texts, and which of them match",
    "Subset": "a group of cases",
    "Tie": "the right answer and the best wrong answer have equal scores",
    "Preset": "decides how ties count and which averages are reported",
    "Attribute-object pair": "an attribute and its object, such as (grey, sofa)",
}
FIT_INTRO = """\
`zoo fit` trains a model, and `zoo validate` evaluates one. The table lists flags for frequent
settings. Every setting of a recipe is also a flag: see [settings of the model](settings_model.md)
and [settings of the data](settings_data.md). `--trainer.NAME` sets an argument of Lightning's
`Trainer`. With `--benchmarks`, `zoo fit` evaluates the model at every validation."""
SETTINGS_INTRO = """A setting is a key of a recipe, and also a flag. `zoo fit` and `zoo validate`
share the settings of the model, but have different settings of the data. The default `null` is
None. A default such as `Tuning()` is a group of settings, each of which has a default."""
# jsonargparse's help of --ray
HELP = {"Path to a configuration file.": "a YAML file with the `--ray.*` settings below"}


def page(title: str, source: str, *sections: str) -> str:
    """Returns a page that begins by naming the command that generates it."""
    generated = f"This page is generated by `python docs/catalogue.py` from {source}."
    return "\n\n".join([f"# {title}", generated, *filter(None, sections)]) + "\n"


def table(head: str, rows: Iterable[Iterable[Any]]) -> str:
    """Returns a table with the columns of `head`, or an empty text if there are no rows."""
    names, lines = head.split(" | "), [*rows]
    lines = [names, ["---"] * len(names), *lines] if lines else []
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines)


def cell(value: Any) -> str:
    """Returns the text of a cell: numbers with separators of thousands, nothing for None."""
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    text = " ".join(str("" if value is None else value).split())
    return text.replace("|", r"\|").replace("<", "&lt;")


def paragraphs(item: Any) -> list[str]:
    """Returns the description in a docstring without its sections, one line per paragraph."""
    text = SECTION.split(inspect.cleandoc(item.__doc__ or ""))[0].strip()
    return [" ".join(part.split()) for part in text.split("\n\n")]


def classes(kind: str) -> Iterator[tuple[str, type[Any]]]:
    """Yields the names and classes of a kind that are part of zoo."""
    for name, path, _ in list_classes(kind):
        if path.startswith("zoo."):
            yield name, import_path(path)


def link(cls: type, root: str = "../..") -> str:
    """Returns a link to the source of a class, which is shown by its name."""
    return f"[`{cls.__name__}`]({root}/{cls.__module__.replace('.', '/')}.py)"


def argument_table(cls: type, prefix: str = "", common: Iterable[str] = ()) -> str:
    """Returns the arguments of a class with their defaults, except those with a common meaning."""
    arguments = [facts for facts in class_arguments(cls) if facts[-1] not in common]
    rows = ((f"`{prefix}{name}`", f"`{default}`", text) for name, default, text in arguments)
    return table("argument | default | meaning", rows)


def subset_table(subsets: Iterable[Subset]) -> str:
    """Returns the subsets with number of cases, chance, published values and first file."""
    metrics = list(dict.fromkeys(metric for s in subsets for metric in s.published))
    rows = []
    for subset in subsets:
        chance: dict[str, list[str]] = {}
        for metric, level in subset.chance.items():
            chance.setdefault(f"{level:.3g}", []).append(metric)
        levels = [f"{n} ({', '.join(m)})" if len(chance) > 1 else n for n, m in chance.items()]
        values = [subset.published.get(metric) for metric in metrics]
        rows.append([subset.name, subset.n, ", ".join(levels), *values, f"`{subset.files[0]}`"])
    values_head = [f"published {metric}, %" for metric in metrics]
    return table(" | ".join(["subset", "cases", "chance, %", *values_head, "file"]), rows)


def benchmark(name: str) -> str:
    """Returns the page of a benchmark, without a table if it needs a file of the user."""
    cls: type[Benchmark] = dict(classes("benchmarks"))[name]
    subsets = cls().subsets if name in self_contained_benchmarks() else ()
    by_source: dict[str, list[str]] = {}
    for subset in subsets:
        by_source.setdefault(subset.instructions, []).append(subset.name)
    spelled = name if subsets else f"{name}:{cls.colon_argument.upper()}"
    evaluation = f"zoo validate --benchmarks {spelled} --data_root DATA_ROOT --model MODEL"
    facts = {"Evaluate": f"`{evaluation}`"}
    for source, names in by_source.items():
        facts["Get" if len(by_source) == 1 else f"Get {', '.join(names)}"] = source
    if not subsets:
        facts["Subsets"] = ", ".join(f"`{subset}`" for subset in cls.subset_names)
    facts |= {"Hub": str(cls.hub or ""), "Licence": cls.licence, "Cite": cls.citation}
    lines = "\n".join(f"- {label}: {text}" for label, text in facts.items() if text)
    summary, *description = paragraphs(cls)
    source = f"{link(cls, '../../..')}. {TERMS_LINK}"
    arguments = argument_table(cls, "--benchmarks.", COMMON_ARGUMENTS)
    sections = [summary, lines, *description, subset_table(subsets), arguments]
    return page(f"`{name}`", source, *sections)


def protocol_rows() -> Iterator[list[str]]:
    """Yields the rows of the protocols, whose chance is that of the method's docstring."""
    for name, cls in classes("protocols"):
        is_own = cls.chance.__qualname__ != "Protocol.chance"
        chance = paragraphs(cls.chance)[0].removeprefix("Returns ").rstrip(".") if is_own else ""
        yield [f"`{name}`", link(cls), " ".join(paragraphs(cls)), chance]


def protocols() -> str:
    """Returns the page of protocols."""
    listing = table("protocol | class | rule | chance", protocol_rows())
    return page("Protocols", "the protocol classes", PROTOCOLS_INTRO, listing)


def presets() -> str:
    """Returns the page of presets."""
    sections = [PRESETS_INTRO]
    for name, cls in sorted(classes("presets"), key=lambda listed: listed[0] == "file"):
        if name == "file":
            links = "[Extend](../guides/extend.md#a-preset) shows an example, and", link(cls)
            text = f"Your preset, in a YAML or JSON file. {' '.join(links)} explains all keys."
            sections += [f"## `{name}`", text]
            continue
        preset = preset_of(name)
        ties = "as in the script" if preset.rules.official_ties else "wrong"
        equal = "dropped" if preset.rules.drop_identical else "kept"
        averages = "; ".join(f"`{mean}`" for mean in preset.means)
        if name != "official" and preset.means == preset_of("official").means:
            averages = "as in `official`"
        facts = {"Ties": ties, "Foils that equal their caption": equal, "Averages": averages}
        purpose = preset.description[0].upper() + preset.description[1:]
        lines = "\n".join(f"- {label}: {text}" for label, text in facts.items())
        sections += [f"## `{name}`", f"{purpose}.", PRESET_NOTES.get(name, ""), lines]
    return page("Presets", "the preset classes", *sections)


def benchmarks() -> str:
    """Returns the page that lists all benchmarks."""
    listed = dict(classes("benchmarks"))
    rows = [[f"[`{n}`](benchmarks/{n}.md)", paragraphs(cls)[0]] for n, cls in listed.items()]
    overview = table("benchmark | content", rows)
    sections = [BENCHMARKS_INTRO, overview, "## Terms", BENCHMARK_TERMS]
    return page("Catalogue of benchmarks", "the benchmark classes", *sections)


def method_table(kind: str, key: str) -> str:
    """Returns the objectives or heads; `key` is where a recipe names them."""
    recipes: dict[str, list[str]] = {}
    for name, path in shipped_recipes().items():
        model = yaml.safe_load(path.read_text("utf-8")).get("model") or {}
        recipes.setdefault((model.get(key) or {}).get("class_path", ""), []).append(f"`{name}`")
    rows = []
    for _, cls in classes(kind):
        module, stem = importlib.import_module(cls.__module__), cls.__module__.rpartition(".")[2]
        paper = re.search(r"\(([^)]*\d{4}[^)]*)\)", paragraphs(module)[0])
        target = f"{METHOD_PAGES.get(stem, stem)}.md"
        used = recipes.get(cls.__name__, [])
        listed = ", ".join(used) if len(used) <= MANY_RECIPES else f"{len(used)} recipes"
        facts = [paper and paper[1], listed]
        rows.append([link(cls), paragraphs(cls)[0], *facts, f"[{target}](../methods/{target})"])
    return table("class | description | paper | recipes and overlays | page", rows)


def methods() -> str:
    """Returns the page of objectives, heads and recipes."""
    recipes = (
        [f"[`{name}`](../../configs/{name})", first_comment(path)]
        for name, path in shipped_recipes().items()
    )
    sections = [METHODS_INTRO]
    sections += ["## Objectives", OBJECTIVES_INTRO, method_table("objectives", "objective")]
    sections += ["## Heads", HEADS_INTRO, method_table("heads", "head")]
    sections += ["## Recipes and overlays", RECIPES_INTRO, table("file | description", recipes)]
    return page("Catalogue of methods", "the objectives, heads and recipes", *sections)


def text_classes(title: str, kinds: tuple[str, ...]) -> str:
    """Returns a page of the classes of these kinds, with the arguments of each."""
    sections = []
    for kind in kinds:
        sections += [f"## {kind.capitalize()}", TEXT_INTROS[kind]]
        for _, cls in [("", UnitSampler)] if kind == "units in training" else classes(kind):
            sections += [f"### {cls.__name__}", f"{paragraphs(cls)[0]} Source: {link(cls)}."]
            sections.append(argument_table(cls))
    return page(f"Catalogue of {title}", "the classes", *sections)


def weights_link(entry: ModelEntry) -> str:
    """Returns a link to the weights of a model: the repository on the hub, or the host's name."""
    if entry.is_shipped:
        return "part of zoo"
    if entry.hub:
        return f"[{entry.hub.id}]({entry.hub.page})"
    return f"[{urlsplit(entry.url).netloc.removeprefix('www.')}]({entry.url})" if entry.url else ""


def models() -> str:
    """Returns the page of published models."""
    rows: dict[str, list[list[str]]] = {"towers": [], "pairs": [], "unsupported": []}
    for name, entry in entries().items():
        facts = [f"`{name}`", entry.description, weights_link(entry), entry.licence or "unknown"]
        if entry.unsupported:
            reason = entry.unsupported.partition("; to evaluate it")[0]
            rows["unsupported"].append([*facts[:2], reason, *facts[2:]])
            continue
        notes = "; ".join(filter(None, [entry.warning, *entry.notes]))
        kind = "pairs" if entry.scorer else "towers"
        rows[kind].append([*facts, entry.trained_on or "unknown", notes])
    head = "name | description | weights | licence | training data | notes"
    sections = [MODELS_INTRO, "## Models with two towers", TOWERS_INTRO]
    sections += [table(head, rows["towers"]), "## Models that score pairs", PAIRS_INTRO]
    sections += [table(head, rows["pairs"]), "## Models that zoo cannot load", UNSUPPORTED_INTRO]
    sections += [table("name | description | reason | weights | licence", rows["unsupported"])]
    return page("Catalogue of models", "`zoo/backbones/catalogue/entries/`", *sections)


def default_text(default: Any) -> str:
    """Returns the default of a flag as typed, empty if there is none or the flag is a switch."""
    if isinstance(default, list | tuple):
        default = " ".join(map(str, default))
    default = getattr(default, "class_path", default)
    return "" if default in (None, "", SUPPRESS) or default is False else f"`{default}`"


def flag_rows(parser: Any) -> Iterator[list[str]]:
    """Yields flag, default and help of the arguments of a parser."""
    for action in parser_actions(parser):
        options = [o for o in action.option_strings if not o.endswith(".help")]
        named = options or ([] if action.option_strings else [action.dest])
        if not named or action.help == SUPPRESS or action.dest in ("help", "command"):
            continue
        shown = default_text(action.default)
        text = HELP.get(action.help, action.help)
        if shown:  # it has a column
            text = re.sub(r" \(default: (?:%\(default\)s|[^)]*)\)", "", text)
        names = ", ".join(f"`{name}`" for name in named)
        yield [names, "required" if action.required else shown, text]


def commands() -> str:
    """Returns the page that lists all commands."""
    pages = dict.fromkeys(LIGHTNING, "fit_and_validate")
    rows = [
        [
            f"[`zoo {name}`](commands/{pages.get(name, name)}.md)",
            registered.summary.partition(": zoo")[0],
        ]
        for name, registered in COMMANDS.items()
    ]
    listing = table("command | purpose", rows)
    return page("Catalogue of commands", "the commands", COMMANDS_INTRO, listing)


def command_terms(text: str) -> str:
    """Returns a list of the terms that occur in the text of a page, with their meanings."""
    text = re.sub(r"`[^`]*`|--\S+", "", text)  # without code and flags
    used = {t: m for t, m in COMMAND_TERMS.items() if re.search(rf"\b{t}s?\b", text, re.IGNORECASE)}
    return "\n".join(["Terms:", "", *(f"- **{t}**: {m}" for t, m in used.items())] if used else [])


def fit_and_validate() -> str:
    """Returns the page of the frequent flags of `zoo fit` and `zoo validate`."""
    rows = [[f"`--{f.name}`", f.metavar, ", ".join(f.commands), f.help] for f in FLAGS]
    listing = table("flag | value | command | meaning", rows)
    sections = [FIT_INTRO, command_terms(FIT_INTRO + listing), listing]
    return page("`zoo fit` and `zoo validate`", "the flags of these commands", *sections)


def settings(title: str, prefixes: dict[str, str]) -> str:
    """Returns a page of settings: `prefixes` are headings, with the class of their arguments."""
    import_all()
    sections = []
    for prefix, path in prefixes.items():
        flag = f"--{prefix.partition(',')[0]}."
        sections += [f"## {prefix}", argument_table(import_path(path), flag)]
    terms = command_terms("\n".join([SETTINGS_INTRO, *sections]))
    return page(title, "the classes of the settings", SETTINGS_INTRO, terms, *sections)


def command(name: str) -> str:
    """Returns the page of a command and its flags."""
    import_all()
    parser = command_module(name).parser()
    sections = []
    for title, declared in {"": parser, **subcommand_parsers(parser)}.items():
        listing = table("argument | default | meaning", flag_rows(declared))
        # indented examples become a block of code
        description = declared.description.strip().replace("\n  zoo", "\n    zoo")
        sections += [f"## zoo {name} {title}" if title else "", description, listing]
    if name == "ls":  # its table explains the terms
        rows = ([f"`{n}`", text, f"`{flag}`" if flag else ""] for n, (text, flag) in LISTS.items())
        sections += ["These are the lists:", table("list | content | flag or command", rows)]
    else:
        sections.insert(2, command_terms("\n".join(sections)))  # after the description
    return page(f"`zoo {name}`", "the flags of the command", *sections)


def packages() -> str:
    """Returns the page of packages in the order of their layers, from top to bottom."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = []
    for number, layer in enumerate(layers, 1):
        for name in layer.split(" | "):
            module = importlib.import_module(f"zoo.{name}")
            place = f"zoo/{name}" + ("/" if hasattr(module, "__path__") else ".py")
            file = f"{place}__init__.py" if place.endswith("/") else place
            rows.append([number, f"[`{place}`](../../{file})", paragraphs(module)[0]])
    intro = """Each package or module of `zoo/` imports only from layers with a higher number.
[Architecture](../architecture.md) explains how the packages work together.

In the table, *units* are entities and relations in captions, and *foils* are wrong versions of
units. The [glossary](../glossary.md) explains further terms."""
    listing = table("layer | package or module | content", rows)
    return page("Packages", "`pyproject.toml` and docstrings", intro, listing)


def renames() -> str:
    """Returns the page of names that changed."""
    with (DOCS / "renames.csv").open(encoding="utf-8", newline="") as file:
        rows = [[row["old"], row["new"], row["where"]] for row in csv.DictReader(file)]
    intro = """Commands and Python do not accept the old names. Checkpoints, exported folders, run
folders and results of version 0.1.0 can still be read. The last column says where a name is
used."""
    listing = table("old | new | where", rows)
    return page("Renamed since 0.1.0", "`docs/renames.csv`", intro, listing)


CATALOGUES = (benchmarks, protocols, presets, methods, models, commands, packages)
TEXT_CLASSES = {
    "negatives": ("negatives and positives", ("negatives", "positives")),
    "units": ("units", ("extractors", "taggers", "units in training")),
    "segments": ("segments and views", ("segments", "views")),
}
MODEL = {prefix: path for prefix, path in SETTINGS.items() if prefix.startswith("model")}
PAGES: dict[str, Callable[[], str]] = {f"catalogue/{f.__name__}.md": f for f in CATALOGUES}
PAGES |= {f"catalogue/{n}.md": partial(text_classes, *facts) for n, facts in TEXT_CLASSES.items()}
PAGES |= {
    f"catalogue/benchmarks/{name}.md": partial(benchmark, name)
    for name, path, _ in list_classes("benchmarks")
    if path.startswith("zoo.")
}
PAGES |= {
    f"catalogue/commands/{name}.md": partial(command, name)
    for name in COMMANDS
    if name not in LIGHTNING
}
PAGES |= {
    "catalogue/commands/fit_and_validate.md": fit_and_validate,
    "catalogue/commands/settings_model.md": partial(settings, "Settings of the model", MODEL),
    "catalogue/commands/settings_data.md": partial(
        settings, "Settings of the data", {f"data, `zoo {c}`": path for c, path in DATA.items()}
    ),
    "renames.md": renames,
}

if __name__ == "__main__":
    shutil.rmtree(DOCS / "catalogue")
    for file, render in PAGES.items():
        (DOCS / file).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / file).write_text(render(), "utf-8")
