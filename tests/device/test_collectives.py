"""How many messages the ranks of a step exchange, forward, backward and logging together."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import zoo.heads
import zoo.objectives
from tests.support.parallel import SMALL, group, on_ranks
from tests.test_chunks import batch
from zoo.backbones.backbone import Backbone
from zoo.module import ZooModule
from zoo.module.step_numbers import compute_step_metrics, stack_metrics
from zoo.objectives.base import loss_of
from zoo.support.distributed import mean_over_ranks

COLLECTIVES = (
    "all_reduce",
    "all_gather_single",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_to_all_single",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "broadcast",
)


def _count_collectives(rank: int, folder: str, objective: str, head: str) -> None:
    with group(rank, 2, Path(folder)):
        torch.manual_seed(0)
        module = ZooModule(
            Backbone("zoo-tiny"),
            getattr(zoo.objectives, objective)(),
            getattr(zoo.heads, head)(**SMALL.get(head, {})),
        )
        rows = batch(module.backbone)
        rows = replace(rows, images=rows.images.float())  # type: ignore[union-attr]
        names: list[str] = []

        def count(name: str, collective: Any) -> Any:
            def counted(*args: Any, **kwargs: Any) -> Any:
                names.append(name)
                return collective(*args, **kwargs)

            return counted

        with pytest.MonkeyPatch.context() as patch:
            for name in COLLECTIVES:
                if hasattr(dist, name):
                    patch.setattr(dist, name, count(name, getattr(dist, name)))
            encoded, scores = module.score(rows)
            loss = loss_of(module.objective, encoded, scores)
            metrics = compute_step_metrics("train", rows, scores, loss)
            mean_over_ranks(stack_metrics(metrics, loss))
            loss.total.backward()  # type: ignore[no-untyped-call]
            n_training = len(names)
            patch.setattr(module, "log", lambda *_, **__: None)
            with torch.no_grad():
                module.validation_step(rows, 0)
        Path(folder, f"count{rank}").write_text(f"{n_training} {len(names) - n_training}")


@pytest.mark.parametrize(
    ("objective", "head", "training", "validation"),
    [
        # one of facts, one of texts there and back, three of scores there and back, three of
        # metrics: counts, deduplicated texts, means. A validation has no way back and no
        # deduplicated texts, however many metrics it logs
        ("CSCLIP", "Cosine", 12, 7),
        # and for texts: their longest, tokens and masks
        ("CSCLIP", "MaxSim", 15, 10),
        ("CLIP", "Cosine", 8, 5),
    ],
)
def test_a_step_exchanges_few_messages(
    objective: str, head: str, training: int, validation: int, tmp_path: Path
) -> None:
    on_ranks(2, _count_collectives, str(tmp_path), objective, head)
    for rank in range(2):
        assert (tmp_path / f"count{rank}").read_text() == f"{training} {validation}"
