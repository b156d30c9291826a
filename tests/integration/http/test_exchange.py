"""A whole exchange: what is sent, what is recorded, what counts as success."""

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest
from tests.integration.http.loopback_server import Request, a_claim, a_dispatcher, a_server, answer, run, says

from cadenza.domain.http_request import METHODS
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import HttpTarget


def response_of(outcome: Any) -> dict[str, Any]:
    assert isinstance(outcome.response, dict)
    return outcome.response


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_is_sent(method: str) -> None:
    async with a_server() as server:
        outcome = await run(server.url("/a?b=c"), method.lower())
    assert outcome.status is RunStatus.SUCCESS
    assert (server.last.method, server.last.path) == (method, "/a?b=c")


async def test_slot_run_and_sender_are_named() -> None:
    async with a_server() as server:
        await run(server.url())
    headers = server.last.headers
    assert headers["idempotency-key"] == "default:endpoint:2025-01-01T00:00:00Z"
    assert headers["cadenza-run-id"] == "run-1"
    assert headers["user-agent"].startswith("cadenza")
    assert headers["accept-encoding"] == "gzip, deflate"


async def test_a_name_that_no_header_can_hold_is_escaped() -> None:
    async with a_server() as server, a_dispatcher() as dispatcher:
        await dispatcher.execute(a_claim(HttpTarget(server.url()), name="Zürich\r\nX-Evil: 1"))
    assert (
        server.last.headers["idempotency-key"]
        == "default:Z%C3%BCrich%0D%0AX-Evil%3A%201:2025-01-01T00:00:00Z"
    )
    assert "x-evil" not in server.last.headers


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ({"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}', "application/json"),
        ("plain ü", "plain ü", "text/plain; charset=utf-8"),
        (False, "false", "application/json"),
        ([], "[]", "application/json"),
    ],
)
async def test_json_and_texts_are_bodies(body: Any, sent: str, content_type: str) -> None:
    async with a_server() as server:
        await run(server.url(), "POST", body=body)
    assert server.last.body.decode() == sent
    assert server.last.headers["content-type"] == content_type


async def test_no_body_has_no_type() -> None:
    async with a_server() as server:
        await run(server.url(), "POST")
    assert server.last.headers["content-length"] == "0"
    assert "content-type" not in server.last.headers


async def test_headers_of_the_owner_win() -> None:
    headers = {"content-type": "application/x-custom", "User-Agent": "mine", "X-Name": "value"}
    async with a_server() as server:
        await run(server.url(), "POST", headers=headers, body="text")
    assert server.last.headers["content-type"] == "application/x-custom"
    assert server.last.headers["user-agent"] == "mine"
    assert server.last.headers["x-name"] == "value"


async def test_json_is_recorded_as_json() -> None:
    async with a_server(says('{"a": [1]}', content_type="application/json; charset=utf-8")) as server:
        outcome = await run(server.url())
    assert outcome.response == {
        "status": 200,
        "headers": {"content-type": "application/json; charset=utf-8"},
        "body": {"a": [1]},
        "truncated": False,
        "size": 10,
    }


async def test_a_header_that_is_no_text_is_recorded_as_far_as_it_is() -> None:
    reply = b"HTTP/1.1 200 X\r\nContent-Length: 0\r\nETag: a\xffb\r\n\r\n"
    async with a_server(lambda _, writer: writer.write(reply)) as server:
        outcome = await run(server.url())
    assert response_of(outcome)["headers"] == {"etag": "a?b"}


async def test_headers_of_interest_are_recorded_and_cookies_never() -> None:
    reply = says("", etag='"x"', set_cookie="session=1", x_other="1", retry_after="3")
    async with a_server(reply) as server:
        plain = await run(server.url())
        chosen = await run(server.url(), capture_headers=["X-Other"])
    assert response_of(plain)["headers"] == {"etag": '"x"', "retry-after": "3"}
    assert response_of(chosen)["headers"] == {"x-other": "1"}


async def test_text_is_decoded_by_its_charset_and_binary_only_noted() -> None:
    replies = {
        "/latin": answer("Zürich".encode("latin-1"), content_type="text/plain; charset=ISO-8859-1"),
        "/broken": answer(b"a\xffb\0", content_type="text/html"),
        "/image": answer(b"\x89PNG", content_type="image/png"),
        "/unnamed": answer("ü"),
        "/unnamed-binary": answer(b"\xff\0"),
        "/odd-charset": answer(b"abc", content_type="text/plain; charset=zip"),
        "/unknown-charset": answer(b"abc", content_type="text/plain; charset=cp99999"),
    }
    async with a_server(lambda request, writer: writer.write(replies[request.path])) as server:
        seen = {path: response_of(await run(server.url(path))) for path in replies}
    assert seen["/latin"]["text"] == "Zürich"
    assert seen["/broken"]["text"] == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"
    assert seen["/image"].keys() == {"status", "headers", "size", "truncated", "sha256"}
    assert seen["/unnamed"]["text"] == "ü"
    assert "sha256" in seen["/unnamed-binary"]
    assert seen["/odd-charset"]["text"] == seen["/unknown-charset"]["text"] == "abc"


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
        ("identity", b"hello"),
    ],
)
async def test_packed_bodies_are_unpacked(encoding: str, packed: bytes) -> None:
    reply = says(packed, content_encoding=encoding, content_type="text/plain")
    async with a_server(reply) as server:
        outcome = await run(server.url())
    assert response_of(outcome)["text"] == "hello"
    assert response_of(outcome)["truncated"] is False


async def test_a_packing_that_is_not_known_is_noted_and_left_alone() -> None:
    async with a_server(says(b"\x0b\x02\x80", content_encoding="br", content_type="text/plain")) as server:
        outcome = await run(server.url())
    assert outcome.status is RunStatus.SUCCESS
    assert response_of(outcome).keys() == {"status", "headers", "size", "truncated", "sha256"}


@pytest.mark.parametrize(
    ("status", "statuses", "expected"),
    [
        (200, ["2xx"], "success"),
        (299, ["2xx"], "success"),
        (404, ["2xx"], "failure"),
        (404, ["200", "404"], "success"),
        (301, ["200-399"], "success"),
        (500, ["200-399"], "failure"),
        (204, [204], "success"),
    ],
)
async def test_the_status_decides(status: int, statuses: list[Any], expected: str) -> None:
    async with a_server(says("", status)) as server:
        outcome = await run(server.url(), success_statuses=statuses)
    assert outcome.status == expected
    assert response_of(outcome)["status"] == status
    if expected == "failure":
        assert outcome.error == f"answered {status}"
        assert response_of(outcome)["failure"] == "status"


@pytest.mark.parametrize(
    ("path", "values", "expected"),
    [
        ("$.state", ["ok"], "success"),
        ("$.state", ["bad", "worse"], "failure"),
        ("$.state", [], "success"),
        ("$.missing", [], "failure"),
        ("$.jobs[-1]['in-flight']", [0], "success"),
        ("$.jobs[0].done", [1], "failure"),
        ("$.jobs[0].done", [True], "success"),
        ("$.nothing", [None], "success"),
    ],
)
async def test_a_path_into_the_answer_decides(path: str, values: list[Any], expected: str) -> None:
    document = {"state": "ok", "jobs": [{"done": True}, {"in-flight": 0}], "nothing": None}
    async with a_server(says(json.dumps(document), content_type="application/json")) as server:
        outcome = await run(server.url(), success_path=path, success_values=values)
    assert outcome.status == expected


async def test_a_path_is_looked_up_beyond_what_is_captured() -> None:
    document = json.dumps({"filler": "x" * 50_000, "state": "ok"})
    async with a_server(says(document, content_type="application/json")) as server:
        outcome = await run(server.url(), success_path="$.state", capture_bytes=100)
    assert outcome.status is RunStatus.SUCCESS
    assert response_of(outcome)["truncated"] is True
    assert len(response_of(outcome)["text"]) == 100


async def test_what_is_not_json_has_no_path() -> None:
    async with a_server(says("ok", content_type="text/plain")) as server:
        outcome = await run(server.url(), success_path="$.state")
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error == "the answer is not JSON, or too long to be read whole"


async def test_connections_are_kept_and_cookies_are_not() -> None:
    async with a_server(says("ok", set_cookie="a=b")) as server, a_dispatcher() as dispatcher:
        for _ in range(5):
            await dispatcher.execute(a_claim(HttpTarget(server.url())))
    assert server.connections == 1
    assert "cookie" not in server.last.headers


async def test_the_duration_is_measured() -> None:
    async def slow(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.write(answer())

    async with a_server(slow) as server:
        outcome = await run(server.url())
    assert 50 <= outcome.duration_ms < 1_000
