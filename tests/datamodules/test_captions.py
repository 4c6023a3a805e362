import json
import logging
from types import SimpleNamespace

import pytest
import torch
from lightning import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from PIL import Image
from torch.utils.data import DataLoader

from tests.datamodules.small import Appended, FakeBackbone, Made, Watcher, fingerprint
from zoo.batch import MISSING
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError
from zoo.positives.other_caption import OtherCaption
from zoo.sources.negative_images import NegativeImages
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.negclip_tsv import NegClipTsv
from zoo.units.sampler import UnitSampler

SPLIT_FILES = ("Flickr_8k.trainImages.txt", "Flickr_8k.devImages.txt")


def attached(data: CaptionDataModule, rank: int = 0, world: int = 1) -> CaptionDataModule:
    """Returns the datamodule set up as on one of several ranks."""
    module = SimpleNamespace(backbone=FakeBackbone(), head=None)
    data.trainer = SimpleNamespace(
        lightning_module=module, world_size=world, global_rank=rank, is_global_zero=rank == 0
    )
    data.setup("fit")
    return data


def made(tmp_path, n=10, reader=None, **options):
    options = {"batch_size": 4, "workers": 0, "negatives": Appended(), **options}
    return CaptionDataModule(reader or Made(tmp_path, n=n), [str(tmp_path)], **options)


def rows(batches):
    """(sample, pixels, negative's tokens) of every row that has a caption."""
    out = []
    for batch in batches:
        for i, sample in enumerate(batch.samples.tolist()):
            if batch.captions[i] != MISSING:
                negative = batch.negatives[i, 0]
                tokens = None if negative == MISSING else tuple(batch.texts.ids[negative].tolist())
                out.append((sample, tuple(batch.images[i].flatten().tolist()), tokens))
    return out


def epoch_of(data, epoch):
    loader = data.train_dataloader()
    loader.sampler.set_epoch(epoch)
    return list(loader)


def trainer(tmp_path, **options):
    quiet = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "accelerator": "cpu",
        "num_sanity_val_steps": 0,
    }
    return Trainer(default_root_dir=tmp_path, **quiet, **options)


def test_every_batch_is_the_same_with_any_number_of_workers(tmp_path):
    alone = [fingerprint(b) for b in epoch_of(attached(made(tmp_path)), 3)]
    assert [fingerprint(b) for b in epoch_of(attached(made(tmp_path, workers=2)), 3)] == alone
    assert [fingerprint(b) for b in epoch_of(attached(made(tmp_path)), 4)] != alone


def test_a_global_batch_has_the_same_rows_on_any_number_of_ranks(tmp_path):
    alone = epoch_of(attached(made(tmp_path, n=11)), 1)
    for world in (2, 4):
        ranks = [epoch_of(attached(made(tmp_path, n=11), rank, world), 1) for rank in range(world)]
        assert {len(batches) for batches in ranks} == {len(alone)}
        assert {len(batch) for batches in ranks for batch in batches} == {4 // world}
        for joined, parts in zip(alone, zip(*ranks, strict=True), strict=True):
            assert rows(parts) == rows([joined])


def test_all_captions_come_once_an_epoch_and_the_last_batch_is_filled(tmp_path):
    batches = epoch_of(attached(made(tmp_path, n=11)), 0)
    assert sorted(sample for sample, *_ in rows(batches)) == list(range(22))
    assert [len(b) for b in batches] == [4] * 6
    assert batches[-1].captions.tolist()[2:] == batches[-1].samples.tolist()[2:] == [MISSING] * 2


def test_one_caption_a_image_and_epoch(tmp_path):
    data = attached(made(tmp_path, captions_per_image="one"))
    drawn = [{s for s, *_ in rows(epoch_of(data, epoch))} for epoch in range(6)]
    assert all({s // 2 for s in d} == set(range(10)) and len(d) == 10 for d in drawn)
    assert len({frozenset(d) for d in drawn}) > 1


def checkpoints(tmp_path, every):
    return ModelCheckpoint(
        tmp_path / "checkpoints", filename="{step}", every_n_train_steps=every, save_top_k=-1
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run of three epochs of four steps, and the batches that it saw."""
    folder, module = tmp_path_factory.mktemp("whole"), Watcher()
    trainer(folder, max_epochs=3, callbacks=[checkpoints(folder, 1)]).fit(
        module, datamodule=made(folder, val_images=2)
    )
    assert len(module.seen) == len(set(module.seen)) == 12
    return folder, module.seen


@pytest.mark.parametrize(("left_at", "workers"), [(2, 0), (4, 0), (7, 0), (8, 0), (5, 2), (8, 2)])
def test_a_run_that_was_killed_goes_on_with_the_batches_that_remain(whole, left_at, workers):
    """Steps 4 and 8 are the last of their epochs."""
    folder, seen = whole
    resumed = Watcher()
    trainer(folder, max_epochs=3, enable_checkpointing=False).fit(
        resumed,
        datamodule=made(folder, val_images=2, workers=workers),
        ckpt_path=folder / "checkpoints" / f"step={left_at}.ckpt",
        weights_only=False,
    )
    assert resumed.seen == seen[left_at:]


class Kinds(Watcher):
    """Remembers which batches have single images."""

    def __init__(self):
        super().__init__()
        self.single = []

    def training_step(self, batch, index):
        self.single.append(batch.single)
        return super().training_step(batch, index)


def alternating(tmp_path):
    further = [OtherCaption(), OtherCaption()]
    return made(tmp_path, val_images=1, joined="alternate", positives=further)


def test_every_other_step_of_an_epoch_has_single_images_also_in_a_run_that_is_resumed(tmp_path):
    whole, resumed = Kinds(), Kinds()
    trainer(tmp_path, max_epochs=2, callbacks=[checkpoints(tmp_path, 1)]).fit(
        whole, datamodule=alternating(tmp_path)
    )
    assert whole.single == [False, True, False, True, False] * 2
    assert {batch.single for batch in whole.validated} == {False}
    trainer(tmp_path, max_epochs=2, enable_checkpointing=False).fit(
        resumed,
        datamodule=alternating(tmp_path),
        ckpt_path=tmp_path / "checkpoints" / "step=3.ckpt",
        weights_only=False,
    )
    assert resumed.single == whole.single[3:]
    assert resumed.seen == whole.seen[3:]


def test_the_batches_of_a_step_that_accumulates_are_of_one_kind(tmp_path):
    module = Kinds()
    options = {"accumulate_grad_batches": 2, "enable_checkpointing": False}
    trainer(tmp_path, max_epochs=1, **options).fit(module, datamodule=alternating(tmp_path))
    assert module.single == [False, False, True, True, False]


def test_joined_rows_have_four_positives_and_single_ones_their_caption_alone(tmp_path):
    data = alternating(tmp_path)
    attached(data).trainer.accumulate_grad_batches = 1
    joined, single, *_ = epoch_of(data, 0)
    assert joined.positives.shape == single.positives.shape == (4, 3)  # beside the caption
    assert (joined.positives != MISSING).all()
    assert (single.positives == MISSING).all()
    assert (single.negatives == MISSING).all()
    assert len(single.texts) <= 4  # no text is encoded that the step does not use
    samples = data.sources[0].samples
    captions = [samples[i].caption for i in single.samples.tolist()]
    ids, _, _ = FakeBackbone().tokenizer(captions)
    assert torch.equal(single.texts.ids[single.captions], ids)


def test_validation_sees_every_held_out_caption_once_and_the_same_in_every_epoch(tmp_path):
    module = Watcher()
    data = made(tmp_path, val_images=3, val_batch_size=4)
    trainer(tmp_path, max_epochs=2, enable_checkpointing=False).fit(module, datamodule=data)
    train, val = data.sources
    assert len(module.validated) == 4
    assert [fingerprint(b) for b in module.validated[:2]] == [
        fingerprint(b) for b in module.validated[2:]
    ]
    assert sorted(s for s, *_ in rows(module.validated[:2])) == val.kept.tolist()
    assert all(
        torch.equal(b.images, b.images[:, :, :1, :1].expand_as(b.images)) for b in module.validated
    ), "augmented"
    assert not {*train.image_ids.to_pylist()} & {*val.image_ids.to_pylist()}
    assert (len(train.image_ids), len(val.image_ids), len(train.kept)) == (7, 3, 14)


def test_the_split_holds_whole_images_and_does_not_depend_on_the_seed(tmp_path):
    splits = [made(tmp_path, n=40, val_share=0.25, seed=seed).sources for seed in (0, 1)]
    assert splits[0][1].image_ids == splits[1][1].image_ids
    assert len(splits[0][1].image_ids) == 10
    with pytest.raises(ZooError, match=r"holds out 40 of 40"):
        _ = made(tmp_path, n=40, val_images=40).sources
    with pytest.raises(ZooError, match="give one of them"):
        made(tmp_path, val_share=0.1, val_images=3)


def test_companions_double_the_rows_of_training_alone(tmp_path):
    data = attached(
        made(
            tmp_path, reader=Made(tmp_path, n=10, companions=True), hard_images=True, val_images=2
        ),
        1,
        2,
    )
    batch = epoch_of(data, 0)[0]
    assert (len(batch), batch.primary) == (4, 2)
    assert len(next(iter(data.val_dataloader()[0]))) == 2
    with pytest.raises(ZooError, match=r"hard_images needs companions, and Made has none"):
        attached(made(tmp_path, hard_images=True))


def test_the_loaders_of_an_evaluation_stand_behind_that_of_the_loss(tmp_path):
    extra = DataLoader([1])
    evaluation = SimpleNamespace(build_loaders=lambda backbone, head: [extra], prepare=lambda: None)
    assert attached(made(tmp_path, evaluation=evaluation)).val_dataloader() == [extra]
    both = attached(made(tmp_path, evaluation=evaluation, val_images=2)).val_dataloader()
    assert (len(both), both[1]) == (2, extra)
    assert attached(made(tmp_path)).val_dataloader() == []


def test_a_batch_size_that_devices_do_not_divide_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ZooError, match=r"batch_size 4 .* 3 devices: give 3 or 6"):
        attached(made(tmp_path), 0, 3)


def test_a_count_of_images_other_than_expected_is_refused(tmp_path):
    attached(made(tmp_path, expected_images=10))
    with pytest.raises(ZooError, match=r"10 training images, and data\.expected_images is 113,287"):
        attached(made(tmp_path, expected_images=113_287))


def test_missing_images_are_one_error_or_counted(tmp_path, caplog):
    Made(tmp_path).read()
    lines = [
        json.dumps({"image": f"{tmp_path}/{i}.png", "caption": f"{i} dogs"}) for i in range(10)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    for i in (3, 4):
        (tmp_path / f"{i}.png").unlink()
    reader = JsonLines(tmp_path / "x.jsonl")
    with pytest.raises(
        ZooError, match=r"2 of 10 images are missing .*3\.png.*4\.png.*tolerate_missing"
    ):
        attached(made(tmp_path, reader=reader))
    data = attached(made(tmp_path, reader=reader, tolerate_missing=True))
    assert "2 images of the training captions are missing" in caplog.text
    assert data.describe()["train"]["missing_images"] == 2
    assert (data.describe()["train"]["images"], len(data.trained_images())) == (8, 8)


def test_own_images_that_carry_an_orientation_or_alpha_are_counted_and_honoured_where_asked(
    tmp_path, caplog
):
    reader = Made(tmp_path, 10)
    reader.read()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(tmp_path / "3.png", exif=exif)
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "4.png")
    data = attached(made(tmp_path, reader=reader))
    assert "1 of 10 images that were checked have an EXIF orientation" in caplog.text
    assert "data.upright: false does not rotate them" in caplog.text
    assert "data.background: null ignores their transparency" in caplog.text
    data = attached(made(tmp_path, reader=reader, upright=True, background="white"))
    assert "data.upright: true rotates them" in caplog.text
    images = {sample.image.key: sample.image for sample in data.sources[0].samples}
    assert data.finder.load(images[str(tmp_path / "3.png")]).size == (4, 8)
    assert data.finder.load(images[str(tmp_path / "4.png")]).getpixel((0, 0)) == (255, 255, 255)
    assert data.describe()["own_images"] == {"upright": True, "background": "white"}


def test_of_negative_images_the_same_is_said_as_of_those_of_captions(tmp_path, caplog):
    reader = Made(tmp_path, 10)
    captions = [sample.caption for sample in reader.read()]
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 4)).save(tmp_path / "turned.png", exif=exif)
    (tmp_path / "coco/val2017").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "coco/val2017/000000000724.jpg")
    images = ["turned.png", "moved/000000000724.jpg", "gone.png"]
    lines = (
        json.dumps({"caption": caption, "negative_image": image})
        for caption, image in zip(captions, images, strict=False)
    )
    (tmp_path / "beside.jsonl").write_text("\n".join(lines))
    negative_images = NegativeImages(tmp_path / "beside.jsonl")
    attached(made(tmp_path, reader=reader, negative_images=negative_images, tolerate_missing=True))
    assert "1 of 11 images that were checked have an EXIF orientation" in caplog.text
    assert (
        "1 negative images are not at their paths and were matched by name to published images "
        "(moved/000000000724.jpg for coco:724)" in caplog.text
    )
    assert "1 negative images are missing and left out" in caplog.text


def test_no_image_at_all_is_an_error_even_where_missing_ones_are_tolerated(tmp_path):
    (tmp_path / "t.txt").write_text("1_aa.jpg#0\ta dog\n")
    with pytest.raises(ZooError, match="1 of 1 images are missing"):
        attached(made(tmp_path, reader=FlickrToken(tmp_path / "t.txt"), tolerate_missing=True))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_image_is_one_sentence_or_counted(tmp_path, workers, caplog):
    Made(tmp_path).read()
    file = tmp_path / "3.png"
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(ZooError, match=r"^[^\n]*3\.png[^\n]*damaged or not an image[^\n]*$"):
        epoch_of(attached(made(tmp_path, workers=workers)), 0)
    data = attached(made(tmp_path, workers=workers, tolerate_broken=True))
    batches = epoch_of(data, 0)
    assert sorted(s for s, *_ in rows(batches)) == [s for s in range(20) if s not in (6, 7)]
    assert data.describe()["broken_images"] == [f"file:{file}"]
    assert caplog.text.count("is broken") == 1


def long_captions(tmp_path):
    lines = [
        {"image": f"{tmp_path}/{i}.png", "caption": " ".join(["dog"] * (5 + 10 * (i == 7)))}
        for i in range(10)
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    Made(tmp_path).read()
    return JsonLines(tmp_path / "x.jsonl")


def test_captions_over_the_context_length_are_counted_or_refused(tmp_path, caplog):
    data = attached(made(tmp_path, reader=long_captions(tmp_path), negatives=None))
    assert "1 of 10 checked captions are over the context length" in caplog.text
    assert data.describe()["truncation"] == {"checked": 10, "truncated": 1}
    with pytest.raises(ZooError, match=r"x\.jsonl:8 has a caption over the context length"):
        attached(made(tmp_path, reader=long_captions(tmp_path), negatives=None, truncation=False))


def units(tmp_path, ids):
    entities = [{"text": "dogs", "foils": [{"text": "cats", "edit": "object_change"}]}]
    lines = [
        {
            "caption_id": i,
            "image_id": "x",
            "caption": i.replace("#", " is caption "),
            "entities": entities,
            "relations": [],
            "source": {},
        }
        for i in ids
    ]
    (tmp_path / "u.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return UnitSampler(str(tmp_path / "u.jsonl"), n_units=2, with_replacement=False)


def test_units_and_foils_stand_in_the_rows_of_their_captions(tmp_path, caplog):
    data = attached(made(tmp_path, units=units(tmp_path, ["3#1", "5#0"])))
    for batch in epoch_of(data, 0):
        for i, sample in enumerate(batch.samples.tolist()):
            assert (batch.units[i] >= 0).tolist() == [sample in (7, 10), False]
    assert "2 of 20 training captions have units" in caplog.text
    assert data.describe()["units"]["training_captions_with_units"] == 2
    assert data.provides.units


def test_units_of_captions_that_the_data_does_not_have_are_refused(tmp_path):
    with pytest.raises(ZooError, match=r"u\.jsonl has units for 1 captions .*'77#0'"):
        attached(made(tmp_path, units=units(tmp_path, ["3#1", "77#0"])))


def test_units_of_all_splits_of_a_token_file_serve_one_split(shared_data, tmp_path):
    folder, kept = shared_data / "flickr8k", set()
    for split in (*SPLIT_FILES, "Flickr_8k.testImages.txt"):
        images = (folder / split).read_text().split()[:20]
        (tmp_path / split).write_text("\n".join(images))
        kept |= {*images}
    lines = (folder / "Flickr8k.token.txt").read_text().splitlines(keepends=True)
    tokens = tmp_path / "Flickr8k.token.txt"
    tokens.write_text("".join(line for line in lines if line.partition("#")[0] in kept))
    train, dev, whole = (
        FlickrToken(tokens, s) for s in [*map(tmp_path.joinpath, SPLIT_FILES), None]
    )
    samples = whole.read()[::4]
    entities = [{"text": "dogs", "foils": []}]
    records = [
        {
            "caption_id": s.caption_id,
            "image_id": "x",
            "caption": s.caption,
            "entities": entities,
            "relations": [],
            "source": {},
        }
        for s in samples
    ]
    (tmp_path / "u.jsonl").write_text("\n".join(json.dumps(r) for r in records) + "\n")
    sampler = UnitSampler(str(tmp_path / "u.jsonl"))
    data = CaptionDataModule(train, [str(shared_data)], val=dev, units=sampler, workers=0)
    assert len(attached(data).texts.records) == len(samples) == 75


def test_what_the_data_provides_is_known_before_anything_is_read(tmp_path):
    assert made(tmp_path / "nowhere").provides.negatives == ("appended",)
    assert made(tmp_path, negatives=None).provides.negatives == ()
    assert made(
        tmp_path, negatives=[Appended(), Appended()], source_negatives=True
    ).provides.negatives == (
        "source",
        "appended",
        "appended",
    )
    assert not made(tmp_path).provides.units


def test_a_generator_looks_at_the_training_captions_before_the_first_batch(tmp_path):
    generator, looked_at = Appended(), []
    generator.check = looked_at.extend
    attached(made(tmp_path, negatives=generator, val_images=2))
    assert len(looked_at) == 16


def test_negatives_of_a_source_that_has_none_are_refused(tmp_path):
    with pytest.raises(ZooError, match=r"source_negatives needs negatives, and Made has none"):
        attached(made(tmp_path, source_negatives=True))


def test_the_description_is_plain_data(tmp_path):
    data = attached(made(tmp_path, val_images=2))
    described = json.loads(json.dumps(data.describe()))
    assert (
        described["train"]["images"],
        described["train"]["captions"],
        described["val"]["images"],
    ) == (8, 16, 2)
    assert described["negatives"] == [
        {"class_path": "tests.datamodules.small.Appended", "init_args": {}, "generator": "appended"}
    ]


def test_real_images_and_captions(shared_data):
    folder = shared_data / "flickr8k"
    reader = FlickrToken(folder / "Flickr8k.token.txt", folder / "Flickr_8k.trainImages.txt")
    val = FlickrToken(folder / "Flickr8k.token.txt", folder / "Flickr_8k.devImages.txt")
    data = attached(
        CaptionDataModule(
            reader, [str(shared_data)], val=val, batch_size=64, workers=0, expected_images=4000
        )
    )
    loader = data.train_dataloader()
    batch = next(iter(loader))
    assert (len(loader), len(batch), len(data.val_dataloader()[0])) == (313, 64, 16)
    assert torch.isfinite(batch.images).all()
    described = data.describe()["train"]
    assert (described["images"], described["captions"]) == (4000, 20_000)
    assert described["files"]["Flickr8k.token.txt"] in (shared_data / "SHA256SUMS").read_text()


def test_negclips_table_on_the_images_that_are_there(shared_data, caplog):
    reader = NegClipTsv(shared_data / "neg_clip/valid_neg_clip.tsv")
    data = CaptionDataModule(
        reader,
        [str(shared_data)],
        batch_size=4,
        workers=0,
        source_negatives=True,
        tolerate_missing=True,
    )
    batches = epoch_of(attached(data), 0)
    assert [len(b) for b in batches] == [4, 4]
    assert (torch.cat([b.negatives for b in batches])[:, 0] >= 0).sum() == 6
    assert "1,994 images of the training captions are missing" in caplog.text


@pytest.fixture(autouse=True)
def _hear_warnings(caplog):
    caplog.set_level(logging.INFO)
