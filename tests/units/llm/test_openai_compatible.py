"""OpenAICompatible against servers that answer rightly, late, wrongly or not at all."""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.fake_model import answer_to, completion, question_of
from zoo.errors import ZooError
from zoo.units.llm import asker
from zoo.units.llm.extractor import journal_key
from zoo.units.llm.journal import Journal
from zoo.units.llm.openai_compatible import OpenAICompatible, retry_after_seconds
from zoo.units.reader import record_to_dict
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

CATS = ("Two cats sleep on a grey sofa", "17#0", "17")
SAID: dict[str, Any] = {
    "Two cats sleep on a grey sofa": {
        "entities": ["Two cats", "a grey sofa"],
        "relations": [{"subject": "Two cats", "predicate": "sleep on", "object": "a grey sofa"}],
    },
    "Two cats": {
        "foils": [
            {"text": "Two rabbits", "edit_type": "object_change"},
            {"text": "Three cats", "edit_type": "attribute_change"},
        ]
    },
    "a grey sofa": {"foils": [{"text": "an orange sofa", "edit_type": "attribute_change"}]},
    "sleep on": {
        "foils": [
            {
                **{"subject": "Two cats", "predicate": "hide under", "object": "a grey sofa"},
                "edit_type": "predicate_change",
            },
            {
                **{"subject": "a grey sofa", "predicate": "sleep on", "object": "Two cats"},
                "edit_type": "argument_swap",
            },
            {
                **{"subject": "Two cats", "predicate": "sleep on", "object": "an orange sofa"},
                "edit_type": "argument_change",
            },
        ]
    },
}
RIGHT = UnitRecord(
    *("17#0", "17", "Two cats sleep on a grey sofa"),
    entities=(
        Entity(
            "Two cats",
            (
                EntityFoil("Two rabbits", "object_change"),
                EntityFoil("Three cats", "attribute_change"),
            ),
        ),
        Entity("a grey sofa", (EntityFoil("an orange sofa", "attribute_change"),)),
    ),
    relations=(
        Relation(
            *("Two cats", "sleep on", "a grey sofa"),
            foils=(
                RelationFoil(
                    *("Two cats", "hide under", "a grey sofa", "predicate_change", "predicate")
                ),
                RelationFoil("a grey sofa", "sleep on", "Two cats", "argument_swap"),
                RelationFoil(
                    *("Two cats", "sleep on", "an orange sofa"),
                    *("argument_change", "object", "attribute"),
                ),
            ),
        ),
    ),
)


class Server:
    """A server whose first replies are given one by one, and all others are right.

    Args:
        http: The server.

    Attributes:
        bodies: The requests so far.
        first: What makes the first replies, in turn.
        answer: The words of a right answer.
    """

    def __init__(self, http: HTTPServer) -> None:
        self.http = http
        self.bodies: list[dict[str, Any]] = []
        self.first: list[Callable[[Request], Response]] = []
        self.answer: Callable[[dict[str, Any]], str] = scripted
        path = "/v1/chat/completions"
        http.expect_request(path, method="POST").respond_with_handler(self.reply)

    @property
    def url(self) -> str:
        return self.http.url_for("/v1")

    def reply(self, request: Request) -> Response:
        self.bodies.append(request.get_json())
        if self.first:
            return self.first.pop(0)(request)
        return says(self.answer(self.bodies[-1]))


def scripted(body: dict[str, Any]) -> str:
    asked = question_of(body)
    about = asked.get("predicate") or asked.get("noun phrase") or asked["caption"]
    return json.dumps(SAID[about])


def says(text: str, finish_reason: str = "stop") -> Response:
    return Response(json.dumps(completion(text, finish_reason)), mimetype="application/json")


def status(code: int, message: str = "no", **headers: str) -> Callable[[Request], Response]:
    told = json.dumps({"error": {"message": message}})
    return lambda request: Response(told, code, headers, mimetype="application/json")


def dropped(request: Request) -> Response:
    request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    return Response()


def late(request: Request) -> Response:
    time.sleep(1.0)
    return says(scripted(request.get_json()))


def with_control_characters(request: Request) -> Response:
    text = scripted(request.get_json())
    return says(text.replace("Two cats", "Two \x01cats").replace("a grey", "a\ngrey"))


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asker, "_PAUSES", (0.01, 0.01))


@pytest.fixture
def server() -> Iterator[Server]:
    with HTTPServer(threaded=True) as http:
        yield Server(http)


def extractor(url: str, **arguments: Any) -> OpenAICompatible:
    return OpenAICompatible(**{"model": "tiny", "base_url": url, "patience": 1.0, **arguments})


def units(record: UnitRecord) -> dict[str, Any]:
    return {**record_to_dict(record), "source": {}}


def test_three_stages_give_units_with_their_foils(server: Server) -> None:
    made = extractor(server.url, temperature=0.5, max_tokens=99, extra_body={"top_k": 5})
    record = made.extract(*CATS)
    assert units(record) == record_to_dict(RIGHT)
    stages = [question_of(body)["stage"] for body in server.bodies]
    assert stages == ["units", "entity_foils", "entity_foils", "relation_foils"]
    first = server.bodies[0]
    assert (first["model"], first["temperature"], first["max_tokens"]) == ("tiny", 0.5, 99)
    assert first["top_k"] == 5
    assert first["response_format"]["type"] == "json_schema"
    assert set(first["response_format"]["json_schema"]["schema"]["required"]) == {
        "entities",
        "relations",
    }
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert record.source == {
        "extractor": "openai_compatible",
        "model": "tiny",
        "prompts": made.prompts.digest,
        "temperature": 0.5,
        "max_tokens": 99,
        "seed": 0,
        "extra_body": {"top_k": 5},
        "concurrency": 64,
        "base_url": server.url,
        "timeout": 120.0,
    }


def test_the_address_may_stand_in_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OpenAICompatible().base_url == "http://127.0.0.1:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert units(OpenAICompatible().extract(*CATS)) == record_to_dict(RIGHT)
    assert OpenAICompatible(base_url="http://other/v1").base_url == "http://other/v1"


def test_thinking_is_off_unless_other_fields_are_given(server: Server) -> None:
    extractor(server.url).extract(*CATS)
    assert server.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}


FIRST_REPLIES = [
    (status(500), "http_500"),
    (status(502), "http_502"),
    (dropped, "connection_dropped"),
    (late, "timeout"),
    (lambda request: Response("<html>", mimetype="text/html"), "unreadable_reply"),
    (lambda request: Response('{"choi', mimetype="application/json"), "unreadable_reply"),
    (lambda request: says(""), "empty_reply"),
    (lambda request: says("Sure! Here are the units."), "malformed"),
    (lambda request: says(scripted(request.get_json())[:-9]), "malformed"),
    (lambda request: says(scripted(request.get_json())[:-9], "length"), "cut_short"),
    (lambda request: says('{"entities": ["Two cats"]}'), "other_form"),
    (lambda request: says('{"entities": [7], "relations": []}'), "other_form"),
    (lambda request: says("[" * 100_000), "malformed"),
]


@pytest.mark.parametrize(
    ("reply", "reason"), FIRST_REPLIES, ids=[f"{n}-{r}" for n, (_, r) in enumerate(FIRST_REPLIES)]
)
def test_a_question_that_fails_is_asked_again_and_the_reason_is_kept(
    server: Server, tmp_path: Path, reply: Callable[[Request], Response], reason: str
) -> None:
    server.first = [reply]
    made = extractor(server.url, timeout=0.5, journal=str(tmp_path / "journal"))
    assert units(made.extract(*CATS)) == record_to_dict(RIGHT)
    rows = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()[1:]]
    assert [row.get("faults") for row in rows] == [[reason], None, None, None]
    seeds = {body["seed"] for body in server.bodies}
    of_the_model = reason in ("malformed", "cut_short", "other_form", "empty_reply")
    assert len(seeds) == 1 + of_the_model  # the same seed would give the same words again


def test_a_late_answer_is_an_answer(server: Server) -> None:
    server.first = [late]
    assert units(extractor(server.url).extract(*CATS)) == record_to_dict(RIGHT)
    assert len(server.bodies) == 4


def test_control_characters_are_taken_out_and_counted(server: Server, tmp_path: Path) -> None:
    server.first = [with_control_characters]
    made = extractor(server.url, journal=str(tmp_path / "journal"))
    assert units(made.extract(*CATS)) == record_to_dict(RIGHT)
    assert len(server.bodies) == 4
    rows = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()[1:]]
    assert [row.get("cleaned") for row in rows] == [True, None, None, None]


def test_duplicates_are_dropped_and_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = {key: {k: v * 2 for k, v in said.items()} for key, said in SAID.items()}
    twice["sleep on"] = {"foils": twice["sleep on"]["foils"][:3]}
    monkeypatch.setattr("tests.units.llm.test_openai_compatible.SAID", twice)
    made = extractor(server.url)
    assert units(made.extract(*CATS)) == record_to_dict(RIGHT)
    assert made.dropped_foils == {"duplicate_unit": 3, "duplicate": 3}


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_left_alone_as_long_as_it_wants(
    server: Server, tmp_path: Path, code: int
) -> None:
    server.first = [status(code, **{"Retry-After": "1"})] * 4
    made = extractor(server.url, patience=0.0, journal=str(tmp_path / "journal"))
    start = time.monotonic()
    assert units(made.extract(*CATS)) == record_to_dict(RIGHT)
    assert time.monotonic() - start >= 4.0
    assert "faults" not in (tmp_path / "journal").read_text()  # no caption is to blame


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_a_server_that_starts_slowly_is_waited_for() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    http = HTTPServer(port=port, threaded=True)
    server = Server(http)
    starting = threading.Timer(1.0, http.start)
    starting.start()
    try:
        made = extractor(f"http://127.0.0.1:{port}/v1", patience=30.0)
        assert units(made.extract(*CATS)) == record_to_dict(RIGHT)
    finally:
        starting.join()
        http.stop()  # type: ignore[no-untyped-call]
    assert len(server.bodies) == 4


def test_a_caption_waits_for_no_other(server: Server) -> None:
    ended: list[str] = []
    others = threading.Event()

    def answer(body: dict[str, Any]) -> str:
        if "slow" in question_of(body)["caption"]:
            others.wait(60)  # would be in vain if the others waited for it
        ended.append(question_of(body)["caption"])
        if len(set(ended)) == 30:
            others.set()
        return answer_to(body)

    server.answer = answer
    captions = [(f"A dog and a cat {i}", str(i), str(i)) for i in range(30)]
    captions.insert(0, ("The slow one", "slow", "slow"))
    records = list(extractor(server.url, concurrency=2).extract_all(captions))
    assert [record.caption_id for record in records] == ["slow", *map(str, range(30))]
    assert set(ended[: ended.index("The slow one")]) == {text for text, _, _ in captions[1:]}


def test_seeds_are_those_of_captions(server: Server) -> None:
    captions = [CATS, (CATS[0], "18#0", "18")]
    list(extractor(server.url).extract_all(captions))
    seeds = {body["seed"] for body in server.bodies}
    list(extractor(server.url).extract_all(captions))
    assert len(seeds) == 2
    assert {body["seed"] for body in server.bodies} == seeds
    list(extractor(server.url, seed=1).extract_all(captions))
    assert len({body["seed"] for body in server.bodies}) == 4


@pytest.mark.parametrize("place", [2, 5])
def test_a_caption_that_fails_three_times_is_kept_with_its_error_and_asked_again_on_demand(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: int
) -> None:
    server.answer = lambda body: (
        "I cannot say." if "odd" in question_of(body)["caption"] else answer_to(body)
    )
    captions = [(f"A dog and a cat {i}", str(i), str(i)) for i in range(5)]
    captions.insert(place, ("An odd one", "odd", "odd"))
    journal = str(tmp_path / "journal")
    made = extractor(server.url, journal=journal, concurrency=1)
    records = {record.caption_id: record for record in made.extract_all(captions)}
    assert "malformed, malformed, malformed (malformed: 'I cannot say.')" in str(
        records["odd"].source["error"]
    )
    assert not records["odd"].entities
    assert all("error" not in r.source for name, r in records.items() if name != "odd")
    assert made.failed == {"malformed": 1}
    assert "1 captions were recorded with an error (malformed 1)" in caplog.text
    asked = len(server.bodies)
    server.answer = answer_to
    assert len(list(extractor(server.url, journal=journal).extract_all(captions))) == 6
    assert len(server.bodies) == asked
    again = extractor(server.url, journal=journal, retry_failed=True)
    assert "error" not in {r.caption_id: r for r in again.extract_all(captions)}["odd"].source
    assert {question_of(body)["caption"] for body in server.bodies[asked:]} == {"An odd one"}
    assert not again.failed


def test_failures_between_answers_end_no_run_however_many(server: Server) -> None:
    server.answer = lambda body: (
        "I cannot say." if "odd" in question_of(body)["caption"] else answer_to(body)
    )
    captions = [
        (f"An {'odd' if i % 2 else 'old'} dog and a cat {i}", str(i), str(i)) for i in range(60)
    ]
    made = extractor(server.url, concurrency=1)
    assert len(list(made.extract_all(captions))) == 60
    assert made.failed == {"malformed": 30}


def test_a_question_about_foils_that_fails_leaves_the_units(server: Server, tmp_path: Path) -> None:
    server.answer = lambda body: (
        "no" if question_of(body).get("noun phrase") == "Two cats" else scripted(body)
    )
    journal = tmp_path / "journal"
    made = extractor(server.url, journal=str(journal))
    record = made.extract(*CATS)
    assert [entity.text for entity in record.entities] == ["Two cats", "a grey sofa"]
    assert [len(entity.foils) for entity in record.entities] == [0, 1]
    assert str(record.source["error"]).startswith("entity_foils of 'Two cats': malformed")
    with Journal(journal, {"extractor": made.name, **made.settings()}) as kept:
        assert kept.entries(journal_key(CATS))["entity_foils", "Two cats"].error


def test_a_caption_of_another_text_under_the_same_id_is_asked_anew(
    server: Server, tmp_path: Path
) -> None:
    server.answer = answer_to
    for caption in ("A dog and a cat", "A dog and a horse", "A dog and a cat"):
        extractor(server.url, journal=str(tmp_path / "journal")).extract(caption, "1", "1")
    first = [q for q in map(question_of, server.bodies) if q["stage"] == "units"]
    assert [question["caption"] for question in first] == ["A dog and a cat", "A dog and a horse"]


PROSE = lambda body: "Sure, I can help with that!"  # noqa: E731
REFUSALS: list[tuple[Any, str]] = [
    (status(400, "response_format is not supported"), "400.*response_format is not supported"),
    (status(422, "unknown keyword maxItems"), "422.*unknown keyword maxItems"),
    (status(401, "bad key"), "rejects the key in OPENAI_API_KEY .401.*bad key"),
    (status(404, "no model tiny"), "was not found .*no model tiny.*ends in the version"),
    (status(500, "out of memory"), "http_500.*see its log"),
    (lambda request: says(PROSE({})), "malformed: 'Sure, I can.*JSON schema"),
    (lambda request: says("{" + " " * 99, "length"), "cut_short.*raise max_tokens"),
    (lambda request: Response("<p>hello"), "unreadable_reply: <p>hello.*including the version"),
    (status(429, **{"Retry-After": "90000"}), "for the next 90,000 s .http_429"),
]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    REFUSALS,
    ids=["400", "422", "401", "404", "500", "prose", "cut", "page", "429"],
)
@pytest.mark.parametrize("captions", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_a_server_that_answers_nothing_ends_the_run_in_a_sentence(
    server: Server,
    tmp_path: Path,
    reply: Callable[[Request], Response],
    sentence: str,
    captions: int,
) -> None:
    server.first = [reply] * 1000
    asked = [(f"A dog and a cat {i}", str(i), str(i)) for i in range(captions)]
    journal = str(tmp_path / "journal")
    with pytest.raises(ZooError, match=f"^the model tiny at http.*{sentence}") as told:
        list(extractor(server.url, journal=journal, concurrency=4).extract_all(asked))
    assert "\n" not in str(told.value)
    assert len(server.bodies) < 80
    server.first = []
    server.answer = answer_to  # the mended server is asked everything
    records = list(extractor(server.url, journal=journal).extract_all(asked))
    assert all("error" not in record.source for record in records)


def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ZooError, match=f"at {url} accepts no questions for . s .no_connection"):
        extractor(url, patience=0.5).extract(*CATS)


@pytest.mark.parametrize(
    "url",
    ["localhost:8000/v1", "127.0.0.1:8000", "http://", "http://a:99999/v1", "http://[/v1", " "],
)
def test_an_address_that_is_none_is_told_before_anything_is_asked(url: str) -> None:
    with pytest.raises(ZooError, match=r"base_url .* is not the address of a server: .*http://127"):
        OpenAICompatible(base_url=url)


def test_a_name_that_nobody_has_is_told_in_a_sentence() -> None:
    with pytest.raises(ZooError, match=r"nowhere.invalid/v1 accepts no questions .*no_connection"):
        extractor("http://nowhere.invalid/v1", patience=0.1).extract(*CATS)


def test_a_missing_package_is_told_with_its_extra(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ZooError, match=r"openai is not installed: pip install 'clip-zoo\[llm\]'"):
        extractor(server.url).extract(*CATS)


def test_a_key_is_sent_and_written_nowhere(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-1")
    sent: list[str | None] = []
    server.first = [
        lambda request: (
            sent.append(request.headers.get("Authorization")) or says(scripted(request.get_json()))  # type: ignore[func-returns-value]
        )
    ]
    address = server.url.replace("//", "//someone:secret-2@")
    made = extractor(address, api_key_env="MY_KEY", journal=str(tmp_path / "journal"))
    record = made.extract(*CATS)
    assert sent
    written = json.dumps(record_to_dict(record)) + (tmp_path / "journal").read_text()
    assert "secret" not in written


def test_extraction_works_where_a_loop_runs(server: Server) -> None:
    import asyncio

    async def notebook() -> UnitRecord:
        return extractor(server.url).extract(*CATS)

    assert units(asyncio.run(notebook())) == record_to_dict(RIGHT)


def test_progress_is_told_with_an_estimate_and_a_summary(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "zoo")
    server.answer = answer_to
    captions = [(f"A dog and a cat {i}", str(i), str(i)) for i in range(10)]
    told: list[int] = []
    list(extractor(server.url).extract_all(captions, told.append))
    assert sum(told) == 10
    assert "10 captions, 0 of them answered before; 10 to ask" in caplog.text
    assert "10 of 10 captions, " in caplog.text
    assert "min left" in caplog.text
    assert f"{len(server.bodies)} answers, {40 * len(server.bodies):,} tokens in" in caplog.text
