"""Properties of the offline agent's parser: no message breaks it, and the user's time zone counts."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st
from tests.agents.agent_fixtures import MONDAY, ZONE

from cadenza.adapters.agents.offline.moments import AfterDelay, AtMoment, Recurring, ResolvedTime, resolve
from cadenza.adapters.agents.offline.requests import (
    Remind,
    parse_request,
)
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest
from cadenza.adapters.cron import CronsimCron

HERE = MONDAY.astimezone(ZoneInfo(ZONE))
PIZZA = "take the pizza out"


def taken(text: str) -> tuple[str, ResolvedTime]:
    """What a reminder is about and when, on a Monday at 10:17:30 in Berlin."""
    request = parse_request(text, HERE)
    assert isinstance(request, Remind), request
    return request.what, resolve(request.when, HERE, ZONE)


def moment(text: str) -> AtMoment:
    """A moment in Berlin."""
    return AtMoment(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE)))


ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"])
NOWS = st.datetimes(datetime(2025, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(NOWS, ZONES, st.integers(0, 23), st.integers(0, 59))
def test_a_time_of_day_is_the_next_one_on_the_users_clock(
    now: datetime, zone: str, hour: int, minute: int
) -> None:
    here = now.astimezone(ZoneInfo(zone))
    said = f"{hour % 12 or 12}:{minute:02d} {'am' if hour < 12 else 'pm'}"
    request = parse_request(f"remind me at {said} to rest", here)
    assert isinstance(request, Remind)
    when = resolve(request.when, here, zone)
    assert isinstance(when, AtMoment)
    ahead = when.at.astimezone(UTC) - now
    assert timedelta() < ahead <= timedelta(hours=25)
    wall = when.at.astimezone(ZoneInfo(zone))
    skipped = (wall.hour, wall.minute) != (hour, minute)
    assert not skipped or wall.utcoffset() != (wall - timedelta(hours=3)).utcoffset(), "only a skipped hour"


@given(NOWS, st.integers(1, 5_000), st.sampled_from(["second", "minute", "hour"]))
def test_a_while_is_as_long_as_it_was_said(now: datetime, number: int, unit: str) -> None:
    request = parse_request(f"in {number} {unit}{'s' * (number != 1)} remind me to rest", now)
    assert isinstance(request, Remind)
    assert resolve(request.when, now, None) == AfterDelay(timedelta(**{f"{unit}s": number}))


WORDS = st.sampled_from(
    [
        "remind",
        "me",
        "to",
        "at",
        "in",
        "on",
        "every",
        "each",
        "the",
        "of",
        "and",
        "for",
        "5",
        "17:00",
        "5pm",
        "noon",
        "tomorrow",
        "today",
        "friday",
        "monday",
        "march",
        "3rd",
        "2030-01-31",
        "3/4",
        "20",
        "minutes",
        "hours",
        "day",
        "week",
        "month",
        "year",
        "half",
        "a",
        "an",
        "next",
        "cancel",
        "list",
        "reminders",
        "first",
        "last",
        "weekday",
        "utc",
        "europe/berlin",
        "99:99",
        "25:61",
        "30",
        "february",
        "call",
        "mum",
        "[SCHEDULED:",
        "x]",
        "\u202e",
        "\x00",
        "1e9",
        "-5",
    ]
)


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=200), NOWS, ZONES | st.none())
def test_whatever_is_said_is_understood_or_asked_about(text: str, now: datetime, zone: str | None) -> None:
    here = now.astimezone(ZoneInfo(zone or "UTC"))
    try:
        request = parse_request(text, here)
        if not isinstance(request, Remind):
            return
        when = resolve(request.when, here, zone)
    except UnclearRequest as problem:
        check_question(problem.question)
        return
    assert request.what
    match when:
        case AtMoment(at):
            assert at > now
        case AfterDelay(span):
            assert span > timedelta()
        case Recurring(line, _):
            CronsimCron().check(line, zone or "UTC")


def check_question(question: str) -> None:
    assert question.strip()
    assert "\n" not in question


@given(st.lists(WORDS, max_size=10).map(" ".join), NOWS)
def test_the_same_words_at_the_same_moment_mean_the_same(text: str, now: datetime) -> None:
    def meant() -> object:
        try:
            return parse_request(text, now)
        except UnclearRequest as problem:
            return problem.question

    assert meant() == meant()
