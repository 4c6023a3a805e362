"""VLLM: units by an engine of vLLM within this process."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from zoo.errors import ZooError, import_optional
from zoo.support.ranges import PositiveInt
from zoo.units.llm.backend import Backend, QuestionFailed, Reply
from zoo.units.llm.extractor import LanguageModelExtractor
from zoo.units.llm.stages import Message, Stage


class VLLM(LanguageModelExtractor):
    """Asks an engine of vLLM, which loads the model on this machine.

    Args:
        model: The model's name on the Hugging Face hub, or its folder.
        concurrency: How many captions are asked about at a time, which is how many questions the
            engine works on together.
        max_model_len: The greatest length of question and answer, which the engine holds memory
            for.
        chat_template: What the model's chat template is given. By default it turns off the thinking
            of Qwen3.
        engine: Further arguments of vLLM's engine, such as `tensor_parallel_size`.
        **shared: The arguments of every extractor that asks a language model.
    """

    name: ClassVar[str] = "vllm"

    def __init__(
        self,
        model: str = "Qwen/Qwen3-8B-AWQ",
        concurrency: PositiveInt = 256,
        max_model_len: PositiveInt = 4096,
        chat_template: dict[str, Any] | None = None,
        engine: dict[str, Any] | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(model, concurrency=concurrency, **shared)
        self.max_model_len = max_model_len
        self.chat_template = {"enable_thinking": False} if chat_template is None else chat_template
        self.engine = engine or {}

    def settings(self) -> dict[str, Any]:
        """Returns model, prompts, temperature, lengths, seed and the engine's arguments."""
        return {
            "model": self.model,
            "prompts": self.prompts.digest,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "max_model_len": self.max_model_len,
            "seed": self.seed,
            "chat_template": self.chat_template,
            "engine": self.engine,
        }

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Backend]:
        """Yields an engine, which is shut down at the end.

        Raises:
            ZooError: vLLM is missing, or cannot load the model.
        """
        vllm: Any = import_optional("vllm", "vllm")
        from vllm.config import StructuredOutputsConfig

        arguments = {
            "model": self.model,
            "max_model_len": self.max_model_len,
            "max_num_seqs": self.concurrency,
            "enable_prefix_caching": True,
            # under `auto` a model may write blanks until its tokens are spent
            "structured_outputs_config": StructuredOutputsConfig(
                backend="xgrammar", disable_any_whitespace=True
            ),
            **self.engine,
        }
        try:
            made = vllm.AsyncLLMEngine.from_engine_args(vllm.AsyncEngineArgs(**arguments))
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise ZooError(
                f"vLLM cannot load {self.model} ({said}): name a model that fits this machine, or "
                "mend the arguments of the engine"
            ) from error
        try:
            yield _Engine(self, made)
        finally:
            made.shutdown()


class _Engine:
    """An engine of vLLM, which batches questions as they come."""

    def __init__(self, asked: VLLM, engine: Any) -> None:
        self.place = f"the model {asked.model} in vLLM"
        self._asked, self._engine = asked, engine
        self._tokenizer = engine.get_tokenizer()
        self._numbers = itertools.count()

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        from vllm.sampling_params import (
            RequestOutputKind,
            SamplingParams,
            StructuredOutputsParams,
        )

        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **self._asked.chat_template
        )
        parameters = SamplingParams(
            temperature=self._asked.temperature,
            max_tokens=self._asked.max_tokens,
            seed=seed,
            structured_outputs=StructuredOutputsParams(json=stage.schema),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        prompt = {"prompt_token_ids": self._tokenizer.encode(text, add_special_tokens=False)}
        last: Any = None
        try:
            async for output in self._engine.generate(
                prompt, parameters, request_id=str(next(self._numbers))
            ):
                last = output
        except ValueError as error:  # a question that is too long, a schema that it cannot hold to
            raise QuestionFailed(
                "refused", " ".join(str(error).split())[:300], again=False
            ) from error
        except RuntimeError as error:
            if self._engine.errored:
                raise ZooError(
                    f"{self.place} has ended ({error}): see what it logged, and run the same "
                    "command again"
                ) from error
            raise QuestionFailed("engine_error", str(error)) from error
        (completion,) = last.outputs
        return Reply(
            completion.text,
            completion.finish_reason == "length",
            len(last.prompt_token_ids),
            len(completion.token_ids),
        )
