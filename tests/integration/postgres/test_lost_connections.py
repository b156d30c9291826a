"""Connections that go silent, lead to a server that takes no changes any more, or to another history."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import asyncpg
import pytest
import uvloop
from tests.faults.scheduling.tcp_proxy import TcpProxy
from tests.integration.postgres.postgres_fixtures import a_store
from tests.postgres import Cluster, tcp_url

from cadenza.adapters.stores.postgres.claim import DefinitionCache
from cadenza.adapters.stores.postgres.connections.session_settings import SILENCE_S
from cadenza.adapters.stores.postgres.listen_notify import NotificationListener
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.errors import NotWritable, Unavailable
from cadenza.testing import FakeLog
from cadenza.testing.contracts.harness import Bench

CONNECTIONS = 4
TIMEOUT_S = 1.0
PATIENCE_S = 60
Run = Callable[[Coroutine[Any, Any, list[int]]], list[int]]
READ_ONLY = "ALTER SYSTEM SET default_transaction_read_only = on"
KEEPALIVES = """
SELECT setting FROM pg_settings
WHERE name IN ('tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_user_timeout') ORDER BY name
"""
LEFT_OPEN = """
SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cadenza' AND xact_start IS NOT NULL
"""
END_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[TcpProxy]:
    with TcpProxy(cluster.port) as proxy:
        yield proxy


@pytest.fixture
async def pool(proxy: TcpProxy) -> AsyncIterator[PostgresPool]:
    """A pool behind the proxy, with several open connections."""
    pool = PostgresPool(tcp_url(proxy.port), timeout_s=TIMEOUT_S)
    together = asyncio.Barrier(CONNECTIONS)

    async def meet(connection: Connection) -> None:
        await connection.fetchval("SELECT 1")
        await together.wait()

    await asyncio.gather(*(pool.write(meet) for _ in range(CONNECTIONS)))
    assert proxy.open_connections == CONNECTIONS
    yield pool
    await pool.close()


async def changed(pool: PostgresPool) -> str:
    """Change something in a transaction of its own: whether that went well."""

    async def work(connection: Connection) -> None:
        await connection.execute("CREATE TABLE IF NOT EXISTS changed (here int)")

    try:
        await asyncio.wait_for(pool.write(work), PATIENCE_S)
    except Unavailable as problem:
        return problem.message.removeprefix(f"{pool.address} ")
    return "changed"


async def test_of_connections_that_went_silent_one_is_waited_for(pool: PostgresPool, proxy: TcpProxy) -> None:
    proxy.lose()
    assert [await changed(pool) for _ in range(3)] == ["did not answer in time.", "changed", "changed"]


async def test_a_question_to_a_silent_server_is_given_up_too(pool: PostgresPool, proxy: TcpProxy) -> None:
    proxy.lose()
    with pytest.raises(Unavailable, match="did not answer in time"):
        await asyncio.wait_for(pool.ask("SELECT 1"), PATIENCE_S)
    assert await pool.ask("SELECT 1") == [(1,)]


async def test_a_transaction_of_several_parts_is_given_up_too(pool: PostgresPool, proxy: TcpProxy) -> None:
    async def perform() -> None:
        await pool.ask("SELECT 1")
        proxy.lose()
        await pool.ask("SELECT 1")

    with pytest.raises(Unavailable, match="did not answer in time"):
        await asyncio.wait_for(pool.in_one_commit(perform), PATIENCE_S)
    assert await changed(pool) == "changed"


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "not prepared"])
async def test_locks_of_a_connection_that_went_silent_do_not_outlast_the_timeout(
    proxy: TcpProxy, cluster: Cluster, *, prepared: bool
) -> None:
    """The server is not told that it is over: it would wait for the rest of the transaction for ever."""
    pool = PostgresPool(tcp_url(proxy.port), timeout_s=TIMEOUT_S, prepared=prepared)
    await pool.ask("CREATE TABLE locked (here int)")

    async def lock(connection: Connection) -> None:
        await connection.execute("LOCK TABLE locked")

    async def lose(connection: Connection) -> None:
        await lock(connection)
        proxy.lose()
        await connection.execute("SELECT 1")

    with pytest.raises(Unavailable, match="did not answer in time"):
        await pool.write(lose)
    await _until_done(pool, lock)
    await pool.close()
    await _until_none_is_open(cluster)


async def test_a_statement_that_waits_for_a_lock_ends_with_its_connection(
    pool: PostgresPool, cluster: Cluster
) -> None:
    """Otherwise each attempt would leave a session behind, until the server has none left to give."""
    await pool.ask("CREATE TABLE locked (here int)")
    holder = await asyncpg.connect(cluster.url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE locked")
        for _ in range(2):
            with pytest.raises(Unavailable):
                await pool.ask("SELECT FROM locked")
        await _until_none_is_open(cluster)
    await holder.close()


async def test_work_that_is_cancelled_while_the_network_is_silent_ends_as_cancelled(
    pool: PostgresPool, proxy: TcpProxy
) -> None:
    """Whoever is cancelled must not take it for an outage and try again."""
    silent = asyncio.Event()

    async def wait(connection: Connection) -> None:
        proxy.lose()
        silent.set()
        await connection.execute("SELECT 1")

    working = asyncio.create_task(pool.write(wait))
    await silent.wait()
    await asyncio.sleep(0)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(working, PATIENCE_S)
    assert [await changed(pool) for _ in range(2)] == ["did not answer in time.", "changed"]


async def test_connections_that_were_reset_are_replaced(pool: PostgresPool, proxy: TcpProxy) -> None:
    proxy.cut()
    answers = [await changed(pool) for _ in range(CONNECTIONS + 1)]
    assert answers[-1] == "changed"


@pytest.mark.parametrize("prepared", [True, False], ids=["prepared", "behind a pooler"])
async def test_the_server_ends_connections_to_a_machine_that_is_gone(
    cluster: Cluster, *, prepared: bool
) -> None:
    """Otherwise nobody gets the locks of its sessions for hours; a pooler has its own settings."""
    pool = PostgresPool(cluster.tcp_url, prepared=prepared)
    session = await pool.connect()
    alone = [row[0] for row in await session.fetch(KEEPALIVES)]
    pooled = [row[0] for row in await pool.ask(KEEPALIVES)]
    assert alone == pooled == (["5", "5", "15000"] if prepared else ["7200", "75", "0"])
    await session.close()
    await pool.close()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_the_kernel_ends_connections_to_a_machine_that_is_gone(cluster: Cluster, run: Run) -> None:
    async def options() -> list[int]:
        connection = await PostgresPool(cluster.tcp_url).connect()
        used = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined]
        wanted = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE), (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        found = [used.getsockopt(*one) for one in wanted]
        await connection.close()
        return found

    assert run(options()) == [1, SILENCE_S * 1_000]


async def test_a_server_that_takes_no_changes_any_more_is_left(
    pool: PostgresPool, proxy: TcpProxy, cluster: Cluster, standby: Cluster
) -> None:
    demoted = PostgresPool(cluster.url)
    await demoted.ask(READ_ONLY)
    await demoted.ask("SELECT pg_reload_conf()")
    standby.promote()
    proxy.server_port = standby.port
    async with asyncio.timeout(PATIENCE_S):
        while await pool.ask("SHOW default_transaction_read_only") != [("on",)]:  # noqa: ASYNC110 - It tells nobody.
            await asyncio.sleep(0.01)
    with pytest.raises(NotWritable):
        await pool.ask("CREATE TABLE lost (here int)")
    assert await changed(pool) == "changed"
    assert await pool.ask("SELECT inet_server_port()") == [(standby.port,)]
    await demoted.close()


async def test_a_listener_whose_connection_went_silent_listens_anew(
    cluster: Cluster, proxy: TcpProxy
) -> None:
    await migrate(cluster.url)
    async with a_store(tcp_url(proxy.port)) as store, a_store(cluster.url, name="other") as other:
        bench = Bench(other)
        endpoint = await bench.add(next_run_at=bench.ms(3_600_000))
        listener = store._listener
        assert isinstance(listener, NotificationListener)
        listener.check_interval_s = listener.check_timeout_s = 0.2
        wakeup = store.endpoints.listen()
        await asyncio.wait_for(wakeup.wait(), PATIENCE_S)
        await _until_it_hears(listener)
        await store._pool.close()
        proxy.lose()
        await asyncio.wait_for(wakeup.wait(), PATIENCE_S)  # It listens anew.
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        await asyncio.wait_for(wakeup.wait(), PATIENCE_S)


async def test_a_listener_whose_connection_went_silent_before_its_first_check_listens_anew(
    proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = PostgresPool(tcp_url(proxy.port))
    listener = NotificationListener(pool, FakeLog(), "listener")
    listener.check_interval_s = listener.check_timeout_s = 0.2
    ask = pool.ask

    async def ask_after_a_loss(statement: str, *values: object) -> list[Any]:
        proxy.lose()
        monkeypatch.setattr(pool, "ask", ask)
        return await ask(statement, *values)

    monkeypatch.setattr(pool, "ask", ask_after_a_loss)
    listener.start()
    await _until_it_hears(listener)
    await listener.close()
    await pool.close()


async def test_definitions_of_a_history_that_was_lost_are_not_used(database_url: str) -> None:
    """After a failover to a standby that lagged behind, the same version may be given again."""
    async with a_store(database_url) as store:
        pool = PostgresPool(database_url)
        definitions = DefinitionCache(pool)
        endpoint = await Bench(store).add("one")
        (row,) = await store._pool.ask("SELECT tenant_id, endpoint_id, version FROM endpoint_states")
        assert [fields["name"] for fields in await definitions.read([row]) if fields] == [endpoint.name]
        await store._pool.ask("UPDATE endpoints SET name = 'Another'")
        await store._pool.ask(END_SESSIONS)
        await _until_connected(pool)
        assert [fields["name"] for fields in await definitions.read([row]) if fields] == ["Another"]
        await pool.close()


async def _until_it_hears(listener: NotificationListener) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not listener.hears:  # noqa: ASYNC110 - It tells nobody.
            await asyncio.sleep(0.01)


async def _until_done(pool: PostgresPool, work: Callable[[Connection], Coroutine[Any, Any, None]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(Unavailable):
                return await pool.write(work)


async def _until_none_is_open(cluster: Cluster) -> None:
    """Wait until the server has ended every transaction that it was left alone with."""
    watcher = await asyncpg.connect(cluster.url)
    async with asyncio.timeout(PATIENCE_S):
        while await watcher.fetchval(LEFT_OPEN):  # noqa: ASYNC110 - It tells nobody.
            await asyncio.sleep(0.05)
    await watcher.close()


async def _until_connected(pool: PostgresPool) -> None:
    """Ask until the sessions that were ended are noticed."""
    for _ in range(CONNECTIONS):
        with suppress(Unavailable):
            await pool.ask("SELECT 1")
