"""What the dashboard asks about daily jobs, and the alerts, as operations tell them."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.alert import failure_alert
from cadenza.operations.application import Application
from cadenza.testing.clock import NEW_YEAR

TODAY = NEW_YEAR.date()
HOUR = 3_600_000


async def a_day(app: ApplicationFixture) -> None:
    """Ann was served at six; bob and cid were not; dan is due at eight."""
    for user, due in (("ann", "06:00"), ("bob", "06:00"), ("cid", "05:30"), ("dan", "08:00")):
        await app.ask("put_daily_user", user_id=user, due_time=due)
    six = NEW_YEAR + timedelta(hours=6)
    keys = [daily_key("default", user) for user in ("ann", "bob", "cid")]
    await app.store.daily.finalize_days(
        keys[:1], partial(finalize_success, day=TODAY, returned_at=six - timedelta(minutes=20))
    )
    await app.store.daily.finalize_days(
        keys[1:], partial(finalize_cutoffs, now=six, service=ServicePeriod(NEW_YEAR))
    )
    app.clock.jump(6 * HOUR)


async def test_windows_tell_verdicts_and_who_waits_by_due_minute(app: ApplicationFixture) -> None:
    await a_day(app)
    seen = await app.ask("get_windows")
    assert (seen["date"], seen["waiting"], seen["waiting_until"]) == ("2025-01-01", 1, None)
    assert seen["counts"] == {"success": 1, "cutoff_reached": 2, "late": 0, "in_gaps": 0}
    told = {
        one["due_time"]: (one["success"], one["cutoff_reached"], one["waiting"]) for one in seen["windows"]
    }
    assert told == {"05:30": (0, 1, 0), "06:00": (1, 1, 0), "08:00": (0, 0, 1)}
    assert seen["windows"][2]["opens_at"] == "2025-01-01T07:00:00Z"
    tomorrow = await app.ask("get_windows", date="2025-01-02")
    assert [one["waiting"] for one in tomorrow["windows"]] == [1, 2]
    assert (await app.ask("get_windows", by="south"))["windows"] == []


async def test_windows_are_shown_as_long_as_they_are_set(app: ApplicationFixture) -> None:
    shared = replace(app.application.dependencies, daily_window=timedelta(hours=3))
    app.application = Application(shared)
    app.clock.jump(6 * HOUR)
    made = await app.ask("put_daily_user", user_id="ann", due_time="08:00")
    assert made["next_opens_at"] == "2025-01-01T05:00:00Z"
    assert (await app.ask("list_daily_users"))["items"] == [made]
    assert await app.ask("get_daily_user", user_id="ann") == made
    (window,) = (await app.ask("get_windows"))["windows"]
    assert (window["opens_at"], window["cutoff"]) == ("2025-01-01T05:00:00Z", "2025-01-01T08:00:00Z")
    changed = await app.ask("put_daily_user", user_id="ann", due_time="10:00")
    assert (changed["next_cutoff"], changed["changes"]) == (
        "2025-01-01T08:00:00Z",
        [{"from_date": "2025-01-02", "due_time": "10:00", "timezone": "UTC"}],
    )


async def test_history_tells_days_that_have_verdicts(app: ApplicationFixture) -> None:
    await a_day(app)
    seen = await app.ask("get_history", days=7)
    assert seen["items"] == [
        {"date": "2025-01-01", "success": 1, "cutoff_reached": 2, "late": 0, "in_gaps": 0}
    ]
    assert (await app.ask("get_history", by="south"))["items"] == []


async def test_misses_come_page_by_page(app: ApplicationFixture) -> None:
    await a_day(app)
    first = await app.ask("list_misses", limit=1)
    second = await app.ask("list_misses", limit=1, cursor=first["next_cursor"])
    assert [one["user_id"] for one in first["items"] + second["items"]] == ["cid", "bob"]
    assert second["next_cursor"] is None
    assert (await app.ask("list_misses", by="south"))["items"] == []
    with pytest.raises(InvalidRequest, match="cursor must be the next_cursor of an earlier page"):
        await app.ask("list_misses", cursor="-1:bob")


async def test_a_tenant_sees_its_own_alerts_alone(app: ApplicationFixture) -> None:
    for tenant_id in ("default", "south"):
        facts = {"tenant_id": tenant_id, "endpoint_id": f"of-{tenant_id}", "run_id": "r", "failures": 3}
        alert = failure_alert(facts | {"error": "it broke"}, NEW_YEAR, most=3)
        assert alert is not None
        await app.store.alerts.raise_alert(alert)
    (seen,) = (await app.ask("list_alerts"))["items"]
    assert seen["text"] == "Endpoint of-default has 3 consecutive failures: it broke"


async def test_a_tenant_sees_its_alerts_whoever_has_many(app: ApplicationFixture) -> None:
    for number, tenant_id in enumerate(["default", *["south"] * 600]):
        facts = {"tenant_id": tenant_id, "endpoint_id": f"of-{tenant_id}", "run_id": f"{number}"}
        alert = failure_alert({**facts, "failures": 3, "error": "it broke"}, app.clock.now(), most=3)
        assert alert is not None
        await app.store.alerts.raise_alert(alert)
        app.clock.jump(1_000)
    (seen,) = (await app.ask("list_alerts"))["items"]
    assert seen["text"] == "Endpoint of-default has 3 consecutive failures: it broke"
    assert len((await app.ask("list_alerts", by="south", limit=5))["items"]) == 5
