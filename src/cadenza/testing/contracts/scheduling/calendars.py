"""Calendars: what names one follows it in the commit that writes it."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from cadenza.domain.daily.programme import Programme
from cadenza.domain.errors import Conflict, LimitReached, NotFound
from cadenza.domain.scheduling.baseline import DayPart, DayParts, Every
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.compile import NO_FACTS, CompiledCalendar, compile_calendar, horizon
from cadenza.domain.scheduling.calendars.definition import (
    MOST_CALENDARS,
    CalendarDefinition,
    CalendarParts,
    DateSpan,
    HolidaySource,
    WeeklyHours,
)
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint, archive
from cadenza.ports.calendars.calendar_store import CalendarUse
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, Page
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

EVERY_DAY = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY = CalendarParts(weekly=(WeeklyHours(EVERY_DAY, "08:00", "18:00"),))
NIGHT = CalendarParts(weekly=(WeeklyHours(EVERY_DAY, "20:00", "06:00"),))


def compiled(
    bench: Bench, calendar_id: str = "work", open_during: CalendarParts = DAY, **fields: Any
) -> CompiledCalendar:
    """A calendar, compiled now."""
    now = bench.clock.now()
    given: dict[str, Any] = {"tenant_id": "default", "created_at": now} | fields
    definition = CalendarDefinition(id=calendar_id, open_during=open_during, **given)
    over = horizon(now)
    return CompiledCalendar(definition, compile_calendar(definition, over, NO_FACTS), over.until)


async def put(bench: Bench, one: CompiledCalendar, **given: Any) -> CalendarDefinition | None:
    """Write a calendar, and let all that names it follow."""
    follow = partial(follow_calendar, calendar=one.calendar, now=bench.clock.now(), cron=bench.cron)
    return await bench.store.calendars.put_calendar(one, follow, **given)


async def stored(bench: Bench, endpoint_id: str) -> Endpoint:
    return await bench.store.endpoints.get(EndpointKey("default", endpoint_id))


def changed(endpoint: Endpoint, **fields: Any) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, **fields))


def only(calendar: Calendar) -> CalendarRules:
    return CalendarRules(only_during=calendar)


class CalendarContract(Contract):
    """`put_calendar`, `calendar`, `calendars`, `delete_calendar`, `uses` and `compiled_until`."""

    async def test_a_calendar_comes_back_as_it_was(self, bench: Bench) -> None:
        parts = CalendarParts(
            weekly=DAY.weekly,
            dates=(DateSpan(date(2030, 1, 1), date(2030, 1, 3)),),
            ics="BEGIN:VCALENDAR\r\nä\r\n",
        )
        whole = compiled(bench, name="Working days", timezone="Europe/Berlin")
        definition = replace(
            whole.definition,
            open_during=parts,
            except_during=CalendarParts(holidays=(HolidaySource("DE", "BY"),)),
        )
        whole = whole._replace(definition=definition)
        assert await put(bench, whole) is None
        found = await bench.store.calendars.calendar("default", "work")
        assert found == whole
        assert found.calendar.boundaries == whole.calendar.boundaries
        assert found.definition.created_at == bench.clock.now()

    async def test_a_calendar_of_another_tenant_is_not_found(self, bench: Bench) -> None:
        await put(bench, compiled(bench))
        for missing in (("other", "work"), ("default", "other")):
            with pytest.raises(NotFound):
                await bench.store.calendars.calendar(*missing)
            with pytest.raises(NotFound):
                await bench.store.calendars.delete_calendar(*missing)
        assert await bench.store.calendars.calendars("other") == []

    async def test_calendars_are_listed_by_their_ids_in_pages(self, bench: Bench) -> None:
        for name in ("c", "a", "b"):
            await put(bench, compiled(bench, name))
        await put(bench, compiled(bench, "d", tenant_id="other"))
        store = bench.store.calendars
        listed = await store.calendars("default", Page(2)) + await store.calendars("default", Page(2, "b"))
        assert [one.definition.id for one in listed] == ["a", "b", "c"]

    async def test_a_replaced_calendar_gives_back_what_it_was_and_keeps_its_beginning(
        self, bench: Bench
    ) -> None:
        first = compiled(bench)
        await put(bench, first)
        await bench.clock.advance(MINUTE)
        assert await put(bench, compiled(bench, open_during=NIGHT)) == first.definition
        now = await bench.store.calendars.calendar("default", "work")
        assert now.definition.open_during == NIGHT
        assert now.definition.created_at == first.definition.created_at

    async def test_endpoints_follow_a_calendar_in_its_commit(self, bench: Bench) -> None:
        work, night = compiled(bench), compiled(bench, open_during=NIGHT)
        await put(bench, work)
        await put(bench, compiled(bench, "other"))
        later = bench.clock.now() + timedelta(hours=1)
        parts = DayParts((DayPart(work.calendar, Every(MINUTE)),), Every(15 * MINUTE))
        await bench.add("kept", calendar_rules=only(work.calendar), next_run_at=later)
        await bench.add("parted", baseline=parts, next_run_at=later)
        await bench.add("free", next_run_at=later)
        await put(bench, night)
        kept, parted = await stored(bench, "kept"), await stored(bench, "parted")
        assert kept.calendar_rules.open_times == night.calendar
        assert kept.calendar_rules.open_times.boundaries == night.calendar.boundaries
        assert isinstance(parted.baseline, DayParts)
        assert parted.baseline.calendars == (night.calendar,)
        assert (await stored(bench, "free")).next_run_at == later

    async def test_what_is_due_or_claimed_keeps_its_moment_while_its_calendar_changes(
        self, bench: Bench
    ) -> None:
        work = compiled(bench)
        await put(bench, work)
        now = bench.clock.now()
        await bench.add("due", calendar_rules=only(work.calendar), next_run_at=now)
        await put(bench, compiled(bench, open_during=NIGHT))
        assert (await stored(bench, "due")).next_run_at == now

    async def test_what_was_given_an_older_version_of_a_calendar_is_not_written(self, bench: Bench) -> None:
        older, later = compiled(bench), bench.clock.now() + timedelta(days=1)
        await put(bench, older)
        await bench.add("free", next_run_at=later)
        await put(bench, compiled(bench, open_during=NIGHT))
        rules, free = only(older.calendar), EndpointKey("default", "free")
        parts = DayParts((DayPart(older.calendar, Every(MINUTE)),), Every(15 * MINUTE))
        for write in (
            lambda: bench.add("new", calendar_rules=rules, next_run_at=later),
            lambda: bench.add("new", baseline=parts, next_run_at=later),
            lambda: bench.store.endpoints.amend(free, partial(changed, calendar_rules=rules)),
            lambda: bench.store.endpoints.amend(free, partial(changed, baseline=parts)),
            lambda: bench.store.catalog.add_job(Job(id="shop", name="Shop", calendar_rules=rules)),
            lambda: bench.store.programmes.put_programme(Programme(id="a", only_during=older.calendar)),
        ):
            with pytest.raises(Conflict, match="The calendar work was changed meanwhile; try again"):
                await write()
        assert await bench.store.calendars.uses("default", "work") == []

    async def test_a_refused_change_leaves_the_calendar_as_it_was(self, bench: Bench) -> None:
        work = compiled(bench)
        await put(bench, work)
        await bench.add("kept", calendar_rules=only(work.calendar))

        def refuse(endpoint: Endpoint) -> ChangedEndpoint:
            raise Conflict(f"{endpoint.id} cannot follow.")

        with pytest.raises(Conflict, match="cannot follow"):
            await bench.store.calendars.put_calendar(compiled(bench, open_during=NIGHT), refuse)
        assert (await bench.store.calendars.calendar("default", "work")).definition == work.definition

    async def test_jobs_follow_a_calendar_and_their_new_endpoints_take_it_over(self, bench: Bench) -> None:
        work, night = compiled(bench), compiled(bench, open_during=NIGHT)
        await put(bench, work)
        job = Job(id="shop", name="Shop", calendar_rules=only(work.calendar))
        await bench.store.catalog.add_job(job)
        assert (await bench.store.catalog.job("default", "shop")) == job
        await bench.add("one", job_id="shop")
        assert (await stored(bench, "one")).calendar_rules.job_only_during == work.calendar
        await put(bench, night)
        assert (await bench.store.catalog.job("default", "shop")).calendar_rules == only(night.calendar)
        assert (await stored(bench, "one")).calendar_rules.job_only_during == night.calendar
        await bench.add("two", job_id="shop")
        assert (await stored(bench, "two")).calendar_rules.job_only_during == night.calendar

    async def test_daily_programmes_follow_a_calendar_and_use_it(self, bench: Bench) -> None:
        work, night, programmes = compiled(bench), compiled(bench, open_during=NIGHT), bench.store.programmes
        await put(bench, work)
        evening = Programme(id="evening", only_during=work.calendar, created_at=bench.clock.now())
        await programmes.put_programme(evening)
        await put(bench, night)
        assert await programmes.programme(evening.key) == replace(evening, only_during=night.calendar)
        assert await bench.store.calendars.uses("default", "work") == [CalendarUse("programme", "evening")]
        with pytest.raises(Conflict, match="evening"):
            await bench.store.calendars.delete_calendar("default", "work")
        await programmes.delete_programme(evening.key)
        await bench.store.calendars.delete_calendar("default", "work")

    async def test_an_endpoint_that_moves_to_another_job_takes_over_its_calendars(self, bench: Bench) -> None:
        work = compiled(bench)
        await put(bench, work)
        await bench.store.catalog.add_job(Job(id="shop", name="Shop", calendar_rules=only(work.calendar)))
        for job_id, taken in (("shop", work.calendar), ("none", None)):
            endpoint = await bench.add("one") if taken else await stored(bench, "one")
            await bench.store.endpoints.amend(endpoint.key, partial(_moved, job_id=job_id))
            assert (await stored(bench, "one")).calendar_rules.job_only_during == taken

    async def test_uses_are_listed_in_pages_without_deleted_endpoints(self, bench: Bench) -> None:
        work = compiled(bench)
        await put(bench, work)
        await bench.store.catalog.add_job(Job(id="shop", name="Shop", calendar_rules=only(work.calendar)))
        for name in ("b", "a", "gone"):
            await bench.add(name, calendar_rules=only(work.calendar))
        await bench.store.endpoints.amend(
            EndpointKey("default", "gone"), partial(archive, now=bench.clock.now())
        )
        store = bench.store.calendars
        first = await store.uses("default", "work", Page(2))
        assert first == [CalendarUse("endpoint", "a"), CalendarUse("endpoint", "b")]
        assert await store.uses("default", "work", Page(2, first[-1].position)) == [
            CalendarUse("job", "shop")
        ]
        assert await store.uses("other", "work") == []

    async def test_a_calendar_is_deleted_when_nothing_uses_it_any_more(self, bench: Bench) -> None:
        work = compiled(bench)
        await put(bench, work)
        await bench.store.catalog.add_job(Job(id="shop", name="Shop", calendar_rules=only(work.calendar)))
        endpoint = await bench.add("one", calendar_rules=only(work.calendar))
        store = bench.store.calendars
        with pytest.raises(Conflict, match="used by the job shop"):
            await store.delete_calendar("default", "work")
        await bench.store.catalog.amend_job(
            "default", "shop", lambda job: replace(job, calendar_rules=CalendarRules())
        )
        with pytest.raises(Conflict, match="used by the endpoint one"):
            await store.delete_calendar("default", "work")
        await bench.store.endpoints.amend(
            endpoint.key, lambda one: ChangedEndpoint(evolve(one, calendar_rules=CalendarRules()))
        )
        assert await store.delete_calendar("default", "work") == work
        assert await store.calendars("default") == []

    async def test_the_uses_of_a_deleted_job_are_gone(self, bench: Bench) -> None:
        work = compiled(bench)
        await put(bench, work)
        job = Job(id="shop", name="Shop", calendar_rules=only(work.calendar))
        await bench.store.catalog.add_job(job)
        await bench.store.catalog.remove_job("default", "shop", partial(archive, now=bench.clock.now()))
        assert await bench.store.calendars.uses("default", "work") == []

        def decide(state: BulkState) -> BulkChange:
            return BulkChange([job]) if not state.jobs else BulkChange([], removed_jobs=["shop"])

        for used in ([CalendarUse("job", "shop")], []):
            await bench.store.catalog.change_in_bulk("default", BulkScope(frozenset({"shop"})), decide)
            assert await bench.store.calendars.uses("default", "work") == used

    async def test_only_the_calendar_that_was_compiled_is_replaced(self, bench: Bench) -> None:
        work, night = compiled(bench), compiled(bench, open_during=NIGHT)
        await put(bench, work)
        await put(bench, night)
        with pytest.raises(Conflict, match="changed meanwhile"):
            await put(bench, work, instead_of=work.definition)
        await put(bench, work, instead_of=night.definition)

    async def test_calendars_that_are_compiled_for_too_short_are_found_soonest_first(
        self, bench: Bench
    ) -> None:
        now = bench.clock.now()
        for name, years, tenant in (("b", 2, "default"), ("a", 1, "other"), ("c", 11, "default")):
            one = compiled(bench, name, tenant_id=tenant)
            await put(bench, one._replace(until=now + years * timedelta(days=366)))
        found = await bench.store.calendars.compiled_until(now + timedelta(days=3_660), 10)
        assert [one.definition.id for one in found] == ["a", "b"]
        assert len(await bench.store.calendars.compiled_until(_far(now), 2)) == 2

    async def test_a_tenant_has_so_many_calendars_and_no_more(self, bench: Bench) -> None:
        for number in range(MOST_CALENDARS):
            await put(bench, compiled(bench, f"c{number}", _one_day(bench)))
        with pytest.raises(LimitReached):
            await put(bench, compiled(bench, "more", _one_day(bench)))
        await put(bench, compiled(bench, "c7", _one_day(bench)))


def _moved(endpoint: Endpoint, *, job_id: str) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, job_id=job_id))


def _far(now: datetime) -> datetime:
    return now + timedelta(days=36_600)


def _one_day(bench: Bench) -> CalendarParts:
    day = bench.clock.now().date() + timedelta(days=9)
    return CalendarParts(dates=(DateSpan(day, day),))
