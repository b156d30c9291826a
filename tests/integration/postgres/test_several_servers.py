"""URLs that name several servers: the one that takes changes is found, and found again after a failover."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.integration.postgres.postgres_fixtures import a_store
from tests.postgres import PASSWORD, Cluster, tcp_url

from cadenza.adapters.stores.postgres.connections import server_connector
from cadenza.adapters.stores.postgres.errors import address_of
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate, name_of
from cadenza.domain.errors import Unavailable
from cadenza.testing.contracts.harness import Bench

WRITES = "target_session_attrs=read-write"


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def url_of(*ports: int, query: str = WRITES) -> str:
    return f"{tcp_url(*ports)}?{query}"


async def server_of(pool: PostgresPool) -> int:
    """The port of the server that answers."""
    rows = await pool.ask("SELECT inet_server_port()")
    return int(rows[0][0])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://h1:5433,h2:5434/db", "h1:5433, h2:5434"),
        ("postgresql://me:p%40ss,word@h1,h2:5434/db?target_session_attrs=any", "h1, h2:5434"),
        ("postgresql://me:a@b:c@h1:1,h2:2/db", "h1:1, h2:2"),
        ("postgresql://[::1]:5433,h2/db", "::1:5433, h2"),
        ("postgresql:///db?host=h1,h2&port=1,2", "h1:1, h2:2"),
        ("postgresql:///db?host=/run/one,/run/two&port=5433", "/run/one:5433, /run/two:5433"),
        ("postgres:///db", "localhost"),
    ],
)
def test_every_server_is_named_in_messages_and_no_password(url: str, said: str) -> None:
    assert str(address_of(url)) == name_of(url) == f"PostgreSQL at {said}"
    assert address_of(url).database == "db"


@pytest.mark.parametrize(
    "hosts", ["h1:x,h2", "h1,,h2", "h1:0,h2", "h1,h2:65536", ",", "h1:1,h2:2:3", "/db?host=a,b&port=1,2,3"]
)
def test_a_list_that_cannot_be_read_is_refused_in_one_sentence(hosts: str) -> None:
    with pytest.raises(Unavailable) as refused:
        address_of(f"postgresql://me:secret@{hosts}")
    assert refused.value.message == "The database URL cannot be read: check its hosts and ports."


async def test_a_closed_port_is_passed_over(cluster: Cluster) -> None:
    url = url_of(1, cluster.port)
    await migrate(url)
    async with a_store(url) as store:
        bench = Bench(store)
        endpoint = await bench.add(next_run_at=bench.ms(3_600_000))
        wakeup = store.endpoints.listen()
        await asyncio.wait_for(wakeup.wait(), 30)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        await asyncio.wait_for(wakeup.wait(), 20)


async def test_a_silent_server_takes_only_its_share_of_the_time(
    cluster: Cluster, silent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_connector, "CONNECT_TIMEOUT_S", 2)
    pool = PostgresPool(url_of(silent, cluster.port))
    assert await server_of(pool) == cluster.port
    await (await asyncio.wait_for(pool.connect(), 0.9)).close()  # The good one is tried first from then on.
    await pool.close()


@pytest.mark.parametrize("query", [WRITES, "target_session_attrs=primary", ""])
async def test_the_primary_is_found_behind_its_standby_and_again_after_a_failover(
    cluster: Cluster, standby: Cluster, query: str
) -> None:
    pool = PostgresPool(url_of(standby.port, cluster.port, query=query))
    assert await server_of(pool) == cluster.port
    cluster.stop()
    with pytest.raises(Unavailable):
        await server_of(pool)
    standby.promote()
    assert await server_of(pool) == standby.port
    await pool.ask("CREATE TABLE written (here int)")
    await pool.close()


async def test_when_no_server_takes_changes_the_message_says_so(cluster: Cluster, standby: Cluster) -> None:
    pool = PostgresPool(url_of(standby.port, 1))
    with pytest.raises(Unavailable) as caught:
        await server_of(pool)
    assert caught.value.message == (
        f"PostgreSQL at 127.0.0.1:{standby.port}, 127.0.0.1:1 answers, but no server there is read-write,"
        " which target_session_attrs asks for."
    )


def test_commands_take_such_a_url(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", url_of(1, cluster.port))

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cadenza", *words], capture_output=True, text=True, check=False
        )

    assert f"127.0.0.1:1, 127.0.0.1:{cluster.port}" in command("migrate").stdout
    checks = {one["name"]: one for one in json.loads(command("doctor", "--json").stdout)["checks"]}
    assert [name for name, one in checks.items() if not one["passed"]] == []
    assert checks["nudges"]["detail"] == "Notifications arrive."
    assert command("jobs", "list").returncode == 0
    refused = command("backup", "copy.db")
    assert "pg_dump" in refused.stderr
    assert PASSWORD.split(maxsplit=1)[0] not in refused.stderr
