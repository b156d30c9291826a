"""The rules of conditions: states, silences, grouping, suppression and routes, for whatever comes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.channel import HIDDEN, Channel, ChannelType, same_address
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.monitoring.alert import AlertKind, AlertState, Severity, quota_alert, slo_alert
from cadenza.domain.monitoring.alert_message import Surroundings, down_parent, plan_messages
from cadenza.domain.monitoring.alert_route import AlertRoute, RouteMatch
from cadenza.domain.monitoring.condition import (
    MUTED_STATES,
    Condition,
    ConditionState,
    acknowledge,
    after_alert,
    close,
    condition_key,
    endpoint_condition,
    silence,
    unsilence,
    with_state,
)
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.monitoring.conditions import failed, recovered

MINUTE = timedelta(minutes=1)
NOW = NEW_YEAR
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["fails", "recovers", "acknowledge", "silence", "unsilence", "close"]),
        st.integers(0, 30),
    ),
    max_size=30,
)


def firing(endpoint_id: str = "a", parent_id: str | None = None, job_id: str = "shop") -> Condition:
    alert = failed(endpoint_id, parent_id=parent_id, job_id=job_id)
    return after_alert(None, alert, NOW, gather=timedelta(0))


def decide(
    *conditions: Condition, minute: float = 0, routes: Sequence[AlertRoute] = (), has_default: bool = True
) -> tuple[dict[str, Condition], list[str]]:
    parents = {one.key: one for one in conditions}
    around = Surroundings(routes={"north": routes}, parents=parents, has_default=has_default)
    now = NOW + minute * MINUTE
    due = [one for one in conditions if one.decide_at is not None and one.decide_at <= now]
    plan = plan_messages(due, around, now)
    return {str(one.endpoint_id): one for one in plan.conditions}, [one.alert.text for one in plan.messages]


def step_from(condition: Condition, step: str, now: datetime) -> Condition:
    """A condition after something happened to it; what is refused changes nothing."""
    minute, at_once = (now - NOW) / MINUTE, timedelta(0)
    changes: dict[str, Callable[[], Condition]] = {
        "fails": lambda: after_alert(condition, failed("a", minute, run_id=f"{now}"), now, gather=at_once),
        "recovers": lambda: after_alert(condition, recovered("a", minute), now, gather=at_once),
        "acknowledge": lambda: acknowledge(condition, by="me", note=None, now=now),
        "silence": lambda: silence(condition, until=now + 10 * MINUTE, reason=None, now=now, by="key:person"),
        "unsilence": lambda: unsilence(condition, now, by="key:person"),
        "close": lambda: close(condition, "over.", now),
    }
    try:
        return changes[step]()
    except Conflict:
        return condition


@given(STEPS)
def test_whatever_happens_a_condition_is_in_the_state_that_its_fields_mean(
    steps: list[tuple[str, int]],
) -> None:
    condition, now = firing(), NOW
    for step, minutes in steps:
        now += minutes * MINUTE
        condition = step_from(condition, step, now)
        assert condition.open is (condition.resolved_at is None)
        assert condition.open or condition.acknowledged_at is None
        if condition.state is ConditionState.ACKNOWLEDGED:
            assert condition.decide_at is None
        if condition.state is ConditionState.SILENCED:
            assert condition.decide_at == condition.silenced_until


@given(STEPS)
def test_nothing_is_sent_while_it_is_acknowledged_or_silenced_and_no_end_without_its_beginning(
    steps: list[tuple[str, int]],
) -> None:
    condition, now, told = firing(), NOW, False
    for step, minutes in steps:
        now += minutes * MINUTE
        before, condition = condition, step_from(condition, step, now)
        told = told and not (condition.open and not before.open)
        if condition.decide_at is None or condition.decide_at > now:
            continue
        quiet = with_state(condition, now).state in MUTED_STATES
        (condition,), messages = plan_messages([condition], Surroundings(has_default=True), now)
        assert not (messages and quiet)
        assert condition.open or told
        told = bool(messages)


def test_what_gets_more_severe_ends_an_acknowledgement() -> None:
    month = {"tenant_id": "north", "resource": "runs", "month": "m", "limit": 100}
    warned, critical = (quota_alert({**month, "spent": spent}, NOW) for spent in (80, 95))
    assert warned is not None
    assert critical is not None
    known = acknowledge(after_alert(None, warned, NOW, gather=MINUTE), by="me", note=None, now=NOW)
    assert after_alert(known, warned, NOW, gather=MINUTE).state is ConditionState.ACKNOWLEDGED
    worse = after_alert(known, critical, NOW, gather=MINUTE)
    assert (worse.state, worse.severity) == (ConditionState.FIRING, Severity.CRITICAL)
    assert worse.decide_at == NOW


def test_a_silence_outlasts_the_end_of_what_it_silences() -> None:
    quiet = silence(firing(), until=NOW + 60 * MINUTE, reason="work", now=NOW, by="key:person")
    over = after_alert(quiet, recovered("a", 1), NOW + MINUTE, gather=timedelta(0))
    again = after_alert(over, failed("a", 2, run_id="2"), NOW + 2 * MINUTE, gather=timedelta(0))
    assert (again.state, again.decide_at) == (ConditionState.SILENCED, NOW + 60 * MINUTE)
    loud, texts = decide(again, minute=60)
    assert loud["a"].state is ConditionState.FIRING
    assert texts == ["Endpoint a has 3 consecutive failures: no"]


def test_a_flap_that_was_never_sent_is_not_sent() -> None:
    over = after_alert(firing(), recovered("a", 1), NOW + MINUTE, gather=timedelta(0))
    assert (over.state, over.decide_at) == (ConditionState.RESOLVED, None)


def test_an_end_whose_beginning_is_not_known_is_sent() -> None:
    over = after_alert(None, recovered("a", 1), NOW + MINUTE, gather=timedelta(0))
    assert decide(over, minute=1)[1] == ["Endpoint a recovered after 3 consecutive failures."]


def test_what_is_over_can_be_neither_acknowledged_nor_silenced_into_the_past() -> None:
    over = close(firing(), "over.", NOW)
    with pytest.raises(Conflict):
        acknowledge(over, by="me", note=None, now=NOW)
    with pytest.raises(Conflict):
        unsilence(over, NOW, by="key:person")
    with pytest.raises(InvalidRequest):
        silence(firing(), until=NOW, reason=None, now=NOW, by="key:person")


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from(["shop", "desk"]), st.booleans()), max_size=40))
def test_each_condition_is_in_exactly_one_message_of_its_job_and_state(
    made: list[tuple[int, str, bool]],
) -> None:
    conditions = {}
    for number, job_id, over in made:
        one = firing(f"{job_id}-{number}", job_id=job_id)
        if over:
            end = recovered(str(one.endpoint_id), 1, job_id=job_id)
            one = after_alert(replace(one, sent=1), end, NOW, gather=timedelta(0))
        conditions[one.key] = one
    plan = plan_messages(conditions.values(), Surroundings(has_default=True), NOW)
    seen = [key for one in plan.messages for key in one.alert.facts.get("keys", [one.alert.key])]
    assert sorted(seen) == sorted(one.alert.key for one in conditions.values())
    groups = {(one.job_id, one.alert.state) for one in conditions.values()}
    assert len(plan.messages) == len(groups)
    assert {one.grouped for one in plan.conditions} <= set(range(1, len(conditions) + 1))


def test_a_group_says_how_many_and_names_the_first_few() -> None:
    _, texts = decide(*(firing(f"{number}") for number in range(5)))
    (text,) = texts
    assert text.startswith("5 endpoints of job shop are failing: ")
    assert text.count("(no)") == 3
    assert text.endswith(" and 2 more.")


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6), st.sets(st.integers(0, 5)))
def test_what_waits_has_an_open_parent_and_no_circle_silences_all(
    parents: list[int], open_ones: set[int]
) -> None:
    conditions = []
    for number, parent in enumerate(parents):
        one = firing(f"{number}", parent_id=None if parent == number else f"{parent}")
        conditions.append(one if number in open_ones else close(one, "over.", NOW))
    by_key = {one.key: one for one in conditions}
    waiting = {str(one.endpoint_id) for one in conditions if one.open and down_parent(one, by_key)}
    for one in conditions:
        if str(one.endpoint_id) in waiting:
            assert by_key[endpoint_condition("north", str(one.parent_id))].open
    is_open = {str(one.endpoint_id) for one in conditions if one.open}
    assert not is_open or waiting < is_open


def test_a_child_of_a_parent_that_is_well_is_sent() -> None:
    well = close(firing("top"), "over.", NOW)
    assert len(decide(well, firing("child", parent_id="top"))[1]) == 1


def test_without_routes_it_goes_to_the_default_route_and_with_routes_only_there() -> None:
    assert decide(firing(), has_default=False)[1] == []
    other = AlertRoute(
        id="db",
        name="db",
        tenant_id="north",
        channel=Channel(ChannelType.SLACK, "https://a.example"),
        match=RouteMatch({"team": "db"}),
    )
    assert decide(firing(), routes=[other])[1] == []


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        (RouteMatch(), True),
        (RouteMatch({"team": "web"}), True),
        (RouteMatch({"team": "web", "tier": "1"}), False),
        (RouteMatch(job_ids=("shop", "desk")), True),
        (RouteMatch(job_ids=("desk",)), False),
        (RouteMatch(kinds=(AlertKind.SLO,)), False),
        (RouteMatch(severities=(Severity.CRITICAL,), kinds=(AlertKind.ENDPOINT,)), True),
        (RouteMatch(severities=(Severity.INFO,)), False),
    ],
)
def test_a_route_is_for_what_fits_all_of_its_match(match: RouteMatch, *, fits: bool) -> None:
    assert match.fits(firing()) is fits


@pytest.mark.parametrize(
    ("kind", "url", "shown"),
    [
        ("webhook", "https://a.example:8443/hooks/T0/abc?k=v", "https://a.example:8443/***/***/***?***=***"),
        ("slack", "https://me:pw@a.example/x", "https://***:***@***/***"),
        ("webhook", "https://a.example#token", "https://a.example#***"),
        ("webhook", "https://a.example\\token", "https://a.example***"),
        ("apprise", "tgram://123:secret/chat", "tgram://***:***/***"),
        ("apprise", "mailto://${secret:MAIL}@gmail.com", "mailto://${secret:MAIL}@***"),
        ("slack", "${secret:SLACK_URL}", "${secret:SLACK_URL}"),
        ("apprise", "${secret:A}/more", "${secret:A}/***"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(kind: str, url: str, shown: str) -> None:
    channel = Channel(ChannelType(kind), url)
    assert channel.shown_url == shown
    assert same_address(channel, shown) == url
    if HIDDEN in shown:
        with pytest.raises(InvalidRequest):
            Channel(ChannelType(kind), shown)


@given(st.text("abcXYZ019-._~/?&=:@#,;", max_size=60))
def test_no_word_of_an_address_of_apprise_is_shown(rest: str) -> None:
    shown = Channel(ChannelType.APPRISE, f"json://{rest}").shown_url
    assert not set(shown.removeprefix("json://")) & set("abcXYZ019-._~")


def test_ids_of_conditions_do_not_collide_across_tenants_and_kinds() -> None:
    assert endpoint_condition("a:b", "c") != endpoint_condition("a", "b:c")
    facts = {"slo": "saturation", "scheduler": "endpoints", "process": "p", "since": "s", "change": "begun"}
    alert = slo_alert({**facts, "value": 1, "threshold": 0.8, "window_minutes": 15}, NOW)
    assert condition_key(alert).tenant_id == "default"
    assert alert.state is AlertState.BEGUN


def test_an_address_is_not_shown_longer_than_one_may_be() -> None:
    long = Channel(ChannelType.WEBHOOK, "https://example.com" + "/a" * 1_000)
    assert long.shown_url == f"https://{HIDDEN}"
    assert same_address(long, long.shown_url) == long.url
