"""`cadenza up` alerts a receiver that verifies the signature: a failing endpoint, its recovery, an SLO."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.monitoring.webhook_receiver import KEY, Received, Receiver
from tests.surfaces.server_process import UP, Caller, running

from cadenza.adapters.access.secrets import EnvironmentSecrets
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.telemetry.webhook_channel import WebhookSender
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState
from cadenza.testing.clock import NEW_YEAR

LOOPBACK = HttpSettings(allow=("127.0.0.1",))
SATURATION = ("saturation", "endpoints")
A_WHILE_S = 90


class Patient:
    """An endpoint that answers with whatever status it is told to."""

    def __init__(self) -> None:
        self.status = 500
        self.asked = asyncio.Semaphore(0)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_get("/", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
        await runner.cleanup()

    async def until_asked(self, times: int) -> None:
        """Come back when it was asked so often from now on."""
        self.asked = asyncio.Semaphore(0)
        for _ in range(times):
            await self.asked.acquire()

    async def _answer(self, _: web.Request) -> web.Response:
        self.asked.release()
        return web.Response(status=self.status)


async def settled(caller: Caller, url: str) -> None:
    assert (await caller.ask("POST /v1/jobs", {"id": "job", "name": "job"})).status == 201
    endpoint = {
        "id": "patient",
        "name": "patient",
        "target": {"kind": "http", "url": url},
        "baseline": {"kind": "every", "interval_ms": 300},
        "start_now": True,
    }
    made = await caller.ask("POST /v1/jobs/job/endpoints", endpoint)
    assert made.status == 201, made.body


def of_kind(messages: list[Received], kind: str) -> list[Received]:
    return [message for message in messages if message.body["type"] == kind]


def saturated(messages: list[Received]) -> list[Received]:
    """What was told of this breach; a busy machine may break other promises besides."""
    begun = of_kind(messages, "cadenza.slo.begun")
    return [one for one in begun if (one.body["data"]["slo"], one.body["data"]["scheduler"]) == SATURATION]


async def test_up_alerts_once_each_signed_and_not_again_after_a_restart(tmp_path: Path) -> None:
    patient = Patient()
    async with Receiver().open() as receiver, patient.open() as url:
        settings = {
            "CADENZA_ALLOW_TARGETS": "127.0.0.1",
            "CADENZA_JITTER_MS": "0",
            "CADENZA_ALERT_URL": receiver.address,
            "CADENZA_ALERT_SECRET": "env:CADENZA_SECRET_ALERTS",
            "CADENZA_SECRET_ALERTS": KEY,
            "CADENZA_ALERT_FAILURES": "2",
            "CADENZA_SLO_EVAL_MS": "200",
            "CADENZA_SAT_RATIO": "0.000001",
            "CADENZA_WORKER_CONCURRENCY": "1",
            "CADENZA_PROCESS_NAME": "here",
        }
        with running(tmp_path, UP, **settings) as up:
            key = up.key
            async with up.caller() as caller:
                await settled(caller, url)
                await receiver.until(lambda found: bool(of_kind(found, "cadenza.endpoint.begun")))
                await receiver.until(lambda found: bool(saturated(found)))
                await check_slo(caller)
            assert up.end() == 0
        with running(tmp_path, UP, **settings) as up:
            await patient.until_asked(3)
            patient.status = 200
            await receiver.until(lambda found: bool(of_kind(found, "cadenza.endpoint.over")))
            assert up.end() == 0
    assert key
    assert all(message.signed for message in receiver.messages)
    (begun,) = of_kind(receiver.messages, "cadenza.endpoint.begun")
    (over,) = of_kind(receiver.messages, "cadenza.endpoint.over")
    assert len(saturated(receiver.messages)) == 1
    assert (begun.body["data"]["failures"], begun.body["data"]["endpoint_id"]) == (2, "patient")
    assert begun.body["data"]["error"] == "answered 500"
    assert over.body["data"]["failures"] >= 2


async def check_slo(caller: Caller) -> None:
    """The same breach is told over REST, and shown among the figures."""
    breach: dict[str, Any] = {}
    async with asyncio.timeout(A_WHILE_S):
        while not breach.get("breached"):
            await asyncio.sleep(0.05)
            items = (await caller.ask("GET /v1/slo")).json()["items"]
            breach = next((one for one in items if (one["slo"], one["scheduler"]) == SATURATION), {})
    assert (breach["process"], breach["threshold"]) == ("here", 0.000001)
    written = (await caller.ask("GET /metrics")).body.decode()
    assert 'cadenza_slo_breached{scheduler="endpoints",slo="saturation"} 1.0' in written
    assert 'cadenza_job_seconds_count{result="error",scheduler="endpoints"}' in written


def an_alert(text: str = "It burns.", **facts: Any) -> Alert:
    return Alert(
        key="key:1",
        kind=AlertKind.ENDPOINT,
        state=AlertState.BEGUN,
        text=text,
        raised_at=NEW_YEAR,
        facts=facts,
    )


@asynccontextmanager
async def a_sender(url: str, **options: Any) -> AsyncIterator[WebhookSender]:
    secrets = EnvironmentSecrets(environment={"CADENZA_SECRET_ALERTS": KEY})
    dispatcher = HttpDispatcher(secrets=secrets, clock=SystemClock(), settings=LOOPBACK)
    async with dispatcher:
        yield WebhookSender(
            dispatcher,
            SystemClock(),
            url=url,
            signing=("${env:CADENZA_SECRET_ALERTS}",),
            **({"form": "json"} | options),
        )


async def test_every_attempt_carries_the_same_id_and_a_good_signature() -> None:
    async with Receiver(failures=1).open() as receiver, a_sender(receiver.address) as sender:
        assert await sender.send(an_alert(), 1) == "answered 503"
        assert await sender.send(an_alert(), 2) is None
    (refused,), (taken,) = receiver.refused, receiver.messages
    assert refused.signed
    assert taken.signed
    assert refused.id == taken.id


async def test_a_channel_gets_a_line_of_text() -> None:
    async with Receiver().open() as receiver, a_sender(receiver.address, form="slack") as sender:
        assert await sender.send(an_alert(), 1) is None
    assert receiver.messages[0].body == {"text": ":rotating_light: It burns."}


@pytest.mark.parametrize("error", ["${env:CADENZA_SECRET_ALERTS}", "${env:", "${secret:?}"])
async def test_what_an_endpoint_says_reveals_no_secret(error: str) -> None:
    async with Receiver().open() as receiver, a_sender(receiver.address) as sender:
        assert await sender.send(an_alert(f"It says {error}", error=error), 1) is None
    (message,) = receiver.messages
    assert KEY not in str(message.body)
    assert message.body["data"]["error"] == error.replace("${", "$ {")


async def test_nobody_there_is_a_reason_and_not_an_exception() -> None:
    async with Receiver().open() as receiver:
        address = receiver.address
    async with a_sender(address) as sender:
        assert await sender.send(an_alert(), 1) == "connection refused"
