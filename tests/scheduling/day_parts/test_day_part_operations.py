"""Day parts as people write them: with the ids of calendars, which are looked up in their tenant."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import DayParts
from cadenza.domain.scheduling.calendars.compile import NO_FACTS, CompiledCalendar, compile_calendar, horizon
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition, CalendarParts, WeeklyHours
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing.clock import NEW_YEAR

WORKDAYS = ("mon", "tue", "wed", "thu", "fri")
EVERY_5M, EVERY_HOUR = ({"kind": "every", "interval_ms": minutes * 60_000} for minutes in (5, 60))
AT_PLAY = {"calendar": "play", "cadence": EVERY_5M}
BY_DAY: dict[str, Any] = {
    "kind": "day-parts",
    "parts": [{"calendar": "work", "cadence": EVERY_5M}],
    "otherwise": EVERY_HOUR,
}
CRON = {"kind": "cron", "expression": "0 12 * * *", "timezone": "Europe/Berlin"}


async def put_work(app: ApplicationFixture, tenant_id: str = "default") -> None:
    """A calendar of working hours."""
    hours = CalendarParts(weekly=(WeeklyHours(WORKDAYS, "08:00", "18:00"),))
    definition = CalendarDefinition(tenant_id=tenant_id, id="work", open_during=hours)
    over = horizon(NEW_YEAR)
    compiled = CompiledCalendar(definition, compile_calendar(definition, over, NO_FACTS), over.until)
    await app.store.calendars.put_calendar(compiled, ChangedEndpoint)


async def test_day_parts_are_written_and_read_by_the_ids_of_calendars(app: ApplicationFixture) -> None:
    await put_work(app)
    await app.job()
    made = await app.endpoint(baseline=BY_DAY)
    assert made["baseline"] == BY_DAY
    assert made["next_run_at"] == "2025-01-01T01:00:00Z"
    stored = await app.store.endpoints.get(EndpointKey("default", "traffic"))
    assert isinstance(stored.baseline, DayParts)
    assert stored.baseline.calendars[0].is_open(NEW_YEAR + timedelta(hours=9))
    changed = await app.ask("update_endpoint", endpoint_id="traffic", baseline=BY_DAY | {"otherwise": CRON})
    assert changed["baseline"] == BY_DAY | {"otherwise": CRON}
    assert changed["next_run_at"] == "2025-01-01T08:00:00Z"
    (used,) = await app.store.calendars.uses("default", "work")
    assert used == ("endpoint", "traffic")


async def test_a_preview_goes_over_the_border_of_parts(app: ApplicationFixture) -> None:
    await put_work(app)
    answer = await app.ask("preview_baseline", baseline=BY_DAY, runs=10)
    assert [run["at"][11:16] for run in answer["runs"]][-4:] == ["07:00", "08:00", "08:05", "08:10"]


@pytest.mark.parametrize(
    ("baseline", "field", "problem"),
    [
        (
            BY_DAY | {"parts": [AT_PLAY]},
            "parts.0.calendar",
            "no calendar play",
        ),
        (
            BY_DAY | {"parts": [{"calendar": "work", "cadence": CRON | {"expression": "61 * * * *"}}]},
            "parts.0.cadence.expression",
            "61",
        ),
        (BY_DAY | {"parts": BY_DAY["parts"] * 2}, "parts", "same calendar"),
        (
            BY_DAY | {"parts": [{"calendar": "work", "cadence": CRON | {"expression": "0 3 * * *"}}]},
            "parts.0.cadence",
            "The day part work would never run",
        ),
        (BY_DAY | {"otherwise": {"kind": "once", "at": "2030-01-01T00:00:00Z"}}, "otherwise.kind", "kind"),
    ],
)
async def test_day_parts_that_cannot_be_are_refused_at_their_field(
    app: ApplicationFixture, baseline: dict[str, Any], field: str, problem: str
) -> None:
    await put_work(app)
    await app.job()
    for ask in (app.endpoint, partial(app.ask, "preview_baseline")):
        with pytest.raises(InvalidRequest, match=problem) as refused:
            await ask(baseline=baseline)
        assert refused.value.field == f"baseline.{field}"


async def test_an_endpoint_can_be_changed_when_the_calendar_of_a_day_part_is_over(
    app: ApplicationFixture,
) -> None:
    await app.ask("put_calendar", calendar_id="work", dates=[{"first": "2025-01-03"}])
    await app.job()
    await app.endpoint(baseline=BY_DAY)
    app.clock.jump(9 * 86_400_000)
    renamed = await app.ask("update_endpoint", endpoint_id="traffic", name="Traffic")
    assert renamed["name"] == "Traffic"
    changed = BY_DAY | {"otherwise": CRON}
    with pytest.raises(InvalidRequest, match="The day part work would never run"):
        await app.ask("update_endpoint", endpoint_id="traffic", baseline=changed)


async def test_the_calendar_of_another_tenant_is_none(app: ApplicationFixture) -> None:
    await put_work(app, "other")
    await app.job()
    with pytest.raises(InvalidRequest, match="There is no calendar work"):
        await app.endpoint(baseline=BY_DAY)


FILE = """\
version: 1
jobs:
- id: shop
  endpoints:
  - id: traffic
    target: https://example.com/health
    baseline:
      kind: day-parts
      parts:
      - calendar: work
        cadence: every 5m
      otherwise: every 1h
"""


async def test_a_file_has_day_parts_in_short_words_and_is_exported_so(
    app: ApplicationFixture,
) -> None:
    await put_work(app)
    await app.ask("apply_config_file", text=FILE)
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["baseline"] == BY_DAY
    exported = await app.ask("export_config_file")
    assert FILE.removeprefix("version: 1\n") in exported["text"]
    again = await app.ask("apply_config_file", text=FILE, prune=True)
    assert again["counts"]["unchanged"] == 2
    changed = await app.ask(
        "apply_config_file", text=FILE.replace("every 5m", "cron */5 * * * *"), dry_run=True
    )
    (change,) = changed["changes"]
    assert [one["field"] for one in change["fields"]] == ["baseline"]


async def test_a_file_that_names_no_calendar_of_the_tenant_is_refused_at_the_part(
    app: ApplicationFixture,
) -> None:
    with pytest.raises(InvalidRequest, match="There is no calendar work") as refused:
        await app.ask(
            "apply_config",
            version=1,
            jobs=[{"id": "shop", "endpoints": [{"id": "traffic", "target": A_TARGET, "baseline": BY_DAY}]}],
        )
    assert refused.value.field == "jobs.0.endpoints.0.baseline.parts.0.calendar"
