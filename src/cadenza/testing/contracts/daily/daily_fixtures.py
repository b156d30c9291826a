"""Fixtures of the contracts about users with a daily window."""

from dataclasses import replace
from datetime import datetime, time, timedelta
from functools import partial

from cadenza.domain.agents.conversation import ConversationKey, Message, Role, Turn
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.rules import (
    SHARDS,
    ServicePeriod,
    enroll,
    finalize_cutoffs,
)
from cadenza.domain.daily.user import (
    DailyUser,
    DayStatus,
    DueChange,
    Enrollment,
    Finalization,
    enrollment,
)
from cadenza.domain.daily.window import DAY
from cadenza.ports.daily import DailyStore, PendingDay
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR

NOON = NEW_YEAR + timedelta(hours=12)
TODAY = NEW_YEAR.date()
EVER = NEW_YEAR + 400 * DAY


async def enrolled_at(store: DailyStore, *wanted: Enrollment, now: datetime = NOON) -> list[DailyUser]:
    """Enroll users, as the rules have it."""
    return await store.enroll(wanted, partial(enroll, now=now))


async def a_user(store: DailyStore, user_id: str = "ann", due: time = time(18), **fields: str) -> DailyKey:
    """Enroll one user at noon."""
    (user,) = await enrolled_at(store, enrollment(fields.get("tenant_id", "north"), user_id, due))
    return user.key


async def pending_days(store: DailyStore, until: datetime = EVER) -> list[PendingDay]:
    """The pending days of all shards, soonest first."""
    found = [await store.pending_days(shard, until=until, limit=1_000) for shard in range(SHARDS)]
    return sorted(one for owed in found for one in owed)


async def finalize_past_cutoffs(
    store: DailyStore, *keys: DailyKey, now: datetime
) -> list[Finalization | None]:
    """Finalize the days whose cutoffs have passed by now."""
    return await store.finalize_days(keys, partial(finalize_cutoffs, now=now, service=ServicePeriod(now)))


async def with_a_conversation(store: Store, user_id: str) -> ConversationKey:
    """A daily user who has said something at noon."""
    user = await a_user(store.daily, user_id)
    await store.users.put_user(User(id=user_id, tenant_id="north"))
    await store.agents.put_agent(Agent(id="agent", name="agent", tenant_id="north"))
    key = ConversationKey(*user.user, "agent")
    await store.conversations.commit_turn(a_turn(key, NOON))
    return key


def daily_of(key: ConversationKey) -> DailyKey:
    """Somebody in a conversation as a daily user."""
    return daily_key(key.tenant_id, key.user_id)


def a_turn(key: ConversationKey, at: datetime) -> Turn:
    """Somebody says something."""
    said = Message(id=f"{key.user_id}-{at}", role=Role.USER, text="hello", at=at)
    return Turn(id=said.id, conversation=key, began_at=at, ended_at=at, messages=(said,))


def everything(user: DailyUser | None) -> DailyUser:
    """A record with everything in it."""
    assert user is not None
    return replace(
        user,
        changes=(
            DueChange(TODAY + DAY, time(0, 1)),
            DueChange(TODAY + 9 * DAY, time(23, 59), "America/St_Johns"),
        ),
        previous_cutoff=NOON - DAY,
        last_date=TODAY - DAY,
        status=DayStatus.CUTOFF_REACHED,
        last_run_at=NOON.replace(microsecond=123_456),
    )
