"""The whole story over real processes: talk, plan, go away, come back; whatever was killed meanwhile."""

import asyncio
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.agents.database_history import QUIET, create_users, ok, wait_until_fired
from tests.faults.agents.fork_server import ForkServer, ServerProcess
from tests.postgres import Cluster, cluster
from tests.surfaces.server_process import Caller
from tests.surfaces.websocket.socket_client import SocketClient, connect_with_token

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["cluster"]

FAST = 120
A_LONG_LEASE = {"CADENZA_LEASE_MS": "3600000"}
"""At that speed, a lease of the usual length is over before a busy machine has looked up."""


async def planned(client: SocketClient, *wishes: str) -> list[str]:
    """Ask the agent for reminders; it must agree to each."""
    for wish in wishes:
        await client.say(wish)
        (answer,) = await client.receive_messages(1)
        assert answer["text"].startswith("I will"), answer
        await client.ack()
    return client.texts


async def schedules(caller: Caller) -> dict[str, str]:
    """The id of the one schedule of each type."""
    page = await ok(caller, "GET /v1/schedules?user_id=ada&enabled_only=false")
    return {one["schedule_type"]: one["id"] for one in page["items"]}


async def replayed(client: SocketClient) -> list[dict[str, Any]]:
    """Everything that was owed when the socket came."""
    while client.last_seq < client.welcome["last_seq"]:
        await client.receive()
    return client.inbox


def firings(frames: list[dict[str, Any]]) -> set[str]:
    return {frame["id"].rpartition(".")[0] for frame in frames if frame["schedule_id"]}


async def nothing_more(address: str, token: str) -> None:
    """Who has everything is told nothing."""
    async with connect_with_token(address, token) as again:
        await again.expect_silence()
        assert again.notification is None


async def test_up_is_killed_after_both_fired_and_the_user_comes_back(tmp_path: Path) -> None:
    with closing(ForkServer(tmp_path, **QUIET, **A_LONG_LEASE)) as fork_server:
        with fork_server.up(speed=FAST) as up:
            key = up.key
            async with up.caller() as caller:
                token = (await create_users(caller, "ada"))["ada"]
                async with connect_with_token(up.address, token) as client:
                    await planned(
                        client, "remind me in 4 minutes to stretch", "every 10 minutes tell me to breathe"
                    )
                ids = await schedules(caller)
                for schedule in ids.values():
                    await wait_until_fired(caller, schedule)
            up.kill()
        with fork_server.up(speed=FAST) as up:
            async with connect_with_token(up.address, token) as back:
                frames = await replayed(back)
                assert {frame["schedule_id"] for frame in frames} == set(ids.values())
                assert (back.notification or {})["count"] == len(firings(frames)) == len(frames)
                assert [frame["seq"] for frame in frames] == [3 + n for n in range(len(frames))]
                async with up.caller(key) as caller:
                    await ok(caller, f"DELETE /v1/schedules/{ids['recurring']}")
                await back.expect_silence(0.5)
                await back.ack()
            await nothing_more(up.address, token)
            up.end()


async def fire_now(url: str, schedule: str) -> None:
    """Make a schedule due in the database: no operation does so before its time."""
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=StructuredLog()) as store:
        await store.endpoints.amend(
            EndpointKey("default", schedule),
            lambda one: ChangedEndpoint(
                evolve(one, next_run_at=datetime.now(UTC), next_source=Source.BASELINE_CRON)
            ),
        )


async def talk_at_both(
    url: str, caller: Caller, here: ServerProcess, there: ServerProcess
) -> tuple[str, dict[str, str]]:
    """Plan with one process while another listens too, go away, and let both schedules fire."""
    token = (await create_users(caller, "ada"))["ada"]
    async with (
        connect_with_token(here.address, token) as phone,
        connect_with_token(there.address, token) as laptop,
    ):
        await planned(laptop, "remind me in 1 second to stretch", "every weekday at 9 say hello")
        while len(phone.inbox) < 2:
            await phone.receive()
        assert phone.inbox == laptop.inbox[:2], "both processes serve the user, in the same order"
    ids = await schedules(caller)
    await fire_now(url, ids["recurring"])
    for schedule in ids.values():
        await wait_until_fired(caller, schedule)
    return token, ids


async def test_two_processes_one_killed_and_the_database_restarted(cluster: Cluster, tmp_path: Path) -> None:
    await migrate(cluster.url)
    settings = QUIET | {"CADENZA_DATABASE_URL": cluster.url}
    with closing(ForkServer(tmp_path, **settings)) as fork_server, fork_server.api() as api:
        with fork_server.up() as up:
            async with up.caller() as caller:
                token, ids = await talk_at_both(cluster.url, caller, up, api)
            async with connect_with_token(up.address, token) as client:
                frames = await replayed(client)
                assert (client.notification or {})["count"] == len(firings(frames)) == 2
                up.kill()
        async with connect_with_token(api.address, token) as back:
            assert await replayed(back) == frames
            assert back.notification is None, "nothing fired since the socket that broke"
            await asyncio.to_thread(cluster.stop, "immediate")
            await back.ack()
            await asyncio.to_thread(cluster.start)
            with fork_server.up() as up:
                await fire_now(cluster.url, ids["recurring"])
                (live,) = await back.receive_messages(1)
                assert live["schedule_id"] == ids["recurring"]
                await back.ack()
                for process in (api, up):
                    await nothing_more(process.address, token)
                up.end()
        api.end()
