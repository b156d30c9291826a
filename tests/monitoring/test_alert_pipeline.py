"""From failing runs to people: grouped, once each, through crashes, silences and receivers that are down."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

from tests.monitoring.alert_fixtures import FAILURE, FAILURES, SUCCESS, AlertFixture, Sender

from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.monitoring.alert_route import AlertRoute, RouteMatch
from cadenza.domain.monitoring.condition import (
    ConditionState,
    acknowledge,
    endpoint_condition,
    silence,
)
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Outcome
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing import an_endpoint

SPAN = timedelta(minutes=1)
A_ROUTE = AlertRoute(id="team", name="team", channel=Channel(ChannelType.SLACK, "https://a.example"))


async def add(fixture: AlertFixture, *names: str, **fields: object) -> None:
    for name in names:
        endpoint = an_endpoint(name, baseline=Every(60_000), next_run_at=fixture.clock.now())
        await fixture.store.endpoints.add(replace(endpoint, **fields))  # type: ignore[arg-type]


async def run_all(fixture: AlertFixture, *names: str, outcome: Outcome = FAILURE, times: int = 1) -> None:
    """What is due runs, and then a minute passes; nothing is delivered meanwhile."""
    for name in names:
        fixture.dispatcher.on(name, lambda _: outcome)
    for _ in range(times):
        await fixture.worker.run_once()
        fixture.clock.jump(60_000)


async def deliver(fixture: AlertFixture) -> None:
    """One pass of the delivery."""
    await fixture.delivery._store_queued()
    await fixture.delivery._decide()
    await fixture.delivery._send_all()


async def test_endpoints_of_a_job_that_fail_at_once_are_one_message_and_their_recovery_too() -> None:
    fixture = AlertFixture()
    names = [f"e{number}" for number in range(7)]
    await add(fixture, *names)
    await run_all(fixture, *names, times=FAILURES)
    await deliver(fixture)
    await run_all(fixture, *names, outcome=SUCCESS)
    await deliver(fixture)
    failing, well = fixture.texts
    assert failing.startswith("7 endpoints of job default are failing: e")
    assert failing.endswith("(answered 500) and 4 more.")
    assert well.startswith("7 endpoints of job default recovered: ")


async def test_a_receiver_that_is_down_for_a_while_gets_each_message_once_when_it_is_back() -> None:
    fixture = AlertFixture(sender=Sender(["connection refused"] * 4))
    await add(fixture, "a", "b", "c")
    await run_all(fixture, "a", "b", "c", times=FAILURES)
    async with fixture.running():
        await fixture.clock.advance(600_000)
        assert len(fixture.texts) == 1
        assert [attempt for _, attempt in fixture.sender.sent] == [1, 2, 3, 4, 5]


async def test_a_crash_after_any_step_loses_nothing_and_repeats_nothing() -> None:
    fixture = AlertFixture()
    await add(fixture, "a")
    await run_all(fixture, "a", times=FAILURES)
    await AlertFixture(fixture.store).delivery._apply_alerts()
    await AlertFixture(fixture.store).delivery._decide()
    last = AlertFixture(fixture.store)
    last.clock.jump(600_000)
    for _ in range(3):
        await deliver(last)
    assert last.texts == ["Endpoint a has 3 consecutive failures: answered 500"]


async def test_what_is_acknowledged_is_not_sent_again_but_its_end_is() -> None:
    fixture = AlertFixture()
    await add(fixture, "a")
    await run_all(fixture, "a", times=FAILURES)
    await deliver(fixture)
    change = partial(acknowledge, by="me", note=None, now=fixture.clock.now())
    key = endpoint_condition("default", "a")
    await fixture.store.conditions.amend_condition(key, change, release_at=fixture.clock.now())
    await run_all(fixture, "a", times=5)
    await deliver(fixture)
    assert len(fixture.texts) == 1
    await run_all(fixture, "a", outcome=SUCCESS)
    await deliver(fixture)
    assert fixture.texts[1:] == ["Endpoint a recovered after 8 consecutive failures."]


async def test_the_end_of_a_silence_sends_what_still_fires() -> None:
    fixture = AlertFixture()
    await add(fixture, "a", "b")
    await run_all(fixture, "a", times=FAILURES)
    key, now = endpoint_condition("default", "a"), fixture.clock.now()
    await fixture.delivery._apply_alerts()
    change = partial(silence, until=now + 10 * SPAN, reason="work", now=now, by="key:person")
    await fixture.store.conditions.amend_condition(key, change, release_at=now)
    await deliver(fixture)
    assert fixture.texts == []
    fixture.clock.jump(600_000)
    await deliver(fixture)
    assert fixture.texts == ["Endpoint a has 3 consecutive failures: answered 500"]


async def test_a_child_is_not_sent_while_its_parent_is_down_and_sent_if_it_stays_down_after_it() -> None:
    fixture = AlertFixture()
    await add(fixture, "top")
    await add(fixture, "child", parent_id="top", job_id="other")
    await run_all(fixture, "top", "child", times=FAILURES)
    await deliver(fixture)
    assert fixture.texts == ["Endpoint top has 3 consecutive failures: answered 500"]
    await run_all(fixture, "top", outcome=SUCCESS)
    await deliver(fixture)
    fixture.clock.jump(120_000)
    await deliver(fixture)
    assert fixture.texts[1:] == [
        "Endpoint top recovered after 3 consecutive failures.",
        "Endpoint child has 3 consecutive failures: answered 500",
    ]


async def test_with_routes_messages_go_to_those_that_match_and_not_to_the_default() -> None:
    fixture = AlertFixture()
    web = replace(A_ROUTE, id="web", match=RouteMatch({"team": "web"}))
    for route in (A_ROUTE, web):
        await fixture.store.alert_routes.add_route(route, most=9)
    await add(fixture, "a", job_id="1")
    await add(fixture, "b", job_id="2", labels={"team": "web"})
    await run_all(fixture, "a", "b", times=FAILURES)
    await deliver(fixture)
    assert fixture.texts == []
    sent = sorted((route, text.split()[1]) for route, text in fixture.channels.sent)
    assert sent == [("team", "a"), ("team", "b"), ("web", "b")]


async def test_what_has_no_failures_any_more_or_is_deleted_is_closed() -> None:
    fixture = AlertFixture()
    await add(fixture, "reset", "gone", "still")
    await run_all(fixture, "reset", "gone", "still", times=FAILURES)
    await deliver(fixture)

    async def amend(name: str, **fields: object) -> None:
        def change(endpoint: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(evolve(endpoint, **fields))

        await fixture.store.endpoints.amend(an_endpoint(name).key, change)

    await amend("reset", failure_count=0)
    await amend("gone", archived=True)
    fixture.clock.jump(60_000)
    await deliver(fixture)
    states = {one.endpoint_id: one.state for one in await fixture.store.conditions.conditions("default")}
    resolved = ConditionState.RESOLVED
    assert states == {"reset": resolved, "gone": resolved, "still": ConditionState.FIRING}
    assert fixture.texts[1].startswith("2 endpoints of job default recovered: ")


async def test_an_slo_is_a_critical_condition_of_the_tenant_default() -> None:
    fixture = AlertFixture()
    fixture.breaches()
    await deliver(fixture)
    (found,) = await fixture.store.conditions.conditions("default")
    assert (found.kind.value, found.severity.value) == ("slo", "critical")
    counts = await fixture.store.conditions.count_conditions("default")
    assert dict(counts) == {ConditionState.FIRING: 1}
