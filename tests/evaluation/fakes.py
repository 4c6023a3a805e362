"""A backbone, a head and a benchmark that are small enough for many runs.

The backbone has pixel means and letter counts, the head reads tokens, and the benchmark is in
memory.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from zoo.batch import Encoded, TextBank, TokenKey, TowerShapes
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.evaluation.engine import Evaluation
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.needs import Needs
from zoo.results.report import Results
from zoo.sources.sample import ImageRef

KEY = TokenKey()
SHAPES = TowerShapes(
    width=8, image_width=8, text_width=8, patches=4, prefix=0, context=24, scale=10.0
)


class FakeBackbone(nn.Module):
    """Counts what it encodes. Both sides depend on the whole item, so that a wrong row shows."""

    shapes = SHAPES

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.image = nn.Linear(12, 8)
        self.text = nn.Embedding(128, 8)
        self.images_seen, self.texts_seen = 0, 0

    def eval_transform(self, picture: Image.Image) -> Tensor:
        pixels = np.asarray(picture.resize((8, 8)), dtype=np.float32) / 255
        return torch.from_numpy(pixels).permute(2, 0, 1)

    def tokenizer(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        ids = torch.zeros(len(texts), SHAPES.context, dtype=torch.long)
        for i, text in enumerate(texts):
            ids[i, : len(text)] = torch.tensor(
                [ord(letter) % 128 for letter in text[: SHAPES.context]]
            )
        return ids, torch.tensor([len(text) for text in texts]), torch.arange(len(texts))

    def trimmed_lengths(self, lengths: Tensor) -> Tensor:
        return torch.full_like(lengths, SHAPES.context)

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        self.images_seen += len(images)
        quarters = images.reshape(len(images), 3, 2, 4, 2, 4).mean((3, 5)).flatten(1)
        pooled = self.image(quarters)
        tokens = torch.stack([pooled * (k + 1) for k in range(4)], dim=1)
        return Encoded(
            pooled,
            dict.fromkeys(keys, tokens),
            {key: torch.ones(len(images), 4, dtype=torch.bool) for key in keys},
        )

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        self.texts_seen += len(bank)
        position = torch.arange(1, SHAPES.context + 1)
        tokens = self.text(bank.ids) * position[:, None]
        mask = position[None] <= bank.lengths[:, None]
        pooled = (tokens * mask[..., None]).sum(1) / bank.lengths[:, None]
        return Encoded(pooled, dict.fromkeys(keys, tokens), dict.fromkeys(keys, mask))


class TokenHead(Head):
    """The mean over tokens of both sides, by cosine.

    What it says equals `Cosine` on means of tokens.
    """

    @property
    def needs(self) -> Needs:
        return Needs(image_keys=frozenset({KEY}), text_keys=frozenset({KEY}))

    def prepare_images(self, images: Encoded) -> Encoded:
        return images

    def prepare_texts(self, texts: Encoded) -> Encoded:
        return texts

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        return self.logits(torch.cosine_similarity(_mean(images)[i], _mean(texts)[j], dim=-1))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        raise AssertionError("a head that reads tokens scores named pairs alone")


def _mean(items: Encoded) -> Tensor:
    mask = items.masks[KEY][..., None]
    return (items.tokens[KEY] * mask).sum(1) / mask.sum(1)


class InMemory(Benchmark):
    """The cases that it is given."""

    name = "in_memory"

    def __init__(self, cases: list[Case] | None = None, name: str = "in_memory") -> None:
        self.cases = cases or []
        self.name = name  # type: ignore[misc]
        self._parts = tuple(
            Subset(s, (f"{name}/{s}.json",), None, f"fetch {s}")
            for s in dict.fromkeys(c.subset for c in self.cases)
        )

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return self._parts

    def read(self, root: Path) -> Contents:
        return Contents(list(self.cases), [], [], {})

    def inferred_arguments(self) -> dict[str, object]:
        return {"cases": [case.id for case in self.cases]}


def drawn_images(folder: Path, n: int) -> list[ImageRef]:
    """Writes n pictures of noise and returns their references."""
    generator = np.random.default_rng(7)
    (folder / "pictures").mkdir(exist_ok=True)
    for i in range(n):
        Image.fromarray(generator.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(
            folder / "pictures" / f"{i}.png"
        )
    return [ImageRef("file", f"pictures/{i}.png") for i in range(n)]


def words(generator: np.random.Generator) -> str:
    return "".join(
        chr(97 + letter) for letter in generator.integers(0, 26, int(generator.integers(3, 20)))
    )


def cases(images: list[ImageRef], seed: int = 0, retrieval: bool = True) -> list[Case]:
    """Cases of every protocol over the images; texts come again in other cases."""
    generator = np.random.default_rng(seed)
    texts = [words(generator) for _ in range(2 * len(images))]

    def some(n: int) -> tuple[str, ...]:
        return tuple(texts[i] for i in generator.choice(len(texts), n, replace=False))

    made = []
    for i, image in enumerate(images):
        made.append(
            Case(
                (image,),
                some(2),
                np.array([[True, False]]),
                "i2t",
                "pairs",
                str(i),
                group=f"g{i % 3}",
            )
        )
        made.append(
            Case((image,), some(3), np.array([[True, False, True]]), "half_truth", "halves", str(i))
        )
        two = (image, images[(i + 1) % len(images)])
        made.append(Case(two, some(2), np.eye(2, dtype=bool), "group", "groups", str(i)))
        made.append(Case(two, some(1), np.array([[True], [False]]), "t2i", "choices", str(i)))
    if retrieval:
        match = np.repeat(np.eye(len(images), dtype=bool), 2, axis=1)
        made.append(Case(tuple(images), tuple(texts), match, "retrieval", "gallery", "all"))
    return made


def measured(evaluation: Evaluation, backbone: FakeBackbone, head: Head) -> Results:
    """Runs the engine as Lightning would."""
    head.attach(SHAPES)
    evaluation.start(backbone, head, {})  # type: ignore[arg-type]
    for loader in evaluation.build_loaders(backbone, head):  # type: ignore[arg-type]
        for portion in loader:
            evaluation.step(backbone, head, portion)  # type: ignore[arg-type]
    return evaluation.finish(backbone, head, {"name": "fake"})  # type: ignore[arg-type]


class ByHand:
    """The same model as a plain object with `score`, one case at a time."""

    def __init__(self, backbone: FakeBackbone, head: Head) -> None:
        self.backbone, self.head = backbone, head
        head.attach(SHAPES)

    @torch.no_grad()
    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        ids, lengths, hashes = self.backbone.tokenizer(texts)
        pixels = torch.stack([self.backbone.eval_transform(image) for image in images])
        pictures = self.head.prepare_images(
            self.backbone.encode_images(pixels, self.head.needs.image_keys)
        )
        sentences = self.head.prepare_texts(
            self.backbone.encode_texts(TextBank(ids, lengths, hashes), self.head.needs.text_keys)
        )
        i, j = torch.meshgrid(torch.arange(len(images)), torch.arange(len(texts)), indexing="ij")
        return (
            self.head.pairs(pictures, sentences, i.reshape(-1), j.reshape(-1))
            .reshape(len(images), len(texts))
            .numpy()
        )


def evaluation(root: Path, made: list[Case], **settings: object) -> Evaluation:
    return Evaluation(
        [InMemory(made)], str(root), image_batch=3, text_batch=5, workers=0, **settings
    )  # type: ignore[arg-type]


def cosine() -> Head:
    return Cosine()


def recalled(
    cosines: np.ndarray, scores: np.ndarray, right: np.ndarray, k: int, depth: int
) -> bool:
    """One query, written out: its k nearest by cosine, ordered by score.

    A right answer before place `depth`, ties against it.
    """
    candidates = sorted(range(len(cosines)), key=lambda c: -cosines[c])[:k]
    best = max((scores[c] for c in candidates if right[c]), default=None)
    if best is None:
        return False
    return sum(1 for c in candidates if not right[c] and scores[c] >= best) < depth
