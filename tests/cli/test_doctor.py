import json
import re
import shlex

import numpy as np
import pytest
import torch

from tests.support.file_server import serve_files
from tests.support.shards import write_shards
from zoo import cli
from zoo.batch import Encoded
from zoo.benchmarks.retrieval import Retrieval
from zoo.benchmarks.roots import read_benchmark
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.cli.doctor import examine_benchmark, main
from zoo.downloads.files import listed_files
from zoo.embeddings.shards import CachedShards
from zoo.errors import ZooError
from zoo.evaluation.embedding_cache import EmbeddingCache
from zoo.sources.images import ImageFinder
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.sample_cache import cached_samples
from zoo.sources.tar_index import find_or_build_tar_index


def sugarcrepe(root, subset, *numbers):
    (root / "sugarcrepe").mkdir(parents=True, exist_ok=True)
    cases = {
        str(i): {"filename": f"{n:012}.jpg", "caption": "a", "negative_caption": "b"}
        for i, n in enumerate(numbers)
    }
    (root / "sugarcrepe" / f"{subset}.json").write_text(json.dumps(cases))


@pytest.fixture
def roots(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    sugarcrepe(first, "add_obj", 1, 1, 2)
    sugarcrepe(second, "add_obj", 5)
    sugarcrepe(second, "swap_obj", 6)
    (second / "val2017").mkdir()
    (second / "val2017" / "000000000001.jpg").write_bytes(b"")
    return [first, second]


def test_a_part_is_read_from_the_first_root_that_has_it(roots):
    reading = read_benchmark(SugarCrepe(), roots)
    assert [(case.subset, case.images[0].key) for case in reading.cases] == [
        (s, k) for s, k in zip(["add_obj"] * 3 + ["swap_obj"], "1126", strict=True)
    ]
    assert len(reading.missing_subsets) == 5


def test_findings_count_cases_and_images(roots):
    findings = {f.subset: f for f in examine_benchmark(SugarCrepe(), roots, ImageFinder(roots))}
    found = findings["add_obj"]
    assert (
        found.case_count,
        found.scorable,
        found.published_count,
        len(found.images),
        len(found.found_images),
    ) == (
        3,
        2,
        2062,
        2,
        1,
    )
    assert findings["swap_att"].case_count == 0
    assert findings["swap_att"].download_hint == ("`zoo data get sugarcrepe --data_root DATA_ROOT`")


def test_a_gallery_counts_the_captions_whose_image_is_there(tmp_path):
    (tmp_path / "aro").mkdir()
    records = [{"image": f"COCO_val2014_{n:012}.jpg", "caption": ["a"] * n} for n in (1, 2)]
    (tmp_path / "aro" / "coco_karpathy_test.json").write_text(json.dumps(records))
    (tmp_path / f"{2:012}.jpg").write_bytes(b"")
    (finding,) = examine_benchmark(Retrieval("coco_karpathy"), [tmp_path], ImageFinder([tmp_path]))
    assert (finding.case_count, finding.scorable, len(finding.found_images)) == (3, 2, 1)


def test_the_page_says_what_is_there_and_how_to_get_the_rest(roots, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["--data_root", *map(str, roots), "--benchmarks", "sugarcrepe,winoground"]) == 0
    page = capsys.readouterr().out
    assert "3 of 2,062" in page
    assert "accept the licence" in page
    command = f"`zoo data get sugarcrepe --data_root {roots[0]}`"
    assert f"coco: 2; {command}, or put it under a data root in" in page


def test_a_broken_file_does_not_hide_the_rest(roots, capsys):
    (roots[0] / "sugarcrepe" / "add_obj.json").write_text("{")
    assert main(["--data_root", str(roots[0]), "--benchmarks", "sugarcrepe,winoground"]) == 1
    page = capsys.readouterr().out
    assert "add_obj.json:1 is not JSON" in page
    assert "winoground" in page


def test_images_that_come_with_a_benchmark_are_got_as_its_files_are(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    row = {"id": 0, "caption_0": "a b", "caption_1": "b a", "image_0": "x", "image_1": "y"}
    (tmp_path / "winoground").mkdir()
    (tmp_path / "winoground" / "examples.jsonl").write_text(json.dumps(row))
    assert main(["--data_root", str(tmp_path), "--benchmarks", "winoground"]) == 0
    page = capsys.readouterr().out
    assert "winoground: 2, such as winoground/images/x.png; accept the licence" in page


def test_the_table_has_what_is_there_and_a_line_names_whole_benchmarks_and_some_subsets(
    roots, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "30")
    assert main(["--data_root", *map(str, roots), "--benchmarks", "sugarcrepe,bivlc"]) == 0
    table, absent = capsys.readouterr().out.split("missing annotations")
    assert table.splitlines()[1].split() == [
        "sugarcrepe",
        "add_obj",
        *["3", "of", "2,062", "2", "2", "1"],
    ]
    assert "bivlc" not in table
    assert absent.splitlines()[1].strip() == (
        "sugarcrepe (5 of 7 subsets: add_att, replace_att, replace_obj, ...), bivlc: "
        f"`zoo data get sugarcrepe,bivlc --data_root {roots[0]}`"
    )


@pytest.mark.slow
def test_the_command_that_is_printed_fetches_what_is_missing(
    shared_data, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    root = tmp_path / "my root"
    root.mkdir()
    served = {
        file.url.partition("://")[2]: (shared_data / file.path).read_bytes()
        for file in listed_files()["sugarcrepe"]
    } | {
        f"s3.amazonaws.com/images.cocodataset.org/val2017/{path.name}": path.read_bytes()
        for path in (shared_data / "coco" / "val2017").glob("*.jpg")
    }
    asked = ["--data_root", str(root), "--benchmarks", "sugarcrepe"]
    with serve_files(served) as server:
        for missing in ("missing annotations", "missing images"):
            assert main(asked) == 0
            page = capsys.readouterr().out
            command = re.search(rf"{missing}[^`]*`zoo ([^`]+)`", page)[1]
            cli.main([*shlex.split(command), "--mirror", server.url])
            capsys.readouterr()
    assert main(asked) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    # 481 of the cases have their photographs, as the documentation of the shared data counts them
    scorable = [int(row[3]) for row in rows if row[:1] == ["sugarcrepe"] and len(row) == 6]
    assert sum(scorable) == 481


def test_vectors_that_are_kept_are_shown_and_dropped_when_asked(tmp_path, monkeypatch, capsys):
    asked = ["--data_root", str(tmp_path), "--benchmarks", "sugarcrepe"]
    place = str(tmp_path / "kept")

    def shown(*more):
        main([*asked, *more])
        lines = capsys.readouterr().out.splitlines()
        return lines[lines.index("cached embeddings:") + 1].strip()

    assert shown() == "none, since ZOO_EMBEDDINGS is off"
    monkeypatch.setenv("ZOO_EMBEDDINGS", place)
    assert shown() == f"none, in {place}"
    vectors = Encoded(torch.zeros(200, 512))
    CachedShards(EmbeddingCache().store, "model").write([str(i) for i in range(200)], vectors)
    line = f"200, 0.4 MiB, in {place} (--empty_cache deletes them)"
    assert shown() == shown("--cache", place) == line
    assert shown("--empty_cache") == f"none, in {place}"
    (tmp_path / "kept" / "model").mkdir()
    (tmp_path / "kept" / "model" / "other.safetensors").write_text("no embeddings " * 99)
    assert "was damaged" in shown()


def test_compiled_tables_are_shown_and_dropped_when_asked(tmp_path, monkeypatch, capsys):
    place = tmp_path / "tables"
    monkeypatch.setenv("ZOO_TABLES", str(place))
    monkeypatch.setenv("ZOO_TABLES_GIB", "5")

    def shown(*more):
        main(["--data_root", str(tmp_path), "--benchmarks", "sugarcrepe", *more])
        return capsys.readouterr().out.splitlines()[-1].strip()

    assert shown() == f"none, in {place}"
    (tmp_path / "captions.csv").write_text("image,caption\na.jpg,a dog\n")
    cached_samples(CsvTable(tmp_path / "captions.csv"))
    line = rf"1, 0.0 MiB of at most 5 GiB \(\$ZOO_TABLES_GIB\), in {place} \(--empty_tables deletes"
    assert re.match(line, shown())
    assert shown("--empty_tables") == f"none, in {place}"


def test_sets_of_training_images_that_are_kept_are_listed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ZOO_EMBEDDINGS", "off")
    (tmp_path / "kept" / "set").mkdir(parents=True)
    asked = ["--data_root", str(tmp_path), "--benchmarks", "winoground"]
    assert main([*asked, "--image_cache", str(tmp_path / "kept")]) == 0
    assert f"none, in {tmp_path}/kept" in capsys.readouterr().out
    (tmp_path / "kept" / "set" / "pixels.bin").write_bytes(bytes(3 << 20))
    np.save(tmp_path / "kept" / "set" / "index.npy", np.ones((7, 3), np.int64))
    main([*asked, "--image_cache", str(tmp_path / "kept")])
    assert f"7, 3.0 MiB, in {tmp_path}/kept/set" in capsys.readouterr().out
    with pytest.raises(ZooError, match="nowhere is not a folder: give the folder of"):
        main([*asked, "--image_cache", "nowhere"])


def test_the_page_says_where_derived_files_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "cache" / "zoo"

    def shown():
        assert main(["--data_root", str(tmp_path), "--benchmarks", "winoground"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "  in the folder that data.image_cache names (--image_cache DIR lists them)" in lines
        start = lines.index("files derived from data, in folders that may be deleted:")
        return lines[start + 1 : lines.index("", start)]

    assert shown() == [f"  none, in {place}"]
    find_or_build_tar_index(str(write_shards(tmp_path / "shards") / "00000.tar"))
    (place / "colorfoil").mkdir()
    (place / "colorfoil" / "foils.jsonl").write_bytes(bytes(3 << 20))
    assert shown() == [
        f"  foils of ColorFoil: 3.0 MiB, in {place}/colorfoil",
        f"  indices of tars: 0.0 MiB, in {place}/tar_indices",
    ]


def test_what_is_missing_is_an_error_where_it_is_required(roots, tmp_path, capsys):
    empty = ["--data_root", str(tmp_path), "--benchmarks", "sugarcrepe"]
    assert main(empty) == 0
    for asked in (empty, ["--data_root", *map(str, roots), "--benchmarks", "sugarcrepe"]):
        with pytest.raises(ZooError, match="files or images of sugarcrepe are missing"):
            main([*asked, "--require"])
    assert "missing annotations" in capsys.readouterr().out


def test_what_is_required_and_there_is_no_error(tmp_path):
    for subset in SugarCrepe.published:
        sugarcrepe(tmp_path, subset.name, 1)
    (tmp_path / "val2017").mkdir()
    (tmp_path / "val2017" / "000000000001.jpg").write_bytes(b"")
    assert main(["--data_root", str(tmp_path), "--benchmarks", "sugarcrepe", "--require"]) == 0


def test_the_command_names_only_those_subsets_that_are_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    root = str(tmp_path)
    assert main(["--data_root", root, "--benchmarks", "aro,sugarcrepe"]) == 0
    assert f"`zoo data get aro,sugarcrepe --data_root {root}`" in capsys.readouterr().out
    (tmp_path / "aro").mkdir()
    records = [{"image": f"COCO_val2014_{1:012}.jpg", "caption": ["a dog"]}]
    (tmp_path / "aro" / "coco_karpathy_test.json").write_text(json.dumps(records))
    assert main(["--data_root", root, "--benchmarks", "aro,winoground"]) == 0
    page = capsys.readouterr().out
    names = "aro:VG-Relation:VG-Attribution:Flickr30k-Order"
    assert f"`zoo data get {names} --data_root {root}`" in page
    assert f"`hf auth login`, then `zoo data get winoground --data_root {root}`" in page
