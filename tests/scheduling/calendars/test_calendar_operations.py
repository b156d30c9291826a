"""Calendars, asked for: written, shown, previewed, and named by jobs."""

from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint

WORK: dict[str, Any] = {
    "calendar_id": "work",
    "name": "Working days",
    "timezone": "Europe/Berlin",
    "weekly": [{"days": ["mon", "tue", "wed", "thu", "fri"], "opens": "08:00", "closes": "18:00"}],
    "except_during": {"holidays": [{"country": "DE"}]},
}
NIGHT: dict[str, Any] = {
    "calendar_id": "work",
    "weekly": [{"days": ["sat"], "opens": "20:00", "closes": "24:00"}],
}


async def test_a_calendar_is_written_shown_and_listed(app: ApplicationFixture) -> None:
    written = await app.ask("put_calendar", **WORK)
    assert written["weekly"] == WORK["weekly"]
    assert written["except_during"]["holidays"] == [{"country": "DE"}]
    assert not written["open"]
    assert written["changes_at"] == "2025-01-02T07:00:00Z", "New Year's Day is a holiday"
    assert await app.ask("get_calendar", calendar_id="work") == written
    (row,) = (await app.ask("list_calendars"))["items"]
    assert row.items() <= written.items()
    assert "ics" not in row


async def test_a_calendar_is_replaced_unless_only_a_new_one_is_wanted(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    with pytest.raises(Conflict, match="a calendar work already"):
        await app.ask("put_calendar", **NIGHT, only_new=True)
    assert (await app.ask("put_calendar", **NIGHT))["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("wrong", "field", "sentence"),
    [
        ({"timezone": "Mars/Olympus"}, "timezone", "an example is Europe/Berlin"),
        ({"weekly": None}, "weekly", "say when it is open"),
        ({"weekly": [{"days": ["mon"], "opens": "8", "closes": "18:00"}]}, "weekly.0.opens", "opens"),
        (
            {"weekly": [{"days": ["mon"], "opens": "08:00", "closes": "25:99"}]},
            "weekly.0.closes",
            "must be a time of day from 00:00 to 24:00, such as 18:00",
        ),
        ({"dates": [{"first": "2027-01-02", "last": "2027-01-01"}]}, None, "last must not be earlier"),
        ({"weekly": None, "dates": [{"first": "2024-12-01"}]}, None, "never open from now on"),
        ({"except_during": {"holidays": [{"country": "XX"}]}}, "except_during.holidays", "are not known"),
        ({"ics": "<html>"}, "ics", "does not begin with BEGIN:VCALENDAR"),
        ({"except_during": WORK | {"calendar_id": None}}, None, "except_during"),
    ],
)
async def test_what_makes_no_calendar_is_refused(
    app: ApplicationFixture, wrong: dict[str, Any], field: str | None, sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as refused:
        await app.ask("put_calendar", **(WORK | wrong))
    assert field is None or refused.value.field == field
    assert (await app.ask("list_calendars"))["items"] == []


async def test_only_who_may_write_writes_calendars(app: ApplicationFixture) -> None:
    with pytest.raises(NotAllowed):
        await app.ask("put_calendar", holding=frozenset({Scope.STEER}), **WORK)


async def test_a_calendar_of_another_tenant_is_not_found(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    for operation in ("get_calendar", "delete_calendar", "preview_calendar"):
        with pytest.raises(NotFound):
            await app.ask(operation, by="other", calendar_id="work")


async def test_a_job_keeps_its_endpoints_to_calendars(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    job = await app.ask("create_job", id="job", name="Job", calendar={"only_during": "work"})
    assert job["calendar"] == {"only_during": "work", "never_during": None}
    await app.endpoint("one")
    assert [name.id for name in (await rules(app)).calendars] == ["work"]
    await app.ask("put_calendar", **NIGHT)
    assert (await rules(app)).calendars[0].timezone == "UTC"
    used = await app.ask("list_calendar_uses", calendar_id="work")
    assert used["items"] == [{"kind": "endpoint", "id": "one"}, {"kind": "job", "id": "job"}]
    with pytest.raises(Conflict, match="used by the job job"):
        await app.ask("delete_calendar", calendar_id="work")
    freed = await app.ask("update_job", job_id="job", calendar=None)
    assert freed["calendar"] is None
    assert await rules(app) == CalendarRules()
    await app.ask("delete_calendar", calendar_id="work")


async def test_a_job_takes_other_calendars_and_is_switched_off_in_one_change(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    await app.job()
    await app.endpoint("one")
    job = await app.ask("update_job", job_id="job", active=False, calendar={"never_during": "work"})
    assert (job["active"], job["calendar"]["never_during"]) == (False, "work")
    endpoint = await app.store.endpoints.get(EndpointKey("default", "one"))
    assert not endpoint.job_active
    assert (await rules(app)).job_never_during is not None


@pytest.mark.parametrize("was_active", [True, False])
async def test_a_job_that_is_switched_on_with_other_calendars_moves_its_endpoints(
    app: ApplicationFixture, *, was_active: bool
) -> None:
    await app.ask("put_calendar", **WORK)
    await app.job()
    await app.endpoint("one", calendar={"when_closed": "run-at-end"})
    before = (await app.ask("get_endpoint", endpoint_id="one"))["next_run_at"]
    await app.ask("update_job", job_id="job", active=was_active)
    await app.ask("update_job", job_id="job", active=True, calendar={"only_during": "work"})
    assert (await app.ask("get_endpoint", endpoint_id="one"))["next_run_at"] == "2025-01-02T07:00:00Z"
    await app.ask("update_job", job_id="job", active=True, calendar=None)
    assert (await app.ask("get_endpoint", endpoint_id="one"))["next_run_at"] == before


async def test_what_a_change_of_a_job_leaves_out_of_its_calendars_stays(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    await app.ask("put_calendar", **NIGHT | {"calendar_id": "night"})
    await app.ask("create_job", id="job", name="Job", calendar={"only_during": "work"})

    async def changed(**calendar: str | None) -> Any:
        return (await app.ask("update_job", job_id="job", calendar=calendar))["calendar"]

    both = {"only_during": "work", "never_during": "night"}
    assert await changed(never_during="night") == both
    assert await changed() == both
    assert (await app.ask("update_job", job_id="job", name="Other"))["calendar"] == both
    assert await changed(only_during=None) == {"only_during": None, "never_during": "night"}
    with pytest.raises(InvalidRequest, match="Nothing would ever run"):
        await changed(only_during="night")
    assert await changed(never_during=None) is None


@pytest.mark.parametrize(
    ("calendar", "sentence"),
    [
        ({"only_during": "other"}, "There is no calendar other"),
        ({"only_during": "work", "never_during": "work"}, "Nothing would ever run"),
    ],
)
async def test_calendars_that_a_job_cannot_have_are_refused(
    app: ApplicationFixture, calendar: dict[str, str], sentence: str
) -> None:
    await app.ask("put_calendar", **WORK)
    with pytest.raises(InvalidRequest, match=sentence):
        await app.ask("create_job", id="job", name="Job", calendar=calendar)


async def test_a_preview_shows_a_year_with_its_clock_changes(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    year = await app.ask("preview_calendar", calendar_id="work", year=2025)
    assert [one["before"] for one in year["clock_changes"]] == ["02:00 +01:00", "03:00 +02:00"]
    assert year["months"][0] == {"month": 1, "open_days": 22, "open_hours": 220.0}
    assert year["days"][0] == {"date": "2025-01-02", "hours": [{"opens": "08:00", "closes": "18:00"}]}
    assert year["endpoints"] == []


async def test_a_preview_shows_what_would_run(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    await app.job()
    await app.endpoint("one", baseline={"kind": "cron", "expression": "0 12 * * *"})
    calendar = (await app.store.calendars.calendar("default", "work")).calendar
    await app.store.endpoints.amend(
        EndpointKey("default", "one"),
        lambda one: ChangedEndpoint(evolve(one, calendar_rules=CalendarRules(only_during=calendar))),
    )
    (one,) = (await app.ask("preview_calendar", calendar_id="work", year=2025))["endpoints"]
    assert one["endpoint_id"] == "one"
    assert 240 < one["runs"] <= 500
    assert len(one["next_runs"]) == 3


async def test_a_slot_that_is_to_be_skipped_is_no_run_of_a_preview(app: ApplicationFixture) -> None:
    await app.ask("put_calendar", **WORK)
    await app.job()
    every_hour = {"kind": "cron", "expression": "0 * * * *"}
    await app.endpoint("one", baseline=every_hour, calendar={"only_during": "work"})
    (one,) = (await app.ask("preview_calendar", calendar_id="work", year=2025))["endpoints"]
    assert one["next_runs"] == [f"2025-01-02T{hour:02}:00:00Z" for hour in (7, 8, 9)]


async def test_a_calendar_is_previewed_before_it_is_stored(app: ApplicationFixture) -> None:
    draft = {key: value for key, value in WORK.items() if key != "calendar_id"}
    year = await app.ask("preview_calendar_draft", **draft, year=2026)
    assert (year["calendar_id"], year["year"]) == ("draft", 2026)
    assert (await app.ask("list_calendars"))["items"] == []


async def test_an_open_day_may_have_25_hours(app: ApplicationFixture) -> None:
    whole = {"days": ["sun"], "opens": "00:00", "closes": "24:00"}
    draft = await app.ask("preview_calendar_draft", weekly=[whole], timezone="Europe/Berlin", year=2025)
    october = draft["months"][9]
    assert (october["open_days"], october["open_hours"]) == (4, 97.0)
    assert draft["days"][0]["hours"] == [{"opens": "00:00", "closes": "24:00"}]


async def rules(app: ApplicationFixture) -> CalendarRules:
    return (await app.store.endpoints.get(EndpointKey("default", "one"))).calendar_rules
