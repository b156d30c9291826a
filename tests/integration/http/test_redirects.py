"""Redirects are followed step by step, and nothing that was meant for one origin goes to another."""

import asyncio
from typing import Any

import pytest
from tests.integration.http.loopback_server import (
    FakeSecrets,
    Request,
    a_claim,
    a_dispatcher,
    a_server,
    answer,
    run,
    says,
)

from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def sends_on(*locations: str, status: int = 302) -> Any:
    """A server whose paths lead from one to the next: /0 to the first location, /1 to the second."""

    def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        step = request.path.strip("/")
        place = int(step) if step.isdigit() else len(locations)
        redirected = place < len(locations)
        writer.write(answer("", status, location=locations[place]) if redirected else answer("there"))

    return reply


def facts(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome.response, dict)
    return outcome.response


async def test_by_default_a_redirect_is_an_answer_like_any_other() -> None:
    async with a_server(sends_on("/1")) as server:
        outcome = await run(server.url("/0"))
        welcome = await run(server.url("/0"), success_statuses=["3xx"])
    assert outcome.error == "answered 302"
    assert welcome.status is RunStatus.SUCCESS
    assert [request.path for request in server.requests] == ["/0", "/0"]


async def test_redirects_are_followed_as_far_as_allowed() -> None:
    async with a_server(sends_on("/1", "2", "/end")) as server:
        followed = await run(server.url("/0"), max_redirects=3)
        stopped = await run(server.url("/0"), max_redirects=2)
    assert followed.status is RunStatus.SUCCESS
    assert facts(followed)["redirects"] == 3
    assert facts(followed)["url"] == server.url("/end")
    assert stopped.error == "more than 2 redirects"
    assert facts(stopped)["failure"] == "redirect"
    assert facts(stopped)["status"] == 302


async def test_a_loop_ends() -> None:
    async with a_server(says("", 302, location="/")) as server:
        outcome = await run(server.url(), max_redirects=5)
    assert outcome.error == "more than 5 redirects"
    assert len(server.requests) == 6


async def test_a_redirect_to_nowhere_is_taken_for_the_answer() -> None:
    async with a_server(says("", 302)) as server:
        outcome = await run(server.url(), max_redirects=5)
    assert outcome.error == "answered 302"


@pytest.mark.parametrize(
    "location", ["http://[::1", "http://", "http://x:99999/", "//", "http://a b/", "\x01"]
)
async def test_a_redirect_that_cannot_be_read_is_a_failure(location: str) -> None:
    async with a_server(says("", 302, location=location)) as server:
        outcome = await run(server.url(), max_redirects=1)
    assert outcome.status is RunStatus.FAILURE


@pytest.mark.parametrize(
    ("method", "status", "then", "body"),
    [
        ("POST", 301, "GET", b""),
        ("POST", 302, "GET", b""),
        ("POST", 303, "GET", b""),
        ("POST", 307, "POST", b"text"),
        ("POST", 308, "POST", b"text"),
        ("PUT", 301, "PUT", b"text"),
        ("PUT", 303, "GET", b""),
        ("DELETE", 302, "DELETE", b"text"),
        ("PATCH", 308, "PATCH", b"text"),
    ],
)
async def test_method_and_body_follow_the_standard(method: str, status: int, then: str, body: bytes) -> None:
    async with a_server(sends_on("/end", status=status)) as server:
        await run(server.url("/0"), method, body="text", max_redirects=1)
    assert (server.last.method, server.last.body) == (then, body)
    assert ("content-type" in server.last.headers) == bool(body)


async def test_head_stays_head() -> None:
    async with a_server(sends_on("/end", status=303)) as server:
        await run(server.url("/0"), "HEAD", max_redirects=1)
    assert server.last.method == "HEAD"


async def test_on_its_own_origin_everything_is_taken_along_and_signed_anew() -> None:
    secrets = FakeSecrets(KEY=KEY, TOKEN="top-secret")
    target = {
        "headers": {"Authorization": "Bearer ${secret:TOKEN}", "X-Api-Key": "plain"},
        "signing": ["${secret:KEY}"],
    }
    async with a_server(sends_on("/end", status=303)) as server:
        await run(server.url("/0"), "POST", secrets, body="text", max_redirects=1, **target)
    first, second = server.requests
    assert second.headers["authorization"] == "Bearer top-secret"
    assert second.headers["x-api-key"] == "plain"
    assert second.headers["webhook-id"] == first.headers["webhook-id"]
    assert second.headers["webhook-signature"] != first.headers["webhook-signature"]


async def test_another_origin_gets_nothing_that_could_be_a_key() -> None:
    secrets = FakeSecrets(KEY=KEY, TOKEN="top-secret")
    headers = {
        "Authorization": "Bearer ${secret:TOKEN}",
        "Cookie": "session=1",
        "X-Api-Key": "plain",
        "User-Agent": "${secret:TOKEN}",
        "Accept": "text/plain",
    }
    async with a_server() as other, a_server(sends_on(other.url("/end"), status=307)) as server:
        target = HttpTarget(
            server.url("/0"), "POST", headers, "text", max_redirects=1, signing=("${secret:KEY}",)
        )
        async with a_dispatcher(secrets) as dispatcher:
            outcome = await dispatcher.execute(a_claim(target))
    assert outcome.status is RunStatus.SUCCESS
    assert "webhook-signature" in server.last.headers
    assert other.last.body == b"text"
    assert other.last.headers["accept"] == "text/plain"
    assert other.last.headers["user-agent"].startswith("cadenza")
    kept = {"host", "accept", "accept-encoding", "user-agent", "content-type", "content-length"}
    assert other.last.headers.keys() == kept | {"idempotency-key", "cadenza-run-id"}


async def test_what_was_dropped_on_the_way_does_not_come_back() -> None:
    away: list[str] = []

    def leave_once(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(answer() if request.path == "/back" else answer("", 302, location=away[0]))

    async with a_server(leave_once) as home, a_server(says("", 302, location=home.url("/back"))) as other:
        away.append(other.url())
        await run(home.url("/start"), headers={"Authorization": "x"}, max_redirects=3)
    assert [request.path for request in home.requests] == ["/start", "/back"]
    assert "authorization" in home.requests[0].headers
    assert "authorization" not in other.last.headers
    assert "authorization" not in home.requests[1].headers


async def test_a_body_with_a_secret_does_not_leave_its_origin() -> None:
    async with a_server() as other, a_server(sends_on(other.url("/end"), status=307)) as server:
        outcome = await run(
            server.url("/0"),
            "POST",
            FakeSecrets(TOKEN="top-secret"),
            body={"token": "${secret:TOKEN}"},
            max_redirects=1,
        )
    assert outcome.error == "refused: a redirect would take a secret to another origin"
    assert other.connections == 0
