"""A deleted key opens nothing from then on, in whichever process it was deleted."""

import asyncio
from pathlib import Path

import aiohttp
import pytest
from tests.surfaces.server_process import API, UP, Caller, running
from tests.surfaces.websocket.socket_client import connect_raw

SOON_S = 1.0
"""Far below the seconds for which a key could be cached."""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


async def refused(caller: Caller) -> None:
    """Wait until a caller is refused."""
    while (await caller.ask("GET /v1/jobs")).status != 401:  # noqa: ASYNC110 - Another process tells.
        await asyncio.sleep(0.01)


async def test_a_key_that_one_process_deletes_opens_nothing_in_another(tmp_path: Path, url: str) -> None:
    settings = {"CADENZA_DATABASE_URL": url, "CADENZA_DAILY": "false"}
    with running(tmp_path, UP, **settings) as here, running(tmp_path, API, **settings) as there:
        async with here.caller() as admin:
            assert (await admin.ask("PUT /v1/users/ada", {})).status == 200
            made = (await admin.ask("POST /v1/keys", {"name": "short", "scopes": ["write"]})).json()
            token = (await admin.ask("POST /v1/users/ada/token", {})).json()["token"]
            async with here.caller(made["key"]) as maker:
                short_token = (await maker.ask("POST /v1/users/ada/token", {})).json()["token"]
            async with (
                there.caller(made["key"]) as short,
                there.caller(token) as ada,
                there.caller(short_token) as short_ada,
                there.caller(here.key) as lasting,
                connect_raw(there.address) as socket,
                aiohttp.ClientSession(headers={"Authorization": f"Bearer {made['key']}"}) as session,
                session.get(f"{there.address}/v1/events") as stream,
            ):
                await socket.send({"type": "hello", "token": made["key"], "user_id": "ada"})
                await socket.receive()
                for caller in (short, lasting):
                    assert (await caller.ask("GET /v1/jobs")).status == 200
                for user in (ada, short_ada):
                    assert (await user.ask("GET /v1/users/ada")).status == 200
                assert (await admin.ask(f"DELETE /v1/keys/{made['id']}")).status == 204
                async with asyncio.timeout(SOON_S):
                    await refused(short)
                    await refused(short_ada)
                assert (await ada.ask("GET /v1/users/ada")).status == 200
                async with asyncio.timeout(2 * SOON_S):
                    assert await socket.ended() == 4401
                    await stream.content.read()
                assert (await admin.ask("DELETE /v1/users/ada")).status == 204
                async with asyncio.timeout(SOON_S):
                    await refused(ada)
                assert (await lasting.ask("GET /v1/jobs")).status == 200
