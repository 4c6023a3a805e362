"""Presets as files of data: read, named, and told in a sentence what is wrong with them."""

import json
from functools import cache
from pathlib import Path

import pytest

from zoo.benchmarks import Benchmark
from zoo.cli import main
from zoo.errors import ZooError
from zoo.results.averages import Mean, Member, compute_available_averages
from zoo.results.metrics import Metric
from zoo.results.presets.preset import preset_of
from zoo.support.class_names import class_of, list_classes

FILE = """
description: the mean of two sets, ties wrong
ties: wrong
identical: dropped
means:
  - name: replace
    weighting: cases
    members: [sugarcrepe/replace_obj/i2t, sugarcrepe/replace_att/i2t]
  - name: all
    members:
      - replace
      - winoground/winoground/group
      - {name: order, members: [aro/COCO-Order/i2t, aro/Flickr30k-Order/i2t]}
      - theirs
not_measured: [theirs]
"""


def metric(place: str, value: float | None, n: int = 10) -> Metric:
    benchmark, subset, name = place.split("/")
    scored = 0 if value is None else n
    return Metric(benchmark, subset, name, value, value, value, "Wilson", scored, n, 0, n, n, 0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    return path


def test_a_file_says_what_counts_and_which_means_are_taken(file: Path) -> None:
    preset = preset_of(str(file))
    assert (preset.name, preset.description) == ("mine", "the mean of two sets, ties wrong")
    assert (preset.rules.official_ties, preset.rules.drop_identical) == (False, True)
    assert preset.rules.macro_average("aro", "VG-Attribution").min_cases == 25  # type: ignore[union-attr]
    replace = Mean(
        "replace",
        (Member("sugarcrepe", "replace_obj"), Member("sugarcrepe", "replace_att")),
        "cases",
    )
    order = Mean("order", (Member("aro", "COCO-Order"), Member("aro", "Flickr30k-Order")))
    both = (replace, Member("winoground", "winoground", "group"), order)
    assert preset.means == (replace, Mean("all", (*both, Member("theirs", unscorable=True))))


def test_the_same_in_json_is_the_same_preset(file: Path, tmp_path: Path) -> None:
    said = {"description": "x", "ties": "official", "identical": "kept", "name": "other"}
    means = [{"name": "swap", "members": ["sugarcrepe/swap_obj/i2t"]}]
    (tmp_path / "mine.json").write_text(json.dumps({**said, "means": means}))
    preset = preset_of(str(tmp_path / "mine.json"))
    assert preset.name == "other"
    assert preset.means == (Mean("swap", (Member("sugarcrepe", "swap_obj"),)),)


def test_a_file_counts_a_run_again(
    file: Path, tmp_path: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(FILE.replace("sugarcrepe/replace_obj/i2t", "pairs/colours/i2t"))
    measured = ["--model.backbone.name", "zoo-tiny", "--out", str(tmp_path / "out")]
    asked = ["--benchmarks", f"pairs:{made_root / 'pairs.csv'}", "--presets", f"strict,{file}"]
    assert main(["validate", *asked, *measured]) == 0
    assert "replace is not reported; missing: sugarcrepe/replace_att" in (
        " ".join(capsys.readouterr().out.split())
    )
    assert main(["rescore", str(tmp_path / "out"), "--preset", str(file)]) == 0
    assert "preset mine: the mean of two sets, ties wrong" in capsys.readouterr().out


WRONG = {
    "no such file": (None, "nowhere.yaml (No such file or directory). Check the path"),
    "no YAML": ("means: [", "is not valid YAML (while parsing"),
    "no record": ("- a", "the record is a list, but must be an object"),
    "no ties": (FILE.replace("ties: wrong", ""), "field 'ties' is missing"),
    "other ties": (FILE.replace("ties: wrong", "ties: sometimes"), "field 'ties' is wrong"),
    "unknown field": (FILE + "colour: red", "unknown field `colour`"),
    "a mean of nothing": (
        "description: x\nties: wrong\nidentical: kept\nmeans: [{name: a, members: []}]",
        "mean 'a' has no members",
    ),
    "a name misspelt": (
        FILE.replace("- replace\n", "- replac\n"),
        "member 'replac' of mean 'all' is not a metric (such as sugarcrepe/swap_obj/i2t), not an "
        "earlier mean (did you mean replace?) and not in `not_measured`",
    ),
    "no metric": (FILE.replace("winoground/group", "group"), "member 'winoground/group' of mean"),
    "twice": (FILE.replace("name: all", "name: replace"), "has two means named 'replace'"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_what_is_wrong_with_a_file_is_a_sentence(mistake: str, tmp_path: Path) -> None:
    text, said = WRONG[mistake]
    path = tmp_path / "nowhere.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ZooError) as told:
        preset_of(str(path))
    assert said in str(told.value)
    assert "nowhere.yaml" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_partial_mean_is_taken_of_what_is_there_and_says_what_it_lacks() -> None:
    members = tuple(Member("a", subset) for subset in ("x", "y", "z"))
    means = (Mean("whole", members), Mean("partial", members, partial=True))
    found = [metric("a/x/i2t", 30.0), metric("a/y/i2t", 60.0), metric("a/z/i2t", None)]
    whole, partial = compute_available_averages("p", means, found)
    assert (whole.value, whole.missing) == (None, ("a/z/i2t",))
    assert (partial.value, partial.missing, partial.n) == (45.0, ("a/z/i2t",), 20)


def test_a_mean_of_partial_means_lacks_what_they_lack() -> None:
    both = Mean("in", (Member("a", "x"), Member("a", "y")), partial=True)
    found = [metric("a/x/i2t", 30.0), metric("b/x/i2t", 50.0)]
    (average,) = compute_available_averages("p", [Mean("out", (both, Member("b", "x")))], found)
    assert (average.value, average.missing) == (40.0, ("a/y/i2t",))


def test_what_shipped_presets_name_is_there() -> None:
    """A subset that a benchmark does not know beforehand is not looked for."""
    for name, _, _ in list_classes("presets"):
        for mean in () if name == "file" else preset_of(name).means:
            for member in members(mean):
                offers = benchmark_offers(member.benchmark)
                assert member.subset == "*" or not offers or member.subset in offers, member


def members(mean: Mean) -> list[Member]:
    """The metrics that enter a mean, directly or over others."""
    inner = [members(one) if isinstance(one, Mean) else [one] for one in mean.members]
    return [one for some in inner for one in some if not one.unscorable]


@cache
def benchmark_offers(name: str) -> tuple[str, ...]:
    offers: tuple[str, ...] = class_of(name, "benchmarks", Benchmark).subset_names
    return offers


def test_presets_that_build_on_each_other_are_refused_in_a_sentence(tmp_path: Path) -> None:
    said = "description: x\nties: wrong\nidentical: kept\nbuilds_on: {}\n"
    for name, other in (("a", "b.yaml"), ("b", "a.yaml"), ("own", "own.yaml")):
        (tmp_path / f"{name}.yaml").write_text(said.format(other))
    with pytest.raises(
        ZooError, match=r"b\.yaml builds on 'a\.yaml', which itself builds on b\.yaml"
    ):
        preset_of(str(tmp_path / "a.yaml"))
    with pytest.raises(
        ZooError, match=r"own\.yaml builds on 'own\.yaml', which itself builds on own\.y"
    ):
        preset_of(str(tmp_path / "own.yaml"))
