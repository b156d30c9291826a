"""A server that goes away and comes back."""

import asyncio

import pytest
from tests.integration.postgres.postgres_fixtures import a_store
from tests.postgres import PASSWORD, Cluster, on_database

from cadenza.adapters.stores.postgres.listen_notify import NotificationListener
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.wakeup import EventWakeup
from cadenza.domain.errors import NotWritable, Unavailable
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing import FakeLog
from cadenza.testing.contracts.harness import Bench


async def test_what_was_committed_survives_a_crash_and_the_store_works_again(cluster: Cluster) -> None:
    await migrate(cluster.url)
    async with a_store(cluster.url) as store:
        bench = Bench(store)
        endpoint = await bench.add()
        claim = await bench.claim_one()
        cluster.stop("immediate")
        with pytest.raises(Unavailable, match=r"does not answer|was lost|in time"):
            await bench.end(claim)
        with pytest.raises(Unavailable):
            await store.endpoints.next_due()
        cluster.start()
        (settled,) = await bench.end(claim)
        assert settled is not None
        assert [run.status for run in await bench.runs(endpoint)] == [RunStatus.SUCCESS]


async def test_a_statement_in_flight_when_the_server_dies_is_unavailable(cluster: Cluster) -> None:
    await migrate(cluster.url)
    async with a_store(cluster.url) as store:
        sleeping = asyncio.create_task(store._pool.ask("SELECT pg_sleep(30)"))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(cluster.stop, "immediate")
        with pytest.raises(Unavailable):
            await asyncio.wait_for(sleeping, 60)
        cluster.start()
        assert await store.endpoints.next_due() is None


async def test_the_listener_reconnects_by_itself_and_warns_once(cluster: Cluster) -> None:
    await migrate(cluster.url)
    log = FakeLog()
    async with a_store(cluster.url, log=log) as store:
        bench = Bench(store)
        endpoint = await bench.add(next_run_at=bench.ms(3_600_000))
        wakeup = store.endpoints.listen()
        await asyncio.wait_for(wakeup.wait(), 30)
        await asyncio.to_thread(cluster.stop, "fast")
        await asyncio.sleep(2.5)
        await asyncio.to_thread(cluster.start)
        await asyncio.wait_for(wakeup.wait(), 30)  # For all that may have been missed.
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        await asyncio.wait_for(wakeup.wait(), 20)
    assert len(log.lines) == 1


async def test_a_pooler_that_swallows_notifications_is_noticed_once(database_url: str) -> None:
    log = FakeLog()
    async with a_store(database_url, log=log) as store:
        listener = store._listener
        assert isinstance(listener, NotificationListener)
        listener.check_interval_s = listener.check_timeout_s = 0.05
        listener._notified = lambda *_: None  # type: ignore[method-assign]
        store.endpoints.listen()
        async with asyncio.timeout(60):
            while not log.lines:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)  # It goes on to look, and says no more.
    assert [line for line in log.lines if "does not pass notifications on" in str(line)] == log.lines
    assert len(log.lines) == 1


async def test_a_listener_that_receives_its_own_notification_warns_of_nothing(database_url: str) -> None:
    log = FakeLog()
    async with a_store(database_url, log=log) as store:
        assert isinstance(store._listener, NotificationListener)
        store._listener.check_interval_s = 0.05
        wakeup = store.endpoints.listen()
        await asyncio.wait_for(wakeup.wait(), 30)
        await asyncio.sleep(0.5)
        assert isinstance(wakeup, EventWakeup)
        assert not wakeup._event.is_set()
    assert log.lines == []


@pytest.mark.parametrize("loop_passes", range(4))
async def test_a_listener_closes_also_while_its_own_notification_arrives(
    database_url: str, loop_passes: int
) -> None:
    async with a_store(database_url) as store:
        listener = store._listener
        assert isinstance(listener, NotificationListener)
        listener.start()
        await listener._check_arrived.wait()
        for _ in range(loop_passes):
            await asyncio.sleep(0)
        async with asyncio.timeout(5):
            await listener.close()


async def test_a_server_set_to_read_only_reads_on_and_is_not_ready(cluster: Cluster) -> None:
    await migrate(cluster.url)
    async with a_store(cluster.url) as store:
        await store.health.check()
        await store._pool.ask("ALTER DATABASE postgres SET default_transaction_read_only = on")
    async with a_store(cluster.url) as store:
        with pytest.raises(NotWritable, match="takes no changes: it is a standby, or set to read only"):
            await store.health.check()
        assert await store.endpoints.next_due() is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda url: url.replace("correct%20horse", "wrong"), "refuses this user name or password"),
        (lambda url: on_database(url, "nowhere"), "Database nowhere not found in PostgreSQL at 127.0.0.1"),
        (lambda url: url.rsplit(":", 1)[0] + ":1/postgres", "PostgreSQL at 127.0.0.1:1 does not answer."),
        (lambda url: url.replace("127.0.0.1", "nowhere.invalid"), "does not answer"),
        (lambda url: url.replace("postgresql://", "mysql://"), "does not begin with postgresql://"),
    ],
)
async def test_a_wrong_url_is_one_sentence_without_the_password(
    cluster: Cluster, change: "object", sentence: str
) -> None:
    url = change(cluster.tcp_url)  # type: ignore[operator]
    with pytest.raises(Unavailable) as caught:
        async with a_store(url) as store:
            await store.endpoints.next_due()
    assert sentence in caught.value.message
    assert caught.value.message.count(". ") == 0
    for secret in (PASSWORD, "correct", "wrong"):
        assert secret not in caught.value.message


async def test_missing_tables_are_named(cluster: Cluster) -> None:
    async with a_store(cluster.url) as store:
        with pytest.raises(Unavailable, match="run `cadenza migrate`"):
            await store.endpoints.next_due()


async def test_a_text_that_cannot_be_stored_is_refused(database_url: str) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        endpoint = await bench.add()
        with pytest.raises(Exception, match="cannot be stored"):
            await store.endpoints.amend(
                endpoint.key, lambda fresh: ChangedEndpoint(evolve(fresh, pause_reason="\0"))
            )
