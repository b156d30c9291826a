"""Signed requests as a receiver sees them, verified by the program that the documentation shows."""

import re
from pathlib import Path
from time import time
from typing import Any

import pytest
from tests.integration.http.loopback_server import FakeSecrets, Request, a_claim, a_dispatcher, a_server, run

from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import HttpTarget

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OLD = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
STRANGER = "whsec_ZmlmdHkgY2hhcmFjdGVycyBvZiBhIHN0cmFuZ2VyJ3Mga2V5"
GUIDE = Path(__file__).parents[3] / "docs/how-to/sign-and-verify.md"
BOTH = ("${secret:KEY}", "${secret:OLD}")


@pytest.fixture(scope="module")
def verify() -> Any:
    """The function of the guide."""
    names: dict[str, Any] = {}
    (program,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    exec(program, names)
    return names["verify"]


async def received(body: Any, signing: tuple[str, ...]) -> Request:
    async with a_server() as server:
        outcome = await run(server.url(), "POST", FakeSecrets(KEY=KEY, OLD=OLD), body=body, signing=signing)
    assert outcome.status is RunStatus.SUCCESS
    return server.last


@pytest.mark.parametrize("body", [{"a": "ü"}, "text", None])
async def test_a_receiver_verifies_with_any_of_the_keys(verify: Any, body: Any) -> None:
    request = await received(body, BOTH)
    assert verify(request.headers, request.body, KEY)
    assert verify(request.headers, request.body, OLD)
    assert not verify(request.headers, request.body, STRANGER)
    assert len(request.headers["webhook-signature"].split(" ")) == 2


async def test_what_was_changed_on_the_way_does_not_verify(verify: Any) -> None:
    request = await received({"amount": 1}, BOTH)
    assert not verify(request.headers, request.body + b" ", KEY)
    for name in ("webhook-id", "webhook-timestamp"):
        assert not verify({**request.headers, name: "1" + request.headers[name]}, request.body, KEY)


async def test_what_is_old_does_not_verify(verify: Any) -> None:
    request = await received({"amount": 1}, BOTH)
    assert not verify(request.headers, request.body, KEY, now=time() + 301)


async def test_every_attempt_has_the_same_id(verify: Any) -> None:
    async with a_server() as server, a_dispatcher(FakeSecrets(KEY=KEY)) as dispatcher:
        claim = a_claim(HttpTarget(server.url(), signing=("${secret:KEY}",)))
        await dispatcher.execute(claim)
        await dispatcher.execute(claim._replace(run_id="run-2", attempt=2))
    first, second = (request.headers for request in server.requests)
    assert first["webhook-id"] == second["webhook-id"] == "default:endpoint:2025-01-01T00:00:00Z"
    assert first["cadenza-run-id"] != second["cadenza-run-id"]


async def test_without_keys_nothing_is_signed() -> None:
    request = await received("text", ())
    assert not [name for name in request.headers if name.startswith("webhook-")]


async def test_a_bad_key_sends_nothing() -> None:
    async with a_server() as server:
        outcome = await run(
            server.url(), secrets=FakeSecrets(KEY="whsec_tooshort"), signing=("${secret:KEY}",)
        )
    assert outcome.error == "signing key 1 is not whsec_ with 24 to 64 bytes in base64"
    assert not server.requests
