"""Notebooks: kept with their outputs, which name nothing of any machine, and run to their end."""

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_kept_small_with_its_outputs_and_without_paths_of_a_machine(
    name: str,
) -> None:
    text = (FOLDER / name).read_text()
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(text) < 100_000
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert sum(bool(cell["outputs"]) for cell in cells) > len(cells) // 2
    assert not re.search(r"/(home|root|tmp|work|Users)/", text)
    assert '"output_type": "error"' not in text
    assert '"name": "stderr"' not in text, "no warnings of a machine"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_index_leads_to_a_notebook(name: str) -> None:
    assert f"(notebooks/{name})" in (FOLDER.parent / "index.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_to_its_end(name: str, tmp_path: Path) -> None:
    reason = "notebooks are run by nbclient: pip install nbclient ipykernel"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    nbclient = pytest.importorskip("nbclient", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    book = nbformat.read(FOLDER / name, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3", resources=where).execute()
