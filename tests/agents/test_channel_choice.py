"""Which channel a message is sent to, and when: the order of preference, backoff and quiet hours."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.agents.channels.channel_choice import (
    LEASE,
    LONGEST_REST,
    NOTHING_TO_SEND,
    SOCKET_FIRST,
    TRIES,
    ChannelDecision,
    ChannelSituation,
    choose_channel,
    health_after_refusal,
    retry_delay,
)
from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.channels.user_channels import (
    MOST_CHANNELS,
    ChannelHealth,
    UserChannel,
    UserChannels,
    notice_of,
    with_channels,
    with_health,
)
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.errors import InvalidRequest
from cadenza.testing.clock import NEW_YEAR

NOW = NEW_YEAR
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
NIGHT = QuietHours(time(22), time(7))


def a_channel(name: str, *, enabled: bool = True) -> UserChannel:
    return UserChannel(
        id=name,
        tenant_id="north",
        channel=Channel(ChannelType.WEBHOOK, f"https://{name}.example"),
        enabled=enabled,
    )


def a_message(age: timedelta = HOUR) -> Delivery:
    return Delivery("run-1.1", "north", "anna", 7, "tutor", Subtitle("Hello"), NOW - age)


def channels(*names: str, **fields: object) -> UserChannels:
    return UserChannels(channels=tuple(map(a_channel, names)), **fields)  # type: ignore[arg-type]


def choose(given: UserChannels, oldest: Delivery | None = None, now: datetime = NOW) -> ChannelDecision:
    return choose_channel(ChannelSituation(now=now, oldest=oldest or a_message(), channels=given))


def test_the_preferred_channel_gets_the_message() -> None:
    given = channels("phone", "mail")
    assert choose(given) == ChannelDecision(NOW + LEASE, a_channel("phone"))


def test_without_a_message_or_an_enabled_channel_nothing_is_looked_at_again() -> None:
    off = UserChannels(channels=(a_channel("phone", enabled=False),))
    assert choose(off) == NOTHING_TO_SEND
    assert choose(UserChannels()) == NOTHING_TO_SEND
    situation = ChannelSituation(now=NOW, oldest=None, channels=channels("phone"))
    assert choose_channel(situation) == NOTHING_TO_SEND


def test_a_young_message_is_left_to_sockets() -> None:
    assert choose(channels("phone"), a_message(10 * SECOND)) == ChannelDecision(NOW + 20 * SECOND)
    assert choose(channels("phone"), a_message(SOCKET_FIRST)).channel is not None


def test_a_message_from_the_future_waits_no_longer_than_a_young_one() -> None:
    assert choose(channels("phone"), a_message(-HOUR)) == ChannelDecision(NOW + SOCKET_FIRST)


def test_in_quiet_hours_the_message_waits_for_the_morning_of_the_user() -> None:
    given = channels("phone", quiet=NIGHT)
    situation = ChannelSituation(
        now=datetime(2025, 1, 1, 22, 30, tzinfo=UTC),
        oldest=a_message(),
        channels=given,
        timezone="Asia/Tokyo",
    )
    assert choose_channel(situation).channel is not None
    berlin = ChannelSituation(now=situation.now, oldest=a_message(), channels=given, timezone="Europe/Berlin")
    assert choose_channel(berlin) == ChannelDecision(datetime(2025, 1, 2, 6, tzinfo=UTC))


def test_a_channel_that_refuses_is_tried_again_and_then_the_next_one_has_its_turn() -> None:
    given, now, tried = channels("phone", "mail"), NOW, []
    for _ in range(TRIES + 1):
        decision = choose(given, now=now)
        if decision.channel is None:
            assert decision.again_at is not None
            now = decision.again_at
            decision = choose(given, now=now)
        assert decision.channel is not None
        tried.append(decision.channel.id)
        health = health_after_refusal(given.health.get(tried[-1]), "answered 503", now)
        given = with_health(given, tried[-1], health)
    assert tried == ["phone"] * TRIES + ["mail"]


def test_a_channel_that_rested_is_preferred_again() -> None:
    resting = {"phone": ChannelHealth(TRIES, NOW + SECOND, "answered 503")}
    given = channels("phone", "mail", health=resting)
    assert choose(given).channel == a_channel("mail")
    assert choose(given, now=NOW + SECOND).channel == a_channel("phone")


def test_if_all_rest_the_first_that_may_be_tried_again_is_waited_for() -> None:
    resting = {
        "phone": ChannelHealth(TRIES, NOW + 9 * SECOND, "answered 503"),
        "mail": ChannelHealth(TRIES, NOW + 3 * SECOND, "answered 503"),
    }
    assert choose(channels("phone", "mail", health=resting)) == ChannelDecision(NOW + 3 * SECOND)


HEALTH = st.builds(
    ChannelHealth,
    st.integers(1, 30),
    st.integers(-7_200, 7_200).map(lambda seconds: NOW + seconds * SECOND),
    st.just("answered 503"),
)


@st.composite
def situations(draw: st.DrawFn) -> ChannelSituation:
    names = draw(st.lists(st.sampled_from("abcde"), unique=True))
    given = tuple(a_channel(name, enabled=draw(st.booleans())) for name in names)
    health = {name: draw(HEALTH) for name in names if draw(st.booleans())}
    quiet = draw(st.none() | st.just(QuietHours(time(0, 0), time(3, 0))) | st.just(NIGHT))
    age = timedelta(seconds=draw(st.integers(-3_600, 3_600)))
    return ChannelSituation(
        now=NOW,
        oldest=a_message(age),
        channels=UserChannels(channels=given, quiet=quiet, health=health),
        timezone=draw(st.sampled_from([None, "Europe/Berlin", "Asia/Tokyo"])),
    )


@given(situations())
def test_whatever_is_sent_may_be_sent_and_whatever_waits_waits_for_something(
    situation: ChannelSituation,
) -> None:
    decision, enabled = choose_channel(situation), [c for c in situation.channels.channels if c.enabled]
    if not enabled:
        assert decision == NOTHING_TO_SEND
        return
    assert decision.again_at is not None
    assert decision.again_at > NOW
    if decision.channel is not None:
        assert decision.channel in enabled
        before = enabled[: enabled.index(decision.channel)]
        assert all(situation.channels.health[one.id].again_at > NOW for one in before)
        assert all(situation.channels.health[one.id].failures >= TRIES for one in before)
        health = situation.channels.health.get(decision.channel.id)
        assert health is None or health.again_at <= NOW


@given(situations(), st.integers(1, 60))
def test_a_user_with_a_channel_that_accepts_gets_the_message_within_a_day(
    situation: ChannelSituation, refusals: int
) -> None:
    given, now = situation.channels, situation.now
    for _ in range(200):
        decision = choose_channel(
            ChannelSituation(now=now, oldest=situation.oldest, channels=given, timezone=situation.timezone)
        )
        if decision == NOTHING_TO_SEND:
            assert not any(one.enabled for one in given.channels)
            return
        if decision.channel is None:
            assert decision.again_at is not None
            now = decision.again_at
        elif refusals == 0:
            break
        else:
            refusals -= 1
            health = health_after_refusal(given.health.get(decision.channel.id), "no", now)
            given = with_health(given, decision.channel.id, health)
    assert refusals == 0
    assert now - NOW < timedelta(days=4)


@given(st.integers(1, 10_000))
def test_the_delay_grows_and_is_bounded(failures: int) -> None:
    assert timedelta() < retry_delay(failures) <= retry_delay(failures + 1) <= LONGEST_REST


def test_a_changed_channel_is_tried_at_once_and_an_unchanged_one_keeps_its_rest() -> None:
    health = {name: ChannelHealth(1, NOW + HOUR, "answered 503") for name in ("phone", "mail")}
    before = channels("phone", "mail", health=health)
    moved = UserChannel(
        id="mail", tenant_id="north", channel=Channel(ChannelType.SLACK, "https://new.example")
    )
    after = with_channels(before, (a_channel("phone"), moved), NIGHT)
    assert set(after.health) == {"phone"}
    assert after.quiet == NIGHT


def test_a_channel_that_is_gone_has_no_health() -> None:
    assert with_health(channels("phone"), "mail", ChannelHealth(1, NOW, "no")).health == {}
    refusing = with_health(channels("phone"), "phone", ChannelHealth(1, NOW, "no"))
    assert with_health(refusing, "phone", None).health == {}


def test_ids_are_unique_and_there_are_not_too_many() -> None:
    with pytest.raises(InvalidRequest):
        channels("phone", "phone")
    with pytest.raises(InvalidRequest):
        channels(*(f"c{number}" for number in range(MOST_CHANNELS + 1)))


def test_what_a_channel_is_sent_says_who_it_is_from_and_is_no_markup() -> None:
    notice = notice_of(a_message()._replace(message=Subtitle("a < b")))
    assert (notice.title, notice.idempotency_key) == ("tutor", "message-run-1.1")
    assert notice.as_slack() == {"text": "a &lt; b"}
    assert notice.as_event() == {
        "type": "cadenza.message",
        "timestamp": "2024-12-31T23:00:00Z",
        "data": {
            "id": "run-1.1",
            "text": "a < b",
            "user_id": "anna",
            "seq": 7,
            "agent_id": "tutor",
            "schedule_id": None,
        },
    }
