"""Answers that would hurt: endless, enormous, slow, packed to burst."""

import asyncio
import gzip
import threading
import tracemalloc
import zlib
from typing import Any

import pytest
from aiohttp.abc import ResolveResult
from tests.integration.http.loopback_server import (
    FakeNames,
    FakeSecrets,
    Reply,
    Request,
    a_claim,
    a_dispatcher,
    a_server,
    run,
    says,
    until,
)

from cadenza.adapters.dispatch.http import content, exchange
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

HEAD = b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\n"


def endless(head: bytes, chunk: bytes, pause: float = 0) -> Reply:
    """Sends its head and then one chunk after the other, until nobody takes them."""

    async def reply(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while not writer.is_closing():
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(pause)

    return reply


def recorded(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome.response, dict)
    return {name: part for name, part in outcome.response.items() if name in {"text", "size", "truncated"}}


async def test_what_is_longer_than_the_limit_is_cut() -> None:
    async with a_server(says("x" * 20, content_type="text/plain")) as server:
        exact = await run(server.url(), capture_bytes=20)
        cut = await run(server.url(), capture_bytes=19)
        nothing = await run(server.url(), capture_bytes=0)
    assert recorded(exact) == {"text": "x" * 20, "size": 20, "truncated": False}
    assert recorded(cut) == {"text": "x" * 19, "size": 19, "truncated": True}
    assert recorded(nothing) == {"size": 0, "truncated": True}


async def test_a_long_answer_is_looked_through_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(*arguments: Any, **named: Any) -> dict[str, Json]:
        threads.append(threading.get_ident())
        return content.recorded(*arguments, **named)

    monkeypatch.setattr(exchange, "recorded", noted)
    for length in (100, exchange.LONG + 1):
        async with a_server(says("x" * length, content_type="text/plain")) as server:
            outcome = await run(server.url(), capture_bytes=2 * exchange.LONG)
        assert recorded(outcome) == {"text": "x" * length, "size": length, "truncated": False}
    short, long = threads
    assert short == threading.get_ident()
    assert long != short


async def test_a_character_that_is_cut_in_two_is_left_out() -> None:
    async with a_server(says("üü", content_type="text/plain")) as server:
        outcome = await run(server.url(), capture_bytes=3)
    assert recorded(outcome)["text"] == "ü"


async def test_an_enormous_body_is_read_to_the_limit_and_its_connection_closed() -> None:
    head = HEAD + b"Content-Length: 10000000000\r\n\r\n"
    async with a_server(endless(head, b"y" * 65_536)) as server, a_dispatcher() as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(server.url())))
        await until(lambda: server.closed == 1)
    assert outcome.status is RunStatus.SUCCESS
    assert recorded(outcome) == {"text": "y" * 16_384, "size": 16_384, "truncated": True}


async def test_endless_chunks_are_read_to_the_limit() -> None:
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    async with a_server(endless(head, b"4\r\nabcd\r\n")) as server:
        outcome = await run(server.url(), capture_bytes=10)
    assert recorded(outcome) == {"text": "abcdabcdab", "size": 10, "truncated": True}


async def test_a_dripping_body_ends_with_the_timeout_and_its_connection_with_it() -> None:
    head = HEAD + b"Content-Length: 1000\r\n\r\n"
    async with a_server(endless(head, b"z", 0.02)) as server, a_dispatcher() as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(server.url()), timeout_ms=150))
        await until(lambda: server.closed == 1)
    assert outcome.status is RunStatus.TIMEOUT
    assert outcome.error == "no answer within 150 ms"
    assert outcome.response == {
        "failure": "timeout",
        "status": 200,
        "headers": {"content-type": "text/plain"},
    }


async def test_a_timeout_of_the_engine_releases_the_connection_too() -> None:
    async with a_server(lambda *_: asyncio.sleep(60)) as server, a_dispatcher() as dispatcher:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(dispatcher.execute(a_claim(HttpTarget(server.url()))), 0.1)
        await until(lambda: server.connections == 1)
        free = dispatcher._pools._guarded
        assert free is not None
        assert free.connector is not None
        assert not free.connector._acquired


class SlowNames(FakeNames):
    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        await asyncio.sleep(60)
        return []


class SlowSecrets(FakeSecrets):
    async def reveal(self, tenant_id: str, reference: str) -> str:
        await asyncio.sleep(60)
        return ""


async def test_names_and_secrets_that_do_not_come_end_with_the_timeout() -> None:
    async with a_dispatcher(SlowSecrets(), SlowNames()) as dispatcher:
        for target in (
            HttpTarget("http://slow.example/"),
            HttpTarget("http://slow.example/", headers={"X": "${env:X}"}),
        ):
            outcome = await dispatcher.execute(a_claim(target, timeout_ms=50))
            assert outcome.status is RunStatus.TIMEOUT
            assert outcome.error == "no answer within 50 ms"


async def test_endless_headers_are_not_taken() -> None:
    reply = endless(b"HTTP/1.1 200 X\r\n", b"X-More: " + b"h" * 4_000 + b"\r\n")
    async with a_server(reply) as server:
        outcome = await run(server.url())
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error == "the answer is not HTTP"


def bomb(encoding: str) -> bytes:
    """Fifty megabytes of nothing, packed."""
    pack = zlib.compressobj(1, wbits=zlib.MAX_WBITS + (16 if encoding == "gzip" else 0))
    block = bytes(1_000_000)
    return b"".join([pack.compress(block) for _ in range(50)]) + pack.flush()


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_to_the_limit_and_no_further(encoding: str) -> None:
    packed = bomb(encoding)
    reply = says(packed, content_encoding=encoding, content_type="application/json")
    async with a_server(reply) as server:
        tracemalloc.start()
        outcome = await run(server.url(), success_path="$")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert outcome.status is RunStatus.FAILURE
    assert recorded(outcome) | {"text": ""} == {"text": "", "size": 16_384, "truncated": True}
    assert peak < 5_000_000


async def test_a_bomb_in_a_bomb_and_other_packings_are_not_unpacked() -> None:
    twice = gzip.compress(gzip.compress(bytes(1_000_000)))
    reply = says(twice, content_encoding="gzip, gzip", content_type="text/plain")
    async with a_server(reply) as server:
        outcome = await run(server.url())
    assert recorded(outcome) == {"size": len(twice), "truncated": False}


async def test_packing_that_never_yields_anything_is_given_up() -> None:
    stored = b"\x00\x00\x00\xff\xff" * 10_000  # Empty deflate blocks.
    head = HEAD + b"Content-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = f"{len(stored):x}\r\n".encode() + stored + b"\r\n"
    async with a_server(endless(head + b"2\r\n\x78\x9c\r\n", chunk)) as server:
        outcome = await run(server.url())
    assert outcome.status is RunStatus.SUCCESS
    assert recorded(outcome) == {"size": 0, "truncated": True}


async def test_packing_that_is_none_is_a_failure() -> None:
    async with a_server(says("not gzip", content_encoding="gzip")) as server:
        outcome = await run(server.url())
    assert outcome.error == "the answer is not packed the way it says"
    assert outcome.status is RunStatus.FAILURE


async def test_json_that_is_too_deep_is_recorded_as_text() -> None:
    deep = "[" * 500 + "]" * 500
    async with a_server(says(deep, content_type="application/json")) as server:
        outcome = await run(server.url())
    assert recorded(outcome)["text"] == deep


async def test_json_with_many_parts_is_json_all_the_same() -> None:
    async with a_server(says(str([[1]] * 100), content_type="application/json")) as server:
        outcome = await run(server.url())
    assert isinstance(outcome.response, dict)
    assert outcome.response["body"] == [[1]] * 100


async def test_nul_never_reaches_a_store() -> None:
    async with a_server(says(r'{"a\u0000": ["\u0000", 1]}', content_type="application/json")) as server:
        outcome = await run(server.url())
    assert isinstance(outcome.response, dict)
    assert outcome.response["body"] == {"a\N{REPLACEMENT CHARACTER}": ["\N{REPLACEMENT CHARACTER}", 1]}


async def test_a_hundred_bad_servers_cost_a_good_one_nothing() -> None:
    async with (
        a_server(lambda *_: asyncio.sleep(60)) as bad,
        a_server() as good,
        a_dispatcher() as dispatcher,
    ):
        claim = a_claim(HttpTarget(bad.url()), timeout_ms=60_000)
        hanging = [asyncio.create_task(dispatcher.execute(claim)) for _ in range(100)]
        await until(lambda: len(bad.requests) == 100)
        outcome = await dispatcher.execute(a_claim(HttpTarget(good.url())))
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    assert outcome.status is RunStatus.SUCCESS
