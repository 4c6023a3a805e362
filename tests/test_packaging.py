"""The distribution: its name in all texts, its extras, its workflows, wheel and sdist."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.lowest_versions import lowest_versions
from zoo.cli.recipes import shipped_recipes
from zoo.errors import DISTRIBUTION

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# the command, across a line break as well, and an extra of that name, but neither with `clip-`
WRONG_NAME = re.compile(
    r"\bpip3?\s+install\s+(?:-[\w-]+\s+)*['\"]?zoo(?![\w./-])"
    r"|(?<![\w./-])zoo\\*\[(?!\d)[\w{][\w,{}\\-]*\]"
)
NAMED_EXTRAS = re.compile(r"clip-zoo\\*\[([\w,]+)\\*\]|\bneed\([^()]+, \"(\w+)\"\)")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """All tracked files that are text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = {}
    for name in listed.stdout.split("\0"):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b"\0"
        if b"\0" not in content:
            found[name] = content.decode()
    return found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install NAME", True),
        ("pip install -U\n  NAME", True),
        ("pip install 'NAME[hf]'", True),
        ("the extra `NAME[hf]`", True),
        ("pip install 'clip-NAME[hf]'", False),
        ("pip install clip-NAME", False),
    ],
)
def test_the_search_for_the_wrong_name_finds_it(text: str, wrong: bool) -> None:
    assert bool(WRONG_NAME.search(text.replace("NAME", "zoo"))) == wrong


def test_no_text_says_to_install_the_package_of_another_project(texts: dict[str, str]) -> None:
    assert PROJECT["name"] == DISTRIBUTION == "clip-zoo"
    found = {name: m.group() for name, text in texts.items() if (m := WRONG_NAME.search(text))}
    assert not found


def test_every_extra_that_a_text_or_an_error_names_is_declared(texts: dict[str, str]) -> None:
    named = {
        extra
        for name, text in texts.items()
        if name.startswith(("zoo/", "docs/", "README", "CONTRIBUTING", "configs/"))
        for groups in NAMED_EXTRAS.findall(text)
        for extra in "".join(groups).split(",")
    }
    assert named
    assert named <= EXTRAS.keys()


def test_the_page_of_installation_has_a_row_for_every_extra_with_all_its_packages() -> None:
    page = (ROOT / "docs/guides/install.md").read_text()
    rows = re.findall(r"^\|`(\w+)`\|([\w, -]*)\|", page, re.M)
    packages = {
        extra: ", ".join(sorted(re.match(r"[\w-]+", each).group() for each in required))
        for extra, required in EXTRAS.items()
    }
    packages["all"] = ""
    assert {extra: installed.strip() for extra, installed in rows} == packages
    assert set(re.findall(r"\w+", EXTRAS["all"][0].partition("[")[2])) == (
        EXTRAS.keys() - {"all", "vllm"}
    )


def test_the_lowest_versions_are_the_floors() -> None:
    assert lowest_versions(["a-b>=1.2", "c[x]>=3,!=3.1,<4"]) == ["a-b==1.2", "c[x]==3"]
    assert len(lowest_versions(PROJECT["dependencies"])) == len(PROJECT["dependencies"])


def test_citation_and_package_have_the_same_version_and_repository() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_pins_its_actions_by_hash_and_uses_no_other_index(workflow: Path) -> None:
    text = workflow.read_text()
    for action in re.findall(r"uses: (?!\./)(.+)", text):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    assert not re.search(r"index.url|find.links", text, re.I)


def test_workflows_test_each_supported_version_of_python() -> None:
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={supported[0]}"
    for workflow, job in (("test", "test"), ("build", "install")):
        jobs = yaml.safe_load((ROOT / f".github/workflows/{workflow}.yml").read_text())["jobs"]
        assert jobs[job]["strategy"]["matrix"]["python"] == supported


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    run("-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT))
    return out


def run(*arguments: str, cwd: Path | None = None) -> str:
    """Runs Python in a folder and returns what it prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_and_sdist_pass_the_check_of_the_index(dist: Path) -> None:
    run("-m", "twine", "check", "--strict", *map(str, dist.iterdir()))
    (sdist,) = dist.glob("clip_zoo-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "configs/cs_clip.yaml"} <= names


@pytest.mark.slow
def test_a_wheel_carries_every_recipe_architecture_and_the_type_marker(dist: Path) -> None:
    (wheel,) = dist.glob("clip_zoo-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"zoo/configs/{name}" for name in shipped_recipes()} <= names
    assert {"zoo/backbones/architectures/zoo-tiny.json", "zoo/py.typed"} <= names


@pytest.mark.slow
@pytest.mark.usefixtures("renderer")
def test_an_installed_wheel_lists_its_recipes_and_runs_the_demo_in_another_folder(
    dist: Path, tmp_path: Path
) -> None:
    """What the wheel requires is read from the environment of the tests, zoo itself is not."""
    environment = tmp_path / "environment"
    run("-m", "venv", "--without-pip", str(environment))
    python = environment / "bin/python"
    (wheel,) = dist.glob("clip_zoo-*.whl")
    install = ("install", "--quiet", "--no-deps", "--no-index", str(wheel))
    run("-m", "pip", "--python", str(python), *install)
    (packages,) = environment.glob("lib/python*/site-packages")
    parent = Path(pytest.__file__).parents[1]
    (packages / "requirements.pth").write_text(f"{parent}\n")  # comes after the wheel's folder

    def in_environment(*command: str) -> str:
        arguments = [str(environment / "bin" / command[0]), *command[1:]]
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert in_environment("python", "-c", "import zoo; print(zoo.__file__)").startswith(
        str(packages)
    )
    assert "cs_clip.yaml" in in_environment("zoo", "ls", "configs")
    demo = in_environment(
        *("zoo", "demo", "--scenes", "24", "--steps", "1", "--tuning_steps", "1"), "--workers", "0"
    )
    assert "CS-CLIP" in demo
    assert (tmp_path / "runs/demo/half_truths.png").is_file()
