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

import yaml

from zoo.backbones.catalogue.entry import entries
from zoo.benchmarks.base import Benchmark, Subset
from zoo.cli.completion import DATA, SETTINGS
from zoo.cli.flags import FLAGS
from zoo.cli.help_pages import class_arguments
from zoo.cli.library_internals import parser_actions, subcommand_parsers
from zoo.cli.ls import first_comment
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
OBJECTIVES_INTRO = """An objective is the training loss. A *negative* of a caption is a similar
but wrong sentence, and a *positive* is a further true text of the image. A *unit* is a phrase of
a caption, such as an object with its attributes, and a *foil* is a wrong version of it. An image
*chooses* among texts by a softmax cross-entropy over them."""
HEADS_INTRO = """A head computes the score of an image and a text from the outputs of the two
towers."""
RECIPES_INTRO = """A recipe configures a training run: `zoo fit --config cs_clip.yaml --data_root
DATA_ROOT`. An overlay changes some settings of a recipe, and follows it in the command: `zoo fit
--config clip.yaml --config flickr8k.yaml --data_root DATA_ROOT`.

Comments in each file give its commands and known differences from the paper. *Public code* is the
code that the authors of a paper published."""
PROTOCOLS_INTRO = """A protocol decides which scores make a case right, and reports one or several
metrics. In the last column, C(n, k) is the binomial coefficient."""
PRESETS_INTRO = """\
`--presets` of `zoo validate` selects presets. A preset decides whether ties count
as right, whether foils that equal their caption are dropped, and which averages are reported. In a
*tie*, the right answer and a wrong answer have equal scores. I2T is from image to text, and T2I is
from text to image. An average *by cases* weights each subset by its number of cases.

`suite of 16` of `cs_clip` is the mean over 16 benchmarks, from image to text. `paired 7` is
the mean over the seven of them with several images and several texts per case: coco_cf, cola,
colorswap, mmvp, spec, vismin and winoground. `cs_clip_ablations` lists three averages twice, by
their names in two groups of tables: `Comp I2T` equals `suite of 16`, `Comp T2I` equals `paired 7,
T2I`, and `Comp Grp` equals `paired 7, group`."""
BENCHMARKS_INTRO = """Each benchmark has a page with its cases, licence, files and commands.
[Benchmarks](../guides/benchmarks.md) explains how to evaluate models on them."""
COMMON_ARGUMENTS = (
    "Paths of the annotations if not the default ones, by subset.",
    "The chosen subsets, None for all.",
)
BENCHMARK_TERMS = """The pages of the benchmarks use these terms:

- **Case**: one question to a model. Most cases ask whether a model prefers a true caption to a
  wrong caption, which is called a *foil*. A **subset** is a group of cases.
- **Protocol**: the rule for right answers. Each subset has one of these [protocols](protocols.md),
  which also defines its metrics.
- **Tie**: the right answer and a wrong answer have equal scores. A page says how the authors' code
  counts ties. A [preset](presets.md) follows that code or counts all ties as wrong.
- **Note**: a remark that zoo prints with the results.
- **Head**: the part of a model that computes the score of an image and a text from the outputs of
  the two towers ([heads](methods.md#heads)).
- **`DATA_ROOT`**: the folder of all data.
- **`cases.parquet`**: the file with the results per case. Its column `group` has the category of a
  case; the metric `group` is something else.

The table of subsets has these columns:

- **cases**: the number of cases in the published files.
- **chance**: the expected result of random scores.
- **A metric**, such as `i2t`: the [published value](../published_values.md) of OpenAI's ViT-B/32.
  It was not measured with zoo. Many values are from the toolkit
  [vl_compo](https://github.com/ytaek-oh/vl_compo).
- **file**: where zoo first searches for the annotations in `DATA_ROOT`.

An empty cell means that the value is not published, or depends on the files.

Arguments follow the name of the benchmark in the command. Pages do not list two arguments that most
benchmarks have: `--benchmarks.files '{SUBSET: PATH}'` sets other paths of the annotations, and
`--benchmarks.subsets '[SUBSET, SUBSET]'` selects subsets."""
TEXT_INTROS = {
    "negatives": """A negative is a changed caption that should be false of its image.
`--data.negatives` of `zoo fit` selects a class. [Negatives and units](../guides/negatives.md)
explains how to preview negatives.

`EntityFoilInPlace` needs a *units file*, which `zoo units extract` writes. It contains the entities
of each caption ("a grey sofa") and their *foils*, which are wrong versions ("a red sofa"). It is
given by `--data.units.file` in training, and by `--units` of `zoo negatives`.""",
    "positives": """A positive is a further text that is true of the image. `--data.positives`
selects a class.""",
    "extractors": """An extractor finds the *units* of a caption: its entities ("a grey sofa") and
relations ("two cats sleep on a grey sofa"). It also makes *foils*, which are changed units that
should be false ("a red sofa"). `zoo units extract --extractor` selects a class, and writes units
and foils to a *units file*.""",
    "taggers": """A tagger finds words, their part-of-speech tags and phrases. `--tagger` of `zoo
units extract` and of `zoo negatives` selects a class.""",
    "segments": """Segments are phrases of a text, and the text itself. A *head* is the part of a
model that computes the score of an image and a text. In evaluation, the heads `StructureGuided` and
`ComCLIP` let the model's towers encode each segment of the text, and each view of the image (next
section), separately. `--model.head.segments` selects a class. The examples in parentheses are
segments of "a man in a red hat riding a brown horse".""",
    "views": """Views are crops of an image, which the heads `StructureGuided` and `ComCLIP` let the
image tower encode separately. `--model.head.views` selects a class.""",
    "units in training": """While a model trains, this class draws units and foils from a units
file. Its arguments are flags, such as `--data.units.n_units`. "The paper", Table 16, N_u and K
refer to [CS-CLIP](../methods/cs_clip.md).""",
}
COMMANDS_INTRO = """`zoo COMMAND --help` prints the flags of a command. Every setting of a recipe is
also a flag of `zoo fit` and `zoo validate`: see [settings of the
model](commands/settings_model.md) and [settings of the data](commands/settings_data.md)."""
COMMAND_TERMS = "The [glossary](../../glossary.md) explains terms such as *run* and *preset*"
TRAINING_TERMS = """\
Terms of training: A *recipe* is a YAML file that configures a training run, and an
*overlay* changes some of its settings. A *head* computes the score of an image and a text, and an
*objective* is the loss. A *row* is one image of a batch with its texts. A *negative* is a wrong
caption, and a *positive* is a further true text of the image. A *unit* is a phrase of a caption,
and a *foil* is a wrong version of it."""
EVALUATION_TERMS = """\
Terms of evaluation: A *case* is one question of a benchmark, and a *subset* is
a group of cases. A *preset* decides how ties count and which averages are reported. A *run* is one
training or evaluation, and its folder."""
FIT_INTRO = """\
`zoo fit` trains a model, and `zoo validate` evaluates one. In addition to these flags,
every setting of a recipe is a flag: see [settings of the model](settings_model.md), [settings of
the data](settings_data.md), and Lightning's `Trainer` for `--trainer`."""
SETTINGS_INTRO = """Every setting of a recipe is also a flag of `zoo fit` and `zoo validate`. In the
column of defaults, `null` is None, and names such as `Tuning()` are classes with their own
defaults."""
HELP = {"Path to a configuration file.": "a YAML file with the settings below"}  # jsonargparse's


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
    values_head = [f"{metric}, %" for metric in metrics]
    return table(" | ".join(["subset", "cases", "chance, %", *values_head, "file"]), rows)


def benchmark(name: str) -> str:
    """Returns the page of a benchmark, without a table if it needs a file of the user."""
    cls: type[Benchmark] = dict(classes("benchmarks"))[name]
    subsets = cls().subsets if name in self_contained_benchmarks() else ()
    by_source: dict[str, list[str]] = {}
    for subset in subsets:
        by_source.setdefault(subset.instructions, []).append(subset.name)
    spelled = name if subsets else f"{name}:{cls.colon_argument.upper()}"
    facts = {"Evaluate": f"`zoo validate --benchmarks {spelled} --data_root DATA_ROOT`"}
    for source, names in by_source.items():
        facts["Get" if len(by_source) == 1 else f"Get {', '.join(names)}"] = source
    if not subsets:
        facts["Subsets"] = ", ".join(f"`{subset}`" for subset in cls.subset_names)
    facts |= {"Hub": str(cls.hub or ""), "Licence": cls.licence, "Cite": cls.citation}
    lines = "\n".join(f"- {label}: {text}" for label, text in facts.items() if text)
    summary, *description = paragraphs(cls)
    source = f"{link(cls, '../../..')}. The catalogue explains [terms and columns](../benchmarks.md#terms)"
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
    for name, cls in classes("presets"):
        if name == "file":
            sections += [f"## `{name}`", f"Your own preset, in a YAML or JSON file: {link(cls)}."]
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
        sections += [f"## `{name}`", f"{purpose}.", lines]
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
        facts = [paper and paper[1], ", ".join(recipes.get(cls.__name__, []))]
        rows.append([link(cls), paragraphs(cls)[0], *facts, f"[{target}](../methods/{target})"])
    return table("class | description | paper | recipes and overlays | page", rows)


def methods() -> str:
    """Returns the page of objectives, heads and recipes."""
    recipes = (
        [f"[`{name}`](../../configs/{name})", first_comment(path)]
        for name, path in shipped_recipes().items()
    )
    sections = ["## Objectives", OBJECTIVES_INTRO, method_table("objectives", "objective")]
    sections += ["## Heads", HEADS_INTRO, method_table("heads", "head")]
    sections += ["## Recipes and overlays", RECIPES_INTRO, table("file | description", recipes)]
    return page("Catalogue of methods", "the classes and recipes", *sections)


def text_classes(title: str, kinds: tuple[str, ...]) -> str:
    """Returns a page of the classes of these kinds, with the arguments of each."""
    sections = []
    for kind in kinds:
        sections += [f"## {kind.capitalize()}", TEXT_INTROS[kind]]
        for _, cls in [("", UnitSampler)] if kind == "units in training" else classes(kind):
            sections += [f"### {cls.__name__}", f"{paragraphs(cls)[0]} Source: {link(cls)}."]
            sections.append(argument_table(cls))
    return page(f"Catalogue of {title}", "the classes", *sections)


def models() -> str:
    """Returns the page of published models."""
    rows = []
    for name, entry in entries().items():
        source = f"[{entry.hub.id}]({entry.hub.page})" if entry.hub else entry.url
        facts = [entry.architecture, "part of zoo" if entry.is_shipped else source]
        facts += [entry.licence or "unknown", entry.trained_on or "unknown"]
        notes = "; ".join(filter(None, [entry.unsupported, entry.warning, *entry.notes]))
        rows.append([f"`{name}`", entry.description, *facts, notes])
    intro = """`zoo validate --model NAME` accepts these names, and names of open_clip's weights
such as `openai/ViT-B-32` ([Published models](../guides/published.md)). A licence with "(code)"
is that of the authors' code; their weights have no separate licence. `zoo ls models --long`
also prints papers and hashes."""
    head = "name | description | architecture | weights | licence | training data | notes"
    return page("Catalogue of models", "the entries of models", intro, table(head, rows))


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
        if not options and action.choices:
            text += f": {', '.join(f'`{choice}`' for choice in action.choices)}"
        if shown:  # it has a column
            text = re.sub(r" \(default: (?:%\(default\)s|[^)]*)\)", "", text)
        names = ", ".join(f"`{name}`" for name in named)
        yield [names, "required" if action.required else shown, text]


def commands() -> str:
    """Returns the page that lists all commands."""
    pages = dict.fromkeys(LIGHTNING, "fit_and_validate")
    rows = [
        [f"[`zoo {name}`](commands/{pages.get(name, name)}.md)", registered.summary.partition(": zoo")[0]]
        for name, registered in COMMANDS.items()
    ]
    listing = table("command | purpose", rows)
    return page("Catalogue of commands", "the commands", COMMANDS_INTRO, listing)


def fit_and_validate() -> str:
    """Returns the page of the short flags of `zoo fit` and `zoo validate`."""
    rows = [[f"`--{f.name}`", f.metavar, ", ".join(f.commands), f.help] for f in FLAGS]
    listing = table("flag | value | command | meaning", rows)
    sections = [FIT_INTRO, TRAINING_TERMS, EVALUATION_TERMS, listing]
    return page("`zoo fit` and `zoo validate`", "their parser", *sections)


def settings(title: str, prefixes: dict[str, str]) -> str:
    """Returns a page of settings: `prefixes` are headings, with the class of their arguments."""
    import_all()
    sections = [SETTINGS_INTRO, TRAINING_TERMS, EVALUATION_TERMS]
    for prefix, path in prefixes.items():
        flag = f"--{prefix.partition(',')[0]}."
        sections += [f"## {prefix}", argument_table(import_path(path), flag)]
    return page(title, "the classes of the settings", *sections)


def command(name: str) -> str:
    """Returns the page of a command and its flags."""
    import_all()
    parser = command_module(name).parser()
    sections = []
    for title, declared in {"": parser, **subcommand_parsers(parser)}.items():
        listing = table("flag | default | meaning", flag_rows(declared))
        # indented examples become a block of code
        description = declared.description.strip().replace("\n  zoo", "\n    zoo")
        sections += [f"## zoo {name} {title}" if title else "", description, listing]
    return page(f"`zoo {name}`", f"its parser. {COMMAND_TERMS}", *sections)


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
    intro = """A package or module of `zoo/` imports only from layers with a higher number.
[Architecture](../architecture.md) explains how the packages work together."""
    listing = table("layer | package or module | content", rows)
    return page("Packages", "`pyproject.toml` and docstrings", intro, listing)


def renames() -> str:
    """Returns the page of names that changed."""
    with (DOCS / "renames.csv").open(encoding="utf-8", newline="") as file:
        rows = [[row["old"], row["new"], row["where"]] for row in csv.DictReader(file)]
    intro = """Commands and Python do not accept the old names. Checkpoints, exported folders, run
folders and results of version 0.1.0 can still be read. The last column is where a name is used."""
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
        settings, "Settings of the data", {f"data, zoo {c}": path for c, path in DATA.items()}
    ),
    "renames.md": renames,
}

if __name__ == "__main__":
    shutil.rmtree(DOCS / "catalogue")
    for file, render in PAGES.items():
        (DOCS / file).parent.mkdir(parents=True, exist_ok=True)
        (DOCS / file).write_text(render(), "utf-8")
