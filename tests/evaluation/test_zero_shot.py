"""Zero-shot classification in the engine, beside open_clip's own classifier."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from open_clip import build_zero_shot_classifier

import zoo
from tests.support.made import COLORS, SHAPES, draw
from tests.support.pretend_cuda import OperationCount
from zoo.api import Model
from zoo.backbones import Backbone
from zoo.batch import Encoded, TowerShapes
from zoo.benchmarks import ZeroShotFolder
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.evaluation.scoring import score_prompt_means
from zoo.heads import Cosine, CrossModal, Linear, MaxSim
from zoo.module import ZooModule
from zoo.results.plan import make_plan
from zoo.results.report import Results
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

NAMES = ("red things", "green things", "blue things", "yellow things", "grey things", "nothing")
TEMPLATES = ("a drawing of {}.", "{c}", "two shapes of {c}, one above the other", "{} everywhere")
ASKED = "zero_shot_folder:colours"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six classes of drawings: four colours, and two kinds of grey pictures."""
    root = tmp_path_factory.mktemp("zero_shot")
    for number, colour in enumerate((*COLORS, "grey", "black")):
        folder = root / "colours" / f"{number} {colour}"
        folder.mkdir(parents=True)
        for shape in SHAPES:
            for other in COLORS[:3]:
                draw(colour, shape, other, shape).save(folder / f"{shape} {other}.png")
    (root / "colours/classnames.txt").write_text("\n".join(NAMES) + "\n")
    (root / "colours/templates.txt").write_text("\n".join(TEMPLATES) + "\n")
    return root


@pytest.fixture(scope="module")
def module(root: Path) -> ZooModule:
    return telling_apart(root)


def telling_apart(root: Path) -> ZooModule:
    """A random model without what all images have in common, so that its predictions differ."""
    torch.manual_seed(0)
    module = ZooModule(Backbone("zoo-tiny"))
    vectors = Model(module).encode_images(images_of(root)[0])
    common = torch.from_numpy(np.linalg.svd(vectors)[2][:2]).float()
    with torch.no_grad():
        projection = module.backbone.model.visual.proj
        projection.sub_(projection @ common.T @ common)
    return module


def images_of(root: Path) -> tuple[list[Path], np.ndarray]:
    found = [
        (path, label)
        for label, folder in enumerate(
            sorted(p for p in (root / "colours").iterdir() if p.is_dir())
        )
        for path in sorted(folder.iterdir())
    ]
    return [path for path, _ in found], np.array([label for _, label in found])


@pytest.fixture(scope="module")
def out(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that results of the drawings are written to."""
    return tmp_path_factory.mktemp("run") / "out"


@pytest.fixture(scope="module")
def whole(root: Path, module: ZooModule, out: Path) -> Results:
    """The results of all drawings."""
    return zoo.evaluate(module, [ASKED], data_root=root, out=out)


@pytest.mark.usefixtures("whole")
def test_no_prediction_differs_from_open_clips_classifier(
    root: Path, module: ZooModule, out: Path
) -> None:
    backbone = module.eval().backbone
    templates = [template.replace("{c}", "{}") for template in TEMPLATES]
    classes = build_zero_shot_classifier(
        backbone.model, lambda texts: backbone.tokenizer(texts)[0], NAMES, templates
    )
    paths, labels = images_of(root)
    finder = ImageFinder([root])
    pictures = [finder.load(ImageRef("file", str(path))) for path in paths]
    with torch.no_grad():
        pixels = torch.stack([backbone.eval_transform(picture) for picture in pictures])
        logits = (backbone.model.encode_image(pixels, normalize=True) @ classes).numpy()
    rows = pq.read_table(out / "cases.parquet").to_pylist()
    found = {row["query"]: row for row in rows if row["metric"] == "acc@1"}
    assert [found[i]["images"] for i in range(len(paths))] == [[f"file:{path}"] for path in paths]
    predicted = logits.argmax(1)
    assert len(set(predicted)) > 1
    for i, row in found.items():
        assert row["right"] == (predicted[i] == labels[i])
        assert row["texts"][0] == NAMES[predicted[i]]
        assert row["scores"][0] / module.head.scale.item() == pytest.approx(
            logits[i].max(), abs=1e-5
        )
    order = (-logits).argsort(1)[:, :5]
    right = {row["query"]: row["right"] for row in rows if row["metric"] == "acc@5"}
    assert right == {i: labels[i] in order[i] for i in range(len(labels))}
    assert 0 < sum(right.values()) < len(right)
    written = json.loads((out / "results.json").read_text())["benchmarks"]
    said = written["zero_shot_folder"]["notes"]["colours prompts"]
    assert said == "class names of classnames.txt, 4 templates of templates.txt"


def test_each_prompt_and_image_is_encoded_once_whatever_the_number_of_cases(
    whole: Results,
) -> None:
    scoring = whole.header["scoring"]
    assert (scoring["images"], scoring["texts"]) == (54, len(NAMES) * len(TEMPLATES))
    assert {m.metric: m.n for m in whole.metrics} == {"acc@1": 54, "macro": 54, "acc@5": 54}


def test_prompts_are_summed_in_a_fixed_order_on_every_device(root: Path) -> None:
    """A GPU adds rows in any order in `index_add_`; sums of equal prompts could then differ."""
    torch.manual_seed(0)
    prompts = (("a", "b", "c"), ("d",), ("a", "b", "c"))
    match = np.array([[True, False, True]])
    case = Case(("x.png",), ("1", "2", "3"), match, "classify", "s", "1", prompts=prompts)
    texts = Encoded(torch.randn(4, 8))
    images = Encoded(torch.nn.functional.normalize(torch.randn(1, 8), dim=-1))
    question = SimpleNamespace(
        case=case, images=np.array([0]), texts=np.array([0, 1, 2, 3, 0, 1, 2]), all_texts=None
    )
    head = Cosine(scale=1.0, learn_scale=False)
    head.attach(TowerShapes(8, 0, 0, None, 0, 0, 1.0))
    with OperationCount() as count:
        scores = score_prompt_means(head, images, texts, cast(Any, question))
    assert not {"index_add_", "index_add", "scatter_add_"} & set(count.kernels)
    vectors = torch.nn.functional.normalize(texts.pooled, dim=-1)
    for column, rows in enumerate(([0, 1, 2], [3], [0, 1, 2])):
        mean = torch.nn.functional.normalize(sum(vectors[i] for i in rows) / len(rows), dim=0)
        assert scores[0, column] == pytest.approx(float(images.pooled[0] @ mean), abs=1e-6)
    assert scores[0, 0] == scores[0, 2]


def test_classes_of_the_same_prompts_tie_exactly(root: Path, tmp_path: Path) -> None:
    module = ZooModule(Backbone("zoo-tiny"))
    (tmp_path / "twins").mkdir()
    for folder in (root / "colours").iterdir():
        if folder.is_dir():
            (tmp_path / "twins" / folder.name).symlink_to(folder)
    (tmp_path / "twins/classnames.txt").write_text("missile\nmissile\n" + "other\n" * 4)
    results = zoo.evaluate(module, ["zero_shot_folder:twins"], data_root=tmp_path)
    first = [row for row in results.cases.to_pylist() if row["metric"] == "acc@1"]
    assert not any(row["right"] for row in first)
    best = [row for row in first if row["scores"][0] == row["scores"][1]]
    assert best
    assert all(row["tie"] for row in best)


def test_a_head_that_maps_texts_averages_the_vectors_that_it_compares(
    root: Path, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    module = ZooModule(Backbone("zoo-tiny"), head=Linear())
    torch.nn.init.normal_(module.head.text_map.weight)
    results = zoo.evaluate(module, ASKED, data_root=root)
    model = Model(module)
    paths, _ = images_of(root)
    images, weight = model.encode_images(paths), module.head.text_map.weight.detach().numpy()
    classes = []
    for name in NAMES:
        texts = [template.replace("{c}", "{}").replace("{}", name) for template in TEMPLATES]
        vectors = model.encode_texts(texts) @ weight.T
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        classes.append(vectors.mean(0) / np.linalg.norm(vectors.mean(0)))
    cosines = images @ np.array(classes).T
    rows = [row for row in results.cases.to_pylist() if row["metric"] == "acc@1"]
    assert [row["texts"][0] for row in rows] == [NAMES[k] for k in cosines.argmax(1)]


def test_heads_without_a_vector_of_a_whole_text_leave_it_out_or_are_refused(
    root: Path, made_root: Path
) -> None:
    pairs = f"pairs:{made_root / 'pairs.csv'}"
    for head in (MaxSim(), CrossModal(granularity="global", layers=1)):
        module, name = ZooModule(Backbone("zoo-tiny"), head=head), type(head).__name__
        with pytest.raises(ZooError, match=f"averages the vectors of prompts, and {name} has no"):
            zoo.evaluate(module, ASKED, data_root=root)
        results = zoo.evaluate(module, [ASKED, pairs], data_root=[root, made_root])
        values = {str(metric): (metric.n, metric.n_total) for metric in results.metrics}
        assert values["zero_shot_folder/colours/acc@1"] == (0, 54)
        note = results.header["benchmarks"]["zero_shot_folder"]["notes"]["whole texts"]
        assert note.startswith(f"not scored, since it averages the vectors of prompts, and {name}")
    with pytest.raises(ZooError, match="only scores images against texts: evaluate a model of zoo"):
        zoo.evaluate(lambda images, texts: np.zeros((len(images), len(texts))), ASKED, root)


def test_an_image_that_is_gone_is_counted_and_the_rest_scored(
    root: Path, module: ZooModule, whole: Results
) -> None:
    benchmark = ZeroShotFolder("colours")
    contents = benchmark.read(root)
    (case,) = contents.cases
    gone = case.images[3]

    class Without(ZeroShotFolder):
        def read(self, root: Path) -> Any:
            images = tuple(
                ImageRef("file", str(root / "gone.png")) if image == gone else image
                for image in case.images
            )
            return replace(contents, cases=[replace(case, images=images)])

    plan = make_plan([Without("colours")], [root], ImageFinder([root]))
    assert [len(question.case.images) for question in plan.cases] == [53]
    results = zoo.evaluate(module, Without("colours"), data_root=root)
    assert {
        m.metric: (m.n, m.n_total, m.images, m.images_total) for m in results.metrics
    } == dict.fromkeys(("acc@1", "macro", "acc@5"), (53, 54, 53, 54))
    assert not any(metric.partial_gallery for metric in results.metrics)
    answers = [
        {row["images"][0]: row["right"] for row in r.cases.to_pylist() if row["metric"] == "acc@1"}
        for r in (whole, results)
    ]
    both = answers[0].keys() & answers[1].keys()
    assert len(both) == 53
    assert all(answers[0][image] == answers[1][image] for image in both)
