"""What VLLM asks of vLLM's engine, seen by a stand-in with the engine's names."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest

from tests.support.fake_model import answer_to
from zoo.errors import ZooError
from zoo.units.llm.vllm_engine import VLLM


class Engine:
    """Answers as the fake model does, and remembers what it was given."""

    made: ClassVar[list[Any]] = []
    fault: Exception | None = None

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments, self.asked = arguments, list[Any]()
        self.open, self.errored = True, False
        self.most = self.now = 0
        Engine.made.append(self)

    @classmethod
    def from_engine_args(cls, arguments: SimpleNamespace) -> "Engine":
        if arguments.model == "absent":
            raise OSError("absent is not a local folder\nand no model of the hub")
        return cls(vars(arguments))

    def get_tokenizer(self) -> "Engine":
        return self

    def apply_chat_template(self, messages: list[dict[str, str]], **given: Any) -> str:
        self.template, self.messages = given, messages
        return messages[1]["content"]

    def encode(self, text: str, add_special_tokens: bool) -> list[str]:
        assert not add_special_tokens  # the template has them
        return [text]

    async def generate(
        self, prompt: dict[str, Any], parameters: SimpleNamespace, request_id: str
    ) -> AsyncIterator[SimpleNamespace]:
        if self.fault:
            raise self.fault
        self.asked.append((request_id, parameters))
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        (text,) = prompt["prompt_token_ids"]
        schema = parameters.structured_outputs.json["properties"]
        stage = "units" if "entities" in schema else "entity_foils"
        stage = stage if "Subject:" not in text else "relation_foils"
        body = {
            "messages": [{}, {"content": text}],
            "response_format": {"json_schema": {"name": stage}},
        }
        said = SimpleNamespace(text=answer_to(body), finish_reason="stop", token_ids=[1, 2])
        yield SimpleNamespace(outputs=[said], prompt_token_ids=[1, 2, 3])

    def shutdown(self) -> None:
        self.open = False


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Engine, "made", [])
    modules = {
        "vllm": {"AsyncLLMEngine": Engine, "AsyncEngineArgs": SimpleNamespace},
        "vllm.config": {"StructuredOutputsConfig": SimpleNamespace},
        "vllm.sampling_params": {
            "RequestOutputKind": SimpleNamespace(FINAL_ONLY="final"),
            "SamplingParams": SimpleNamespace,
            "StructuredOutputsParams": SimpleNamespace,
        },
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


CAPTIONS = [(f"A dog and a cat near the house {i}", str(i), str(i)) for i in range(30)]


def test_an_engine_is_made_once_asked_many_questions_at_a_time_and_shut_down(
    tmp_path: Path,
) -> None:
    arguments: dict[str, Any] = {
        "concurrency": 8,
        "temperature": 0.5,
        "max_tokens": 99,
        "engine": {"dtype": "float32"},
        "journal": str(tmp_path / "journal"),
    }
    made = VLLM("tiny", **arguments)
    records = list(made.extract_all(CAPTIONS))
    assert all(record.entities and record.entities[0].foils for record in records)
    (engine,) = Engine.made
    assert not engine.open
    assert engine.most == 8
    assert engine.arguments["model"] == "tiny"
    assert engine.arguments["max_num_seqs"] == 8
    assert engine.arguments["dtype"] == "float32"
    assert vars(engine.arguments["structured_outputs_config"]) == {
        "backend": "xgrammar",
        "disable_any_whitespace": True,
    }
    assert engine.template["enable_thinking"] is False
    ids, parameters = zip(*engine.asked, strict=True)
    assert len(set(ids)) == len(ids)
    assert {(p.temperature, p.max_tokens, p.output_kind) for p in parameters} == {
        (0.5, 99, "final")
    }
    assert len({p.seed for p in parameters}) == len(CAPTIONS)
    assert list(VLLM("tiny", **arguments).extract_all(CAPTIONS)) == records
    assert len(Engine.made) == 1  # all is in the journal
    assert records[0].source["engine"] == {"dtype": "float32"}


def test_an_engine_that_is_kept_open_is_made_once_for_many_calls_and_shut_down_at_the_end() -> None:
    made = VLLM("tiny")
    alone = [list(VLLM("tiny").extract_all(CAPTIONS[:10])), list(made.extract_all(CAPTIONS[10:]))]
    assert len(Engine.made) == 2
    with made.keep_open():
        assert len(Engine.made) == 2  # nothing was asked yet
        kept = [list(made.extract_all(CAPTIONS[:10])), list(made.extract_all(CAPTIONS[10:]))]
        assert len(Engine.made) == 3
        assert Engine.made[2].open
    assert kept == alone
    assert not Engine.made[2].open
    list(made.extract_all(CAPTIONS[:1]))
    assert len(Engine.made) == 4
    assert not Engine.made[3].open


def test_a_model_that_cannot_be_loaded_is_told_in_a_sentence() -> None:
    with pytest.raises(ZooError, match=r"vLLM cannot load absent .absent is not a local folder"):
        VLLM("absent").extract(*CAPTIONS[0])


def test_an_engine_that_refuses_or_dies_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Engine, "fault", ValueError("the grammar has unknown words"))
    with pytest.raises(ZooError, match=r"tiny in vLLM answered none of .*refused: the grammar has"):
        VLLM("tiny").extract(*CAPTIONS[0])
    monkeypatch.setattr(Engine, "fault", RuntimeError("core has died"))
    monkeypatch.setattr(Engine, "errored", True, raising=False)
    monkeypatch.setattr(Engine, "__init__", lambda self, arguments: None)
    with pytest.raises(ZooError, match=r"tiny in vLLM has ended .core has died"):
        VLLM("tiny").extract(*CAPTIONS[0])


def test_a_missing_package_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ZooError, match=r"vllm is not installed: pip install 'clip-zoo\[vllm\]'"):
        VLLM("tiny").extract(*CAPTIONS[0])
