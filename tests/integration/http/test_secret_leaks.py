"""Secrets go out where they are meant to, and appear nowhere else."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.integration.http.loopback_server import FakeSecrets, Reply, Request, a_server, answer, run

from cadenza.domain.scheduling.run import RunStatus

SECRET = 'p@ss/wörd "1"'


def echo(content_type: str, spell: Any = str) -> Reply:
    """A server that gives back what it was sent."""

    def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        body = spell(request.body.decode())
        writer.write(answer(body, content_type=content_type, etag="plain-secret"))

    return reply


async def test_secrets_are_put_in_headers_and_bodies() -> None:
    secrets = FakeSecrets(TOKEN="abcd", NAME="ef")
    async with a_server() as server:
        await run(
            server.url(),
            "POST",
            secrets,
            headers={"Authorization": "Bearer ${secret:TOKEN}-${env:NAME}"},
            body={"a": ["${secret:TOKEN}", {"${secret:TOKEN}": "${other:TOKEN}"}]},
        )
    assert server.last.headers["authorization"] == "Bearer abcd-ef"
    assert json.loads(server.last.body) == {"a": ["abcd", {"${secret:TOKEN}": "${other:TOKEN}"}]}
    assert sorted(secrets.asked) == [("default", "env:NAME"), ("default", "secret:TOKEN")]


@pytest.mark.parametrize(
    ("content_type", "spell"),
    [
        ("text/plain", str),
        ("text/plain", json.dumps),
        ("text/plain", quote),
        ("text/plain", lambda text: base64.b64encode(text.encode()).decode()),
        ("application/json", lambda text: json.dumps({text: [text, {"a": f"x{text}y"}]})),
        ("application/json", lambda text: json.dumps(text)[:-1]),
        ("application/octet-stream", str),
        ("", str),
    ],
)
async def test_a_secret_that_comes_back_is_masked(content_type: str, spell: Any) -> None:
    async with a_server(echo(content_type, spell)) as server:
        outcome = await run(server.url(), "POST", FakeSecrets(TOKEN=SECRET), body="${secret:TOKEN}")
    told = json.dumps(outcome.response, ensure_ascii=False) + str(outcome.error)
    assert server.last.body.decode() == SECRET
    assert outcome.status is RunStatus.SUCCESS
    for spelled in (SECRET, json.dumps(SECRET)[1:-1], quote(SECRET), "wörd", "sha256"):
        assert spelled not in told


async def test_a_secret_in_headers_and_numbers_of_the_answer_is_masked() -> None:
    reply = answer('{"pin": 123456, "ok": 12}', content_type="application/json", etag="x123456y")
    async with a_server(lambda _, writer: writer.write(reply)) as server:
        outcome = await run(
            server.url(), secrets=FakeSecrets(PIN="123456"), headers={"X-Pin": "${secret:PIN}"}
        )
    assert isinstance(outcome.response, dict)
    assert outcome.response["body"] == {"pin": "[masked]", "ok": 12}
    assert outcome.response["headers"]["etag"] == "x[masked]y"  # type: ignore[index, call-overload]


@pytest.mark.parametrize("kept", range(1, 20))
async def test_half_a_secret_at_the_end_of_what_was_captured_is_masked(kept: int) -> None:
    secret = "0123456789abcdef"
    async with a_server(echo("text/plain", lambda text: "ab" + text + text)) as server:
        outcome = await run(
            server.url(), "POST", FakeSecrets(TOKEN=secret), body="${secret:TOKEN}", capture_bytes=kept
        )
    assert isinstance(outcome.response, dict)
    assert "0123" not in str(outcome.response["text"])


async def test_a_redirect_that_repeats_a_secret_is_masked() -> None:
    def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        leak = f"/leak?token={request.headers['x-token']}"
        writer.write(answer() if request.path.startswith("/leak") else answer("", 302, location=leak))

    async with a_server(reply) as server:
        outcome = await run(
            server.url(), "GET", FakeSecrets(T="hunter2"), headers={"X-Token": "${secret:T}"}, max_redirects=1
        )
    assert server.last.path == "/leak?token=hunter2"
    assert "hunter2" not in str(outcome)


async def test_an_error_that_would_repeat_a_secret_is_masked() -> None:
    def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer("", 302, location=f"http://{request.headers['x-token']}.localhost/"))

    async with a_server(reply) as server:
        outcome = await run(
            server.url(), "GET", FakeSecrets(T="hunter2"), headers={"X-Token": "${secret:T}"}, max_redirects=1
        )
    assert outcome.error == "refused: [masked].localhost is this machine"


async def test_a_secret_cannot_smuggle_a_header_in() -> None:
    async with a_server() as server:
        outcome = await run(
            server.url(), secrets=FakeSecrets(T="a\r\nX-Evil: 1"), headers={"X-Token": "${secret:T}"}
        )
    assert outcome.error == "the secret in the header X-Token is not one line of text"
    assert not server.requests


async def test_a_secret_that_is_no_text_is_not_sent() -> None:
    async with a_server() as server:
        outcome = await run(server.url(), "POST", FakeSecrets(T="a\udcff"), body="${secret:T}")
    assert outcome.error == "${secret:T} could not be revealed: It is not a text."
    assert not server.requests
