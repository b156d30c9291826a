"""Users and agents in real processes, and what the database holds when the processes have ended."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.surfaces.server_process import Caller

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.agents.conversation import ConversationKey, OriginKind, Role
from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.catalog import Page
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

QUIET = {"CADENZA_PLANNER": "false", "CADENZA_JITTER_MS": "0"}
EVERYTHING = Page(limit=10_000)
A_DAY_S = 86_400


async def ok(caller: Caller, request: str, body: Any = None) -> Any:
    """The answer to a request, which must succeed."""
    answer = await caller.ask(request, body)
    assert answer.status < 300, answer.body
    return answer.json() if answer.body else None


async def create_users(caller: Caller, *users: str) -> dict[str, str]:
    """Create an agent and users; returns a token for each user."""
    await ok(caller, "PUT /v1/agents/helper", {"name": "Helper"})
    tokens = {}
    for user in users:
        await ok(caller, f"PUT /v1/users/{user}", {"timezone": "Europe/Berlin"})
        made = await ok(caller, f"POST /v1/users/{user}/token", {"ttl_seconds": A_DAY_S})
        tokens[user] = str(made["token"])
    return tokens


async def wait_until_fired(caller: Caller, schedule_id: str, times: int = 1) -> None:
    """Wait until a schedule has fired so often."""
    async with asyncio.timeout(60):
        while True:
            page = await ok(caller, f"GET /v1/endpoints/{schedule_id}/runs")
            if [run["status"] for run in page["items"]].count("success") >= times:
                return
            await asyncio.sleep(0.05)


class DatabaseHistory(NamedTuple):
    """What a database holds about the firings of schedules, counted by schedule."""

    verdicts: Counter[str]
    """Successful runs."""
    prompts: Counter[str]
    """Messages to the agent."""
    answers: Counter[str]
    """Answers of the agent."""
    deliveries: Counter[str]
    """Messages to the user, delivered or not."""
    lost: Counter[str]
    """Runs whose process died."""


async def read_history(settings: Mapping[str, str], users: Iterable[str]) -> DatabaseHistory:
    """Read the history, when all processes have ended."""
    history = DatabaseHistory(Counter(), Counter(), Counter(), Counter(), Counter())
    url = settings["CADENZA_DATABASE_URL"]
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        for endpoint in await store.catalog.find("default", page=EVERYTHING):
            statuses = [run.status for run in await store.runs.runs(endpoint.key, EVERYTHING)]
            history.verdicts[endpoint.id] = statuses.count(RunStatus.SUCCESS)
            history.lost[endpoint.id] = statuses.count(RunStatus.ABANDONED)
        for user in users:
            for message in await store.conversations.messages(
                ConversationKey("default", user, "helper"), EVERYTHING
            ):
                counted = history.answers if message.role is Role.AGENT else history.prompts
                if message.origin.kind is OriginKind.SCHEDULE:
                    counted[str(message.origin.schedule_id)] += 1
            for one in await store.deliveries.deliveries(UserKey("default", user), after=0, limit=10_000):
                if one.schedule_id is not None:
                    history.deliveries[one.schedule_id] += 1
    return history
