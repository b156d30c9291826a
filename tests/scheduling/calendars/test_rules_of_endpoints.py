"""Endpoints that keep to calendars, as operations create, change, show, preview and restore them."""

from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, EVERY_MINUTE, ApplicationFixture
from tests.scheduling.calendars.calendar_fixtures import dates, hours
from tests.scheduling.calendars.stored_calendars import put_calendar

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import EndpointKey, Job

NOTHING = dict.fromkeys(("only_during", "never_during", "starts_at", "ends_at")) | {"when_closed": "skip"}
WORK = NOTHING | {"only_during": "work"}
NINE = {"kind": "cron", "expression": "0 9 * * *", "timezone": "UTC"}
THREE = {"kind": "cron", "expression": "0 3 * * *", "timezone": "UTC"}


@pytest.fixture
async def calendars(app: ApplicationFixture) -> ApplicationFixture:
    """A job, and the calendars `work` (Monday to Friday, 8 to 18) and `maintenance` (17 to 20)."""
    await app.job()
    await app.job(by="other")
    now = app.clock.now()
    await put_calendar(app.store, "work", now=now)
    await put_calendar(app.store, "maintenance", hours("17:00", "20:00"), now=now)
    await put_calendar(app.store, "night", hours("20:00", "06:00"), now=now)
    await put_calendar(app.store, "theirs", now=now, tenant_id="other")
    return app


async def plan(app: ApplicationFixture) -> tuple[str, str]:
    shown = await app.ask("get_endpoint", endpoint_id="traffic")
    return shown["next_run_at"], shown["next_source"]


async def test_an_endpoint_is_shown_with_its_calendars(
    calendars: ApplicationFixture,
) -> None:
    created = await calendars.endpoint(calendar={"only_during": "work"})
    assert created["calendar"] == WORK
    assert (await calendars.ask("get_endpoint", endpoint_id="traffic"))["calendar"] == WORK
    assert (await calendars.ask("list_endpoints"))["items"][0]["calendar"] == WORK


async def test_one_without_calendars_says_so(calendars: ApplicationFixture) -> None:
    assert (await calendars.endpoint())["calendar"] is None
    assert (await calendars.endpoint("other", calendar=None))["calendar"] is None
    assert (await calendars.endpoint("third", calendar={}))["calendar"] is None


async def test_it_is_planned_by_its_calendars(calendars: ApplicationFixture) -> None:
    """The clock stands at the New Year of 2025, a Wednesday."""
    at_end = {"only_during": "work", "when_closed": "run-at-end"}
    created = await calendars.endpoint(baseline=THREE, calendar=at_end)
    assert (created["next_run_at"], created["next_source"]) == ("2025-01-01T08:00:00Z", "calendar")


async def test_a_change_of_its_calendars_plans_it_anew(calendars: ApplicationFixture) -> None:
    await calendars.endpoint(baseline=THREE)
    assert await plan(calendars) == ("2025-01-01T03:00:00Z", "baseline-cron")
    rules = {"only_during": "work", "when_closed": "run-at-end"}
    await calendars.ask("update_endpoint", endpoint_id="traffic", calendar=rules)
    assert await plan(calendars) == ("2025-01-01T08:00:00Z", "calendar")
    await calendars.ask("update_endpoint", endpoint_id="traffic", calendar={"only_during": "night"})
    assert await plan(calendars) == ("2025-01-01T03:00:00Z", "baseline-cron")
    later = {"starts_at": "2025-01-02T00:00:00Z"}
    await calendars.ask("update_endpoint", endpoint_id="traffic", calendar=later)
    assert await plan(calendars) == ("2025-01-02T03:00:00Z", "baseline-cron")


async def test_null_takes_one_rule_away_and_what_is_left_out_stays(calendars: ApplicationFixture) -> None:
    rules = {"only_during": "work", "never_during": "maintenance", "when_closed": "run-at-end"}
    await calendars.endpoint(calendar=rules)
    changed = await calendars.ask("update_endpoint", endpoint_id="traffic", calendar={"only_during": None})
    assert changed["calendar"] == WORK | rules | {"only_during": None}
    changed = await calendars.ask("update_endpoint", endpoint_id="traffic", name="Traffic")
    assert changed["calendar"]["never_during"] == "maintenance"
    changed = await calendars.ask("update_endpoint", endpoint_id="traffic", calendar=None)
    assert changed["calendar"] is None
    assert await calendars.store.calendars.uses("default", "work") == []


async def test_an_endpoint_follows_a_calendar_that_is_written_anew(
    calendars: ApplicationFixture,
) -> None:
    rules = {"only_during": "work", "when_closed": "run-at-end"}
    await calendars.endpoint(baseline=THREE, calendar=rules)
    await put_calendar(calendars.store, "work", hours("10:00", "12:00"), now=calendars.clock.now())
    assert await plan(calendars) == ("2025-01-01T10:00:00Z", "calendar")


async def test_the_calendars_of_a_job_count_from_the_first_plan_on(calendars: ApplicationFixture) -> None:
    work = (await calendars.store.calendars.calendar("default", "work")).calendar
    kept = Job(id="kept", name="kept", calendar_rules=CalendarRules(only_during=work))
    await calendars.store.catalog.add_job(kept)
    late: dict[str, Any] = {"baseline": THREE, "calendar": {"when_closed": "run-at-end"}}
    created = await calendars.endpoint(job_id="kept", **late)
    assert (created["next_run_at"], created["next_source"]) == ("2025-01-01T08:00:00Z", "calendar")
    with pytest.raises(InvalidRequest, match="leave no open time ahead"):
        await calendars.endpoint("shut", job_id="kept", calendar={"never_during": "work"})
    await calendars.endpoint("moved", **late)
    moved = await calendars.ask("update_endpoint", endpoint_id="moved", job_id="kept")
    assert (moved["next_run_at"], moved["next_source"]) == ("2025-01-01T08:00:00Z", "calendar")
    await calendars.ask("delete_endpoint", endpoint_id="traffic")
    again = await calendars.endpoint(job_id="kept", **late)
    assert again["next_run_at"] == "2025-01-01T08:00:00Z"
    file = {"id": "from-file", "target": A_TARGET, "baseline": "cron 0 3 * * *", "calendar": late["calendar"]}
    job = {"id": "kept", "calendar": {"only_during": "work"}, "endpoints": [file]}
    await calendars.ask("apply_config", version=1, jobs=[job])
    shown = await calendars.ask("get_endpoint", endpoint_id="from-file")
    assert (shown["next_run_at"], shown["next_source"]) == ("2025-01-01T08:00:00Z", "calendar")


async def test_new_rules_leave_those_of_its_job(calendars: ApplicationFixture) -> None:
    work, night = [
        (await calendars.store.calendars.calendar("default", id_)).calendar for id_ in ("work", "night")
    ]
    kept = Job(id="kept", name="kept", calendar_rules=CalendarRules(never_during=night))
    await calendars.store.catalog.add_job(kept)
    await calendars.endpoint(job_id="kept")
    shown = await calendars.ask("update_endpoint", endpoint_id="traffic", calendar={"only_during": "work"})
    assert shown["calendar"] == WORK
    rules = (await calendars.store.endpoints.get(EndpointKey("default", "traffic"))).calendar_rules
    assert (rules.only_during, rules.job_never_during) == (work, night)
    await calendars.ask("update_endpoint", endpoint_id="traffic", calendar=None)
    rules = (await calendars.store.endpoints.get(EndpointKey("default", "traffic"))).calendar_rules
    assert (rules.only_during, rules.job_never_during) == (None, night)


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"only_during": "none-such"}, "calendar.only_during", "There is no calendar none-such"),
    ({"never_during": "none-such"}, "calendar.never_during", "There is no calendar none-such"),
    ({"only_during": "theirs"}, "calendar.only_during", "There is no calendar theirs"),
    ({"only_during": 7}, "calendar.only_during", "must be"),
    ({"only_during": "two words"}, "calendar.only_during", ""),
    ({"when_closed": "later"}, "calendar.when_closed", "skip"),
    ({"when_closed": None}, "calendar.when_closed", ""),
    ({"starts_at": 1_700_000_000}, "calendar.starts_at", "ISO 8601"),
    ({"starts_at": "2030-01-31T12:00:00"}, "calendar.starts_at", ""),
    (
        {"starts_at": "2030-01-31T12:00:00Z", "ends_at": "2030-01-31T12:00:00Z"},
        "calendar.ends_at",
        "later than starts_at",
    ),
    ({"only_during": "work", "never_during": "work"}, "calendar", "leave no open time ahead"),
    ({"during": "work"}, "calendar.during", ""),
]


@pytest.mark.parametrize(("rules", "field", "sentence"), WRONG)
@pytest.mark.parametrize("operation", ["create_endpoint", "update_endpoint", "preview_baseline"])
async def test_wrong_rules_are_refused_by_their_field(
    calendars: ApplicationFixture, operation: str, rules: dict[str, Any], field: str, sentence: str
) -> None:
    await calendars.endpoint("there")
    arguments: dict[str, dict[str, Any]] = {
        "create_endpoint": {"job_id": "job", "name": "new", "target": A_TARGET, "baseline": EVERY_MINUTE},
        "update_endpoint": {"endpoint_id": "there"},
        "preview_baseline": {"baseline": EVERY_MINUTE},
    }
    with pytest.raises(InvalidRequest) as refused:
        await calendars.ask(operation, calendar=rules, **arguments[operation])
    assert refused.value.faults[0].field == field
    assert sentence in refused.value.message
    assert refused.value.message.count("\n") == 0


async def test_text_in_the_place_of_rules_is_refused(calendars: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest):
        await calendars.endpoint(calendar="work")


async def test_what_runs_once_is_refused_outside_of_its_calendars(calendars: ApplicationFixture) -> None:
    at_night = {"kind": "once", "at": "2025-01-02T03:00:00Z"}
    with pytest.raises(InvalidRequest, match="outside of the calendar work until 2025-01-02T08:00:00Z"):
        await calendars.endpoint(baseline=at_night, calendar={"only_during": "work"})
    with pytest.raises(InvalidRequest, match="ended at"):
        await calendars.endpoint(baseline=at_night, calendar={"ends_at": "2025-01-02T00:00:00Z"})
    moved = await calendars.endpoint(
        baseline=at_night, calendar={"only_during": "work", "when_closed": "run-at-end"}
    )
    assert moved["next_run_at"] == "2025-01-02T08:00:00Z"


async def test_a_preview_knows_calendars(calendars: ApplicationFixture) -> None:
    rules = {"only_during": "work", "when_closed": "run-at-end"}
    shown = await calendars.ask("preview_baseline", baseline=THREE, calendar=rules, runs=3)
    assert [one["at"] for one in shown["runs"]] == [f"2025-01-0{day}T08:00:00Z" for day in (1, 2, 3)]


async def test_models_do_not_change_when_an_endpoint_may_run(calendars: ApplicationFixture) -> None:
    await calendars.endpoint(calendar={"never_during": "maintenance"})
    model = Caller("default", frozenset({Scope.ADMIN}), "planner:llm")
    arguments = {"endpoint_id": "traffic", "calendar": None, "name": "Traffic"}
    view = await calendars.application.ask("update_endpoint", arguments, model)
    answer = view.model_dump(mode="json")
    assert answer["calendar"]["never_during"] == "maintenance"
    assert "models may not change when it may run" in answer["note"]
    assert answer["name"] == "Traffic"


@pytest.mark.parametrize("more", [{}, {"active": True}])
async def test_models_do_not_change_the_calendars_of_a_job(
    calendars: ApplicationFixture, more: dict[str, Any]
) -> None:
    await calendars.ask("update_job", job_id="job", calendar={"never_during": "maintenance"})
    model = Caller("default", frozenset({Scope.ADMIN}), "planner:llm")
    with pytest.raises(Conflict, match="models may not change when it may run"):
        await calendars.application.ask("update_job", {"job_id": "job", "calendar": None, **more}, model)
    if not more:
        file = {"version": 1, "jobs": [{"id": "job"}]}
        with pytest.raises(Conflict, match="models may not change when it may run"):
            await calendars.application.ask("apply_config", file, model)
    renamed = {"job_id": "job", "calendar": {"never_during": "maintenance"}, "name": "Shop"}
    assert (await calendars.application.ask("update_job", renamed, model)).model_dump()["name"] == "Shop"


async def test_the_audit_restores_calendars(calendars: ApplicationFixture) -> None:
    rules = {"only_during": "work", "ends_at": "2030-01-01T00:00:00Z"}
    await calendars.endpoint(calendar=rules)
    await calendars.ask("update_endpoint", endpoint_id="traffic", calendar=None)
    record = (await calendars.ask("list_audit", operation="update_endpoint"))["items"][0]
    assert {one["field"] for one in record["changes"]} >= {"calendar.only_during", "calendar.ends_at"}
    await calendars.ask("restore_definition", record_id=record["id"])
    assert (await calendars.ask("get_endpoint", endpoint_id="traffic"))["calendar"] == WORK | rules


async def test_the_audit_restores_the_calendars_of_a_job(calendars: ApplicationFixture) -> None:
    await calendars.ask("update_job", job_id="job", calendar={"only_during": "work"})
    await calendars.ask("update_job", job_id="job", calendar=None)
    record = (await calendars.ask("list_audit", operation="update_job"))["items"][0]
    assert {one["field"] for one in record["changes"]} >= {"calendar.only_during"}
    await calendars.ask("restore_definition", record_id=record["id"])
    shown = await calendars.ask("get_job", job_id="job")
    assert shown["calendar"] == {"only_during": "work", "never_during": None}


async def test_a_deleted_endpoint_comes_back_with_its_calendars(calendars: ApplicationFixture) -> None:
    await calendars.endpoint(calendar={"only_during": "work"})
    await calendars.ask("delete_endpoint", endpoint_id="traffic")
    record = (await calendars.ask("list_audit", operation="delete_endpoint"))["items"][0]
    await calendars.ask("restore_definition", record_id=record["id"])
    assert (await calendars.ask("get_endpoint", endpoint_id="traffic"))["calendar"] == WORK


async def test_a_heartbeat_may_keep_to_calendars(calendars: ApplicationFixture) -> None:
    target = {"kind": "heartbeat", "grace_ms": 60_000}
    created = await calendars.endpoint(target=target, baseline=NINE, calendar={"never_during": "maintenance"})
    assert created["calendar"]["never_during"] == "maintenance"


async def test_a_calendar_that_closes_for_good_ends_the_endpoint(calendars: ApplicationFixture) -> None:
    now = calendars.clock.now()
    await put_calendar(calendars.store, "fair", dates("2025-01-01"), now=now)
    created = await calendars.endpoint(baseline=NINE, calendar={"only_during": "fair"})
    assert created["next_run_at"] == "2025-01-01T09:00:00Z"
