"""Calendars in a configuration file, and what names them."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.calendars.definition import WEEKDAYS, DateSpan, HolidaySource, WeeklyHours
from cadenza.domain.scheduling.calendars.short_forms import (
    dates_as_text,
    dates_in,
    holidays_as_text,
    holidays_in,
    hours_as_text,
    hours_in,
)

ROOT = Path(__file__).parents[3]
WORK: dict[str, Any] = {"id": "work", "weekly": ["mon-fri 08:00-18:00"]}
NIGHT: dict[str, Any] = {"id": "night", "weekly": ["mon-sun 20:00-06:00"]}
AT_THREE = {"id": "traffic", "target": A_TARGET, "baseline": "cron 0 3 * * *"}
NEVER_OPEN = "jobs: [{id: b, calendar: {only_during: a, never_during: a}}]\n"
AT_END = {"only_during": "work", "when_closed": "run-at-end"}


def a_job(*endpoints: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "checkout", "endpoints": list(endpoints), **fields}


async def apply(app: ApplicationFixture, **sections: Any) -> list[tuple[str, str, str]]:
    applied = await app.ask("apply_config", version=1, **sections)
    return [(one["action"], one["kind"], one["id"]) for one in applied["changes"]]


async def next_run(app: ApplicationFixture) -> str:
    at: str = (await app.ask("get_endpoint", endpoint_id="traffic"))["next_run_at"]
    return at


async def ids(app: ApplicationFixture) -> list[str]:
    return [one["id"] for one in (await app.ask("list_calendars"))["items"]]


async def test_a_file_writes_calendars_before_what_names_them(app: ApplicationFixture) -> None:
    file: dict[str, Any] = {
        "calendars": [WORK],
        "jobs": [a_job(AT_THREE | {"calendar": AT_END})],
        "programmes": [{"id": "report", "only_during": "work"}],
    }
    changes = [
        ("create", "calendar", "work"),
        ("create", "job", "checkout"),
        ("create", "endpoint", "traffic"),
        ("create", "programme", "report"),
    ]
    assert await apply(app, **file, dry_run=True) == changes
    assert await ids(app) == []
    assert await apply(app, **file) == changes
    assert await next_run(app) == "2025-01-01T08:00:00Z"
    assert await apply(app, **file) == []
    assert (await app.ask("apply_config", version=1, **file))["counts"]["unchanged"] == 4


async def test_what_names_a_changed_calendar_is_planned_anew(app: ApplicationFixture) -> None:
    jobs = [a_job(AT_THREE | {"calendar": AT_END})]
    await apply(app, calendars=[WORK], jobs=jobs)
    later = WORK | {"weekly": [{"days": ["wed"], "opens": "10:00", "closes": "24:00"}]}
    for dry_run in (True, False):
        applied = await app.ask("apply_config", version=1, calendars=[later], jobs=jobs, dry_run=dry_run)
        (change,) = applied["changes"]
        assert change["fields"] == [
            {"field": "weekly", "before": ["mon-fri 08:00-18:00"], "after": ["wed 10:00-24:00"]}
        ]
        assert await next_run(app) == f"2025-01-01T{'08' if dry_run else '10'}:00:00Z"


async def test_the_calendars_of_a_job_keep_all_its_endpoints(app: ApplicationFixture) -> None:
    late = AT_THREE | {"calendar": {"when_closed": "run-at-end"}}
    await apply(app, calendars=[WORK, NIGHT], jobs=[a_job(late, AT_THREE | {"id": "other"})])
    kept = a_job(late, calendar={"only_during": "work"})
    applied = await app.ask("apply_config", version=1, jobs=[kept])
    assert applied["changes"] == [
        {
            "action": "update",
            "kind": "job",
            "id": "checkout",
            "fields": [{"field": "calendar", "before": None, "after": {"only_during": "work"}}],
        }
    ]
    assert await next_run(app) == "2025-01-01T08:00:00Z"
    assert (await app.ask("get_endpoint", endpoint_id="other"))["next_source"] == "closed"
    assert await apply(app, jobs=[kept]) == []
    exported = await app.ask("export_config")
    assert exported["jobs"][0]["calendar"]["only_during"] == "work"
    assert await apply(app, jobs=[a_job(late)]) == [("update", "job", "checkout")]
    assert await next_run(app) == "2025-01-01T03:00:00Z"


async def test_an_export_applied_unchanged_changes_nothing(app: ApplicationFixture) -> None:
    work = WORK | {
        "timezone": "Europe/Berlin",
        "holidays": ["DE-BE"],
        "except_during": {"dates": ["2030-12-24", "2030-12-27..2030-12-31"]},
    }
    await apply(app, calendars=[work, NIGHT], jobs=[a_job(AT_THREE, calendar={"only_during": "work"})])
    exported = await app.ask("export_config")
    assert await apply(app, **{name: exported[name] for name in ("calendars", "jobs")}, prune=True) == []
    text = (await app.ask("export_config_file"))["text"]
    assert "- id: work\n  timezone: Europe/Berlin\n  weekly:\n  - mon-fri 08:00-18:00\n" in text
    assert "2030-12-27..2030-12-31" in text
    assert (await app.ask("apply_config_file", text=text, prune=True))["changes"] == []


async def test_what_is_not_named_is_pruned_if_asked_and_not_in_use(app: ApplicationFixture) -> None:
    await apply(app, calendars=[WORK, NIGHT], jobs=[a_job(AT_THREE | {"calendar": AT_END})])
    assert await apply(app, calendars=[WORK]) == []
    assert await apply(app, jobs=[a_job(AT_THREE | {"calendar": AT_END})], prune=True) == []
    with pytest.raises(InvalidRequest, match="There is no calendar work"):
        await apply(app, calendars=[NIGHT], jobs=[a_job(AT_THREE | {"calendar": AT_END})], prune=True)
    assert ("delete", "calendar", "night") in await apply(
        app, calendars=[WORK], jobs=[a_job(AT_THREE)], prune=True
    )
    assert await apply(app, calendars=[], jobs=[a_job(AT_THREE)], prune=True) == [
        ("delete", "calendar", "work")
    ]
    assert await ids(app) == []


async def test_a_calendar_in_use_is_not_pruned(app: ApplicationFixture) -> None:
    await apply(app, calendars=[WORK])
    await app.job()
    await app.endpoint(calendar={"only_during": "work"})
    with pytest.raises(Conflict, match="work"):
        await apply(app, calendars=[], prune=True)
    assert await ids(app) == ["work"]


@pytest.mark.parametrize(
    ("wrong", "field", "line"),
    [
        ("calendars:\n- {id: a, weekly: [monday 8-18]}\n", "calendars.0.weekly.0", 3),
        ("calendars:\n- {id: a, weekly: [mon-fri 08:00-28:00]}\n", "calendars.0.weekly.0", 3),
        ("calendars:\n- {id: a, dates: [2027-02-30]}\n", "calendars.0.dates.0", 3),
        ("calendars:\n- id: a\n  timezone: Mars/Olympus\n", "calendars.0.timezone", 4),
        ("calendars:\n- id: a\n  dates: [2020-01-01]\n", "calendars.0", 3),
        ("calendars:\n- id: a\n  ics: nothing\n", "calendars.0.ics", 4),
        (
            "calendars:\n- {id: a, holidays: [DE]}\n- {id: a, holidays: [DE]}\n",
            "calendars.0.id",
            3,
        ),
        ("jobs:\n- id: a\n  calendar: {only_during: office}\n", "jobs.0.calendar.only_during", 4),
        (
            "calendars: [{id: a, holidays: [DE]}]\n" + NEVER_OPEN,
            "jobs.0.calendar",
            3,
        ),
    ],
)
async def test_a_wrong_calendar_is_named_with_its_line(
    app: ApplicationFixture, wrong: str, field: str, line: int
) -> None:
    with pytest.raises(InvalidRequest) as problem:
        await app.ask("apply_config_file", text=f"version: 1\n{wrong}")
    fault = problem.value.faults[0]
    assert (fault.field, f"line {line}: " in fault.message) == (field, True), fault
    assert await ids(app) == []


async def test_what_is_refused_writes_no_calendar(app: ApplicationFixture) -> None:
    await app.ask("create_job", name="Other", id="other")
    missing = AT_THREE | {"parent_id": "nobody"}
    with pytest.raises(InvalidRequest, match="nobody"):
        await apply(app, calendars=[WORK], jobs=[a_job(missing)])
    assert await ids(app) == []


async def test_the_example_of_the_reference_can_be_applied(app: ApplicationFixture) -> None:
    page = (ROOT / "docs/reference/config.md").read_text().split("## A calendar\n")[1]
    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    applied = await app.ask("apply_config_file", text=example)
    assert applied["counts"]["create"] == 5
    assert (await app.ask("apply_config_file", text=example))["changes"] == []


DAYS = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=7, unique=True).map(tuple)
HOURS = st.builds(
    WeeklyHours, DAYS, st.sampled_from(["00:00", "08:30", "23:59"]), st.sampled_from(["06:00", "24:00"])
)
DATES = st.lists(st.dates(), min_size=2, max_size=2).map(lambda days: DateSpan(min(days), max(days)))
SOURCES = st.builds(HolidaySource, st.sampled_from(["DE", "US"]), st.sampled_from([None, "BY", "A-B"]))


@given(hours=HOURS, dates=DATES, source=SOURCES)
def test_what_is_written_as_text_reads_the_same(
    hours: WeeklyHours, dates: DateSpan, source: HolidaySource
) -> None:
    read = hours_in(hours_as_text(hours))
    assert read == {"days": [*hours.days], "opens": hours.opens, "closes": hours.closes}
    found = dates_in(dates_as_text(dates))
    assert found is not None
    assert (found["first"], found.get("last", found["first"])) == (
        dates.first.isoformat(),
        dates.last.isoformat(),
    )
    named = holidays_in(holidays_as_text(source))
    assert (named["country"], named.get("subdivision")) == (source.country, source.subdivision)
