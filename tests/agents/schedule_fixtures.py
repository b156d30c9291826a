"""Schedules of two users in a memory store, with a clock at hand."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.schedule_request import (
    NewSchedule,
    ScheduleRequester,
)
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.engine.agents.schedules import AgentSchedules, CreatedSchedule
from cadenza.testing import FakeClock, FakeIds

NOW = datetime(2030, 3, 1, 12, tzinfo=UTC)
ANNA, BERT = UserKey("north", "anna"), UserKey("north", "bert")
ONCE: dict[str, Any] = {"schedule_type": "one-shot", "run_at": "2030-03-02T09:00:00Z"}
WEEKLY: dict[str, Any] = {"schedule_type": "recurring", "cron_expression": "0 17 * * 1"}


class ScheduleFixture:
    """The schedules of two users, and an agent of another tenant."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.cron = CronsimCron()
        self.store = MemoryStore(FakeIds())
        self.schedules = AgentSchedules(store=self.store, clock=self.clock, cron=self.cron)

    async def open(self, timezone: str | None = "Europe/Berlin") -> "ScheduleFixture":
        for user in (ANNA, BERT):
            await self.store.users.put_user(User(tenant_id="north", id=user.id, timezone=timezone))
        await self.store.agents.put_agent(Agent(tenant_id="north", id="tutor", name="Tutor"))
        await self.store.agents.put_agent(Agent(tenant_id="south", id="stranger", name="Stranger"))
        return self

    async def create(self, caller: ScheduleRequester | None = None, **asked: Any) -> CreatedSchedule:
        wanted = NewSchedule(**({"name": "Revise", "prompt": "Ask me about chapter 2."} | asked))
        return await self.schedules.create(caller or a_requester(), wanted)

    async def limit(self, **limits: Any) -> None:
        await self.store.tenants.put_tenant(Tenant(id="north", name="north", limits=Limits(**limits)))


def a_requester(user: UserKey = ANNA, turn: str = "turn-1", **fields: Any) -> ScheduleRequester:
    return ScheduleRequester(**({"user": user, "turn_id": turn, "agent_id": "tutor"} | fields))


@pytest.fixture
async def fixture() -> ScheduleFixture:
    return await ScheduleFixture().open()
