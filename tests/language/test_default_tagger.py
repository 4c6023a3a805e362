"""What is installed beside TextBlob changes no file that a command writes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zoo.benchmarks import ARO
from zoo.cli import main
from zoo.errors import ZooError
from zoo.language.spacy_tagger import SPACY_MODEL, SpacyTagger
from zoo.language.taggers import default_tagger, recorded_tagger
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.table import write_table

FAKE_SPACY = """
__version__ = "3.8.0"

class Pipeline:
    meta = {"version": "3.8.0"}

    def __call__(self, text):
        raise RuntimeError("spaCy analysed a text")

def load(model, exclude=()):
    return Pipeline()
"""
CAPTIONS = ["A man in a red hat rides a brown horse", "Two small dogs run near a big white boat"]


@pytest.fixture(autouse=True)
def _no_default_yet() -> Iterator[None]:
    real = sys.modules.get("spacy")
    default_tagger.cache_clear()
    yield
    sys.modules.pop("spacy", None)
    if real:
        sys.modules["spacy"] = real
    default_tagger.cache_clear()


def install_spacy(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for package, code in (("spacy", FAKE_SPACY), (SPACY_MODEL, "")):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(code)
    monkeypatch.delitem(sys.modules, "spacy", raising=False)
    monkeypatch.syspath_prepend(str(folder))
    default_tagger.cache_clear()


def write_all(folder: Path) -> dict[str, bytes]:
    """Writes units, negatives and ARO's captions with default arguments; returns the files."""
    folder.mkdir()
    captions, coco = folder.parent / "captions.txt", folder.parent / "coco_test.json"
    captions.write_text("\n".join(CAPTIONS) + "\n")
    coco.write_text(json.dumps([{"image": "val2014/1.jpg", "caption": CAPTIONS}]))
    units, negatives = folder / "units.jsonl", folder / "negatives.jsonl"
    shuffled = folder / "shuffled.jsonl"
    assert main(["units", "extract", str(captions), "--out", str(units)]) == 0
    for out, generator in ((negatives, "NegCLIPSwap"), (shuffled, "AROShuffle")):
        export = ["negatives", "export", str(captions), "--generator", generator]
        assert main([*export, "--out", str(out)]) == 0
    order = ARO(order_dir=folder / "order").read_subset(coco, "COCO-Order")
    return {
        "units": units.read_bytes(),
        "negatives": negatives.read_bytes(),
        "shuffled": shuffled.read_bytes(),
        "aro": order.files[1].read_bytes(),
    }


def test_units_negatives_and_aro_captions_are_the_same_with_and_without_spacy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "spacy", None)
        without = write_all(tmp_path / "without")
    install_spacy(monkeypatch, tmp_path / "packages")
    assert SpacyTagger().describe()["tagger_version"] == "3.8.0 en_core_web_sm 3.8.0"
    assert write_all(tmp_path / "with") == without
    for name, content in without.items():
        first: dict[str, Any] = json.loads(content.splitlines()[0])
        recorded = first.get("source", first)
        assert recorded["tagger"] == "textblob", name
        assert recorded["tagger_version"] == TextBlobTagger().version, name


def test_spacy_is_used_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_spacy(monkeypatch, tmp_path / "packages")
    captions = tmp_path / "captions.txt"
    captions.write_text(CAPTIONS[0] + "\n")
    extract = ["units", "extract", str(captions), "--out", str(tmp_path / "u.jsonl")]
    with pytest.raises(RuntimeError, match="spaCy analysed a text"):
        main([*extract, "--tagger", "SpacyTagger"])
    with pytest.raises(RuntimeError, match="spaCy analysed a text"):
        ARO(tagger=SpacyTagger()).tagger.analyse(CAPTIONS[0])  # type: ignore[union-attr]


def test_a_table_that_names_spacy_is_drawn_from_with_spacy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.negatives.replace import Replace

    table = tmp_path / "t.arrow"
    write_table(table, {("man", "NN"): {"woman": 1.0}}, tagger="spacy", tagger_version="3.8.0")
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "spacy", None)
        with pytest.raises(ZooError, match="spacy is not installed"):
            Replace(table)
    install_spacy(monkeypatch, tmp_path / "packages")
    assert isinstance(Replace(table).tagger, SpacyTagger)
    assert isinstance(recorded_tagger("spacy", table), SpacyTagger)
