"""A stand-in for a language model behind OpenAI's protocol, and for all that may go wrong with it.

What it says depends on the question alone: units cut from the caption by a pattern, and foils by
exchanging words, some of which the filters must drop.
"""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from random import Random
from typing import Any

Body = dict[str, Any]
FAULTS = ("late", "malformed", "truncated", "busy", "broken", "dropped", "cut_body")
_PHRASE = re.compile(r"\b(?:a|an|the|two|three|some|his|her) (?:\w+ )?\w+", re.IGNORECASE)
_WORDS = ("horse", "kite", "ladder", "piano", "tractor", "umbrella", "violin", "window", "zebra")
_PREDICATES = ("holding", "near", "chasing", "next to", "under")
_PRICE = 40  # tokens of every question, and of every answer


def question_of(body: Body) -> dict[str, str]:
    """Returns stage, caption and unit of a request."""
    said = body["messages"][1]["content"]
    fields = dict(re.findall(r'^(\w[\w ]*): "(.*)"$', said, re.MULTILINE))
    stage = body["response_format"]["json_schema"]["name"]
    return {"stage": stage, **{name.lower(): text for name, text in fields.items()}}


def answer_to(body: Body) -> str:
    """Returns the words of an answer in the form that the request asks for."""
    asked = question_of(body)
    rng = Random(json.dumps(asked))
    if asked["stage"] == "units":
        return json.dumps(_units(asked["caption"], rng))
    if asked["stage"] == "entity_foils":
        text = asked["noun phrase"]
        foils = [_with_last(text, word) for word in rng.sample(_WORDS, 3)]
        made: list[Body] = [{"text": foil, "edit_type": "object_change"} for foil in foils]
        last = rng.choice([text, foils[0], f"blue {text}"])
        made.append({"text": last, "edit_type": "object_change"})
        said = json.dumps({"foils": made})
        odd = rng.random() < 0.02  # as engines do that let control characters through
        return said.replace(foils[1], foils[1].replace(" ", " \x07")) if odd else said
    subject, predicate, object_ = asked["subject"], asked["predicate"], asked["object"]
    triples = [
        (subject, rng.choice(_PREDICATES), object_, "predicate_change"),
        (object_, predicate, subject, "argument_swap"),
        (subject, predicate, _with_last(object_, rng.choice(_WORDS)), "argument_change"),
    ]
    names = ("subject", "predicate", "object", "edit_type")
    return json.dumps({"foils": [dict(zip(names, triple, strict=True)) for triple in triples]})


def _units(caption: str, rng: Random) -> Body:
    found = _PHRASE.findall(caption)[:2]
    extra = rng.choice([[], ["some thing nobody mentioned"], found[:1]])
    pairs = [*pairwise(found), *([("a ghost", found[0])] if found else [])]
    relations = [
        {"subject": subject, "predicate": rng.choice(_PREDICATES), "object": object_}
        for subject, object_ in pairs[:2]
    ]
    return {"entities": [*found, *extra], "relations": relations}


def _with_last(text: str, word: str) -> str:
    return " ".join([*text.split()[:-1], word])


def completion(text: str, finish_reason: str = "stop") -> Body:
    """Returns the body of a reply that says a text."""
    return {
        "id": "made",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": _PRICE, "completion_tokens": _PRICE, "total_tokens": 2 * _PRICE},
    }


class FakeServer:
    """A quick server on loopback, in a thread of its own, with faults at a share of requests.

    Of any question at most two attempts are spoilt, so that the third is answered.

    Args:
        share: The share of requests with a fault.
        late: After how many seconds a late answer comes.
        seed: Settles which requests have which fault.

    Attributes:
        answered: How often each question was answered as it should be, by its text and seed.
        faults: How many requests were spoilt, by fault.
        unanswerable: Captions with these words get prose.
    """

    def __init__(self, share: float = 0.0, late: float = 1.0, seed: int = 0) -> None:
        self.share, self.late = share, late
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.unanswerable: str | None = None
        self._rng = Random(seed)
        self._spoilt: Counter[str] = Counter()
        self.port = 0

    @property
    def url(self) -> str:
        """The address that a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"

    @contextmanager
    def running(self) -> Iterator["FakeServer"]:
        """Serves for the length of a block."""
        loop, ready = asyncio.new_event_loop(), threading.Event()
        stopping = asyncio.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await stopping.wait()
            server.close()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
        thread.start()
        ready.wait(10)
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(stopping.set)
            thread.join(10)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async for body in _requests(reader):
                if not await self._reply(body, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client is gone
        finally:
            writer.close()

    async def _reply(self, body: Body, writer: asyncio.StreamWriter) -> bool:
        """Replies to one request, and says whether the connection lives on."""
        about = json.dumps([body["messages"], body["seed"]])
        asked = json.dumps(body["messages"])
        text, status, headers = answer_to(body), 200, ""
        if self.unanswerable and self.unanswerable in question_of(body)["caption"]:
            text = "I cannot say."
        fault = None
        if self._rng.random() < self.share and self._spoilt[asked] < 2:
            fault = self._rng.choice(FAULTS)
            self._spoilt[asked] += fault not in ("late", "busy")
            self.faults[fault] += 1
        if fault == "dropped":
            return False
        if fault == "late":
            await asyncio.sleep(self.late)
        reply = completion(text)
        if fault == "malformed":
            reply = completion("Sure! " + text)
        if fault == "truncated":
            reply = completion(text[: len(text) // 2], "length")
        if fault == "busy":
            status, headers = 429, "Retry-After: 0.05\r\n"
        if fault == "broken":
            status = 500
        sent = json.dumps(reply).encode()
        head = (
            f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(sent)}\r\n\r\n"
        )
        whole = head.encode() + sent
        writer.write(whole[: -len(sent) // 2] if fault == "cut_body" else whole)
        await writer.drain()
        if fault in (None, "late"):
            self.answered[about] += 1
        return fault != "cut_body"


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Body]:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        yield json.loads(await reader.readexactly(int(length[1]) if length else 0))
