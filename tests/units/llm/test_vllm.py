"""VLLM on vLLM's real engine, and its own server, with random weights: nonsense in the right form.

An environment of its own has vLLM: `make test-vllm` makes it and runs this file.
"""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from zoo.units.llm.answers import parse_answer
from zoo.units.llm.backend import QuestionFailed, Reply
from zoo.units.llm.openai_compatible import OpenAICompatible
from zoo.units.llm.stages import STAGES, StagePrompts
from zoo.units.llm.vllm_engine import VLLM

pytestmark = pytest.mark.vllm

CAPTIONS = [
    (f"Two dogs chase a red ball {i} times round a tree", f"{i}#0", str(i)) for i in range(300)
]
ENGINE = {
    "dtype": "float32",
    "enforce_eager": True,
    "gpu_memory_utilization": 0.15,  # by default nearly all memory of the machine has to be free
    # a seeded request whose prompt is read in parts ends the engine on a CPU, whose generators
    # have no offset to go back by
    "enable_chunked_prefill": False,
    "max_num_batched_tokens": 32_768,
}
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</s>{% endfor %}<assistant>"
RUN = """
import json, sys
from zoo.units.llm.vllm_engine import VLLM
from zoo.units.reader import write_units

if __name__ == "__main__":  # the engine starts a process that imports this file
    arguments, captions, out = map(json.loads, sys.argv[1:])
    write_units(VLLM(**arguments).extract_all(map(tuple, captions)), out)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers with random weights, and a tokenizer of bytes and frequent pieces."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    texts = [
        m["content"]
        for s in STAGES
        for m in StagePrompts().messages(s, dict.fromkeys(s.fields, ""))
    ]
    pieces.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, eos_token="</s>", pad_token="</s>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def arguments(model: Path, **more: Any) -> dict[str, Any]:
    given = {"model": str(model), "max_model_len": 8192, "max_tokens": 4000, "temperature": 1.0}
    return {**given, "concurrency": 64, "engine": ENGINE, **more}


@pytest.fixture
def server(model: Path, tmp_path: Path) -> Iterator[str]:
    """The address of vLLM's own server of that model, under the name "tiny"."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = {
        "model": model,
        "served-model-name": "tiny",
        "host": "127.0.0.1",
        "port": port,
        "max-model-len": 8192,
        "dtype": ENGINE["dtype"],
        "gpu-memory-utilization": ENGINE["gpu_memory_utilization"],
        "max-num-batched-tokens": ENGINE["max_num_batched_tokens"],
    }
    words = [word for name, value in flags.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *words]
    with (tmp_path / "server.log").open("w") as log:
        started = subprocess.Popen(
            [*command, "--enforce-eager", "--no-enable-chunked-prefill"],
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while not _answers(f"http://127.0.0.1:{port}/health"):
            assert started.poll() is None, (tmp_path / "server.log").read_text()[-3000:]
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGTERM)
        started.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def test_vllms_own_server_is_asked_as_any_other(server: str, tmp_path: Path) -> None:
    said = tmp_path / "asked.journal"
    asked = OpenAICompatible(
        "tiny", server, max_tokens=4000, temperature=1.0, concurrency=16, journal=str(said)
    )
    records = list(asked.extract_all(iter(CAPTIONS[:40])))
    assert [record.caption_id for record in records] == [c for _, c, _ in CAPTIONS[:40]]
    rows = [json.loads(line) for line in said.read_text().splitlines()[1:]]
    first = [row for row in rows if row["stage"] == STAGES[0].name]
    assert len(first) == 40
    # a random model's answers have the form that the schema asks for, or run on until they are cut
    errors = [row["error"] for row in rows if row.get("error")]
    print(f"{len(rows)} questions, {len(errors)} without an answer: {sorted(set(errors))[:3]}")
    assert len(rows) - len(errors) > 20


def test_answers_of_each_stage_have_the_form_that_was_asked_for(model: Path) -> None:
    made = VLLM(**arguments(model))

    async def asked() -> list[tuple[Any, list[Reply]]]:
        async with made.connect() as backend:
            found = []
            for stage in STAGES:
                fields = dict.fromkeys(stage.fields, "two dogs")
                messages = made.prompts.messages(stage, fields)
                replies = [backend.ask(stage, messages, seed) for seed in range(40)]
                found.append((stage, list(await asyncio.gather(*replies))))
            return found

    for stage, replies in asyncio.run(asked()):
        outcomes = []
        for reply in replies:
            try:
                parse_answer(reply, stage)
                outcomes.append("answer")
            except QuestionFailed as failed:
                # the engine counts a letter cut in its middle once, which decodes to several signs
                long = re.match(r"\w+ has 12\d characters", failed.detail)
                outcomes.append("too_long" if long else failed.reason)
        print(stage.name, {name: outcomes.count(name) for name in set(outcomes)})
        assert set(outcomes) <= {"answer", "cut_short", "too_long"}
        assert outcomes.count("answer") > 20
        # half of random foils are none at all
        assert len({reply.text for reply in replies}) > 10, "the seeds' answers are alike"
        assert all(reply.tokens_in and reply.tokens_out for reply in replies)


def test_hundreds_of_captions_killed_on_the_way_are_those_of_a_run_that_goes_through(
    model: Path, tmp_path: Path
) -> None:
    (tmp_path / "run.py").write_text(RUN)

    def command(name: str) -> list[str]:
        given = arguments(model, journal=str(tmp_path / f"{name}.journal"))
        out = str(tmp_path / f"{name}.jsonl")
        words = [json.dumps(word) for word in (given, CAPTIONS, out)]
        return [sys.executable, str(tmp_path / "run.py"), *words]

    journal = tmp_path / "killed.journal"
    run = subprocess.Popen(command("killed"), start_new_session=True)
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 100):
        assert run.poll() is None, "the run has ended before it was killed"
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    before = journal.read_bytes()
    before = before[: before.rindex(b"\n") + 1]
    subprocess.run(command("killed"), check=True)
    after = journal.read_bytes()
    assert after.startswith(before)
    rows = [json.loads(line) for line in after.splitlines()[1:]]
    asked = [(row["caption"], row["stage"], row["unit"]) for row in rows]
    assert len(asked) == len(set(asked)), "a question was asked twice"
    assert len({caption for caption, _, _ in asked}) == len(CAPTIONS)
    records = [json.loads(line) for line in (tmp_path / "killed.jsonl").open()]
    assert [record["caption_id"] for record in records] == [c for _, c, _ in CAPTIONS]
