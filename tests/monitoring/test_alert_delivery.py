"""Alerts: raised once each, tried again until they arrive, and never more than fit."""

from datetime import datetime

import pytest
from tests.monitoring.alert_fixtures import SLO, AlertFixture, Sender

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.monitoring.slo_alerts import MemoryAlerts
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.errors import Unavailable
from cadenza.domain.monitoring.alert import Alert, quota_alert, quota_level
from cadenza.engine.monitoring.alert_delivery import MOST_ATTEMPTS, MOST_QUEUED, retry_delay_ms
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.testing import FakeIds
from cadenza.testing.clock import NEW_YEAR


async def test_a_breach_and_its_end_are_told_once_each() -> None:
    fixture = AlertFixture()
    async with fixture.running():
        for change in ("begun", "begun", "over", "over"):
            fixture.delivery.emit("slo.changed", {"breached": 0}, {**SLO, "change": change})
            await fixture.clock.advance(0)
        assert fixture.texts == [
            "SLO tick_budget of the daily scheduler is breached: 412 against 300, over 15 minutes.",
            "SLO tick_budget of the daily scheduler is OK again: 412 against 300, over 15 minutes.",
        ]


async def test_what_was_told_before_a_restart_is_not_told_again() -> None:
    first = AlertFixture()
    async with first.running():
        first.breaches()
        await first.clock.advance(0)
    second = AlertFixture(first.store)
    async with second.running():
        second.breaches()
        await second.clock.advance(600_000)
    assert (len(first.sender.alerts), len(second.sender.alerts)) == (1, 0)


async def test_what_could_not_be_told_before_a_restart_is_told_after_it() -> None:
    first = AlertFixture(sender=Sender(["answered 503"] * 99))
    async with first.running():
        first.breaches()
        await first.clock.advance(0)
    second = AlertFixture(first.store)
    async with second.running():
        await second.clock.advance(600_000)
    assert len(second.sender.alerts) == 1


async def test_what_does_not_arrive_is_tried_again_ever_later() -> None:
    fixture = AlertFixture(sender=Sender(["answered 503"] * 3))
    async with fixture.running():
        fixture.breaches()
        await fixture.clock.advance(0)
        for attempts, later in ((1, 4_000), (2, 5_000), (2, 10_000), (3, 10_000), (4, 60_000), (4, 600_000)):
            await fixture.clock.advance(later)
            assert len(fixture.sender.sent) == attempts
    assert fixture.log.events("warning") == ["an alert could not be sent"]
    assert [event.metadata["result"] for event in fixture.telemetry.events] == ["failed"] * 3 + ["sent"]


async def test_what_never_arrives_is_given_up_in_the_end() -> None:
    fixture = AlertFixture(sender=Sender(["answered 404"] * 99))
    fixture.breaches()
    await fixture.delivery._store_queued()
    await fixture.delivery._decide()
    for _ in range(MOST_ATTEMPTS + 3):
        await fixture.delivery._send_all()
        fixture.clock.jump(3_600_000)
    assert len(fixture.sender.sent) == MOST_ATTEMPTS
    assert fixture.log.events("warning") == ["an alert could not be sent", "an alert is given up"]


def test_the_pauses_grow_to_an_hour() -> None:
    delays = [retry_delay_ms(attempt) for attempt in range(1, MOST_ATTEMPTS + 1)]
    assert delays[:4] == [5_000, 15_000, 45_000, 135_000]
    assert delays[-2:] == [3_600_000, None]


async def test_a_store_that_is_away_keeps_alerts_waiting_and_no_more_than_fit() -> None:
    class Away(MemoryAlerts):
        here = False

        async def raise_alert(self, alert: Alert) -> bool:
            if not self.here:
                raise Unavailable("The database does not answer.")
            return await super().raise_alert(alert)

    store = MemoryStore(FakeIds())
    store.alerts = away = Away(store.tables)
    fixture = AlertFixture(store)
    async with fixture.running():
        for number in range(MOST_QUEUED + 5):
            fixture.breaches(number)
        await fixture.clock.advance(0)
        assert fixture.sender.sent == []
        away.here = True
        for _ in range(60):
            await fixture.clock.advance(1_000)
        assert len(fixture.sender.alerts) == MOST_QUEUED
    (lost,) = [line for line in fixture.log.lines if "lost" in line.event]
    assert lost.facts == {"alerts": 5}


@pytest.mark.parametrize(
    ("spent", "limit", "level"),
    [(0, 10, None), (79, 100, None), (80, 100, 80), (94, 100, 80), (95, 100, 95), (200, 100, 95), (4, 5, 80)],
)
def test_levels_of_a_quota(spent: int, limit: int, level: int | None) -> None:
    assert quota_level(spent, limit) == level


async def test_a_quota_is_told_at_80_and_at_95_percent_once_a_month() -> None:
    fixture = AlertFixture()
    await fixture.store.tenants.put_tenant(
        Tenant(id="acme", name="acme", limits=Limits(planner_tokens_per_month=100))
    )
    quota = CountedQuota(fixture.store.tenants, fixture.clock, fixture.delivery)
    async with fixture.running():
        for tokens in (79, 1, 5, 10, 3):
            await fixture.store.tenants.spend_tokens("acme", tokens, fixture.clock.now())
            for _ in range(3):
                await quota.check([QuotaRequest(QuotaKind.AI, "acme", 1)])
                await fixture.clock.advance(2_000)
    assert fixture.texts == [
        "Tenant acme has used 80 % of its quota: 80 of 100 planner_tokens in 2025-01.",
        "Tenant acme has used 95 % of its quota: 95 of 100 planner_tokens in 2025-01.",
    ]


def test_a_tenant_without_a_limit_reaches_no_level() -> None:
    facts = {"tenant_id": "acme", "resource": "runs", "month": "2025-01", "spent": 9, "limit": 100}
    assert quota_alert(facts, NEW_YEAR) is None


def an_alert(at: datetime = NEW_YEAR) -> Alert:
    alert = quota_alert({"tenant_id": "<a&b>", "resource": "runs", "month": "m", "spent": 9, "limit": 10}, at)
    assert alert is not None
    return alert


def test_as_slack_shows_it_nothing_in_it_is_markup() -> None:
    assert an_alert().as_slack() == {
        "text": ":rotating_light: Tenant &lt;a&amp;b&gt; has used 80 % of its quota: 9 of 10 runs in m."
    }


def test_as_an_event_it_says_what_kind_it_is() -> None:
    event = an_alert().as_event()
    assert (event["type"], event["timestamp"]) == ("cadenza.quota.begun", "2025-01-01T00:00:00Z")
    assert event["data"]["percent"] == 80


async def test_without_a_sender_alerts_are_written_down_and_never_sent_later() -> None:
    fixture = AlertFixture(sends=False)
    async with fixture.running():
        fixture.breaches()
        await fixture.clock.advance(0)
    (written,) = await fixture.store.alerts.newest_alerts("acme", 10)
    assert written.text.startswith("SLO tick_budget of the daily scheduler is breached")
    later = AlertFixture(fixture.store)
    async with later.running():
        await later.clock.advance(60_000)
        assert later.sender.sent == []
