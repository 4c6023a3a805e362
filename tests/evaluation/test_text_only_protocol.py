"""Texts that ask in the place of images: cosines of whole texts, in the engine and by loops."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import zoo
from zoo.backbones import Backbone
from zoo.benchmarks import Case, SugarCrepePPText
from zoo.benchmarks.protocols.base import resolve_protocol
from zoo.errors import ZooError
from zoo.heads import MaxSim
from zoo.module import ZooModule
from zoo.results.reader import read_results
from zoo.sources.sample import ImageRef

SUBSETS = ("replace_att", "swap_obj")


@pytest.fixture(scope="module")
def module() -> ZooModule:
    torch.manual_seed(0)
    return ZooModule(Backbone("zoo-tiny"))


@pytest.fixture(scope="module")
def run(module: ZooModule, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of results of two subsets."""
    out = tmp_path_factory.mktemp("run") / "out"
    names = [f"sugarcrepe_pp_text:{subset}" for subset in SUBSETS]
    zoo.evaluate(module, names, data_root=shared_data, out=out)
    return out


def right_by_loops(entry: dict[str, Any], vectors: dict[str, np.ndarray]) -> bool:
    """The authors' rule, of cosines."""
    first, second, foil = (vectors[entry[k]] for k in ("caption", "caption2", "negative_caption"))
    same = (first * second).sum()
    return bool(same > (first * foil).sum() and same > (second * foil).sum())


def test_every_answer_is_that_of_the_official_rule(
    module: ZooModule, run: Path, shared_data: Path
) -> None:
    rows = pq.read_table(run / "cases.parquet").to_pylist()
    found = {(row["subset"], row["case"]): row["right"] for row in rows}
    model = zoo.api.Model(module)
    for subset in SUBSETS:
        entries = json.loads((shared_data / f"benchmarks/sugarcrepe_pp/{subset}.json").read_text())
        texts = sorted({e[k] for e in entries for k in ("caption", "caption2", "negative_caption")})
        vectors = dict(zip(texts, model.encode_texts(texts), strict=True))
        expected = {(subset, str(e["id"])): right_by_loops(e, vectors) for e in entries}
        assert {key: found[key] for key in expected} == expected
        assert 0 < sum(expected.values()) < len(expected)
    assert {row["metric"] for row in rows} == {"t2t"}
    assert all(row["images"] == [] and len(row["texts"]) == 4 for row in rows)
    metric = read_results(run).metrics[0]
    assert (metric.metric, metric.n, metric.images) == ("t2t", 161, 0)
    assert metric.chance == pytest.approx(100 / 3)
    assert metric.interval.startswith("Wilson")
    written = json.loads((run / "results.json").read_text())
    assert written["scoring"]["towers"] == "float32"


def test_what_images_are_asked_is_the_same_beside_texts_that_ask(
    module: ZooModule, run: Path, shared_data: Path, tmp_path: Path
) -> None:
    image, text = "sugarcrepe_pp:swap_obj", "sugarcrepe_pp_text:swap_obj"
    tables = []
    for names in ([image], [text, image]):
        out = tmp_path / str(len(tables))
        zoo.evaluate(module, names, data_root=shared_data, out=out)
        tables.append(pq.read_table(out / "cases.parquet").to_pylist())
    alone, both = tables
    only = [
        r for r in pq.read_table(run / "cases.parquet").to_pylist() if r["subset"] == "swap_obj"
    ]
    of_both = {name: [r for r in both if r["benchmark"] == name] for name in
               ("sugarcrepe_pp", "sugarcrepe_pp_text")}  # fmt: skip
    for rows, found in ((alone, of_both["sugarcrepe_pp"]), (only, of_both["sugarcrepe_pp_text"])):
        assert [(r["case"], r["right"], r["tie"], r["fingerprint"]) for r in rows] == [
            (r["case"], r["right"], r["tie"], r["fingerprint"]) for r in found
        ]


def test_a_foil_that_is_the_caption_itself_is_no_paraphrase(run: Path) -> None:
    table = pq.read_table(run / "cases.parquet").to_pylist()
    rows = {row["case"]: row for row in table if row["subset"] == "swap_obj"}
    for case in ("2", "8"):
        same, with_first, with_second = rows[case]["scores"]
        assert with_first == pytest.approx(1.0)
        assert same == with_second
        assert not rows[case]["right"]


def test_a_head_without_vectors_of_whole_texts_and_models_of_others_are_refused(
    shared_data: Path,
) -> None:
    tokens = ZooModule(Backbone("zoo-tiny"), head=MaxSim())
    with pytest.raises(ZooError, match=r"sugarcrepe_pp_text compares texts with texts, and MaxSim"):
        zoo.evaluate(tokens, "sugarcrepe_pp_text:swap_obj", data_root=shared_data)
    with pytest.raises(ZooError, match="only scores images against texts: evaluate a model of zoo"):
        zoo.evaluate(zeros, "sugarcrepe_pp_text:swap_obj", data_root=shared_data)


def test_they_are_left_out_with_a_note_beside_what_can_be_scored(shared_data: Path) -> None:
    image, text = "sugarcrepe_pp:swap_obj", "sugarcrepe_pp_text:swap_obj"
    tokens = ZooModule(Backbone("zoo-tiny"), head=MaxSim())
    alone = zoo.evaluate(tokens, image, data_root=shared_data)
    for model, reason in (
        (tokens, "MaxSim has no vector of a whole text"),
        (zeros, "zeros only scores images against texts"),
    ):
        found = zoo.evaluate(model, [text, image], data_root=shared_data)
        of_text, of_image = found.metrics
        assert (of_text.n, of_text.n_total, of_text.value) == (0, 113, None)
        assert of_image.n == alone.metrics[0].n > 0
        assert f"not scored, since it compares texts with texts, and {reason}" in (
            " ".join(repr(found).split()).replace("tests.evaluation.test_text_only_protocol.", "")
        )
        if model is tokens:
            assert found.scalars() == alone.scalars()


def zeros(images: list[Any], texts: list[str]) -> Any:
    return np.zeros((len(images), len(texts)))


def test_text_only_is_the_official_rule_on_scores_full_of_ties() -> None:
    match = np.array([[True, False], [True, False]])
    case = Case((), ("b", "c"), match, "text_only", "s", "1", query_texts=("a", "b"))
    generator = np.random.default_rng(0)
    for _ in range(300):
        scores = generator.integers(0, 3, (2, 2)).astype(np.float32)
        (outcome,) = case.judge(scores)
        same, first, second = scores[0, 0], scores[0, 1], scores[1, 1]
        assert outcome.right == (same > first and same > second)
        assert outcome.tie == (same >= first and same >= second and not outcome.right)
    assert resolve_protocol("text_only").invalid_reason(match.T)


def test_a_case_with_images_and_texts_that_ask_is_refused(tmp_path: Path) -> None:
    class Both(SugarCrepePPText):
        def cases(self, path: Path, subset: str) -> Any:
            match = np.array([[True, False]] * 2)
            image = ImageRef("coco", "1")
            yield Case(
                (image,), ("b", "c"), match, "text_only", subset, "1", query_texts=("a", "b")
            )

    (tmp_path / "sugarcrepe_pp").mkdir()
    (tmp_path / "sugarcrepe_pp/swap_obj.json").write_text("[]")
    with pytest.raises(ZooError, match="has both images and query texts"):
        zoo.evaluate(lambda i, t: i, Both(subsets=["swap_obj"]), data_root=tmp_path)
