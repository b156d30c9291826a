"""Holidays and iCalendar files, good ones and hostile ones."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from dateutil.rrule import rrulestr
from tests.scheduling.calendars.calendar_fixtures import BERLIN, NOW, at

from cadenza.adapters.calendars.ics_rules import days_of, read_rule
from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import Span
from cadenza.domain.scheduling.calendars.compile import horizon
from cadenza.domain.scheduling.calendars.definition import (
    CalendarDefinition,
    CalendarParts,
    HolidaySource,
    WeeklyHours,
)
from cadenza.ports.calendars.sources import compile_definition

OVER = horizon(NOW)
SOURCES = LibrarySources()


def a_file(*events: str) -> str:
    whole = "".join(f"BEGIN:VEVENT\nUID:{at}\n{one}\nEND:VEVENT\n" for at, one in enumerate(events))
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{whole}END:VCALENDAR\n"


def spans(*events: str) -> list[Span]:
    return SOURCES.ics(a_file(*events), BERLIN, OVER)


def test_holidays_of_a_country_and_of_its_part() -> None:
    whole = SOURCES.holidays(HolidaySource("DE"), [2027])
    bavaria = SOURCES.holidays(HolidaySource("DE", "BY"), [2027])
    assert date(2027, 10, 3) in whole
    assert date(2027, 1, 6) in {*bavaria} - {*whole}
    assert bavaria == sorted(bavaria)


@pytest.mark.parametrize(
    ("source", "refusal"),
    [
        (HolidaySource("XX"), "country XX are not known"),
        (HolidaySource("DE", "XX"), "DE has no part XX .* take one of BB, BE"),
    ],
)
def test_an_unknown_country_or_part_is_refused(source: HolidaySource, refusal: str) -> None:
    with pytest.raises(InvalidRequest, match=refusal):
        SOURCES.holidays(source, [2027])


def test_an_event_with_times_is_one_span() -> None:
    assert spans("DTSTART:20270101T080000Z\nDTEND:20270101T100000Z") == [
        (at("2027-01-01T08:00"), at("2027-01-01T10:00"))
    ]


def test_times_without_a_zone_are_those_of_the_calendar() -> None:
    assert spans("DTSTART:20270101T080000\nDURATION:PT1H") == [
        (at("2027-01-01T07:00"), at("2027-01-01T08:00"))
    ]


def test_times_in_a_zone_of_their_own_keep_it() -> None:
    assert spans("DTSTART;TZID=America/New_York:20270701T080000\nDURATION:PT1H") == [
        (at("2027-07-01T12:00"), at("2027-07-01T13:00"))
    ]


def test_days_are_from_local_midnight_to_local_midnight() -> None:
    assert spans("DTSTART;VALUE=DATE:20270328\nDTEND;VALUE=DATE:20270329") == [
        (at("2027-03-27T23:00"), at("2027-03-28T22:00"))
    ]
    assert spans("DTSTART;VALUE=DATE:20270328") == [(at("2027-03-27T23:00"), at("2027-03-28T22:00"))]


def test_recurrences_follow_the_clocks_on_the_wall() -> None:
    found = spans("DTSTART;TZID=Europe/Berlin:20270321T030000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=2")
    assert [begin for begin, _ in found] == [at("2027-03-21T02:00"), at("2027-03-28T01:00")]


def test_recurrences_end_with_their_until_and_with_the_horizon() -> None:
    begun = "DTSTART;VALUE=DATE:20270101\nRRULE:FREQ=DAILY"
    assert len(spans(f"{begun};UNTIL=20270105")) == 5
    assert max(begin for begin, _ in spans(begun)) <= OVER.until


def test_excepted_moved_and_cancelled_recurrences() -> None:
    found = SOURCES.ics(
        a_file(
            "DTSTART:20270101T080000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=4\nEXDATE:20270102T080000Z"
        ).replace(
            "END:VCALENDAR",
            "BEGIN:VEVENT\nUID:0\nRECURRENCE-ID:20270103T080000Z\nDTSTART:20270103T120000Z\nDURATION:PT1H\n"
            "END:VEVENT\nBEGIN:VEVENT\nUID:0\nRECURRENCE-ID:20270104T080000Z\nDTSTART:20270104T080000Z\n"
            "DURATION:PT1H\nSTATUS:CANCELLED\nEND:VEVENT\nEND:VCALENDAR",
        ),
        BERLIN,
        OVER,
    )
    assert sorted(begin for begin, _ in found) == [at("2027-01-01T08:00"), at("2027-01-03T12:00")]


def test_zones_that_a_file_defines_are_not_read() -> None:
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+1200\n"
        "TZOFFSETTO:+1200\nRRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT"
    )
    text = a_file("DTSTART;TZID=Europe/Berlin:20270101T080000\nDURATION:PT1H")
    found = SOURCES.ics(text.replace("BEGIN:VEVENT", zone), BERLIN, OVER)
    assert found == [SEVEN_TO_EIGHT]


LAST = datetime.combine(date(2029, 12, 31), time())
SEVEN_TO_EIGHT = (at("2027-01-01T07:00"), at("2027-01-01T08:00"))
NEVER = "DTSTART:20270101T080000Z\nDURATION:PT1H\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"


def test_a_rule_that_never_recurs_leaves_the_event_alone() -> None:
    assert spans(NEVER) == [(at("2027-01-01T08:00"), at("2027-01-01T09:00"))]


@pytest.mark.parametrize(
    ("hostile", "refusal"),
    [
        ("<html>", "does not begin with BEGIN:VCALENDAR"),
        ("", "does not begin with BEGIN:VCALENDAR"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:" + "1" * 200_000, "cannot be read"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20270101", "cannot be read"),
        (a_file("SUMMARY:nothing"), "without one DTSTART"),
        (a_file("DTSTART:20270101T000000Z\nDTSTART:20280101T000000Z"), "without one DTSTART"),
        (a_file("DTSTART;TZID=Nowhere:20270101T000000\nDURATION:PT1H"), "unknown time zone 'Nowhere'"),
        (a_file("DTSTART:20270101T000000Z\nDURATION:P99999D"), "more than ten years"),
        (a_file("DTSTART:20270101T000000Z\nDTEND;VALUE=DATE:20270102"), "cannot be read"),
        (a_file("DTSTART:20270103T000000Z\nDTEND:20270101T000000Z"), "ends before it begins"),
        (a_file("DTSTART:20270101T000000Z\nRRULE:FREQ=SECONDLY"), "DAILY, WEEKLY, MONTHLY or YEARLY"),
        (a_file("DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;BYSECOND=1"), "DAILY, WEEKLY, MONTHLY or YEARLY"),
        (a_file("DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;INTERVAL=0"), "INTERVAL from 1|cannot be read"),
        (a_file("DTSTART:20270101T000000Z\nRRULE:FREQ=DAILY;INTERVAL=" + "9" * 99), "file"),
        (a_file("DTSTART:00010101T000000Z\nRRULE:FREQ=DAILY"), "more recurrences"),
        (a_file(*["DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY"] * 9), "more recurrences"),
        (a_file(*["DTSTART:20260101T000000Z"] * 2_001), "more than 2,000 events"),
        (a_file(*[NEVER + ";COUNT=3"] * 400), "more recurrences"),
        (
            a_file("DTSTART:20270101T000000Z\nRRULE:FREQ=MONTHLY;BYDAY=" + ",".join(["MO"] * 9_000)),
            "62 values",
        ),
        (a_file("DTSTART:20270101T000000Z\nRDATE;VALUE=PERIOD:20270101T000000Z/PT1H"), "PERIOD"),
    ],
    ids=lambda one: one[:24].replace("\n", " "),
)
def test_a_hostile_file_is_refused_in_one_sentence(hostile: str, refusal: str) -> None:
    with pytest.raises(InvalidRequest, match=refusal) as refused:
        SOURCES.ics(hostile, BERLIN, OVER)
    assert refused.value.message.startswith("The ICS file")
    assert len(refused.value.message) < 250


def test_folded_lines_cannot_hide_a_part() -> None:
    folded = a_file("DTSTART:20270101T080000Z\nDURATION:PT1H\nRRULE:FREQ=SECON\n DLY")
    with pytest.raises(InvalidRequest, match="not taken"):
        SOURCES.ics(folded, BERLIN, OVER)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=DAILY;BYMONTH=1,6;BYDAY=MO,TU",
        "FREQ=DAILY;BYMONTHDAY=13,-1;BYDAY=FR,SU",
        "FREQ=WEEKLY",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO",
        "FREQ=WEEKLY;BYMONTH=3;BYDAY=MO",
        "FREQ=MONTHLY;INTERVAL=5",
        "FREQ=MONTHLY;BYMONTHDAY=1,-1,31",
        "FREQ=MONTHLY;BYMONTH=2,4",
        "FREQ=MONTHLY;BYDAY=2MO,-1FR",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
        "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1,3;INTERVAL=2",
        "FREQ=MONTHLY;BYMONTHDAY=8,9,10;BYDAY=SA",
        "FREQ=YEARLY",
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=3,7",
        "FREQ=YEARLY;BYMONTHDAY=24",
        "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24,25",
        "FREQ=YEARLY;BYDAY=20MO,-1SU",
        "FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU",
        "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH",
        "FREQ=YEARLY;BYDAY=MO;BYSETPOS=2,-1",
    ],
)
@pytest.mark.parametrize("start", [date(2024, 2, 28), date(2025, 12, 3)])
def test_the_days_of_a_rule_are_those_that_a_library_finds(rule: str, start: date) -> None:
    begin = datetime.combine(start, time())
    wanted = [one.date() for one in rrulestr(rule, dtstart=begin).between(begin, LAST, inc=True)]
    parts = {name: value.split(",") for name, value in (part.split("=") for part in rule.split(";"))}
    assert [*days_of(read_rule(parts), start, LAST.date())] == wanted


def test_days_with_and_without_a_number_are_both_meant() -> None:
    rule = read_rule({"FREQ": ["MONTHLY"], "BYDAY": ["1MO", "SU"]})
    found = [*days_of(rule, date(2027, 2, 1), date(2027, 2, 28))]
    assert [day.day for day in found] == [1, 7, 14, 21, 28]


def test_no_rule_takes_longer_than_its_days() -> None:
    rule = read_rule({"FREQ": ["DAILY"], "BYMONTH": ["2"], "BYMONTHDAY": ["30"]})
    start = datetime(2026, 1, 1, tzinfo=UTC).date()
    assert [*days_of(rule, start, start + timedelta(days=4_000))] == []


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (CalendarParts(holidays=(HolidaySource("XX"),)), "except_during.holidays"),
        (CalendarParts(ics="no calendar"), "except_during.ics"),
    ],
)
def test_a_refusal_names_the_part_of_the_calendar(refused: CalendarParts, field: str) -> None:
    week = CalendarParts(weekly=(WeeklyHours(("mon",), "08:00", "18:00"),))
    definition = CalendarDefinition(tenant_id="default", id="work", open_during=week, except_during=refused)
    with pytest.raises(InvalidRequest) as problem:
        compile_definition(definition, NOW, SOURCES)
    assert problem.value.field == field
