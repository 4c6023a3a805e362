"""VLLM: units from a vLLM engine in this process."""

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
    """Prompts a language model that vLLM loads on this machine.

    Args:
        model: The model's name on the Hugging Face hub, or its folder.
        concurrency: The number of captions processed at a time. vLLM batches at most this number of
            requests.
        max_model_len: The maximum number of tokens of a prompt and its answer together. vLLM
            reserves memory for them.
        chat_template: Arguments of the model's chat template. The default turns off the thinking
            mode of Qwen3.
        engine: Additional arguments of vLLM's engine, such as `tensor_parallel_size`.
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
        """Returns the model, the prompts and all settings on which the answers depend."""
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
        """Yields the engine, which is shut down at the end.

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
            # with `auto` a model may write whitespace up to its token limit
            "structured_outputs_config": StructuredOutputsConfig(
                backend="xgrammar", disable_any_whitespace=True
            ),
            **self.engine,
        }
        try:
            async_engine = vllm.AsyncLLMEngine.from_engine_args(vllm.AsyncEngineArgs(**arguments))
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            message = " ".join(str(error).split())[:300]
            raise ZooError(
                f"vLLM cannot load {self.model} ({message}): choose a model that fits this "
                "machine, or correct the arguments of the engine"
            ) from error
        try:
            yield _Engine(self, async_engine)
        finally:
            async_engine.shutdown()


class _Engine:
    """A vLLM engine, which batches questions as they arrive."""

    def __init__(self, extractor: VLLM, engine: Any) -> None:
        self.place = f"the model {extractor.model} in vLLM"
        self._extractor, self._engine = extractor, engine
        self._tokenizer = engine.get_tokenizer()
        self._request_ids = itertools.count()

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        from vllm.sampling_params import (
            RequestOutputKind,
            SamplingParams,
            StructuredOutputsParams,
        )

        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **self._extractor.chat_template
        )
        parameters = SamplingParams(
            temperature=self._extractor.temperature,
            max_tokens=self._extractor.max_tokens,
            seed=seed,
            structured_outputs=StructuredOutputsParams(json=stage.schema),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        prompt = {"prompt_token_ids": self._tokenizer.encode(text, add_special_tokens=False)}
        final_output: Any = None
        try:
            async for output in self._engine.generate(
                prompt, parameters, request_id=str(next(self._request_ids))
            ):
                final_output = output
        except ValueError as error:  # the question is too long, or the schema unsupported
            raise QuestionFailed(
                "refused", " ".join(str(error).split())[:300], may_retry=False
            ) from error
        except RuntimeError as error:
            if self._engine.errored:
                raise ZooError(
                    f"{self.place} has ended ({error}): see its log, and run the same command again"
                ) from error
            raise QuestionFailed("engine_error", str(error)) from error
        (completion,) = final_output.outputs
        return Reply(
            completion.text,
            completion.finish_reason == "length",
            len(final_output.prompt_token_ids),
            len(completion.token_ids),
        )
