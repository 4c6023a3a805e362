"""A step of linear towers, a head and an objective.

It is taken on one process with a joined batch, or on each rank with its part of it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

import zoo.heads
import zoo.objectives
from tests.support.helpers import (
    CONTEXT,
    SHAPES,
    Case,
    attached,
    random_case,
    random_pooled,
    random_tokens,
)
from tests.support.t5 import WORDS
from zoo.batch import Encoded, TextBank, TokenKey, concatenate
from zoo.heads.base import Head
from zoo.objectives.base import Objective
from zoo.scores import Scores
from zoo.support import distributed as gather

SMALL = {
    "CrossModal": {"width": 8, "ffn": 16, "layers": 2, "attention_heads": 2, "chunk": 5},
    "TextConditionedPooling": {"attention_heads": 2},
}
VARIANTS = {"CrossModal": [{"granularity": "local"}, {"granularity": "global"}]}


ALWAYS = {"CLIP", "CSCLIP", "FSCCLIP", "NegCLIP", "SigLIP"}


def on_ranks(ranks: int, work: Callable[..., None], *arguments: Any) -> None:
    """Calls `work(rank, *arguments)` in a process of its own for each rank.

    Raises when one fails.
    """
    mp.start_processes(work, arguments, nprocs=ranks, start_method="forkserver")


@contextmanager
def group(rank: int, ranks: int, folder: Path) -> Iterator[None]:
    """Makes this process a rank of a group that meets in a folder.

    It leaves the group when all have done their part.
    """
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks
    )
    yield
    dist.barrier()
    gather.leave_group()


def shipped(package: ModuleType, base: type) -> list[type]:
    """Returns the concrete subclasses of `base` in the modules of a package."""
    modules = [
        importlib.import_module(f"{package.__name__}.{m.name}")
        for m in pkgutil.iter_modules(package.__path__)
    ]
    found = {
        v
        for m in modules
        for v in vars(m).values()
        if isinstance(v, type) and issubclass(v, base) and v.__module__ == m.__name__
    }
    return sorted(
        (cls for cls in found if not cls.__abstractmethods__), key=lambda cls: cls.__name__
    )


def with_heads(
    heads: Sequence[tuple[type[Head], dict[str, Any]]],
    once: Collection[str] | None = None,
    always: Collection[str] = ALWAYS,
) -> list[Any]:
    """Returns every shipped objective with every one of some heads and its settings.

    Objectives of `always` meet every head in every run. The terms of the others go through the same
    few methods of Scores: those named in `once`, or all of them, meet one head in every run, and
    all heads in a slow one.
    """

    def quick(name: str, place: int) -> bool:
        return name in always or (not place % len(heads) and (once is None or name in once))

    return [
        pytest.param(
            objective,
            *head,
            marks=[] if quick(objective.__name__, i + j) else [pytest.mark.slow],
            id=f"{objective.__name__}-{head[0].__name__}{j}",
        )
        for i, objective in enumerate(shipped(zoo.objectives, Objective))
        for j, head in enumerate(heads)
    ]


def heads() -> dict[str, Head]:
    """Returns every shipped head, small, with a bias so that sigmoid losses take it."""
    built = {}
    for cls in shipped(zoo.heads, Head):
        for i, variant in enumerate(VARIANTS.get(cls.__name__, [{}])):
            built[f"{cls.__name__}{i}"] = attached(
                cls(bias=-1.0, **SMALL.get(cls.__name__, {}), **variant)
            ).eval()  # without dropout
    return built


def objectives() -> dict[str, Objective]:
    """Returns every shipped objective by name."""
    return {cls.__name__: cls() for cls in shipped(zoo.objectives, Objective)}


class Tower(nn.Module):
    """Maps raw vectors and tokens by one linear layer each."""

    def __init__(self, keys: frozenset[TokenKey], pooled: bool, width: int) -> None:
        super().__init__()
        self.keys = sorted(keys)
        self.pooled = nn.Linear(SHAPES.width, SHAPES.width) if pooled else None
        self.tokens = nn.ModuleList(
            nn.Linear(w, w) for w in (SHAPES.width if k.project else width for k in self.keys)
        )

    def forward(self, raw: Encoded) -> Encoded:
        tokens = {
            key: layer(raw.tokens[key]) for key, layer in zip(self.keys, self.tokens, strict=True)
        }
        return Encoded(
            self.pooled(raw.pooled) if self.pooled else raw.pooled,
            tokens,
            {key: raw.masks[key] for key in self.keys},
        )


class Step(nn.Module):
    """Towers, head and objective, false negatives masked or not; forward gives the loss."""

    def __init__(self, head: Head, objective: Objective, masked: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        needs, also = objective.needs, head.needs
        pooled = also.pooled or needs.pooled
        objective.attach(SHAPES, head, trains=True)
        self.image_tower = Tower(
            also.image_keys | needs.image_keys, pooled, SHAPES.image_width
        ).double()
        self.text_tower = Tower(
            also.text_keys | needs.text_keys, pooled or needs.pooled_texts, SHAPES.text_width
        ).double()
        self.head, self.objective, self.masked = head, objective.double(), masked

    def forward(self, part: "Part") -> Tensor:
        batch = part.case.batch(
            self.image_tower(part.images), self.text_tower(part.texts), part.hashes
        )
        words = (" ".join(WORDS[h % len(WORDS) :][: 1 + h % 4]) for h in part.hashes.tolist())
        batch = replace(batch, raw_texts=tuple(words)).with_teacher(part.images, part.texts)
        scores = Scores(self.head, batch, self.masked, self.masked)
        return self.objective(batch, scores).total


@dataclass
class Part:
    """One rank's case, with raw features and hashes of its bank."""

    case: Case
    images: Encoded
    texts: Encoded
    hashes: Tensor


def part(rank: int, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey]) -> Part:
    """Returns a rank's part of the batch.

    Rank 1 has no negative, no second positive and unit, shorter texts and two rows of filling;
    rank 0 has none of these, rank 2 has one row and rank 3 neither row nor text. So on with the
    four that follow.
    """
    kind = rank % 4
    case = random_case(rank, rows=5, filling=min(2 * kind, 5))
    if kind == 1:
        case.negatives.fill_(-1)
        case.units[:, 1] = case.foils[:, 1] = case.positives[:, 1] = -1
        case.n_texts -= 2
        for rows in (case.captions, case.positives, case.units, case.foils):
            rows.clamp_(max=case.n_texts - 1)
    if kind == 3:
        case.n_texts = 0
    images, texts = (
        Encoded(random_pooled(rank, 10).detach()),
        Encoded(random_pooled(rank + 10, case.n_texts).detach()),
    )
    for key in sorted(image_keys):
        tokens, images.masks[key] = random_tokens(rank, 10, key, image=True)
        images.tokens[key] = tokens.detach()
    for key in sorted(text_keys):
        tokens, mask = random_tokens(rank + 10, case.n_texts, key, image=False)
        length = CONTEXT - kind
        texts.tokens[key], texts.masks[key] = tokens.detach()[:, :length], mask[:, :length]
    return Part(case, images, texts, torch.arange(case.n_texts) + 4 * rank)


def joined(parts: list[Part]) -> Part:
    """Returns the parts as one batch."""
    offsets = [sum(p.case.n_texts for p in parts[:i]) for i in range(len(parts))]

    def rows(name: str) -> Tensor:
        values = [getattr(p.case, name) for p in parts]
        return torch.cat(
            [v.where(v < 0, v + offset) for v, offset in zip(values, offsets, strict=True)]
        )

    total = sum(len(p.case.captions) for p in parts)
    behind = [total + sum(len(p.case.captions) for p in parts[:i]) for i in range(len(parts))]
    names = ("captions", "negatives", "units", "foils")
    case = Case(
        *(rows(n) for n in names),
        torch.cat([p.case.image_ids for p in parts]),
        sum(p.case.n_texts for p in parts),
    )
    case.bank = TextBank(
        *(
            torch.cat([getattr(p.case.bank, name)[: p.case.n_texts] for p in parts])
            for name in ("ids", "lengths", "hashes")
        )
    )
    case.positives = rows("positives")
    case.negative_images = torch.cat(
        [
            pointers.where(pointers < 0, pointers - len(pointers) + start)
            for start, pointers in zip(behind, (p.case.negative_images for p in parts), strict=True)
        ]
    )
    halves = [p.images.map(lambda t, k=k: t.chunk(2)[k]) for k in (0, 1) for p in parts]
    images, texts = concatenate(halves), concatenate([p.texts for p in parts])
    return Part(case, images, texts, torch.cat([p.hashes for p in parts]))


def parts_for(step: Step, ranks: int) -> list[Part]:
    return [
        part(r, frozenset(step.image_tower.keys), frozenset(step.text_tower.keys))
        for r in range(ranks)
    ]


def share_of(parts: list[Part], rank: int, ranks: int) -> Part:
    """Returns what a rank has of the parts, where each has as many of them."""
    n = len(parts) // ranks
    return parts[rank] if n == 1 else joined(parts[n * rank : n * (rank + 1)])


def gradients(step: nn.Module, given: Part) -> dict[str, Tensor]:
    """Returns the loss, the gradient of every trained parameter, and what is remembered."""
    loss = step(given)
    loss.backward()
    named = {
        n.removeprefix("module."): p.grad for n, p in step.named_parameters() if p.requires_grad
    }
    remembered = {n.removeprefix("module."): b.clone() for n, b in step.named_buffers()}
    given_back = {n: g for n, g in named.items() if g is not None}
    return {"loss": loss.detach()} | given_back | remembered
