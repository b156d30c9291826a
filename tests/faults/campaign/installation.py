"""What a campaign strikes: PostgreSQL, all processes, the network between, and a target that counts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import NamedTuple

from tests.faults.access.test_api_is_killed import USERS
from tests.faults.agents.fork_server import ForkServer
from tests.faults.campaign.caller import open_callers
from tests.faults.campaign.load import create_load
from tests.faults.campaign.plan import LEASE_MS, PROCESSES, PROXIED, CampaignPlan
from tests.faults.campaign.processes import ProcessGroup
from tests.faults.campaign.receiver import Receiver, serve_receiver
from tests.faults.scheduling.tcp_proxy import TcpProxy
from tests.postgres import Cluster, free_port, tcp_url, wheel_programs
from tests.surfaces.server_process import Caller

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

SERVER = "-c fsync=off -c max_connections=200 -c shared_buffers=64MB"
SETTINGS = {
    "CADENZA_LEASE_MS": str(LEASE_MS),
    "CADENZA_JITTER_MS": "0",
    "CADENZA_GRACE_MS": "5000",
    "CADENZA_DATABASE_TIMEOUT_MS": "3000",
    "CADENZA_ALLOW_PRIVATE_TARGETS": "true",
    "CADENZA_RATE_PER_MINUTE": "6000000",
    "CADENZA_TICK_MS": "500",
    "CADENZA_RETRY_DELAY_MINUTES": "1",
    "TURN_LEASE_MS": "2000",
}


class Installation(NamedTuple):
    """Everything that was started."""

    cluster: Cluster
    proxy: TcpProxy
    processes: ProcessGroup
    receiver: Receiver
    store: Store
    settings: dict[str, str]
    addresses: list[str]
    """Of the API processes."""
    callers: list[Caller]
    """One for each of them."""
    tokens: dict[str, str]
    """Of the users with sockets."""
    dispatch_log: Path
    """The runs that functions were called for."""


@asynccontextmanager
async def open_installation(folder: Path, plan: CampaignPlan) -> AsyncIterator[Installation]:
    """Start everything and create the load; all of it is gone at the end of the block."""
    async with AsyncExitStack() as stack:
        cluster = await asyncio.to_thread(Cluster, wheel_programs(), SERVER)
        stack.callback(cluster.remove)
        await migrate(cluster.url, profile_of(plan.profile))
        receiver = await stack.enter_async_context(serve_receiver())
        proxy = stack.enter_context(TcpProxy(cluster.port))
        settings = _settings(cluster, receiver, folder) | {"CADENZA_DATABASE_PROFILE": plan.profile}
        store = await stack.enter_async_context(
            open_store(
                Settings(database_url=cluster.url, database_profile=plan.profile),
                ids=TimeOrderedIds(),
                log=NoLog(),
            )
        )
        fork_server = stack.enter_context(closing(ForkServer(folder, **settings)))
        key, tokens = await _create_load(fork_server, store, receiver, people=plan.people)
        ports = {name: str(free_port()) for name in PROCESSES if name.startswith("api")}
        addresses = [f"http://127.0.0.1:{port}" for port in ports.values()]
        callers = await stack.enter_async_context(open_callers(addresses, key))
        processes = await stack.enter_async_context(ProcessGroup(fork_server, _own_settings(ports, proxy)))
        yield Installation(
            cluster=cluster,
            proxy=proxy,
            processes=processes,
            receiver=receiver,
            store=store,
            settings=settings,
            addresses=addresses,
            callers=callers,
            tokens=tokens,
            dispatch_log=Path(settings["DISPATCH_LOG"]),
        )


async def _create_load(
    fork_server: ForkServer, store: Store, receiver: Receiver, *, people: int
) -> tuple[str, dict[str, str]]:
    """The key that the first start prints, and the users' tokens."""
    with fork_server.up() as up:
        async with up.caller() as caller:
            tokens = await create_load(store, caller, receiver, users=USERS, people=people)
        await asyncio.to_thread(up.end)
        return up.key, tokens


def _settings(cluster: Cluster, receiver: Receiver, folder: Path) -> dict[str, str]:
    """What all processes share."""
    dispatch_log = folder / "dispatched"
    dispatch_log.touch()
    return SETTINGS | {
        "CADENZA_DATABASE_URL": cluster.url,
        "CADENZA_DAILY_TARGET": receiver.url("daily"),
        "DISPATCH_LOG": str(dispatch_log),
    }


def _own_settings(ports: dict[str, str], proxy: TcpProxy) -> dict[str, dict[str, str]]:
    """What each process has for itself: a port that stays, or a way to the database that can be cut."""
    behind_proxy = {"CADENZA_DATABASE_URL": tcp_url(proxy.port)}
    own: dict[str, dict[str, str]] = {name: {} for name in PROCESSES}
    own |= dict.fromkeys(PROXIED, behind_proxy)
    return own | {name: {"CADENZA_PORT": port} for name, port in ports.items()}
