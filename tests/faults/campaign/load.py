"""The endpoints, users and agent of a campaign."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.faults.agents.database_history import create_users, ok
from tests.faults.campaign.receiver import Receiver
from tests.surfaces.server_process import Caller

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.validation import iso
from cadenza.ports.store import Store

OWNED = 4
"""Endpoints that each person steers."""
RECURRING = {"fast": 6, "slow": 3, "retry": 4, "failing": 2, "function": 6}
"""Endpoints of each kind that run every second or two."""
CRON = 2
FUNCTIONS_ONCE = 20
HEALTHY = ("fast-", "slow-", "retry-", "function-", "own-")
"""Endpoints with these names succeed sooner or later when nothing is wrong."""


def every(interval_ms: int) -> dict[str, Any]:
    return {"kind": "every", "interval_ms": interval_ms}


def http(receiver: Receiver, path: str) -> dict[str, Any]:
    return {"kind": "http", "url": receiver.url(path)}


def shapes(receiver: Receiver) -> dict[str, dict[str, Any]]:
    """What endpoints of each kind look like."""
    retries = {"max_attempts": 3, "retry_delay_ms": 200}
    return {
        "fast": {"target": http(receiver, "ok"), "baseline": every(1_000)},
        "slow": {"target": http(receiver, "slow"), "baseline": every(2_000)},
        "retry": {"target": http(receiver, "flaky"), "baseline": every(2_000), "policy": retries},
        "failing": {"target": http(receiver, "fail"), "baseline": every(2_000), "policy": retries},
        "function": {"target": {"kind": "callable", "function": "note"}, "baseline": every(1_000)},
    }


async def create_endpoints(caller: Caller, receiver: Receiver, *, people: int) -> None:
    """Recurring endpoints of all kinds, functions that run once, cron lines, and those that people steer."""
    kinds = shapes(receiver)
    wanted = {f"{kind}-{n}": kinds[kind] for kind, count in RECURRING.items() for n in range(count)}
    wanted |= {f"own-{person}-{n}": kinds["fast"] for person in range(people) for n in range(OWNED)}
    cron = {"target": http(receiver, "ok"), "baseline": {"kind": "cron", "expression": "* * * * *"}}
    wanted |= {f"cron-{n}": cron for n in range(CRON)}
    soon = {"kind": "once", "at": iso(datetime.now(UTC) + timedelta(seconds=3))}
    once = kinds["function"] | {"baseline": soon}
    wanted |= {f"function-once-{n}": once for n in range(FUNCTIONS_ONCE)}
    await ok(caller, "POST /v1/jobs", {"id": "base", "name": "base"})
    for name, shape in wanted.items():
        await ok(caller, "POST /v1/jobs/base/endpoints", shape | {"id": name, "name": name})


async def create_load(
    store: Store, caller: Caller, receiver: Receiver, *, users: tuple[str, ...], people: int
) -> dict[str, str]:
    """Everything that is there before the first fault; a token for each user."""
    unlimited = Limits(schedules_per_user=None, schedule_fires_per_day=None, schedule_tokens_per_day=None)
    await store.tenants.put_tenant(Tenant(id="default", name="default", limits=unlimited))
    await create_endpoints(caller, receiver, people=people)
    return await create_users(caller, *users)
