"""What an objective remembers is part of the module's state."""

from dataclasses import replace

import pytest
import torch

from tests.test_chunks import batch
from zoo.backbones.backbone import Backbone
from zoo.module import ZooModule
from zoo.objectives.base import Objective
from zoo.objectives.ce_clip import CECLIP
from zoo.objectives.super_clip import SuperCLIP

# captions of the step before: some score above their negatives, and their tokens are not as common
FIRST = {CECLIP: (3, 4, 0), SuperCLIP: (0, 1, 3)}


def built(objective: type[Objective]) -> ZooModule:
    torch.manual_seed(0)
    return ZooModule(Backbone("zoo-tiny"), objective()).double()


@torch.no_grad()
def step(module: ZooModule, captions: tuple[int, ...] = (0, 2, 4)) -> float:
    texts = torch.tensor(captions)
    rows = replace(batch(module.backbone), captions=texts, negatives=texts.flip(0)[:, None])
    encoded, scores = module.score(rows)
    return float(module.objective(encoded, scores).total)


@pytest.mark.parametrize("objective", [CECLIP, SuperCLIP])
def test_a_loaded_module_goes_on_from_what_was_remembered(objective: type[Objective]) -> None:
    module, other = built(objective), built(objective)
    step(module, captions=FIRST[objective])
    other.load_state_dict(module.state_dict())
    remembered = step(module)
    assert step(other) == remembered
    assert step(built(objective)) != remembered
