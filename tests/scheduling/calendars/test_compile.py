"""What an owner writes becomes spans."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scheduling.calendars.calendar_fixtures import (
    BERLIN,
    EVERY_DAY,
    NOW,
    a_definition,
    at,
    compiled,
    dates,
    hours,
)

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import (
    CalendarFacts,
    Horizon,
    horizon,
    refuse_never_open,
)
from cadenza.domain.scheduling.calendars.definition import (
    CalendarParts,
    DateSpan,
    HolidaySource,
    WeeklyHours,
    read_parts,
    write_definition,
)
from cadenza.domain.scheduling.calendars.gate import refuse_never_open_together
from cadenza.domain.scheduling.calendars.rules import CalendarRules

GERMANY = HolidaySource("DE")
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
WEEK = Horizon(datetime(2027, 3, 25, tzinfo=UTC), datetime(2027, 4, 1, tzinfo=UTC))


def test_working_days_are_open_from_eight_to_six() -> None:
    work = compiled(a_definition())
    assert not work.is_open(at("2027-01-11T06:59"))
    assert work.is_open(at("2027-01-11T07:00"))
    assert work.closes_at(at("2027-01-11T07:00")) == at("2027-01-11T17:00")
    assert work.opens_at(at("2027-01-15T17:00")) == at("2027-01-18T07:00")


def test_hours_follow_the_clocks_of_the_zone() -> None:
    work = compiled(a_definition())
    assert work.opens_at(at("2027-07-05T00:00")) == at("2027-07-05T06:00")


def test_holidays_are_an_exception() -> None:
    facts = CalendarFacts({GERMANY: [date(2026, 12, 25)]}, {})
    work = compiled(a_definition(except_during=CalendarParts(holidays=(GERMANY,))), facts=facts)
    assert work.opens_at(at("2026-12-24T17:00")) == at("2026-12-28T07:00")


def test_holidays_are_open_where_they_are_a_part() -> None:
    facts = CalendarFacts({GERMANY: [date(2026, 12, 25), date(1999, 1, 1), date(2099, 1, 1)]}, {})
    free = compiled(a_definition(CalendarParts(holidays=(GERMANY,))), facts=facts)
    assert free.boundaries == (at("2026-12-24T23:00"), at("2026-12-25T23:00"))


def test_events_of_a_file_are_open() -> None:
    span, text = (at("2027-01-01T00:00"), at("2027-01-01T02:00")), "BEGIN:VCALENDAR"
    freeze = compiled(a_definition(CalendarParts(ics=text)), facts=CalendarFacts({}, {text: [span]}))
    assert freeze.boundaries == span


def test_hours_go_over_midnight_where_they_close_no_later_than_they_open() -> None:
    night = compiled(a_definition(hours("22:00", "06:00", ("mon",))))
    assert night.spans_between(at("2027-01-11T20:00"), at("2027-01-12T20:00")) == [
        (at("2027-01-11T21:00"), at("2027-01-12T05:00"))
    ]


def test_whole_days_adjoin() -> None:
    assert len(compiled(a_definition(hours("00:00", "24:00"))).boundaries) == 2
    assert len(compiled(a_definition(hours("00:00", "00:00"))).boundaries) == 2
    assert len(compiled(a_definition(hours("08:00", "08:00"))).boundaries) == 2


def test_days_of_23_and_25_hours_are_whole() -> None:
    for day, length in (("2027-03-28", 23), ("2027-10-31", 25)):
        begin, end = compiled(a_definition(dates(day))).boundaries
        assert (end - begin) / HOUR == length


def test_hours_that_the_clocks_skip_are_closed_and_repeated_ones_are_open_twice() -> None:
    early = compiled(a_definition(hours("02:00", "03:00")))
    assert early.spans_between(at("2027-03-28T00:00"), at("2027-03-28T12:00")) == []
    (autumn,) = early.spans_between(at("2027-10-30T23:00"), at("2027-10-31T12:00"))
    assert autumn == (at("2027-10-31T00:00"), at("2027-10-31T02:00"))


@settings(max_examples=30)
@given(
    st.sampled_from((BERLIN, "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Beirut")),
    st.integers(0, 1439),
    st.integers(0, 1440),
)
def test_away_from_changes_it_is_open_exactly_when_a_clock_on_the_wall_says_so(
    zone: str, opens: int, closes: int
) -> None:
    parts = hours(f"{opens // 60:02}:{opens % 60:02}", f"{closes // 60:02}:{closes % 60:02}")
    calendar = compiled(a_definition(parts, timezone=zone), WEEK)
    for number in range(0, 7 * 1440, 67):
        moment = WEEK.since + number * MINUTE
        wall = moment.astimezone(ZoneInfo(zone))
        if near_change(moment, zone):
            continue
        minute = wall.hour * 60 + wall.minute
        inside = opens <= minute < closes if opens < closes else minute >= opens or minute < closes
        assert calendar.is_open(moment) is inside


def near_change(moment: datetime, zone: str) -> bool:
    """Whether clocks change on the day around a moment."""
    offsets = {(moment + hours * HOUR).astimezone(ZoneInfo(zone)).utcoffset() for hours in (-26, 0, 26)}
    return len(offsets) > 1


def test_the_same_definition_compiles_to_the_same_calendar() -> None:
    assert compiled(a_definition()) == compiled(a_definition())
    assert compiled(a_definition()) != compiled(a_definition(hours("08:00", "17:00")))


def test_a_calendar_that_is_never_open_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="would never be open"):
        compiled(a_definition(hours("08:00", "18:00"), except_during=hours("00:00", "24:00")))


def test_a_calendar_whose_dates_are_over_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="never open from now on"):
        refuse_never_open(compiled(a_definition(dates("2026-11-01"))), NOW)
    refuse_never_open(compiled(a_definition(dates("2026-11-19"))), NOW)


def test_a_calendar_without_a_part_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="say when it is open"):
        a_definition(CalendarParts())


def test_a_calendar_with_too_many_spans_is_refused() -> None:
    quarters = tuple(WeeklyHours(EVERY_DAY, f"{hour:02}:00", f"{hour:02}:30") for hour in range(5))
    with pytest.raises(InvalidRequest, match="more than 20,000 spans"):
        compiled(a_definition(CalendarParts(weekly=quarters)))


@pytest.mark.parametrize(
    ("rules", "refusal"),
    [
        ({"never_during": hours("00:00", "24:00")}, "other and other leave no open time ahead"),
        ({"only_during": dates("2026-12-24"), "never_during": dates("2026-12-24")}, "no open time"),
        ({"only_during": dates("2026-12-24"), "starts_at": at("2026-12-25T00:00")}, "no open time"),
    ],
)
def test_rules_that_leave_no_moment_are_refused(rules: dict[str, object], refusal: str) -> None:
    whole = {
        name: compiled(a_definition(value, id="other")) if isinstance(value, CalendarParts) else value
        for name, value in rules.items()
    }
    if "never_during" in whole and "only_during" not in whole:
        whole["only_during"] = compiled(a_definition(hours("08:00", "18:00"), id="other"))
    with pytest.raises(InvalidRequest, match=refusal):
        refuse_never_open_together(CalendarRules(**whole), NOW)  # type: ignore[arg-type]


def test_never_during_what_is_always_open_is_refused() -> None:
    always = compiled(a_definition(hours("00:00", "24:00"), id="always"))
    with pytest.raises(InvalidRequest, match="always leaves no open time ahead"):
        refuse_never_open_together(CalendarRules(never_during=always), NOW)


def test_rules_that_leave_a_moment_are_taken() -> None:
    refuse_never_open_together(CalendarRules(), NOW)
    refuse_never_open_together(CalendarRules(never_during=compiled(a_definition())), NOW)
    refuse_never_open_together(
        CalendarRules(only_during=compiled(a_definition()), starts_at=at("2027-01-02T00:00")), NOW
    )


def test_a_definition_is_the_same_after_it_was_written() -> None:
    written = a_definition(
        CalendarParts(
            weekly=(WeeklyHours(("mon", "sun"), "08:00", "24:00"),),
            holidays=(HolidaySource("DE", "BY"),),
            dates=(DateSpan(date(2027, 1, 1), date(2027, 1, 3)),),
            ics="BEGIN:VCALENDAR",
        ),
        except_during=dates("2027-01-02"),
    )
    document = write_definition(written)
    assert read_parts(document) == written.open_during
    assert read_parts(document["except_during"]) == written.except_during


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: WeeklyHours((), "08:00", "18:00"),
        lambda: WeeklyHours(("monday",), "08:00", "18:00"),
        lambda: WeeklyHours(("mon", "mon"), "08:00", "18:00"),
        lambda: WeeklyHours(("mon",), "24:00", "18:00"),
        lambda: WeeklyHours(("mon",), "8:00", "18:00"),
        lambda: WeeklyHours(("mon",), "08:00", "24:01"),
        lambda: HolidaySource("Germany"),
        lambda: HolidaySource("DE", "B\nY"),
        lambda: DateSpan(date(2027, 1, 2), date(2027, 1, 1)),
        lambda: CalendarParts(weekly=(WeeklyHours(("mon",), "08:00", "18:00"),) * 29),
        lambda: CalendarParts(ics="x" * 262_145),
    ],
)
def test_parts_that_make_no_sense_are_refused(wrong: type) -> None:
    with pytest.raises(InvalidRequest):
        wrong()


def test_the_horizon_is_from_a_year_ago_to_twelve_years_ahead() -> None:
    over = horizon(NOW)
    assert over.since < NOW - 365 * 24 * HOUR
    assert over.until > NOW + 12 * 365 * 24 * HOUR


def is_sorted(calendar: Calendar) -> bool:
    return all(one < other for one, other in zip(calendar.boundaries, calendar.boundaries[1:], strict=False))


def test_spans_never_touch_each_other() -> None:
    overlapping = CalendarParts(
        weekly=(
            WeeklyHours(EVERY_DAY, "08:00", "12:00"),
            WeeklyHours(EVERY_DAY, "12:00", "14:00"),
            WeeklyHours(("mon",), "10:00", "09:00"),
        )
    )
    assert is_sorted(compiled(a_definition(overlapping)))
