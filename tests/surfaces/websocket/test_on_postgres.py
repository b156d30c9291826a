"""Several processes on one PostgreSQL: each hears a call, with one connection that listens."""

import asyncio
from contextlib import AsyncExitStack

import asyncpg
from tests.postgres import database_url, newest_databases

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.agents.conversation import ConversationKey, Turn
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.engine.agents.delivery import DeliveryStreams
from cadenza.engine.agents.delivery_stream import DeliveryStream
from cadenza.testing import FakeLog

__all__ = ["database_url", "newest_databases"]

USERS = [UserKey("north", f"user-{number}") for number in range(20)]
LISTENERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE query ILIKE 'LISTEN %' AND datname = current_database()"
)


async def first_page(stream: DeliveryStream) -> list[Delivery]:
    return await anext(aiter(stream.pages()))


def a_turn(user: UserKey) -> Turn:
    now = SystemClock().now()
    key = ConversationKey(*user, "helper")
    return Turn(id=user.id, conversation=key, began_at=now, ended_at=now, to_deliver=(Subtitle("hi"),))


async def test_users_of_all_processes_are_called_and_each_process_listens_once(database_url: str) -> None:
    stores = [
        PostgresStore(PostgresPool(database_url, size=2), TimeOrderedIds(), FakeLog()) for _ in range(3)
    ]
    await stores[0].agents.put_agent(Agent(id="helper", name="Helper", tenant_id="north"))
    for user in USERS:
        await stores[0].users.put_user(User(id=user.id, tenant_id=user.tenant_id))
    async with AsyncExitStack() as stack:
        for store in stores:
            stack.push_async_callback(store.close)
        processes = [
            DeliveryStreams(store=store.deliveries, clock=SystemClock(), log=FakeLog())
            for store in stores[:2]
        ]
        streams = [await stack.enter_async_context(one.open(user)) for user in USERS for one in processes]
        waiting = [asyncio.create_task(first_page(stream)) for stream in streams]
        watching = await asyncpg.connect(database_url)
        stack.push_async_callback(watching.close)
        async with asyncio.timeout(20):
            while await watching.fetchval(LISTENERS) < len(processes):  # noqa: ASYNC110 - The server tells.
                await asyncio.sleep(0.05)
            for user in USERS:
                await stores[2].conversations.commit_turn(a_turn(user))
            pages = await asyncio.gather(*waiting)  # Nobody looks: they were called.
        assert [page[0].user for page in pages] == [stream.user for stream in streams]
        assert await watching.fetchval(LISTENERS) == len(processes)
