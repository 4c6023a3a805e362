import csv
import json
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.cli import main
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.readers.negclip_tsv import NegClipTsv
from zoo.sources.sample import ImageRef
from zoo.support.configurable import to_config


def karpathy(path, *images, dataset="coco"):
    content = [
        {
            "filepath": "val2014",
            "filename": f"COCO_val2014_{cocoid:012d}.jpg",
            "cocoid": cocoid,
            "imgid": i,
            "split": split,
            "sentences": [
                {"raw": raw, "tokens": raw.split(), "imgid": i, "sentid": 10 * i + k}
                for k, raw in enumerate(captions)
            ],
        }
        for i, (cocoid, split, captions) in enumerate(images)
    ]
    path.write_text(json.dumps({"images": content, "dataset": dataset}, indent=1))
    return path


class TestKarpathy:
    def test_train_and_restval_are_read_by_default_in_file_order(self, tmp_path):
        file = karpathy(
            tmp_path / "k.json",
            (5, "restval", ["one ", "two"]),
            (6, "val", ["three"]),
            (7, "train", ["four"]),
        )
        samples = KarpathyJson(file).read()
        assert [(s.image, s.caption, s.caption_id, s.split) for s in samples] == [
            (ImageRef("coco", "5"), "one", "coco_0_0", "restval"),
            (ImageRef("coco", "5"), "two", "coco_0_1", "restval"),
            (ImageRef("coco", "7"), "four", "coco_2_20", "train"),
        ]
        assert samples[0].image_id == samples[1].image_id == "coco:5"

    def test_a_count_that_differs_from_the_published_one_is_logged(self, tmp_path, caplog):
        KarpathyJson(karpathy(tmp_path / "k.json", (5, "train", ["one"]))).read()
        assert "1 images in train + restval, but the published file has 113,287" in caplog.text

    def test_a_split_that_does_not_exist_is_refused_with_a_near_name(self, tmp_path):
        with pytest.raises(ZooError, match=r"'trian'.*did you mean train"):
            KarpathyJson(tmp_path / "k.json", ["trian"])

    def test_a_split_without_images_is_refused(self, tmp_path):
        with pytest.raises(ZooError, match=r"no images in split test: its splits are train"):
            KarpathyJson(karpathy(tmp_path / "k.json", (5, "train", ["one"])), ["test"]).read()

    def test_a_broken_line_is_named(self, tmp_path):
        file = karpathy(tmp_path / "k.json", *[(i, "train", ["a dog"]) for i in range(200)])
        lines = file.read_text().splitlines()
        lines[1733] = '  "raw" "a dog",'
        file.write_text("\n".join(lines))
        with pytest.raises(ZooError, match=r"k\.json:1734 is not JSON"):
            KarpathyJson(file).read()

    def test_an_empty_caption_is_named_by_its_entry(self, tmp_path):
        with pytest.raises(ZooError, match=r"k\.json\[images/1/sentences/0\] has an empty caption"):
            KarpathyJson(
                karpathy(tmp_path / "k.json", (5, "train", ["one"]), (6, "train", [" "]))
            ).read()

    def test_flickr_images_are_known_by_their_dataset(self, tmp_path):
        image = {
            "filename": "1007129816.jpg",
            "imgid": 0,
            "split": "train",
            "sentences": [{"raw": "a man", "sentid": 3}],
        }
        (tmp_path / "k.json").write_text(json.dumps({"images": [image], "dataset": "flickr30k"}))
        sample = KarpathyJson(tmp_path / "k.json", ["train"]).read()[0]
        assert (sample.image, sample.caption_id) == (
            ImageRef("flickr", "1007129816"),
            "flickr30k_0_3",
        )

    def test_the_shared_sample(self, shared_data):
        samples = KarpathyJson(
            shared_data / "coco/dataset_coco_sample.json", ["restval", "val", "test"]
        ).read()
        assert (len(samples), len({s.image for s in samples})) == (480, 96)
        assert not ImageFinder([shared_data]).find_missing(s.image for s in samples)


class TestCocoCaptions:
    def test_captions_are_joined_to_their_images(self, tmp_path):
        content = {
            "images": [{"id": 9, "file_name": "x.jpg"}],
            "annotations": [{"image_id": 9, "id": 77, "caption": "a cat\n"}],
        }
        (tmp_path / "c.json").write_text(json.dumps(content))
        (sample,) = CocoCaptions(tmp_path / "c.json").read()
        assert (sample.image, sample.caption, sample.caption_id) == (
            ImageRef("coco", "9"),
            "a cat",
            "77",
        )

    def test_a_caption_of_an_unknown_image_is_refused(self, tmp_path):
        (tmp_path / "c.json").write_text(
            json.dumps(
                {"images": [], "annotations": [{"image_id": 9, "id": 77, "caption": "a cat"}]}
            )
        )
        with pytest.raises(ZooError, match=r"annotations/0\] is a caption of image 9"):
            CocoCaptions(tmp_path / "c.json").read()

    def test_a_missing_field_and_a_wrong_kind_are_named(self, tmp_path):
        (tmp_path / "c.json").write_text(
            json.dumps({"images": [{"id": "nine"}], "annotations": []})
        )
        with pytest.raises(
            ZooError,
            match=r"images/0\]: field 'id' is a text, but must be a whole .* \(found 'nine'\)",
        ):
            CocoCaptions(tmp_path / "c.json").read()
        (tmp_path / "c.json").write_text("{}")
        with pytest.raises(ZooError, match="field 'images' is missing"):
            CocoCaptions(tmp_path / "c.json").read()

    def test_it_has_the_captions_of_the_karpathy_file(self, shared_data):
        ours = CocoCaptions(shared_data / "coco/annotations/captions_val2017.json").read()
        theirs = KarpathyJson(
            shared_data / "coco/dataset_coco_sample.json", ["restval", "val", "test"]
        ).read()
        assert {(s.image, s.caption) for s in ours} == {(s.image, s.caption) for s in theirs}


class TestFlickrToken:
    def test_only_the_split_is_read_and_the_misspelt_image_is_survived(self, tmp_path, caplog):
        (tmp_path / "t.txt").write_text(
            "1_aa.jpg#0\tA dog .\n2258277193_586949ec62.jpg.1#0\tpeople\n2_bb.jpg#0\ta cat\n"
            "1_aa.jpg#1\tit\n"
        )
        (tmp_path / "train.txt").write_text("1_aa.jpg\n")
        samples = FlickrToken(tmp_path / "t.txt", tmp_path / "train.txt").read()
        assert [(s.image.key, s.caption, s.caption_id, s.origin[-1]) for s in samples] == [
            ("1", "A dog .", "1_aa.jpg#0", "1"),
            ("1", "it", "1_aa.jpg#1", "4"),
        ]
        assert [s.image.key for s in FlickrToken(tmp_path / "t.txt").read()] == ["1", "2", "1"]
        assert "1 captions of a misspelt image" in caplog.text

    @pytest.mark.parametrize(
        "broken",
        [
            "7_aa.jpg#0 no tab",
            "7_aa.jpg\tno number",
            "\tx",
            "7_aa.jpg#0\t  ",
            "7.png#0\tx",
            "zz.jpg#0\tx",
        ],
    )
    def test_a_broken_line_is_named_by_its_number(self, tmp_path, broken):
        lines = [f"{i}_aa.jpg#0\ta dog" for i in range(2000)]
        lines[1733] = broken
        (tmp_path / "t.txt").write_text("\n".join(lines))
        with pytest.raises(ZooError, match=r"t\.txt:1734"):
            FlickrToken(tmp_path / "t.txt").read()

    def test_bytes_that_are_not_utf8_are_named_by_line(self, tmp_path):
        (tmp_path / "t.txt").write_bytes(b"1_aa.jpg#0\tcaf\xc3\xa9\n1_aa.jpg#1\tcaf\xe9\n")
        with pytest.raises(ZooError, match=r"t\.txt:2 is not UTF-8"):
            FlickrToken(tmp_path / "t.txt").read()

    def test_a_name_in_the_split_without_captions_is_refused(self, tmp_path):
        (tmp_path / "t.txt").write_text("1_aa.jpg#0\tA dog .\n")
        (tmp_path / "train.txt").write_text("1_aa.jpg\n9_zz.jpg\n")
        with pytest.raises(ZooError, match=r"train\.txt:2: image 9_zz\.jpg has no caption"):
            FlickrToken(tmp_path / "t.txt", tmp_path / "train.txt").read()

    def test_a_file_that_is_not_there_is_named(self, tmp_path):
        with pytest.raises(ZooError, match=r"t\.txt cannot be read \(No such file"):
            FlickrToken(tmp_path / "t.txt").read()

    def test_the_shared_training_images(self, shared_data):
        folder = shared_data / "flickr8k"
        samples = FlickrToken(
            folder / "Flickr8k.token.txt", folder / "Flickr_8k.trainImages.txt"
        ).read()
        assert (
            len(samples),
            len({s.image for s in samples}),
            len({s.caption_id for s in samples}),
        ) == (20_000, 4_000, 20_000)
        assert not ImageFinder([shared_data]).find_missing(s.image for s in samples)


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda t: t.strip()
)


class TestCsvTable:
    @given(
        rows=st.lists(st.tuples(texts, texts), min_size=1),
        separator=st.sampled_from(["\t", ",", ";"]),
    )
    def test_whatever_a_csv_writer_writes_is_read(self, tmp_path_factory, rows, separator):
        path = tmp_path_factory.mktemp("csv") / "x.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=separator).writerows(
                [("n", "title", "filepath"), *((0, c, f"a/{p}") for c, p in rows)]
            )
        samples = CsvTable(path, separator=separator).read()
        assert [s.caption for s in samples] == [c.strip() for c, _ in rows]
        assert [s.caption_id for s in samples] == [str(i) for i in range(len(rows))]

    def test_columns_can_be_named(self, tmp_path):
        (tmp_path / "x.csv").write_text(
            "\ufeffimage,text\nval2014/COCO_val2014_000000000009.jpg,a dog\n", encoding="utf-8"
        )
        (sample,) = CsvTable(tmp_path / "x.csv", "image", "text", ",").read()
        assert (sample.image, sample.caption, sample.origin) == (
            ImageRef("file", "val2014/COCO_val2014_000000000009.jpg"),
            "a dog",
            f"{tmp_path}/x.csv:2",
        )

    def test_a_table_of_pairs_is_read_as_it_is(self, tmp_path):
        (tmp_path / "x.csv").write_text("image,caption,foil\na.png,a dog,a cat\n")
        (sample,) = CsvTable(tmp_path / "x.csv").read()
        assert (sample.image.key, sample.caption) == ("a.png", "a dog")

    @pytest.mark.parametrize("twice", ["filepath\ttitle\ttitle", "filepath\ttitle\tfilepath"])
    def test_a_column_that_comes_twice_is_named(self, tmp_path, twice):
        (tmp_path / "x.csv").write_text(f"{twice}\na\tb\tc\n")
        name = twice.rpartition("\t")[2]
        with pytest.raises(ZooError, match=rf"x\.csv:1 has the column '{name}' 2 times"):
            CsvTable(tmp_path / "x.csv").read()

    def test_a_column_that_is_not_read_may_come_twice(self, tmp_path):
        (tmp_path / "x.csv").write_text("filepath\ttitle\tn\tn\na\tb\t0\t1\n")
        assert len(CsvTable(tmp_path / "x.csv").read()) == 1

    def test_an_unknown_column_gets_the_near_name(self, tmp_path):
        (tmp_path / "x.csv").write_text("filepath\ttitles\na\tb\n")
        with pytest.raises(
            ZooError, match=r"x\.csv:1 has no column 'title' \(did you mean titles\?\)"
        ):
            CsvTable(tmp_path / "x.csv").read()

    @pytest.mark.parametrize("broken", ["a.jpg", "a.jpg\tb\tc", "a.jpg\t ", "\ta dog"])
    def test_a_broken_line_is_named_by_its_number(self, tmp_path, broken):
        lines = ["filepath\ttitle", *["a.jpg\ta dog"] * 2000]
        lines[1733] = broken
        (tmp_path / "x.tsv").write_text("\n".join(lines))
        with pytest.raises(ZooError, match=r"x\.tsv:1734"):
            CsvTable(tmp_path / "x.tsv").read()

    def test_a_separator_of_two_characters_is_refused(self, tmp_path):
        (tmp_path / "x.tsv").write_text("filepath\ttitle\n")
        with pytest.raises(ZooError, match="not a single character"):
            CsvTable(tmp_path / "x.tsv", separator="\\t").read()


class TestNegClipTsv:
    def write(self, path, *rows):
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter="\t").writerows(
                [
                    ("", "title", "filepath", "neg_caption", "neg_image"),
                    *((i, *r) for i, r in enumerate(rows)),
                ]
            )
        return path

    def test_lists_are_parsed_and_rows_beyond_the_file_are_counted(self, tmp_path, caplog):
        coco = "coco/val2014/COCO_val2014_000000000009.jpg"
        file = self.write(
            tmp_path / "n.tsv",
            ("a\ndog", coco, "['dog a .', \"it's\"]", "[1, 7]"),
            ("a cat", coco, "[]", "[0]"),
        )
        first, second = NegClipTsv(file).read()
        assert (first.caption, first.negatives, first.companions, first.image) == (
            "a\ndog",
            ("dog a .", "it's"),
            (1,),
            ImageRef("coco", "9"),
        )
        assert (second.caption_id, second.negatives, second.companions) == ("1", (), (0,))
        assert "1 of 3 hard images" in caplog.text

    @pytest.mark.parametrize(
        ("negatives", "images"),
        [
            ("['a'", "[0]"),
            ("a dog", "[0]"),
            ("[1]", "[0]"),
            ("['a']", "['0']"),
            ("['a']", "[True]"),
            ("__import__('os')", "[0]"),
        ],
    )
    def test_a_broken_list_is_named_by_line_and_column(self, tmp_path, negatives, images):
        file = self.write(
            tmp_path / "n.tsv",
            ("a dog", "a.jpg", "['b']", "[0]"),
            ("a dog", "a.jpg", negatives, images),
        )
        with pytest.raises(ZooError, match=r"n\.tsv:3 has .* in column 'neg_(caption|image)'"):
            NegClipTsv(file).read()

    def test_the_shared_rows(self, shared_data, caplog):
        samples = NegClipTsv(shared_data / "neg_clip/valid_neg_clip.tsv").read()
        assert len(samples) == 2000
        assert all(1 <= len(s.negatives) <= 5 and s.image.source == "coco" for s in samples)
        assert samples[0].negatives[1] == "A child petting a flowered umbrella and holding a yak ."
        assert samples[0].companions == (1515,)
        assert "of 6000 hard images" in caplog.text


class TestJsonLines:
    def test_what_a_line_may_hold(self, tmp_path):
        lines = [
            {
                "image": "coco:9",
                "caption": "a dog",
                "negatives": ["dog a"],
                "companions": [1],
                "caption_id": "x",
                "split": "train",
            },
            {"image": "my/a.jpg", "caption": "a cat", "image_id": "cat"},
        ]
        (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n\n")
        first, second = JsonLines(tmp_path / "x.jsonl").read()
        assert (first.image, first.negatives, first.companions, first.caption_id, first.split) == (
            ImageRef("coco", "9"),
            ("dog a",),
            (1,),
            "x",
            "train",
        )
        assert (second.image, second.image_id, second.caption_id) == (
            ImageRef("file", "my/a.jpg"),
            "cat",
            "1",
        )

    @pytest.mark.parametrize(
        "broken",
        [
            "{",
            "[]",
            '{"image": "a.jpg"}',
            '{"image": "a.jpg", "caption": ""}',
            '{"image": "a.jpg", "caption": "x", "companions": [99999]}',
            '{"image": "a.jpg", "caption": "x", "negatives": [null]}',
            '{"image": 3, "caption": "x"}',
        ],
    )
    def test_a_broken_line_is_named_by_its_number(self, tmp_path, broken):
        lines = ['{"image": "a.jpg", "caption": "x"}'] * 2000
        lines[1733] = broken
        (tmp_path / "x.jsonl").write_text("\n".join(lines))
        with pytest.raises(ZooError, match=r"x\.jsonl:1734"):
            JsonLines(tmp_path / "x.jsonl").read()


def test_readers_can_be_named_in_a_checkpoint(tmp_path):
    assert to_config(KarpathyJson(tmp_path / "k.json"))["init_args"] == {
        "file": str(tmp_path / "k.json"),
        "splits": ["train", "restval"],
    }


@pytest.fixture(autouse=True)
def _hear_warnings(caplog):
    caplog.set_level(logging.INFO)


def test_a_file_that_a_list_of_readers_is_to_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "captions.txt"
    file.write_text("a dog\n")
    words = ["data", "pack", str(file), "--out", str(tmp_path / "out")]
    assert main([*words, "--reader", "Concatenation"]) == 1
    assert "Concatenation reads a list of readers" in capsys.readouterr().err
