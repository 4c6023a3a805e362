import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from zoo.errors import ZooError
from zoo.sources.images import (
    BrokenImage,
    ImageFinder,
    coco_ref,
    flickr_ref,
    image_identity,
    infer_image_ref,
)
from zoo.sources.sample import ImageRef


def put(
    path: Path, colour: tuple[int, int, int] = (255, 0, 0), size: tuple[int, int] = (8, 6)
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.mark.parametrize(
    "path",
    [
        "coco/val2014/COCO_val2014_000000391895.jpg",
        "val2017/000000391895.jpg",
        "coco/train2014/COCO_train2014_000000391895.jpg",
        "train2017/000000391895.jpg",
        "000000391895.jpg",
    ],
)
def test_a_coco_image_is_found_by_its_number_whatever_the_year_and_style(tmp_path, path):
    file = put(tmp_path / path)
    assert ImageFinder([tmp_path]).find(coco_ref("val2014/COCO_val2014_000000391895.jpg")) == file


def test_flickr8k_names_find_flickr30k_images_and_the_other_way_round(tmp_path):
    eight = put(tmp_path / "flickr8k/images/1007129816_e794419615.jpg")
    thirty = put(tmp_path / "flickr30k-images/36979.jpg")
    finder = ImageFinder([tmp_path])
    assert finder.find(infer_image_ref("flickr30k-images/1007129816.jpg")) == eight
    assert finder.find(flickr_ref("36979_abcdef0123.jpg")) == thirty


@pytest.mark.parametrize("folder", ["VG_100K", "VG_100K_2", "images"])
def test_visual_genome_is_looked_for_in_its_folders(tmp_path, folder):
    file = put(tmp_path / "visual_genome" / folder / "2317429.jpg")
    assert ImageFinder([tmp_path]).find(ImageRef("visual_genome", "2317429")) == file


def test_files_are_found_under_any_root_or_by_absolute_path(tmp_path):
    put(tmp_path / "one/a.png")
    file = put(tmp_path / "two/deep/b.png")
    finder = ImageFinder([tmp_path / "one", tmp_path / "two"])
    assert finder.find(ImageRef("file", "deep/b.png")) == file
    assert finder.find(ImageRef("file", str(file))) == file
    assert finder.find_missing([ImageRef("file", "deep/b.png"), ImageRef("file", "c.png")]) == [
        ImageRef("file", "c.png")
    ]


def test_a_folder_is_listed_once(tmp_path, monkeypatch):
    for i in range(50):
        put(tmp_path / f"val2014/COCO_val2014_{i:012d}.jpg", size=(1, 1))
    finder = ImageFinder([tmp_path])
    assert finder.find(ImageRef("coco", "0")) is not None
    monkeypatch.setattr("os.scandir", lambda path: pytest.fail(f"{path} is listed again"))
    assert finder.find_missing([ImageRef("coco", str(i)) for i in range(60)]) == [
        ImageRef("coco", str(i)) for i in range(50, 60)
    ]


def test_the_crop_is_cut_before_anything_else(tmp_path):
    picture = Image.new("RGB", (10, 10))
    picture.putpixel((3, 4), (255, 255, 255))
    picture.save(tmp_path / "a.png")
    cropped = ImageFinder([tmp_path]).load(ImageRef("file", "a.png", (3, 4, 2, 1)))
    assert cropped.size == (2, 1)
    assert [cropped.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (0, 0, 0)]


def test_grey_images_become_rgb(tmp_path):
    Image.new("L", (2, 2), 7).save(tmp_path / "grey.png")
    assert ImageFinder([tmp_path]).load(ImageRef("file", "grey.png")).getpixel((0, 0)) == (
        7,
        7,
        7,
    )


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.95])
def test_a_truncated_jpeg_is_an_error_that_names_the_file(tmp_path, share):
    file = put(tmp_path / "val2017/000000000007.jpg")
    Image.effect_noise((64, 64), 80).save(file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(BrokenImage, match=r"000000000007\.jpg .*damaged or not an image"):
        ImageFinder([tmp_path]).load(ImageRef("coco", "7"))


def test_a_file_that_is_no_image_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a.jpg").write_text("hello")
    with pytest.raises(BrokenImage, match=r"a\.jpg"):
        ImageFinder([tmp_path]).load(ImageRef("file", "a.jpg"))


def test_loading_a_missing_image_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(ZooError, match=r"coco:7 is in none of .*val2017"):
        ImageFinder([tmp_path]).load(ImageRef("coco", "7"))


def test_a_root_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(ZooError, match="nowhere"):
        ImageFinder([tmp_path / "nowhere"])


def jpeg(colour: tuple[int, int, int]) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (4, 4), colour).save(content, "PNG")
    return content.getvalue()


@pytest.mark.parametrize("nested", [True, False])
def test_rows_of_a_parquet_file_are_images(tmp_path, nested):
    pictures = [jpeg((i, 0, 0)) for i in range(5)]
    cells = [{"bytes": p, "path": None} for p in pictures] if nested else pictures
    pq.write_table(pa.table({"image": cells}), tmp_path / "x.parquet", row_group_size=2)
    finder = ImageFinder([tmp_path])
    assert [
        finder.load(ImageRef("parquet", f"x.parquet#{i}#image")).getpixel((0, 0))[0]
        for i in (4, 0, 3, 2, 1)
    ] == [4, 0, 3, 2, 1]
    with pytest.raises(ZooError, match=r"has 5 rows.*row 5"):
        finder.load(ImageRef("parquet", "x.parquet#5#image"))
    with pytest.raises(ZooError, match=r"no column 'picture'.*image"):
        finder.load(ImageRef("parquet", "x.parquet#0#picture"))
    with pytest.raises(ZooError, match="FILE#ROW#COLUMN"):
        finder.find(ImageRef("parquet", "x.parquet"))


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("coco/val2014/COCO_val2014_000000184613.jpg", ImageRef("coco", "184613")),
        ("000000391895.jpg", ImageRef("coco", "391895")),
        ("flickr30k-images/1007129816.jpg", ImageRef("flickr", "1007129816")),
        ("Flicker8k_Dataset/1007129816_e794419615.jpg", ImageRef("flickr", "1007129816")),
        ("VG_100K_2/2317429.jpg", ImageRef("visual_genome", "2317429")),
        ("my/pictures/17.jpg", ImageRef("file", "my/pictures/17.jpg")),
        ("/abs/000000391895.jpg", ImageRef("file", "/abs/000000391895.jpg")),
    ],
)
def test_a_published_path_says_which_image_is_meant(text, ref):
    assert infer_image_ref(text) == ref


@pytest.mark.parametrize(
    "ref",
    [
        ImageRef("coco", "391895"),
        ImageRef("visual_genome", "7", (1, 2, 30, 40)),
        ImageRef("file", "/a:b/c@d.png"),
        ImageRef("parquet", "x#1#image_0"),
    ],
)
def test_a_reference_survives_being_written(ref):
    assert infer_image_ref(str(ref)) == ref


def test_one_looping_link_does_not_hide_its_folder_and_is_named_where_it_is_wanted(tmp_path):
    file = put(tmp_path / "coco/val2017/000000000007.jpg")
    loop = file.with_name("000000000008.jpg")
    loop.symlink_to(loop)
    (tmp_path / "gone.png").symlink_to(tmp_path / "nowhere.png")
    finder = ImageFinder([tmp_path])
    assert finder.find(ImageRef("coco", "7")) == file
    assert finder.find(ImageRef("coco", "8")) is None
    assert finder.missing_image_advice(ImageRef("coco", "8")) == (
        f"fix the broken link {loop} (Too many levels of symbolic links)"
    )
    assert finder.find(ImageRef("file", "gone.png")) is None
    assert "fix the broken link" in finder.missing_image_advice(ImageRef("file", "gone.png"))
    assert "put it under" in finder.missing_image_advice(ImageRef("coco", "9"))
    images = tmp_path / "flickr8k" / "images"
    images.mkdir(parents=True)
    (images / "9_0123456789.jpg").touch()
    advice = [ImageFinder([images]).missing_image_advice(ImageRef("flickr", n)) for n in "89"]
    assert advice[0].startswith("put it under")
    assert advice[1] == f"give {tmp_path} as the data root, which contains flickr8k/images"


def test_a_folder_that_may_not_be_listed_is_named_as_such(tmp_path, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(
        ZooError, match=r"cannot be listed \(Permission denied\): change its permissions"
    ):
        ImageFinder([tmp_path]).find(ImageRef("file", "a.png"))


def test_the_shared_images_are_found(shared_data):
    finder = ImageFinder([shared_data])
    names = sorted(p.name for p in (shared_data / "coco/val2017").iterdir())
    assert not finder.find_missing([coco_ref(name) for name in names])
    assert finder.load(coco_ref(names[0])).mode == "RGB"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("/data/mine/COCO_val2014_000000391895.jpg", "coco:391895"),
        ("copies/000000391895.jpg", "coco:391895"),
        ("coco:391895@0,0,4,4", "coco:391895"),
        ("file:/data/mine/000000391895.jpg", "coco:391895"),
        ("/data/flickr30k/images/1007129816.jpg", "flickr:1007129816"),
        ("/data/mine/1007129816_e794419615.jpg", "flickr:1007129816"),
        ("/data/visual_genome/VG_100K/2317429.jpg", "visual_genome:2317429"),
        (
            "/data/flickr_study/mine/first/1007129816.jpg",
            "file:/data/flickr_study/mine/first/1007129816.jpg",
        ),
        ("/data/mine/1007129816.jpg", "file:/data/mine/1007129816.jpg"),
        ("parquet:w.parquet#0#image_1", "parquet:w.parquet#0#image_1"),
    ],
)
def test_a_image_is_the_same_one_however_it_is_named(name, known):
    assert image_identity(infer_image_ref(name)) == known


def test_a_frame_that_was_saved_as_an_array_has_blue_first(tmp_path: Path) -> None:
    frame = np.zeros((6, 8, 3), np.uint8)
    frame[..., 0] = 200
    np.save(tmp_path / "a.npy", frame)
    np.save(tmp_path / "b.npy", frame.astype(np.float32))
    (tmp_path / "c.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:100])
    finder = ImageFinder([tmp_path])
    image = finder.load(ImageRef("published", "a.npy"))
    assert (image.size, image.mode, image.getpixel((0, 0))) == ((8, 6), "RGB", (0, 0, 200))
    for name in ("b.npy", "c.npy"):
        with pytest.raises(BrokenImage, match=rf"{name} .* is damaged or not an image"):
            finder.load(ImageRef("published", name))
