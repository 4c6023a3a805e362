"""Presets: those of others, by path, with arguments, and told what they lack."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from zoo.benchmarks import Case, Outcome, Protocol, Query
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError
from zoo.results import Mean, Member, Preset, Rules
from zoo.results.metrics import compute_metrics
from zoo.results.outcomes import outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

HERE = "tests.results.test_presets"


class Swapped(Preset):
    """A preset with an argument."""

    name = "swapped"
    description = "swapped subsets alone"
    means = (Mean("swap", (Member("sugarcrepe", "swap_obj"),)),)

    def __init__(self, ties: bool = False) -> None:
        self.rules = Rules(official_ties=ties, drop_identical=False)


class Ruleless(Preset):
    name = "ruleless"
    description = "nothing"


class Nameless(Swapped):
    name = None  # type: ignore[assignment]


class Demanding(Swapped):
    def __init__(self, ties: bool) -> None:
        super().__init__(ties)


class Hopeful(Protocol):
    """Calls everything right, by a chance of a quarter."""

    name = "hopeful"

    def queries(self, match: np.ndarray) -> list[Query]:
        return [Query("hope", 0, match[0], (0,), (0, 1))]

    def judge(self, match: np.ndarray, scores: np.ndarray) -> list[Outcome]:
        return [query.to_outcome(scores[0], True, False) for query in self.queries(match)]

    def chance(
        self, metric: str, options: np.ndarray, right_options: np.ndarray
    ) -> np.ndarray | None:
        return options / 8


def test_a_preset_is_named_by_its_path_or_given() -> None:
    named = preset_of(f"{HERE}.Swapped")
    assert (named.name, named.rules.official_ties, named.rules.macros) == ("swapped", False, {})
    given = Swapped(ties=True)
    assert preset_of(given) is given
    assert preset_of("Official").name == preset_of("official").name == "official"


def test_a_recipe_gives_a_preset_its_arguments(tmp_path: Path) -> None:
    asked = {"class_path": f"{HERE}.Swapped", "init_args": {"ties": True}}
    arguments = {"benchmarks": ["winoground"], "presets": ["strict", asked]}
    (tmp_path / "measured.yaml").write_text(
        yaml.safe_dump(
            {
                "model": {"backbone": {"name": "zoo-tiny"}},
                "data": {"class_path": "EvaluationDataModule", "init_args": arguments},
            }
        )
    )
    settings = parse_settings(["validate", "--config", str(tmp_path / "measured.yaml")])
    named, given = settings.data.init_args.presets
    assert (named, given.class_path, given.init_args.ties) == ("strict", asked["class_path"], True)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            f"{HERE}.Ruleless",
            "preset Ruleless has no attribute `rules` of type Rules. A preset requires na",
        ),
        (f"{HERE}.Nameless", "preset Nameless has no attribute `name` of type str"),
        (f"{HERE}.Demanding", "cannot be created .*Give its arguments in YAML"),
        (f"{HERE}.Hopeful", "is not a subclass of Preset"),
        (f"{HERE}.Swaped", "did you mean Swapped"),
    ],
)
def test_what_is_no_preset_is_told_so_in_a_sentence(named: str, told: str) -> None:
    with pytest.raises(ZooError, match=told) as caught:
        preset_of(named)
    assert "\n" not in str(caught.value)


def outcomes(protocol: Protocol | str) -> list[object]:
    match, scores = np.array([[True, False]]), np.array([[0.5, 0.5]], np.float32)
    case = Case((ImageRef("file", "x.png"),), ("a", "b"), match, protocol, "all", "1")
    return list(outcome_rows(BenchmarkRun("theirs"), case, case.judge(scores), frozenset()))


def test_the_chance_of_a_metric_is_what_its_protocol_says() -> None:
    cases = outcome_table(outcomes(Hopeful()))  # type: ignore[arg-type]
    assert cases["protocol"].to_pylist() == [f"{HERE}.Hopeful"]
    (found,) = compute_metrics(cases, Rules(official_ties=False, drop_identical=True), {})
    assert (found.metric, found.value, found.chance) == ("hope", 100.0, 25.0)
    assert found.gallery_size is None


def test_a_protocol_without_a_name_is_told_so() -> None:
    methods = {name: vars(Hopeful)[name] for name in ("queries", "judge", "chance")}
    unnamed = type("Unnamed", (Protocol,), methods)()
    with pytest.raises(
        ZooError, match=r"^Unnamed does not define name, which every Protocol needs: add it"
    ):
        outcomes(unnamed)


def test_cases_of_a_protocol_that_is_gone_are_told_so() -> None:
    cases = outcome_table(outcomes(Hopeful()))  # type: ignore[arg-type]
    gone = cases.set_column(
        cases.column_names.index("protocol"), "protocol", [["no_such_lab.Hopeful"]]
    )
    with pytest.raises(
        ZooError, match=r"cannot import the protocol that judged the cases .*no_such_lab"
    ):
        compute_metrics(gone, Rules(official_ties=False, drop_identical=False), {})


@pytest.mark.parametrize("command", ["fit", "validate"])
def test_classes_on_the_command_line_take_arguments_behind_them(command: str) -> None:
    settings = parse_settings(
        [
            *(command, "--model.backbone.name", "zoo-tiny"),
            *(("--config", "clip.yaml") if command == "fit" else ()),
            *("--presets", "strict", "--presets", f"{HERE}.Swapped", "--presets.ties", "true"),
            *("--benchmarks", "pairs,aro", "--benchmarks", "pairs", "--benchmarks.file=b.csv"),
            *("--benchmarks.subsets", "[x, y]", "--benchmarks", "sugarcrepe:swap_obj,winoground"),
            *("--data_root", "DATA_ROOT", "--out", "measured"),
        ]
    )
    asked = settings.data.init_args
    if command == "fit":
        assert asked.evaluation.class_path == "zoo.evaluation.Evaluation"
        asked = asked.evaluation.init_args
    first, aro, pairs, *rest = asked.benchmarks
    assert (first, aro, rest) == ("pairs", "aro", ["sugarcrepe:swap_obj", "winoground"])
    assert pairs.class_path == "zoo.benchmarks.Pairs"
    assert (pairs.init_args.file, pairs.init_args.subsets) == ("b.csv", ["x", "y"])
    strict, swapped = asked.presets
    assert (strict, swapped.class_path, swapped.init_args.ties) == (
        "strict",
        f"{HERE}.Swapped",
        True,
    )
    assert (asked.data_root, asked.out) == (["DATA_ROOT"], "measured")


def test_an_argument_behind_a_name_with_a_colon_is_refused_with_the_way_to_write_it() -> None:
    given = ["validate", "--benchmarks", "pairs:a.csv", "--benchmarks.separator", ";"]
    with pytest.raises(ZooError, match=r"as in --benchmarks pairs --benchmarks.separator VALUE"):
        parse_settings(given)


def test_an_argument_before_the_class_that_takes_it_is_told_so() -> None:
    given = ["validate", "--benchmarks.file", "a.csv", "--benchmarks", "pairs"]
    with pytest.raises(ZooError, match=r"write --benchmarks NAME --benchmarks.file a.csv$"):
        parse_settings(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            ["pairs", "--benchmarks.fil", "x.csv"],
            "zoo: data.benchmarks: zoo.benchmarks.Pairs takes",
        ),
        (
            ["pairz", "--benchmarks.file", "x.csv"],
            "zoo: there is no benchmark 'pairz' (did you mean pairs",
        ),
    ],
)
def test_an_argument_that_a_class_does_not_take_is_told_of_that_class(
    given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["validate", "--model.backbone.name", "zoo-tiny", "--benchmarks", *given])
    except SystemExit as stop:
        status = stop.code
    assert status in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert said.count("\n") == 1
