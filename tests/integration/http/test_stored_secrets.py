"""A secret in the store, from the one who puts it to the server that gets it, through a whole worker."""

import asyncio
import json
import os
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.integration.http.loopback_server import HERE, Server, a_server, says
from tests.postgres import Databases, newest_databases

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.dispatch.http.signing import signature_headers
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.errors import NotFound, Unavailable
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.secrets import SecretKey
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop
from cadenza.testing import an_endpoint

__all__ = ["newest_databases"]

NOW = SystemClock().now
SIGNING = "whsec_" + b64encode(bytes(range(32))).decode()
KEY, OTHER = (b64encode(bytes([number] * 32)).decode() for number in (1, 2))
TARGET: dict[str, Any] = {
    "method": "POST",
    "headers": {"Authorization": "Bearer ${secret:TOKEN}"},
    "body": {"password": "${secret:PASSWORD}"},
    "signing": ("${secret:SIGNING}",),
}
SECRETS = {"TOKEN": "token-4711", "PASSWORD": 'pässwörd "1"', "SIGNING": SIGNING}


@pytest.fixture(params=["sqlite", "postgresql", "postgresql, pooled"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """A database of each kind; the one on SQLite has a key file, the others a key among the settings."""
    if request.param == "sqlite":
        return Settings(database_url=f"sqlite:///{tmp_path / 'cadenza.db'}", allow_targets=(HERE,))
    databases: Databases = request.getfixturevalue("newest_databases")
    return Settings.model_validate(
        {
            "database_url": databases.clean(),
            "database_prepared": "pooled" not in request.param,
            "allow_targets": HERE,
            "secret_key": KEY,
        }
    )


class Works:
    """A worker on a store, its log, and a way to see an endpoint run."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.log = StringIO()

    async def put(self, tenant_id: str = "default", **values: str) -> None:
        """Put secrets the way another process does."""
        async with open_secrets(self.settings) as secrets:
            for name, value in values.items():
                await secrets.put(SecretKey(tenant_id, name), value, now=NOW())

    async def run(self, name: str, url: str, tenant_id: str = "default", **target: Any) -> Run:
        """Let a new worker run a new endpoint once."""
        endpoint = an_endpoint(
            name,
            tenant_id=tenant_id,
            target=HttpTarget(url, **(target or TARGET)),
            baseline=Every(3_600_000),
            next_run_at=NOW(),
        )
        await self.store.endpoints.add(endpoint)
        log = StructuredLog(level=0, stream=self.log)
        context = ProcessContext(
            store=self.store, clock=SystemClock(), log=log, callables=CallableDispatcher()
        )
        async with open_loop(self.settings, context) as loop:
            running = asyncio.create_task(loop.run())
            run = await settled(lambda: self.store.runs.runs(endpoint.key))
            loop.stop()
            await running
        return run


async def settled(runs: Callable[[], Awaitable[list[Run]]]) -> Run:
    async with asyncio.timeout(20):
        while True:
            if found := [run for run in await runs() if run.finished_at is not None]:
                return found[0]
            await asyncio.sleep(0.02)


@pytest.fixture
async def works(settings: Settings) -> AsyncIterator[Works]:
    async with open_store(settings, ids=TimeOrderedIds(), log=StructuredLog()) as store:
        yield Works(settings, store)


@asynccontextmanager
async def a_receiver() -> AsyncIterator[Server]:
    async with a_server(says('{"ok": true}', content_type="application/json")) as server:
        yield server


def nothing_told(works: Works, run: Run) -> None:
    """Neither the log nor the run holds any value."""
    told = works.log.getvalue() + json.dumps([run.error, run.response, run.reason], default=str)
    for value in (*SECRETS.values(), SIGNING.removeprefix("whsec_"), KEY, OTHER):
        assert value not in told
        assert json.dumps(value)[1:-1] not in told


async def test_headers_bodies_and_signatures_carry_what_was_put(works: Works) -> None:
    await works.put(**SECRETS)
    async with a_receiver() as server:
        run = await works.run("endpoint", server.url())
    request = server.last
    assert (run.status, run.error) == (RunStatus.SUCCESS, None)
    assert request.headers["authorization"] == "Bearer token-4711"
    assert json.loads(request.body) == {"password": SECRETS["PASSWORD"]}
    message, moment = request.headers["webhook-id"], int(request.headers["webhook-timestamp"])
    expected = signature_headers(
        [SIGNING], message=message, now=datetime.fromtimestamp(moment, UTC), body=request.body
    )
    assert request.headers["webhook-signature"] == expected["webhook-signature"]
    nothing_told(works, run)


async def test_a_changed_secret_is_sent_and_a_deleted_one_is_missed(works: Works) -> None:
    await works.put(**SECRETS)
    async with a_receiver() as server:
        await works.run("first", server.url())
        await works.put(TOKEN="rotated")
        await works.run("second", server.url())
        async with open_secrets(works.settings) as secrets:
            await secrets.delete(SecretKey("default", "TOKEN"))
        run = await works.run("third", server.url())
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer token-4711",
        "Bearer rotated",
    ]
    assert run.status is RunStatus.FAILURE
    assert run.error == "${secret:TOKEN} could not be revealed: Secret secret:TOKEN not found."


async def test_a_tenant_cannot_use_another_ones_secret(works: Works) -> None:
    await works.put("owner", TOKEN="theirs")
    async with a_receiver() as server:
        run = await works.run("endpoint", server.url(), "stranger", headers={"X-Token": "${secret:TOKEN}"})
    assert (run.status, server.requests) == (RunStatus.FAILURE, [])
    assert run.error is not None
    assert "Secret secret:TOKEN not found" in run.error


async def test_a_wrong_key_is_a_failed_run_that_says_so(works: Works) -> None:
    await works.put(**SECRETS)
    works.settings = Settings.model_validate(works.settings.model_dump() | {"secret_key": OTHER})
    async with a_receiver() as server:
        run = await works.run("endpoint", server.url())
    assert (run.status, server.requests) == (RunStatus.FAILURE, [])
    assert run.response == {"failure": "secret"}
    assert run.error is not None
    assert "which is not among the settings" in run.error
    nothing_told(works, run)


async def test_keys_overlap_while_they_are_changed(works: Works) -> None:
    if works.settings.secret_key is None:
        works.settings = Settings.model_validate(works.settings.model_dump() | {"secret_key": KEY})
    await works.put(**SECRETS)
    changed = {"secret_key": OTHER, "secret_key_old": KEY}
    works.settings = Settings.model_validate(works.settings.model_dump() | changed)
    async with a_receiver() as server:
        assert (await works.run("during", server.url())).status is RunStatus.SUCCESS
        async with open_secrets(works.settings) as secrets:
            assert await secrets.reseal() == 3
        works.settings = Settings.model_validate(works.settings.model_dump() | {"secret_key_old": None})
        assert (await works.run("after", server.url())).status is RunStatus.SUCCESS


async def test_without_a_key_sqlite_makes_one_and_postgresql_refuses(works: Works) -> None:
    works.settings = Settings.model_validate(works.settings.model_dump() | {"secret_key": None})
    path = Path(works.settings.database_url.removeprefix("sqlite:///") + ".key")
    if works.settings.database_url.startswith("sqlite"):
        await works.put(TOKEN="value")
        assert path.name == "cadenza.db.key"
        assert await asyncio.to_thread(os.stat, path)
    else:
        with pytest.raises(Unavailable, match="set CADENZA_SECRET_KEY"):
            await works.put(TOKEN="value")
        async with open_secrets(works.settings) as secrets:
            assert await secrets.names("default") == []


async def test_a_hundred_endpoints_that_share_a_secret_all_get_it(works: Works) -> None:
    await works.put(**SECRETS)
    async with a_receiver() as server:
        for number in range(100):
            await works.store.endpoints.add(
                an_endpoint(
                    f"one of {number}",
                    target=HttpTarget(server.url(), **TARGET),
                    baseline=Every(3_600_000),
                    next_run_at=NOW(),
                )
            )
        await works.run("last", server.url())
        async with asyncio.timeout(20):
            while len(server.requests) < 101:
                await works.run(f"again {len(server.requests)}", server.url())
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer token-4711"}


async def test_the_environment_is_open_as_far_as_its_list_goes(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "mine")
    monkeypatch.setenv("CADENZA_SECRET_TOKEN", "by prefix")
    fields: Any = {"headers": {"X-Token": "${env:MY_TOKEN}"}}
    by_prefix: Any = {"headers": {"X-Token": "${env:CADENZA_SECRET_TOKEN}"}}
    async with a_receiver() as server:
        assert (await works.run("closed", server.url(), **fields)).status is RunStatus.FAILURE
        assert (await works.run("prefix", server.url(), **by_prefix)).status is RunStatus.SUCCESS
        works.settings = works.settings.model_copy(update={"secret_env": ("MY_TOKEN",)})
        assert (await works.run("listed", server.url(), **fields)).status is RunStatus.SUCCESS
        assert (await works.run("unlisted", server.url(), **by_prefix)).status is RunStatus.FAILURE
    assert [request.headers["x-token"] for request in server.requests] == ["by prefix", "mine"]


async def test_what_nobody_put_is_not_there(works: Works) -> None:
    async with open_secrets(works.settings) as secrets:
        with pytest.raises(NotFound):
            await secrets.delete(SecretKey("default", "TOKEN"))
