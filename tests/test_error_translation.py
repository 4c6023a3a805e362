"""What jsonargparse, Lightning and torch say of a mistake, in one sentence.

Defects keep their traceback.
"""

import pytest
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException

from zoo.error_translation import shorten_message, to_user_error
from zoo.errors import ZooError
from zoo.training.trainer import ZooTrainer


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            'Parser key "trainer.max_epochs":\n'
            "  Does not validate against any of the Union subtypes\n"
            "  Subtypes: [<class 'int'>, <class 'NoneType'>]\n  Errors:\n"
            "    - Expected a <class 'int'>\n    - Expected a <class 'NoneType'>\n"
            "  Given value type: <class 'str'>\n  Given value: many",
            "trainer.max_epochs: Expected int. Got value: many",
        ),
        (
            'Parser key "data":\n  Does not validate against any of the Union subtypes\n'
            "  Subtypes: [<class 'a.B'>]\n  Errors:\n"
            "    - Problem with given class_path 'zoo.objectives.cs_clip.CSCLIP':\n"
            "        Option 'lamda_u' is not accepted\n    - Expected a <class 'bool'>\n"
            "  Given value: {}",
            "data: zoo.objectives.cs_clip.CSCLIP takes no 'lamda_u' (did you mean lambda_u?)",
        ),
        (
            'Parser key "data": Problem with given class_path '
            "'zoo.datamodules.CaptionDataModule': the following arguments are required: "
            "image_roots",
            "data: zoo.datamodules.CaptionDataModule: the following arguments are required: "
            "image_roots: give them, or begin with a recipe, such as --config clip.yaml "
            "(`zoo ls configs` lists them)",
        ),
        (
            "the following arguments are required: fit.model.backbone, fit.data",
            "model.backbone and data are not given: begin with a recipe, such as --config "
            "clip.yaml (`zoo ls configs` lists them)",
        ),
        (
            "the following arguments are required: validate.data",
            "data is not given: name --benchmarks, and --ckpt_path or --model",
        ),
        (
            'Parser key "model.objective":\n  Errors:\n'
            "    - Not a valid subclass of Objective\n      Subclass types expect one of:\n"
            "      - a class path (str)\n  Given value: 3",
            "model.objective: Not a valid subclass of Objective (`zoo ls objectives` lists some)",
        ),
        (
            'Parser key "model.head":\n  Expected an instantiatable class, but is abstract\n'
            "  Given value type: <class 'str'>\n  Given value: zoo.heads.Head",
            "model.head: zoo.heads.Head does not define block, pairs, prepare_images, "
            "prepare_texts: implement the abstract methods of Head",
        ),
        (
            "unrecognized arguments: --max_epochs 3",
            "unrecognized arguments: --max_epochs 3 (did you mean trainer.max_epochs",
        ),
        (
            "Expected a dot import path string: CSCLIP",
            "there is no class CSCLIP (it is zoo.objectives.CSCLIP)",
        ),
        (
            "Parser key \"data\":\n  Problem with given class_path 'a.B':\n"
            "    Parser key \"units\":\n      Problem with given class_path 'c.D':\n"
            '        Parser key "p_rel":\n'
            "          Not of type ClosedUnitInterval: "
            "2 does not conform to restriction v>=0 and v<=1",
            "data.units.p_rel: 2 is not a number from 0 to 1",
        ),
        (
            "Parser key \"data\":\n  Problem with given class_path 'a.B':\n"
            '    Parser key "batch_size":\n'
            "      Not of type PositiveInt: invalid literal for int() with base 10: 'four'\n"
            "  Given value: {'init_args': {'batch_size': 'four'}}",
            "data.batch_size: four is not a whole number from 1 up",
        ),
        (
            'Parser key "model.objective":\n  Errors:\n'
            "    - Import path does not correspond to a subclass of Objective\n"
            "  Given value: zoo.heads.cosine.Cosine",
            "model.objective: zoo.heads.cosine.Cosine does not correspond to a subclass of "
            "Objective (`zoo ls objectives`",
        ),
        (
            "data.train: zoo.data.readers.KarpathyJson: No zoo.data attribute readers",
            "attribute readers (did you mean KarpathyJson?)",
        ),
        (
            "model.head: lab.heads.Max: No module named 'lab'",
            "No module named 'lab' (did you mean MaxSim?)",
        ),
        ("unrecognized arguments: --quux", "--quux: `--help` lists the arguments"),
    ],
)
def test_a_message_of_many_lines_becomes_a_sentence(message: str, said: str) -> None:
    assert said in shorten_message(message)
    assert "\n" not in shorten_message(message)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


def test_the_sentence_inside_another_exception_is_found() -> None:
    inner = ZooError("the sentence")
    assert (
        to_user_error(raised(ValueError("wrapped"), raised(RuntimeError("again"), inner))) is inner
    )


def test_defects_are_none() -> None:
    assert to_user_error(raised(ValueError("of this file"))) is None
    assert to_user_error(ValueError("never raised")) is None


def test_what_lightning_refuses_is_a_setting() -> None:
    found = to_user_error(raised(MisconfigurationException("no such thing")))
    assert found is not None
    assert "no such thing" in str(found)
    with pytest.raises(ValueError, match="gppu") as refused:
        ZooTrainer(accelerator="gppu", logger=False, enable_checkpointing=False)
    assert (
        "Lightning rejects the settings: "
        "You selected an invalid accelerator name: `accelerator='gppu'`"
        in str(to_user_error(refused.value))
    )


def test_an_optimiser_of_other_parameters_says_what_to_set() -> None:
    def adam(*shapes: int) -> torch.optim.Optimizer:
        return torch.optim.AdamW([torch.nn.Parameter(torch.zeros(n)) for n in shapes])

    with pytest.raises(ValueError, match="parameter group") as refused:
        adam(1).load_state_dict(adam(1, 2).state_dict())
    assert "model.backbone.tuning" in str(to_user_error(refused.value))


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."),
            "model.backbone.compute.chunk",
        ),
        (RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed. "), "data.workers"),
    ],
)
def test_too_little_memory_says_what_to_lower(error: Exception, names: str) -> None:
    assert names in str(to_user_error(raised(error)))


def test_long_reasons_are_cut() -> None:
    assert len(str(to_user_error(raised(MisconfigurationException("x " * 2000))))) < 600
