"""OpenAICompatible: units by a server that speaks OpenAI's protocol, such as vLLM's own."""

import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from zoo.errors import ZooError, import_optional
from zoo.support.ranges import NonNegativeNumber, PositiveNumber
from zoo.units.llm.backend import Backend, Busy, QuestionFailed, Reply
from zoo.units.llm.extractor import LanguageModelExtractor
from zoo.units.llm.stages import Message, Stage

_OF_VLLM = "http://127.0.0.1:8000/v1"
_NO_ANSWER_YET = (429, 503)
_CONNECTING = ("ConnectError", "ConnectTimeout")
_SHOWN = 300


class OpenAICompatible(LanguageModelExtractor):
    """Asks any server of OpenAI's protocol that takes `response_format` of type `json_schema`.

    Args:
        model: The model's name on the server.
        base_url: The server's address, with its version ("/v1"). By default the environment's
            OPENAI_BASE_URL, else that of vLLM's server on this machine, port 8000.
        timeout: After how many seconds a question has failed.
        patience: For how many seconds the server may take no questions before the run ends. Time
            that the server asks for itself is not counted.
        extra_body: Further fields of each request. By default they turn off the thinking of Qwen3
            on vLLM's server; a server that refuses them wants `{}`.
        api_key_env: The environment's variable that holds the key, where the server wants one.
        **shared: The arguments of every extractor that asks a language model.

    Raises:
        ZooError: The address is none.
    """

    name: ClassVar[str] = "openai_compatible"

    def __init__(
        self,
        model: str = "Qwen/Qwen3-8B-AWQ",
        base_url: str | None = None,
        timeout: PositiveNumber = 120.0,
        patience: NonNegativeNumber = 60.0,
        extra_body: dict[str, Any] | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        **shared: Any,
    ) -> None:
        super().__init__(model, **shared)
        self.base_url = _address(base_url or os.environ.get("OPENAI_BASE_URL") or _OF_VLLM)
        self.timeout, self.patience = timeout, patience
        unthinking = {"chat_template_kwargs": {"enable_thinking": False}}
        self.extra_body = unthinking if extra_body is None else extra_body
        self.api_key_env = api_key_env

    def resolved_arguments(self) -> dict[str, Any]:
        """Returns the address, which the environment of another machine may not have."""
        return {"base_url": self.base_url}

    def settings(self) -> dict[str, Any]:
        """Returns model, prompts, temperature, length, seed and further fields."""
        return {
            "model": self.model,
            "prompts": self.prompts.digest,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "extra_body": self.extra_body,
        }

    def describe(self) -> dict[str, Any]:
        """Returns the extractor's name and all its settings, the server's address among them."""
        address = re.sub("//[^/@]*@", "//", self.base_url)  # without a password
        return {**super().describe(), "base_url": address, "timeout": self.timeout}

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Backend]:
        """Yields the server, whose connections are closed at the end."""
        openai: Any = import_optional("openai", "llm")
        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=os.environ.get(self.api_key_env) or "none",
            max_retries=0,  # the asker's, which counts them and knows of all questions
            timeout=openai.Timeout(self.timeout, connect=min(self.timeout, 10.0)),
        )
        async with client:
            yield _Server(self, client, openai)


class _Server:
    """A server of OpenAI's protocol."""

    def __init__(self, asked: OpenAICompatible, client: Any, openai: Any) -> None:
        self.place = f"the model {asked.model} at {asked.describe()['base_url']}"
        self._asked, self._client, self._openai = asked, client, openai

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        body = {
            "model": self._asked.model,
            "messages": messages,
            "temperature": self._asked.temperature,
            "max_tokens": self._asked.max_tokens,
            "seed": seed,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": stage.name, "schema": stage.schema},
            },
            **self._asked.extra_body,
        }
        try:
            # plain data, since the client's types take twice as long as all else it does
            said = await self._client.post("/chat/completions", cast_to=object, body=body)
        except self._openai.APIStatusError as error:
            raise self._refusal(error) from error
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            detail = str(cause) or type(cause).__name__
            if type(cause).__name__ in _CONNECTING:
                raise Busy("no_connection", detail) from error
            if isinstance(error, self._openai.APITimeoutError):
                raise QuestionFailed("timeout", f"after {self._asked.timeout:g} s") from error
            raise QuestionFailed("connection_dropped", detail) from error
        except (self._openai.OpenAIError, ValueError) as error:  # a body that is no JSON
            raise QuestionFailed("unreadable_reply", str(error)[:_SHOWN]) from error
        return _reply(said)

    def _refusal(self, error: Any) -> Exception:
        status, said = error.status_code, " ".join(str(error.message).split())[:_SHOWN]
        if error.code == "insufficient_quota" or status in (401, 403):
            return ZooError(
                f"{self.place} refuses the key in {self._asked.api_key_env} ({status}: {said}): "
                "set the variable to one that it takes"
            )
        if status == 404:
            return ZooError(
                f"{self.place} is not there ({said}): give a model that the server has, and an "
                "address that ends in its version, such as /v1"
            )
        if status in _NO_ANSWER_YET:
            return Busy(f"http_{status}", said, seconds_after(error.response.headers))
        if status in (408, 409) or status >= 500:
            return QuestionFailed(f"http_{status}", said)
        return QuestionFailed("refused", f"{status}: {said}", again=False)


def _address(given: str) -> str:
    """Returns an address, once it is known to be one."""
    try:
        parts = urlsplit(given)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number, or too great
        whole = False
    if not whole:
        raise ZooError(
            f"base_url {given!r} is no address of a server: write it with all its parts, as in "
            f"{_OF_VLLM}"
        )
    return given


def _reply(said: Any) -> Reply:
    try:
        choice, usage = said["choices"][0], said.get("usage") or {}
        message, ending = choice["message"], choice.get("finish_reason")
        text = message.get("content")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise QuestionFailed("unreadable_reply", str(said)[:_SHOWN]) from error
    if not isinstance(text, str) or not text.strip():
        raise QuestionFailed("empty_reply", str(message.get("refusal") or ending), anew=True)
    tokens_in, tokens_out = (usage.get(f"{name}_tokens") or 0 for name in ("prompt", "completion"))
    return Reply(text, ending == "length", tokens_in, tokens_out)


def seconds_after(headers: Mapping[str, str]) -> float | None:
    """Returns how long a server wants to be left alone, None where it does not say.

    Args:
        headers: The headers of its response. `Retry-After` has seconds or a date.
    """
    said = headers.get("retry-after", "")
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None
