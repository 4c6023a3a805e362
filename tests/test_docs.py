"""The pages hold what they say.

Their files are written, their commands run or parsed, their names found, and their metrics are
those of the code.

A ```bash run or ```python run block is run for real, in a folder of made data with the page's own
files and a trained run; the `zoo` commands of every other ```bash block are parsed to the end and
stopped before they do anything. What a ```text block after a block that ran shows was printed.
"""

import ast
import importlib
import json
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.distributed.run import get_args_parser as torchrun

from tests.support.fake_model import FakeServer
from tests.support.made import make_root
from zoo.backbones import model_folders
from zoo.backbones.catalogue import model as catalogue
from zoo.backbones.factory import resolve_architecture
from zoo.benchmarks.catalog import benchmark_names, build_benchmark
from zoo.cli.command_parser import CommandParser
from zoo.cli.commands import main
from zoo.cli.fit import ZooCLI
from zoo.cli.recipes import shipped_recipes
from zoo.cli.registry import LIGHTNING
from zoo.cli.sweep import parse_models
from zoo.results.suites import self_contained_benchmarks
from zoo.support.class_names import list_classes

ROOT = Path(__file__).parents[1]
PAGES = [
    "CONTRIBUTING.md",
    "README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
EXTEND = "docs/guides/extend.md"
FIRST = "docs/guides/first_half_hour.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"# (\S+\.\w+)\n")
METHODS = {
    "ce_clip.md": ["zoo.objectives.CECLIP"],
    "clic.md": ["zoo.objectives.CLIC"],
    "clip.md": ["zoo.objectives.CLIP", "zoo.heads.Cosine"],
    "clove.md": [],  # the loss of NegCLIP
    "com_clip.md": ["zoo.heads.ComCLIP"],
    "con_clip.md": ["zoo.objectives.CoNCLIP"],
    "cross_modal.md": ["zoo.heads.CrossModal"],
    "cs_clip.md": ["zoo.objectives.CSCLIP"],
    "dac.md": ["zoo.objectives.DAC"],
    "degla.md": ["zoo.objectives.DeGLA"],
    "flair.md": ["zoo.heads.TextConditionedPooling", "zoo.objectives.FLAIR"],
    "fsc_clip.md": ["zoo.objectives.FSCCLIP"],
    "linear.md": ["zoo.heads.Linear"],
    "max_sim.md": ["zoo.heads.MaxSim"],
    "negclip.md": ["zoo.objectives.NegCLIP"],
    "read_clip.md": ["zoo.objectives.READCLIP"],
    "siglip.md": ["zoo.objectives.SigLIP"],
    "structure_guided.md": ["zoo.heads.StructureGuided"],
    "super_clip.md": ["zoo.objectives.SuperCLIP"],
    "tic.md": ["zoo.objectives.TIC"],
    "triplet_clip.md": ["zoo.objectives.TripletCLIP"],
    "tsvlc.md": ["zoo.objectives.TSVLC"],
}
RESULTS = re.compile(r"\((../../benchmarks/results/\w+\.md)\)")
UNDERSTOOD = set[tuple[str, ...]]()  # commands that were parsed
LAUNCHED = re.compile(r"^(?:srun zoo|torchrun .*\$\(which zoo\)) ", re.MULTILINE)


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def class_of(path: str) -> type:
    module, _, name = path.rpartition(".")
    found: type = getattr(importlib.import_module(module), name)
    return found


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Returns (language, what stands beside it, content) of the fenced blocks of a page."""
    return [
        (language, mark.strip(), content)
        for language, mark, content in BLOCK.findall(text_of(page))
    ]


def lines_of(script: str, program: str) -> list[list[str]]:
    """Returns the arguments that a script gives to a program, line by line, in order."""
    lines = [line.removeprefix("$ ") for line in script.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines if line.split()[:1] == [program]]
    return [line[1:] for line in words]


def commands(script: str) -> list[list[str]]:
    """Returns the arguments of the `zoo` commands of a script, in order, launched ones as well."""
    return lines_of(LAUNCHED.sub("zoo ", script.replace("\\\n", " ")), "zoo")


@pytest.fixture(scope="module")
def trained(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of runs that training the made recipe leaves, for `--ckpt_path last`."""
    folder = tmp_path_factory.mktemp("documented")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert (
            main(["fit", "--config", str(made_root / "recipe.yaml"), "--trainer.max_epochs", "1"])
            == 0
        )
    return folder / "runs"


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with made data and a run."""
    make_root(tmp_path)
    shutil.copytree(trained, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    return tmp_path


def repository(folder: Path) -> Path:
    """Returns the folder of a model of open_clip, as one that the hub has, without its weights."""
    model = folder / "repository"
    model.mkdir(exist_ok=True)
    config = {"model_cfg": resolve_architecture("zoo-tiny")[1], "preprocess_cfg": {}}
    (model / "open_clip_config.json").write_text(json.dumps(config))
    (model / "open_clip_model.safetensors").touch()
    return model


class Parsed(Exception):
    """Raised where a command has understood its arguments and would begin."""


def parse(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fails where the command line does not understand the arguments."""
    if arguments[0] == "validate" and "--models" in arguments:  # a run per model
        at = arguments.index("--models")
        for model in parse_models(arguments[at + 1]).values():
            parse([*arguments[:at], "--model", model, *arguments[at + 2 :]], monkeypatch, capsys)
        return

    def stopping(original: Callable[..., object]) -> Callable[..., object]:
        def stopped(*given: object, **named: object) -> None:
            original(*given, **named)
            raise Parsed

        return stopped

    reads_files = any(Path(word).exists() for word in arguments)  # pages have files of equal names
    if tuple(arguments) in UNDERSTOOD and not reads_files:
        return
    with monkeypatch.context() as patch:
        if arguments[0] in LIGHTNING:
            patch.setattr(ZooCLI, "parse_arguments", stopping(ZooCLI.parse_arguments))
        else:
            patch.setattr(CommandParser, "parse_args", stopping(CommandParser.parse_args))
        try:
            status: object = main(arguments)
        except Parsed:
            status = 0
        except SystemExit as stop:
            status = stop.code
    assert status in (None, 0), (
        f"zoo {shlex.join(arguments)} is not understood: {capsys.readouterr().err}"
    )
    UNDERSTOOD.add(tuple(arguments))


def write_files(page: str, folder: Path) -> list[Path]:
    """Writes the blocks that begin with the comment of a file's name.

    What installing their entry points would leave is written too, into `installed`.
    """
    written = []
    for language, _, content in blocks(page):
        title = TITLE.match(content)
        if title:
            path = folder / title[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            written.append(path)
        if language == "toml":
            groups = tomllib.loads(content)["project"]["entry-points"]
            installed = folder / "installed" / "documented-1.0.dist-info"
            installed.mkdir(parents=True)
            (installed / "METADATA").write_text(
                "Metadata-Version: 2.1\nName: documented\nVersion: 1.0\n"
            )
            lines = [
                f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in offered.items())
                for group, offered in groups.items()
            ]
            (installed / "entry_points.txt").write_text("\n".join(lines))
    importlib.invalidate_caches()
    return written


def assert_printed(content: str, printed: str, page: str) -> None:
    """Fails where a page shows what was not printed; `...` stands for anything."""
    words = " ".join(printed.split())
    for line in content.splitlines():
        shown = r".*?".join(re.escape(" ".join(part.split())) for part in line.split("..."))
        assert re.search(shown, words), f"{page} shows {line!r}, and this was printed: {printed}"


def follow(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """Writes a page's files, runs or parses its commands, and returns what was printed."""
    for path in write_files(page, folder):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    shown, names = [], dict[str, Any]()
    for language, mark, content in blocks(page):
        if language == "text" and shown:
            assert_printed(content, shown[-1], page)
        if language == "python" and mark == "run":
            exec(compile(content, page, "exec"), names)
            shown.append(capsys.readouterr().out)
        if language != "bash":
            assert not commands(content), (
                f"{page} has a zoo command in a block of {language}: mark it bash"
            )
            continue
        for script, *_ in lines_of(content, "python"):
            runpy.run_path(script, run_name="__main__")
        for arguments in commands(content):
            if mark == "run":
                assert main(arguments) == 0, (
                    f"zoo {shlex.join(arguments)} failed: {capsys.readouterr().err}"
                )
                shown.append("".join(capsys.readouterr()))
            else:
                parse(arguments, monkeypatch, capsys)
    return shown


def test_torchrun_understands_what_a_page_gives_it() -> None:
    page = "docs/guides/scaling.md"
    given = [
        arguments
        for language, _, content in blocks(page)
        for arguments in lines_of(content.replace("$(which zoo)", "zoo"), "torchrun")
        if language == "bash"
    ]
    (understood,) = map(torchrun().parse_args, given)
    assert (understood.nnodes, understood.nproc_per_node) == ("2", "8")
    assert (understood.max_restarts, understood.rdzv_id) == (3, "JOB")
    assert understood.training_script_args[0] == "fit"


def test_a_launched_command_is_read_as_the_command() -> None:
    script = "torchrun --nnodes 2 \\\n    $(which zoo) fit --config a.yaml\nsrun zoo validate x"
    assert commands(script) == [["fit", "--config", "a.yaml"], ["validate", "x"]]


@pytest.fixture(scope="module")
def language_model() -> Iterator[str]:
    """The address of a server that answers as a language model would."""
    with FakeServer().running() as server:
        yield server.url


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page) and page not in (EXTEND, FIRST)]
)
def test_commands_run_or_are_understood(
    page: str,
    folder: Path,
    language_model: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", language_model)
    # published weights are named, and neither fetched nor read
    monkeypatch.setattr(catalogue, "cached_file", lambda name, entry: Path(f"{name}.pt"))
    monkeypatch.setattr(catalogue, "user_file", lambda name, entry, file: file)
    monkeypatch.setattr(model_folders, "fetch_model_folder", lambda name: repository(folder))
    for named in re.findall(r"runs/(\w+)/checkpoints", text_of(page)):
        if not (folder / "runs" / named).exists():
            (folder / "runs" / named).symlink_to(folder / "runs" / "version_0")
    follow(page, folder, monkeypatch, capsys)


@pytest.mark.slow
def test_the_first_half_hour_goes_from_an_empty_folder_to_a_loss_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    follow(FIRST, tmp_path, monkeypatch, capsys)
    assert (tmp_path / "own" / "cases.parquet").is_file()
    objectives = [
        torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["hyper_parameters"][
            "objective"
        ]["class_path"]
        for run in sorted((tmp_path / "runs").iterdir())
    ]
    assert objectives == ["zoo.objectives.NegCLIP", "my_loss.ImageToText"]


def test_what_a_page_shows_and_was_not_printed_is_found() -> None:
    assert_printed("a  b ... d\ne", "a b\n c d e", "page")
    with pytest.raises(AssertionError, match="page shows 'a d'"):
        assert_printed("a d", "a b c d", "page")


def test_the_python_of_the_readme_runs(folder: Path) -> None:
    case = {
        "filename": "000000000001.jpg",
        "caption": "a red square",
        "negative_caption": "a blue square",
    }
    for image in (Path("horse.jpg"), Path("DATA_ROOT/coco/val2017/000000000001.jpg")):
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.open(folder / "pictures" / "000.png").save(image)
    Path("DATA_ROOT/sugarcrepe").mkdir()
    Path("DATA_ROOT/sugarcrepe/add_att.json").write_text(json.dumps({"0": case}))
    (code,) = (content for _, _, content in blocks("README.md") if content.startswith("import zoo"))
    names: dict[str, Any] = {}
    *statements, last = ast.parse(code).body
    exec(compile(ast.Module(statements, []), "README.md", "exec"), names)
    results = eval(compile(ast.unparse(last), "README.md", "eval"), names)
    assert names["model"].score(["horse.jpg"], ["a", "b"]).shape == (1, 2)
    assert results.value("sugarcrepe", "add_att", "i2t") in (0.0, 50.0, 100.0)


def test_what_extend_adds_is_trained_measured_and_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [
        shlex.join(arguments)
        for language, mark, content in blocks(EXTEND)
        if (language, mark) == ("bash", "run")
        for arguments in commands(content)
    ]
    shown = follow(EXTEND, folder, monkeypatch, capsys)
    printed = dict(zip(asked, shown, strict=True))

    def printed_by(part: str) -> str:
        return next(text for command, text in printed.items() if part in command)

    run = folder / "runs" / "version_1"
    checkpoint = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    settings = checkpoint["hyper_parameters"]
    assert settings["objective"]["class_path"] == "my_lab.Hinge"
    assert settings["head"]["class_path"] == "my_head.Order"
    assert settings["head"]["init_args"]["scale"] == 20
    assert "class_path: my_negatives.Without" in (run / "config.yaml").read_text()
    assert "one_of_four" in printed_by("validate --benchmarks my_benchmark.OneOfFour")
    assert (folder / "results" / "results.json").is_file()
    assert "my_lab.Hinge" in printed_by("ls objectives")
    offered = printed_by("negatives preview captions.piped")
    assert "generator without" in offered
    assert "a green disc above a red square" in offered


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(recipe, marks=() if i % 3 == 0 else pytest.mark.slow)
        for i, recipe in enumerate(shipped_recipes())
    ],
)
def test_commands_of_a_recipe_are_understood(
    recipe: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    comments = [
        line.removeprefix("#").strip()
        for line in shipped_recipes()[recipe].read_text("utf-8").splitlines()
        if line[:1] == "#"
    ]
    asked = commands("\n".join(line for line in comments if line.startswith("zoo ")))
    assert asked
    for arguments in asked:
        parse(arguments, monkeypatch, capsys)


NOT_UNDERSTOOD = [
    ["fit", "--config", "tiny_from_scratch.yaml", "--data_rot", "D"],
    ["fit", "--config", "clap.yaml"],
    ["ls", "objective"],
    ["doctor", "--images", "D"],
    ["fitt"],
]


@pytest.mark.parametrize("arguments", NOT_UNDERSTOOD, ids=shlex.join)
def test_a_command_that_is_not_understood_is_found(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AssertionError, match="is not understood"):
        parse(arguments, monkeypatch, capsys)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_their_names_are_in_them(page: str) -> None:
    for shown, target in re.findall(r"\[([^\]]*)\]\(([^)#:]+)\)", text_of(page)):
        path = (ROOT / page).parent / target
        assert path.exists(), f"{page} links to {target}, which is not there"
        name = shown.strip("`")
        if path.suffix == ".py" and re.fullmatch(r"\w+(\.\w+)*", name):
            found = importlib.import_module(
                ".".join(path.resolve().relative_to(ROOT).with_suffix("").parts)
            )
            for part in name.split("."):
                assert hasattr(found, part), f"{page} names {name}, which {target} does not have"
                found = getattr(found, part)


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_project_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(
        r"`(?:python )?((?:benchmarks|configs|tests|zoo)/[\w./]+\.\w+)`", text_of(page)
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("package", ["objectives", "heads"])
def test_every_method_has_a_page(package: str) -> None:
    classes = [path for paths in METHODS.values() for path in paths]
    described = {class_of(path).__module__.rpartition(".")[2] for path in classes}
    described |= {"base", "answers", "caption_decoder", "__init__"}
    assert {path.stem for path in (ROOT / "zoo" / package).glob("*.py")} <= described
    assert {path.name for path in (ROOT / "docs" / "methods").glob("*.md")} == METHODS.keys()


@pytest.mark.parametrize("page", METHODS)
def test_a_method_is_described_by_command_code_and_results(page: str) -> None:
    text = text_of(f"docs/methods/{page}")
    assert "**Claim** (" in text
    assert any(language == "bash" for language, _, _ in blocks(f"docs/methods/{page}"))
    for path in METHODS[page]:
        name = path.rpartition(".")[2]
        module = class_of(path).__module__.replace(".", "/")
        assert f"[`{name}`](../../{module}.py)" in text
    assert bool(RESULTS.search(text)) != ("No results were measured here." in text)


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def is_selection(row: str, measured: str) -> bool:
    """Checks whether a row is some columns of a measured row, in the same order."""
    columns = iter(cells(measured))
    return all(cell in columns for cell in cells(row))


@pytest.mark.parametrize("page", METHODS)
def test_rows_of_recipes_and_heads_are_those_that_were_measured(page: str) -> None:
    _, _, section = text_of(f"docs/methods/{page}").partition("## Measured here")
    linked = [
        (ROOT / "docs" / "methods" / path).read_text("utf-8").splitlines()
        for path in RESULTS.findall(section)
    ]
    tables = re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE)
    for row in (row for table in tables for row in table.splitlines()[2:]):
        assert any(is_selection(row, line) for lines in linked for line in lines), row


def test_a_row_that_was_not_measured_is_found() -> None:
    assert is_selection("| a | 1 | 3 |", "| a | 1 | 2 | 3 |")
    assert not is_selection("| a | 3 | 1 |", "| a | 1 | 2 | 3 |")
    assert not is_selection("| b | 1 | 3 |", "| a | 1 | 2 | 3 |")


def test_benchmarks_are_described_with_their_numbers_and_presets() -> None:
    overview = text_of("docs/catalogue/benchmarks.md")
    for name in benchmark_names():
        assert f"(benchmarks/{name}.md)" in overview
    for name, _, _ in list_classes("presets"):
        assert f"## `{name}`" in text_of("docs/catalogue/presets.md")
    for name, _, _ in list_classes("protocols"):
        assert f"| `{name}` |" in text_of("docs/catalogue/protocols.md")
    for name in self_contained_benchmarks():
        for subset in build_benchmark(name).subsets:
            page = text_of(f"docs/catalogue/benchmarks/{name}.md")
            rows = [row for row in page.splitlines() if row.startswith("| ")]
            row = next(row for row in rows if row.startswith(f"| {subset.name} |"))
            assert subset.n is None or f"{subset.n:,}" in row
            for value in subset.published.values():
                assert f"{value:g}" in row
