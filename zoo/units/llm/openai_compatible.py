"""OpenAICompatible: units from a server with OpenAI's API, such as vLLM's."""

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
from zoo.units.llm.backend import Backend, BackendBusy, QuestionFailed, Reply
from zoo.units.llm.extractor import LanguageModelExtractor
from zoo.units.llm.stages import Message, Stage

_VLLM_URL = "http://127.0.0.1:8000/v1"
_BUSY_STATUSES = (429, 503)
_CONNECTION_ERRORS = ("ConnectError", "ConnectTimeout")
_EXCERPT_LENGTH = 300


class OpenAICompatible(LanguageModelExtractor):
    """Prompts a language model on an OpenAI-compatible server that supports `json_schema`.

    Args:
        model: The model's name on the server.
        base_url: The server's address, including the version (`/v1`). By default, the value of
            $OPENAI_BASE_URL. If this variable is not set, vLLM's default address,
            http://127.0.0.1:8000/v1, is used.
        timeout: The time limit of a request, in seconds.
        patience: The maximum time, in seconds, for which the server may be unreachable or too busy.
            After that time, the run ends with an error. If a busy server states how long to wait,
            the waiting time is not counted.
        extra_body: Additional fields of each request. The default turns off the thinking mode of
            Qwen3 on vLLM's server. If a server rejects the default, set `{}`.
        api_key_env: The environment variable that holds the API key, if the server needs one.
        **shared: The arguments of every extractor that asks a language model.

    Raises:
        ZooError: The address is invalid.
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
        self.base_url = _check_address(base_url or os.environ.get("OPENAI_BASE_URL") or _VLLM_URL)
        self.timeout, self.patience = timeout, patience
        no_thinking = {"chat_template_kwargs": {"enable_thinking": False}}
        self.extra_body = no_thinking if extra_body is None else extra_body
        self.api_key_env = api_key_env

    def inferred_arguments(self) -> dict[str, Any]:
        """Returns the server's address, which may come from an environment variable."""
        return {"base_url": self.base_url}

    def settings(self) -> dict[str, Any]:
        """Returns the model, the prompts and all settings that are sent with a request."""
        return {
            "model": self.model,
            "prompts": self.prompts.digest,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "extra_body": self.extra_body,
        }

    def describe(self) -> dict[str, Any]:
        """Returns the extractor's name and all its settings, including the server's address."""
        address = re.sub("//[^/@]*@", "//", self.base_url)  # without a password
        return {**super().describe(), "base_url": address, "timeout": self.timeout}

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Backend]:
        """Yields a client of the server, whose connections are closed at the end."""
        openai: Any = import_optional("openai", "llm")
        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=os.environ.get(self.api_key_env) or "none",
            max_retries=0,  # the asker retries and counts
            timeout=openai.Timeout(self.timeout, connect=min(self.timeout, 10.0)),
        )
        async with client:
            yield _Server(self, client, openai)


class _Server:
    """A server with OpenAI's API."""

    def __init__(self, extractor: OpenAICompatible, client: Any, openai: Any) -> None:
        self.place = f"the model {extractor.model} at {extractor.describe()['base_url']}"
        self._extractor, self._client, self._openai = extractor, client, openai

    async def ask(self, stage: Stage, messages: list[Message], seed: int) -> Reply:
        body = {
            "model": self._extractor.model,
            "messages": messages,
            "temperature": self._extractor.temperature,
            "max_tokens": self._extractor.max_tokens,
            "seed": seed,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": stage.name, "schema": stage.schema},
            },
            **self._extractor.extra_body,
        }
        try:
            # plain data, since building the client's types takes most of its time
            response = await self._client.post("/chat/completions", cast_to=object, body=body)
        except self._openai.APIStatusError as error:
            raise self._error_of_status(error) from error
        except self._openai.APIConnectionError as error:
            cause = error.__cause__ or error
            detail = str(cause) or type(cause).__name__
            if type(cause).__name__ in _CONNECTION_ERRORS:
                raise BackendBusy("no_connection", detail) from error
            if isinstance(error, self._openai.APITimeoutError):
                raise QuestionFailed("timeout", f"after {self._extractor.timeout:g} s") from error
            raise QuestionFailed("connection_dropped", detail) from error
        except (self._openai.OpenAIError, ValueError) as error:  # a body that is not JSON
            raise QuestionFailed("unreadable_reply", str(error)[:_EXCERPT_LENGTH]) from error
        return _parse_reply(response)

    def _error_of_status(self, error: Any) -> Exception:
        status, detail = error.status_code, " ".join(str(error.message).split())[:_EXCERPT_LENGTH]
        if error.code == "insufficient_quota" or status in (401, 403):
            return ZooError(
                f"{self.place} rejects the key in {self._extractor.api_key_env} "
                f"({status}: {detail}): set the variable to a valid key"
            )
        if status == 404:
            return ZooError(
                f"{self.place} was not found ({detail}): give a model that the server has, and an "
                "address that ends in the version, such as /v1"
            )
        if status in _BUSY_STATUSES:
            return BackendBusy(
                f"http_{status}", detail, retry_after_seconds(error.response.headers)
            )
        if status in (408, 409) or status >= 500:
            return QuestionFailed(f"http_{status}", detail)
        return QuestionFailed("refused", f"{status}: {detail}", may_retry=False)


def _check_address(address: str) -> str:
    """Returns an address after checking it."""
    try:
        parts = urlsplit(address)
        is_complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is not a number, or too large
        is_complete = False
    if not is_complete:
        raise ZooError(
            f"base_url {address!r} is not the address of a server: give a complete URL, as in "
            f"{_VLLM_URL}"
        )
    return address


def _parse_reply(response: Any) -> Reply:
    try:
        choice, usage = response["choices"][0], response.get("usage") or {}
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text = message.get("content")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise QuestionFailed("unreadable_reply", str(response)[:_EXCERPT_LENGTH]) from error
    if not isinstance(text, str) or not text.strip():
        raise QuestionFailed(
            "empty_reply", str(message.get("refusal") or finish_reason), needs_new_seed=True
        )
    tokens_in, tokens_out = (usage.get(f"{name}_tokens") or 0 for name in ("prompt", "completion"))
    return Reply(text, finish_reason == "length", tokens_in, tokens_out)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Returns the number of seconds that a server asks to wait, or None if it does not.

    Args:
        headers: The response headers. `Retry-After` has seconds or a date.
    """
    retry_after = headers.get("retry-after", "")
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
