"""Names of classes: every name leads to one class, and what leads to none says what is near."""

from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.heads import Cosine, Head
from zoo.negatives import NegativeGenerator, NegCLIPSwap
from zoo.objectives import Objective
from zoo.sources.readers import KarpathyJson, Reader
from zoo.support.class_names import class_of, list_classes


@pytest.mark.parametrize(
    ("name", "what", "base", "cls"),
    [
        ("negclip_swap", "negatives", NegativeGenerator, NegCLIPSwap),
        ("NegCLIPSwap", "negatives", NegativeGenerator, NegCLIPSwap),
        ("zoo.negatives.NegCLIPSwap", "negatives", NegativeGenerator, NegCLIPSwap),
        ("zoo.heads:Cosine", "heads", Head, Cosine),
        ("KarpathyJson", "readers", Reader, KarpathyJson),
    ],
)
def test_a_class_is_found_by_each_of_its_names(name: str, what: str, base: type, cls: type) -> None:
    assert class_of(name, what, base) is cls


@pytest.mark.parametrize(
    ("name", "what", "base", "says"),
    [
        (
            "CSCLP",
            "objectives",
            Objective,
            r"there is no objective 'CSCLP' \(did you mean CSCLIP.*zoo ls",
        ),
        ("Cosine", "objectives", Objective, "there is no objective 'Cosine'"),
        (
            "zoo.datamodules.readers.KarpathyJson",
            "readers",
            Reader,
            r"module zoo.datamodules.readers, which cannot .* \(did you mean KarpathyJson\?\)",
        ),
        ("zoo.heads.cosine.MaxSim", "heads", Head, r"has no MaxSim \(did you mean MaxSim\?\)"),
        ("zoo.heads.cosine.Cosin", "heads", Head, r"has no Cosin \(did you mean Cosine"),
        ("no.such.Thing", "heads", Head, "module no.such, which cannot be found: correct the path"),
        ("json.JSONDecoder", "heads", Head, "head 'json.JSONDecoder' is not a subclass of Head"),
        ("json.loads", "heads", Head, "is not a subclass of Head"),
        (".Cosine", "heads", Head, "there is no head '.Cosine'"),
        ("..a.Cosine", "heads", Head, "there is no head '..a.Cosine'"),
        ("", "heads", Head, "there is no head ''"),
    ],
)
def test_what_names_no_class_of_its_kind_is_refused(
    name: str, what: str, base: type, says: str
) -> None:
    with pytest.raises(ZooError, match=says):
        class_of(name, what, base)


def test_a_module_that_breaks_while_it_is_imported_shows_its_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "breaks_lab.py").write_text("import not_there_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        class_of("breaks_lab.Mine", "heads", Head)


def test_a_class_that_leaves_methods_to_others_is_not_listed() -> None:
    listed = {path.rpartition(".")[2] for _, path, _ in list_classes("extractors")}
    assert {"RuleExtractor", "OpenAICompatible", "VLLM"} <= listed
    assert "LanguageModelExtractor" not in listed
