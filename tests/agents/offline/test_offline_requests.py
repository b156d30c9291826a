"""Messages of users, and the requests that the offline agent reads in them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.agents.agent_fixtures import MONDAY, ZONE

from cadenza.adapters.agents.offline.moments import AfterDelay, AtMoment, Recurring, ResolvedTime, resolve
from cadenza.adapters.agents.offline.requests import (
    CancelAll,
    CancelOne,
    Help,
    ListReminders,
    Remind,
    Request,
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


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (f"remind me in 20 minutes to {PIZZA}", timedelta(minutes=20)),
        (f"Remind me to {PIZZA} in 20 minutes.", timedelta(minutes=20)),
        (f"In 20 minutes remind me to {PIZZA}", timedelta(minutes=20)),
        (f"in twenty minutes, {PIZZA}", timedelta(minutes=20)),
        (f"Hey, can you please remind me in 20 mins to {PIZZA}?", timedelta(minutes=20)),
        (f"please tell me in 20min that {PIZZA}", timedelta(minutes=20)),
        (f"{PIZZA} in 20 minutes", timedelta(minutes=20)),
        (f"remind me in an hour and a half to {PIZZA}", timedelta(minutes=90)),
        (f"remind me in one and a half hours to {PIZZA}", timedelta(minutes=90)),
        (f"remind me in 1.5 hours to {PIZZA}", timedelta(minutes=90)),
        (f"remind me in half an hour to {PIZZA}", timedelta(minutes=30)),
        (f"remind me in 2 hours and 30 minutes to {PIZZA}", timedelta(minutes=150)),
        (f"remind me in 2h 30m to {PIZZA}", timedelta(minutes=150)),
        (f"remind me 3 days from now to {PIZZA}", timedelta(days=3)),
        (f"in a week remind me to {PIZZA}", timedelta(days=7)),
        (f"in a fortnight, remind me to {PIZZA}", timedelta(days=14)),
        (f"don't let me forget to {PIZZA} in 45 seconds", timedelta(seconds=45)),
        (f"nudge me after 10 minutes to {PIZZA}", timedelta(minutes=10)),
    ],
)
def test_a_while_from_now(text: str, span: timedelta) -> None:
    assert taken(text) == (PIZZA, AfterDelay(span))


@pytest.mark.parametrize(
    ("text", "what", "at"),
    [
        ("remind me at 5pm tomorrow to call mum", "call mum", "2026-11-17T17:00"),
        ("at 5pm tomorrow remind me to call mum", "call mum", "2026-11-17T17:00"),
        ("at 5 pm tomorrow call mum", "call mum", "2026-11-17T17:00"),
        ("tomorrow at 17:00 call mum", "call mum", "2026-11-17T17:00"),
        ("call mum tomorrow at 5 p.m.", "call mum", "2026-11-17T17:00"),
        ("remind me tomorrow to call mum at 5pm", "call mum", "2026-11-17T17:00"),
        ("Tomorrow, remind me at 5pm to call mum", "call mum", "2026-11-17T17:00"),
        ("remind me at 5pm to call mum", "call mum", "2026-11-16T17:00"),
        ("remind me at 9am to call mum", "call mum", "2026-11-17T09:00"),
        ("remind me at half past 8 pm to call mum", "call mum", "2026-11-16T20:30"),
        ("remind me at quarter to nine in the evening to call mum", "call mum", "2026-11-16T20:45"),
        ("remind me tomorrow at 9 to call mum", "call mum", "2026-11-17T09:00"),
        ("remind me tomorrow to call mum", "call mum", "2026-11-17T09:00"),
        ("remind me tomorrow morning to call mum", "call mum", "2026-11-17T09:00"),
        ("remind me tonight to call mum", "call mum", "2026-11-16T20:00"),
        ("remind me tonight at 8 to call mum", "call mum", "2026-11-16T20:00"),
        ("remind me at noon to call mum", "call mum", "2026-11-16T12:00"),
        ("remind me at midnight to call mum", "call mum", "2026-11-17T00:00"),
        ("remind me on friday at 3pm to call mum", "call mum", "2026-11-20T15:00"),
        ("remind me next friday at 3pm to call mum", "call mum", "2026-11-20T15:00"),
        ("remind me to call mum at 3pm on Friday", "call mum", "2026-11-20T15:00"),
        ("remind me next monday at 3pm to call mum", "call mum", "2026-11-23T15:00"),
        ("remind me on 3 march at 10am to file taxes", "file taxes", "2027-03-03T10:00"),
        ("remind me on March 3rd, 2031 at 10:00 to file taxes", "file taxes", "2031-03-03T10:00"),
        ("remind me on the 3rd of march at 10am to file taxes", "file taxes", "2027-03-03T10:00"),
        ("remind me on 2030-01-31 at 12:00 to rejoice", "rejoice", "2030-01-31T12:00"),
        ("remind me on 25/12 at 10am to rejoice", "rejoice", "2026-12-25T10:00"),
        ("remind me on 25.12. at 10am to rejoice", "rejoice", "2026-12-25T10:00"),
        ("remind me on the 5th at 2pm about the meeting", "the meeting", "2026-12-05T14:00"),
        ("remind me in 3 days at 5pm to call mum", "call mum", "2026-11-19T17:00"),
        ("remind me in 2 months to renew", "renew", "2027-01-16T10:17:30"),
        ("remind me the day after tomorrow at noon to eat", "eat", "2026-11-18T12:00"),
        ("wake me up at 7am", "wake up", "2026-11-17T07:00"),
        ("set an alarm for 7:30am", "alarm", "2026-11-17T07:30"),
        ("remind me to buy 3 apples tomorrow", "buy 3 apples", "2026-11-17T09:00"),
        ("remind me to read 1984 tomorrow at 8pm", "read 1984", "2026-11-17T20:00"),
    ],
)
def test_a_moment(text: str, what: str, at: str) -> None:
    assert taken(text) == (what, moment(at))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("every weekday at 9 remind me to stand up", "0 9 * * 1-5"),
        ("remind me every weekday at 9 to stand up", "0 9 * * 1-5"),
        ("remind me to stand up every weekday at 9", "0 9 * * 1-5"),
        ("on weekdays at 9am stand up", "0 9 * * 1-5"),
        ("every day at 8:30 stand up", "30 8 * * *"),
        ("daily at 8:30, stand up", "30 8 * * *"),
        ("each evening remind me to stand up", "0 18 * * *"),
        ("every weekend at 11 stand up", "0 11 * * 0,6"),
        ("every monday and thursday at 18:00 remind me to stand up", "0 18 * * 1,4"),
        ("on mondays at 7pm remind me to stand up", "0 19 * * 1"),
        ("every Mon, Wed and Fri at 7 pm stand up", "0 19 * * 1,3,5"),
        ("every sunday stand up", "0 9 * * 0"),
        ("weekly on friday at 16:00 stand up", "0 16 * * 5"),
        ("every week at 16:00 stand up", "0 16 * * 1"),
        ("every 2 hours remind me to stand up", "17 0,2,4,6,8,10,12,14,16,18,20,22 * * *"),
        ("every three hours stand up", "17 1,4,7,10,13,16,19,22 * * *"),
        ("every hour stand up", "17 * * * *"),
        ("hourly stand up", "17 * * * *"),
        ("tell me every 15 minutes to stand up", "2,17,32,47 * * * *"),
        ("on the first of each month stand up", "0 9 1 * *"),
        ("on the first of each month remind me to stand up at 10am", "0 10 1 * *"),
        ("remind me on the 15th of every month to stand up", "0 9 15 * *"),
        ("every month on the 15th at 9:30 stand up", "30 9 15 * *"),
        ("every month stand up", "0 9 16 * *"),
        ("on the last day of each month at 18:00 stand up", "0 18 L * *"),
        ("on the first monday of each month stand up", "0 9 * * 1#1"),
        ("every year on 3 march stand up", "0 9 3 3 *"),
        ("I need to be reminded to stand up every day at noon", "0 12 * * *"),
    ],
)
def test_a_recurrence_is_a_cron_line_that_fires(text: str, line: str) -> None:
    assert taken(text) == ("stand up", Recurring(line, ZONE))
    CronsimCron().check(line, ZONE)


@pytest.mark.parametrize(
    ("text", "what", "when"),
    [
        (
            "remind me in 20 minutes to prepare for the meeting at 5pm",
            "prepare for the meeting at 5pm",
            AfterDelay(timedelta(minutes=20)),
        ),
        (
            'remind me in 20 minutes to say "every day at 5pm"',
            'say "every day at 5pm"',
            AfterDelay(timedelta(minutes=20)),
        ),
        ("at 17:00 UTC remind me to sync", "sync", AtMoment(datetime(2026, 11, 16, 17, tzinfo=UTC))),
        ("set a timer for 10 minutes", "timer", AfterDelay(timedelta(minutes=10))),
    ],
)
def test_what_is_said_first_counts_and_the_rest_stays_text(text: str, what: str, when: ResolvedTime) -> None:
    assert taken(text) == (what, when)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("remind me to call mum", "When shall I remind you?"),
        ("tomorrow at 5pm", "What shall I remind you of?"),
        ("every day at 8:30", "What shall I remind you of?"),
        ("remind me at 5 to call mum", "Do you mean 5 am or 5 pm?"),
        ("remind me at 5:30 to call mum", "Do you mean 5:30 am or 5:30 pm?"),
        ("every day at 5 call mum", "Do you mean 5 am or 5 pm?"),
        ("remind me at 9 to call mum", "Do you mean 9 am or 9 pm?"),
        ("remind me today to call mum", "At what time today?"),
        ("remind me today at 8am to run", "Monday, 16 November 2026, 08:00 has passed; when do you mean?"),
        ("remind me at 25:00 to fly", "at 25:00 is no time of the day; when do you mean?"),
        ("remind me at 13pm to fly", "at 13pm is no time of the day; when do you mean?"),
        ("remind me on 30 february at 9am to fly", "I do not know the day"),
        ("remind me on 3/4 at 10am to fly", "Is 3/4 the day or the month first?"),
        ("remind me in 0 minutes to fly", "When do you mean"),
        ("remind me in 99 years to fly", "When do you mean"),
        ("every second remind me to fly", "I can repeat something every minute"),
        ("every 7 minutes remind me to fly", "I can repeat every 2, 3, 4, 5"),
        ("every 5 hours remind me to fly", "I can repeat every 2, 3, 4, 6"),
        ("every other day remind me to fly", "I cannot repeat that evenly"),
        ("every fortnight remind me to fly", "I cannot repeat that evenly"),
        ("on the 32nd of each month remind me to fly", "No month has a day 32"),
        ("every monday in 20 minutes remind me to fly", "Shall it happen once after that while"),
        ("every monday on 3 march remind me to fly", "I can repeat something or do it on a day"),
        ("the weather is nice", "I did not understand that"),
        ("[SCHEDULED: pizza] every 2 hours take it out", "I did not understand that"),
        ("cancel", "Which one shall I cancel?"),
        ("cancel my reminder", "Which one shall I cancel?"),
        ("x " * 600, "That is long"),
    ],
)
def test_what_is_unclear_is_asked_back(text: str, question: str) -> None:
    with pytest.raises(UnclearRequest) as problem:
        taken(text)
    assert problem.value.question.startswith(question)


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("list my reminders", ListReminders()),
        ("List all my schedules!", ListReminders()),
        ("what reminders do I have?", ListReminders()),
        ("what's planned?", ListReminders()),
        ("show me my agenda", ListReminders()),
        ("do I have any reminders for tomorrow?", ListReminders()),
        ("cancel the pizza reminder", CancelOne(("pizza",))),
        ("Please delete sched-a7b3c.", CancelOne(("sched-a7b3c",))),
        ("stop reminding me to drink water", CancelOne(("drink", "water"))),
        ("cancel all my reminders", CancelAll()),
        ("clear everything", CancelAll()),
        ("help", Help()),
        ("hello!", Help()),
        ("how does this work?", Help()),
        ("", Help()),
    ],
)
def test_other_wishes(text: str, request_: Request) -> None:
    assert parse_request(text, HERE) == request_
