"""Tokens that are kept between runs: what is encoded again, and that no bit differs."""

import logging
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor

import zoo
from tests.evaluation.fakes import (
    SHAPES,
    FakeBackbone,
    TokenHead,
    cases,
    cosine,
    drawn_images,
    evaluation,
)
from tests.evaluation.test_embedding_cache import assert_alike, assert_equal, seen
from tests.support.parallel import group, on_ranks
from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded, TextBank, TokenKey, concatenate
from zoo.benchmarks.base import Case
from zoo.cli import main
from zoo.embeddings import store
from zoo.embeddings.store import EmbeddingStore
from zoo.evaluation import EmbeddingCache
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.stored_embeddings import StoredVectors, open_stored_vectors
from zoo.heads.base import Head
from zoo.heads.cross_modal import CrossModal
from zoo.needs import Needs
from zoo.results.report import Results
from zoo.sources.sample import ImageRef

LENGTHS = torch.tensor([6, 12, 20, SHAPES.context])  # that texts are cut to


class Cutting(FakeBackbone):
    """Encodes texts in groups of like length, in half precision, as real towers may."""

    def trimmed_lengths(self, lengths: Tensor) -> Tensor:
        return LENGTHS[torch.bucketize(lengths.clamp(max=SHAPES.context), LENGTHS)]

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        return super().encode_images(images, keys).map(half)

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        whole, cuts = super().encode_texts(bank, keys).map(half), self.trimmed_lengths(bank.lengths)
        alone = [
            Encoded(
                whole.pooled[i : i + 1],
                {key: t[i : i + 1, :cut] for key, t in whole.tokens.items()},
                {key: m[i : i + 1, :cut] for key, m in whole.masks.items()},
            )
            for i, cut in enumerate(cuts.tolist())
        ]
        return concatenate(alone)


def half(t: Tensor) -> Tensor:
    return t if t.dtype == torch.bool else t.bfloat16()


class Watching(TokenHead):
    """Remembers all that it was given, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Encoded] = []

    def prepare_images(self, images: Encoded) -> Encoded:
        self.given.append(images)
        return images

    def prepare_texts(self, texts: Encoded) -> Encoded:
        self.given.append(texts)
        return texts


class Penultimate(TokenHead):
    """Reads the tokens of another layer, which the backbone gives as those of any."""

    @property
    def needs(self) -> Needs:
        return replace(super().needs, text_keys=super().needs.text_keys | {TokenKey(layer=-2)})


def kept(folder: Path, limit: int = 1 << 30) -> StoredVectors:
    return StoredVectors(EmbeddingStore(folder / "kept", limit), {"weights": "a model"})


def run(
    engine: Evaluation, backbone: FakeBackbone, vectors: StoredVectors | None, head: Head
) -> Results:
    """Runs the engine as Lightning would, loaders first."""
    head.attach(SHAPES)
    parts: tuple[Any, Any] = backbone, head
    loaders = engine.build_loaders(*parts, vectors)
    engine.start(*parts, {})
    for loader in loaders:
        for portion in loader:
            engine.step(*parts, portion)
    return engine.finish(*parts, {"name": "fake"})


@pytest.mark.parametrize("kind", [FakeBackbone, Cutting])
@pytest.mark.parametrize("retrieval", [False, True], ids=["cases", "and a gallery"])
def test_a_second_run_encodes_nothing_and_reads_every_bit_that_was_encoded(
    tmp_path: Path, kind: type[FakeBackbone], retrieval: bool
) -> None:
    made = cases(drawn_images(tmp_path, 7), retrieval=retrieval)
    backbone, heads = kind(), [Watching() for _ in range(3)]
    without = run(evaluation(tmp_path, made), backbone, None, heads[0])
    once = seen(backbone)
    first = run(evaluation(tmp_path, made), backbone, kept(tmp_path), heads[1])
    if not retrieval:
        assert seen(backbone) == once
    seen(backbone)
    second = run(evaluation(tmp_path, made), backbone, kept(tmp_path), heads[2])
    assert seen(backbone) == (0, int(retrieval)), "a text fills a gallery's loader"
    assert_equal(without, first)
    assert_equal(first, second)
    assert without.header["scoring"]["towers"] == second.header["scoring"]["towers"]
    assert second.header["scoring"]["cached_vectors"] == {
        "folder": str(tmp_path / "kept"),
        "images": 7,
        "texts": len({text for case in made for text in case.texts}),
    }
    for wanted, found in zip(heads[0].given, heads[2].given, strict=True):
        assert_same_bits(wanted, found)


def assert_same_bits(wanted: Encoded, found: Encoded) -> None:
    for name in ("tokens", "masks"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        assert ours.keys() == theirs.keys()
        for key, tensor in theirs.items():
            assert ours[key].dtype == tensor.dtype
            assert torch.equal(ours[key], tensor), "padding among it"
    assert torch.equal(found.pooled, wanted.pooled)
    assert found.pooled.dtype == wanted.pooled.dtype


def test_an_item_of_several_windows_is_the_same_in_all_of_them(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7), retrieval=False), Cutting()
    small = {"window_bytes": 4000}
    without = run(evaluation(tmp_path, made, **small), backbone, None, TokenHead())
    assert without.header["scoring"]["images encoded twice"]
    first = run(evaluation(tmp_path, made, **small), backbone, kept(tmp_path), TokenHead())
    seen(backbone)
    second = run(evaluation(tmp_path, made, **small), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == (0, 0)
    assert_equal(first, second)
    assert_alike(without, second)


def test_a_further_case_encodes_what_is_new_alone(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7), retrieval=False), Cutting()
    run(evaluation(tmp_path, made[:8]), backbone, kept(tmp_path), TokenHead())
    images, texts = seen(backbone)
    found = run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == (7 - images, found.header["scoring"]["texts"] - texts)
    assert_alike(run(evaluation(tmp_path, made), backbone, None, TokenHead()), found)


def test_a_text_is_kept_as_long_as_the_tower_has_it_alone(tmp_path: Path) -> None:
    (image,), match = drawn_images(tmp_path, 1), np.array([[True, False]])
    short = Case((image,), ("ab", "cd"), match, "i2t", "short", "0")
    long = Case((image,), ("a text of many letters", "efgh"), match, "i2t", "long", "0")
    head = Watching()
    run(evaluation(tmp_path, [short, long]), Cutting(), kept(tmp_path), head)
    run(evaluation(tmp_path, [short]), Cutting(), kept(tmp_path), head)
    both, alone = (next(iter(texts.tokens.values())) for texts in head.given[1::2])
    assert (both.shape[1], alone.shape[1]) == (24, 6)


def test_nothing_of_heads_that_read_tokens_is_kept_unless_it_is_asked_for(tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone, head = Backbone("zoo-tiny"), CrossModal()
    head.attach(backbone.shapes)
    asked = EmbeddingCache(str(tmp_path), tokens=True)
    assert open_stored_vectors(EmbeddingCache(str(tmp_path)), backbone, head, "32-true") is None
    assert open_stored_vectors(asked, backbone, head, "32-true") is not None


def test_tokens_and_vectors_and_tokens_of_another_layer_are_not_mixed(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 5), retrieval=False), FakeBackbone()
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), cosine())
    once = seen(backbone)
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == once, "vectors are no tokens"
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), Penultimate())
    assert seen(backbone) == (0, once[1]), "the images' tokens are those of the same layer"
    without = run(evaluation(tmp_path, made), backbone, None, cosine())
    assert_equal(without, run(evaluation(tmp_path, made), backbone, kept(tmp_path), cosine()))


def test_a_short_list_s_vectors_are_those_of_a_head_that_reads_vectors(tmp_path: Path) -> None:
    made = [case for case in cases(drawn_images(tmp_path, 5)) if case.is_gallery]
    backbone = FakeBackbone()
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), cosine())
    images, texts = seen(backbone)
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == (images, texts + 1), "their tokens alone, and a text that fills"


def test_an_image_that_changed_under_its_path_is_encoded_again(tmp_path: Path) -> None:
    images, backbone = drawn_images(tmp_path, 4), FakeBackbone()
    made = cases(images, retrieval=False)
    run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    seen(backbone)
    other = drawn_images(tmp_path, 5)[4]
    (tmp_path / images[2].key).write_bytes((tmp_path / other.key).read_bytes())
    found = run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == (1, 0)
    assert_alike(run(evaluation(tmp_path, made), backbone, None, TokenHead()), found)


class Large(FakeBackbone):
    """Its images have tokens of 64 KiB."""

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        found = super().encode_images(images, keys)
        wide = {key: t.repeat(1, 512, 1) for key, t in found.tokens.items()}
        return Encoded(
            found.pooled,
            wide,
            {key: torch.ones(t.shape[:2], dtype=torch.bool) for key, t in wide.items()},
        )


def test_the_store_stays_bounded_and_what_had_no_room_is_encoded_again(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 20), retrieval=False), Large()
    without = run(evaluation(tmp_path, made), backbone, None, TokenHead())
    limit = 1 << 20
    for _ in range(3):
        seen(backbone)
        vectors = kept(tmp_path, limit)
        found = run(evaluation(tmp_path, made), backbone, vectors, TokenHead())
        assert vectors.store.size <= limit
        assert_alike(without, found)
    assert 0 < seen(backbone)[0] <= 20


def test_tokens_that_alone_exceed_the_bound_are_not_kept(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 3), retrieval=False), Large()
    vectors = kept(tmp_path, 1 << 18)
    without = run(evaluation(tmp_path, made), backbone, None, TokenHead())
    assert_equal(without, run(evaluation(tmp_path, made), backbone, vectors, TokenHead()))
    texts = without.header["scoring"]["texts"]
    assert vectors.store.summarize().entries == texts


@pytest.mark.parametrize(("limit", "level"), [(1 << 30, "INFO"), (1 << 12, "WARNING")])
def test_how_much_room_tokens_take_is_said_before_any_is_encoded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, limit: int, level: str
) -> None:
    engine = evaluation(tmp_path, cases(drawn_images(tmp_path, 3), retrieval=False))
    head, backbone = TokenHead(), FakeBackbone()
    head.attach(SHAPES)
    parts: tuple[Any, Any] = backbone, head
    with caplog.at_level(logging.INFO):
        engine.build_loaders(*parts, kept(tmp_path, limit))
    (said,) = (r for r in caplog.records if "tokens of this run need up to" in r.message)
    assert said.levelname == level
    assert ("--data.cache.limit_gib" in said.message) == (level == "WARNING")
    assert seen(backbone) == (0, 0)


def test_what_was_dropped_since_it_was_looked_up_is_encoded(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 5)), Cutting()
    first = run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    seen(backbone)
    engine, vectors, head = evaluation(tmp_path, made), kept(tmp_path), TokenHead()
    head.attach(SHAPES)
    parts: tuple[Any, Any] = backbone, head
    loaders = engine.build_loaders(*parts, vectors)
    engine.start(*parts, {})
    vectors.store.delete_all_files()
    for loader in loaders:
        for portion in loader:
            engine.step(*parts, portion)
    assert_equal(first, engine.finish(*parts, {"name": "fake"}))
    assert seen(backbone)[0] == 5


def test_a_run_that_is_killed_while_it_writes_leaves_nothing_half_written(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7), retrieval=False), FakeBackbone()
    small = {"window_bytes": 4000}
    child = os.fork()
    if child == 0:
        write, files_left = store.write_bytes, iter(range(4))

        def write_or_die(file: Path, content: bytes, clean_up: bool) -> None:
            if next(files_left, None) is None:
                file.with_name(f".{file.name}.1.part").write_bytes(content[:-9])
                os.kill(os.getpid(), signal.SIGKILL)
            write(file, content, clean_up)

        store.write_bytes = write_or_die
        try:
            run(evaluation(tmp_path, made, **small), backbone, kept(tmp_path), TokenHead())
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    entries = kept(tmp_path).store.summarize().entries
    assert 0 < entries < 30, "what was written before is there, and none of the last"
    found = run(evaluation(tmp_path, made, **small), backbone, kept(tmp_path), TokenHead())
    assert_alike(run(evaluation(tmp_path, made, **small), backbone, None, TokenHead()), found)


def test_damaged_tokens_are_said_and_encoded_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made, backbone, head = cases(drawn_images(tmp_path, 4), retrieval=False), Cutting(), Watching()
    first = run(evaluation(tmp_path, made), backbone, kept(tmp_path), head)
    seen(backbone)
    (tokens,) = head.given[0].tokens.values()
    hit = tokens[2].view(torch.uint8).numpy().tobytes()
    for file in kept(tmp_path).store.folder.glob("*/*.safetensors"):
        file.write_bytes(file.read_bytes().replace(hit, bytes([hit[0] ^ 4]) + hit[1:]))
    with caplog.at_level(logging.WARNING):
        found = run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert "1 damaged items" in caplog.text
    assert seen(backbone) == (1, 0)
    assert_alike(first, found)


def on_two_ranks(rank: int, folder: str) -> None:
    with group(rank, 2, Path(folder)):
        root, small = Path(folder), {"window_bytes": 4000}
        made = cases([ImageRef("file", f"pictures/{i}.png") for i in range(5)])
        backbone = FakeBackbone()
        run(evaluation(root, made, **small), backbone, kept(root), TokenHead())
        seen(backbone)
        run(evaluation(root, made, **small), backbone, kept(root), TokenHead())
        assert seen(backbone) == (0, 1)


@pytest.mark.slow
def test_two_ranks_share_what_is_kept(tmp_path: Path) -> None:
    made = cases(drawn_images(tmp_path, 5))
    on_ranks(2, on_two_ranks, str(tmp_path))
    backbone = FakeBackbone()
    one = run(evaluation(tmp_path, made), backbone, kept(tmp_path), TokenHead())
    assert seen(backbone) == (0, 1), "one rank reads what two kept"
    assert_alike(run(evaluation(tmp_path, made), backbone, None, TokenHead()), one)


@pytest.mark.slow
def test_a_model_of_zoo_is_measured_from_kept_tokens(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    for name in ("encode_images", "encode_texts"):
        real = getattr(Backbone, name)

        def counted(self: Backbone, items: Any, *given: Any, real: Any = real) -> Encoded:
            encoded.append(len(items))
            found: Encoded = real(self, items, *given)
            return found

        monkeypatch.setattr(Backbone, name, counted)
    monkeypatch.chdir(tmp_path)
    common = ["validate", "--benchmarks", f"pairs:{made_root / 'pairs.csv'}"]
    common += ["--data_root", str(made_root), "--model.backbone.name", "zoo-tiny"]
    common += ["--head", "CrossModal", "--data.workers", "0", "--trainer.accelerator", "cpu"]

    def measured(out: str, *flags: str) -> tuple[Any, int]:
        encoded.clear()
        assert main([*common, "--out", out, "--cache", "kept", *flags]) == 0
        scores = pq.read_table(f"{out}/cases.parquet")["scores"].to_pylist()
        return scores, sum(encoded)

    scores, once = measured("without")
    assert once
    assert not Path("kept").exists()
    assert measured("first", "--cache_tokens") == (scores, once)
    assert measured("second", "--cache_tokens") == (scores, 0)


def test_python_asks_for_kept_tokens_as_well(made_root: Path, tmp_path: Path) -> None:
    model = zoo.load("zoo-tiny", device="cpu")
    model.module.head = CrossModal(width=16, ffn=32, attention_heads=2, layers=1)
    model.module.head.attach(model.module.backbone.shapes)
    cache, pairs = EmbeddingCache(str(tmp_path), tokens=True), f"pairs:{made_root / 'pairs.csv'}"
    first, second = (zoo.evaluate(model, pairs, made_root, cache=cache) for _ in range(2))
    assert_equal(first, second)
    assert [f.header["scoring"]["cached_vectors"]["images"] for f in (first, second)] == [0, 12]
    assert np.isfinite(first.cases["scores"].to_pylist()[0]).all()
