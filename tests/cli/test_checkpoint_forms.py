"""Every command that takes a checkpoint takes it by the same names."""

from pathlib import Path

import pytest

import zoo
from tests.support.runs import last_checkpoint
from zoo.checkpoints import files
from zoo.cli import main
from zoo.errors import ZooError

RUN = Path("runs/version_0")
LAST, BEST = RUN / "checkpoints" / "last.ckpt", RUN / "checkpoints" / "best.ckpt"
FORMS = {
    "last": LAST,
    "best": BEST,
    str(RUN): LAST,
    str(LAST): LAST,
    str(BEST): BEST,
}
COMMANDS = {
    "fit": ["fit", "--config", "RECIPE", "--trainer.max_epochs", "2", "--ckpt_path", "FORM"],
    "validate": ["validate", "--benchmarks", "aro", "--ckpt_path", "FORM"],
    "export": ["export", "FORM", "out"],
    "merge": ["merge", "--ckpt_path", "FORM", "--out", "out"],
}


@pytest.fixture(scope="module")
def folder(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the run of an epoch."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        recipe = str(made_root / "recipe.yaml")
        assert main(["fit", "--config", recipe, "--trainer.max_epochs", "1"]) == 0
    return folder


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A form, in a directory in which reading the checkpoint that it means ends the command."""
    named = str(request.param)
    really = files.read_tensors

    def read(path: Path, *given: object, **how: object) -> object:
        if Path(path) == FORMS[named]:
            raise ZooError(f"{path} is read")
        return really(path, *given, **how)  # type: ignore[arg-type]

    assert last_checkpoint(folder) == folder / LAST
    monkeypatch.chdir(folder)
    monkeypatch.setattr(files, "read_tensors", read)
    return named


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_reads_the_checkpoint_that_is_meant(
    command: str, form: str, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"FORM": form, "RECIPE": str(made_root / "recipe.yaml")}
    assert main([words.get(word, word) for word in COMMANDS[command]]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"zoo: {FORMS[form]} is read"


def test_so_does_python(form: str) -> None:
    with pytest.raises(ZooError, match=f"{FORMS[form]} is read"):
        zoo.load(form)
