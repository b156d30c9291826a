"""Operations on daily programmes: what is owed daily, and to whom."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Self

from cadenza.domain.access.key import Scope
from cadenza.domain.agents.users import AgentKey
from cadenza.domain.daily.keys import DAILY, ProgrammeKey
from cadenza.domain.daily.programme import Programme, ProgrammePrompt
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programme_schemas import (
    DailyTargetShape,
    ProgrammeFields,
    programme_fields,
)
from cadenza.operations.fields import Flag, Id, Listed, Paged, Put, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation
from cadenza.operations.scheduling.calendars.schemas import Weekday
from cadenza.operations.scheduling.endpoint_parts.baselines import find_calendars
from cadenza.ports.catalog import Page


class OfProgramme(Command):
    """The programme that is meant."""

    programme: Id = DAILY
    """The id of the daily programme; `daily` always exists."""


async def served_programme(context: RequestContext, command: OfProgramme) -> Programme:
    """The programme of the caller's tenant; NotFound if there is none."""
    return await context.store.programmes.programme(ProgrammeKey(context.tenant_id, command.programme))


def window_of(context: RequestContext, programme: Programme) -> timedelta:
    """How long windows of a programme last: as its installation's, unless it says otherwise."""
    return context.dependencies.daily_window if programme.window_minutes is None else programme.window


class OneProgramme(Command):
    """The programme that is meant."""

    programme_id: Id


class PutProgramme(OneProgramme, Put, ProgrammeFields):
    """A programme, new or in place of the one before; what is left out is as usual."""


class DeleteProgramme(OneProgramme):
    """The programme to delete."""

    with_days: Flag = False
    """Whether its results of past days are deleted, too."""


class ProgrammeView(View):
    """A daily programme; what is null is as the settings of the installation have it."""

    id: str
    name: str | None
    target: DailyTargetShape | None
    window_minutes: int | None
    retry_delay_minutes: int | None
    job_timeout_ms: int | None
    share_percent: int
    weekdays: list[Weekday]
    only_during: str | None
    never_during: str | None
    resets_conversation: bool
    stored: bool
    """False for `daily` as long as nothing is changed about it."""
    created_at: datetime | None

    @classmethod
    def of(cls, programme: Programme) -> Self:
        """The view of a programme."""
        fields = programme_fields(programme)
        stored = programme.created_at is not None
        return cls(id=programme.id, stored=stored, created_at=programme.created_at, **fields)


class ProgrammesPage(Listed[ProgrammeView]):
    """A page of programmes."""


@operation("PUT /v1/daily/programmes/{programme_id}", Scope.WRITE)
async def put_programme(context: RequestContext, command: PutProgramme) -> ProgrammeView:
    """Create or replace a daily programme: something that is owed to each of its users once a day.

    What its target does, how long its windows are, and on which days it is owed. The programme `daily`
    always exists; it is replaced in the same way.
    """
    key = ProgrammeKey(context.tenant_id, command.programme_id)
    find = partial(find_stored, context, key)
    await command.refuse_existing(f"a programme {key.id}", find)
    calendars = await find_calendars(context, command.calendar_ids)
    programme = command.to_domain(*key, calendars)
    await check_programme(context, programme)
    return ProgrammeView.of(await write_programme(context, programme))


@operation("GET /v1/daily/programmes", Scope.READ)
async def list_programmes(context: RequestContext, command: Paged) -> ProgrammesPage:
    """List daily programmes, in the order of their ids; `daily` is always among them."""
    page = command.page()
    stored = await context.store.programmes.programmes(context.tenant_id, page)
    found, more = split_page(with_daily(context.tenant_id, stored, page), command.limit)
    return ProgrammesPage(
        items=[ProgrammeView.of(one) for one in found], next_cursor=found[-1].id if more else None
    )


@operation("GET /v1/daily/programmes/{programme_id}", Scope.READ)
async def get_programme(context: RequestContext, command: OneProgramme) -> ProgrammeView:
    """Show a daily programme."""
    key = ProgrammeKey(context.tenant_id, command.programme_id)
    return ProgrammeView.of(await context.store.programmes.programme(key))


@operation("DELETE /v1/daily/programmes/{programme_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_programme(context: RequestContext, command: DeleteProgramme) -> Nothing:
    """Delete a daily programme. Refused while it has users, or results that are not to be deleted.

    Of `daily` only the settings are deleted; it exists again as usual.
    """
    key = ProgrammeKey(context.tenant_id, command.programme_id)
    await remove_programme(context, await find_stored(context, key), with_days=command.with_days)
    return Nothing()


def with_daily(tenant_id: str, stored: list[Programme], page: Page) -> list[Programme]:
    """A page of stored programmes, with `daily` in its place although nothing is stored about it."""
    found = {one.id: one for one in stored}
    full = len(stored) >= page.limit
    if (page.after or "") < DAILY and not (full and stored[-1].id < DAILY):
        found.setdefault(DAILY, Programme(tenant_id=tenant_id))
    return [found[id_] for id_ in sorted(found)]


async def find_stored(context: RequestContext, key: ProgrammeKey) -> Programme:
    """A programme that is stored; NotFound also for `daily` if nothing is stored about it."""
    programme = await context.store.programmes.programme(key)
    if programme.created_at is None:
        raise NotFound(f"Nothing is stored about the programme {key.id}: it is as usual.")
    return programme


async def check_programme(context: RequestContext, programme: Programme) -> None:
    """InvalidRequest if the installation cannot serve it like this."""
    given = context.dependencies
    if programme.window_minutes is not None and programme.window < given.daily_tick:
        least = given.daily_tick / timedelta(minutes=1)
        raise InvalidRequest(
            f"window_minutes must be at least {least:g}: users are looked for so often.", "window_minutes"
        )
    if isinstance(programme.target, ProgrammePrompt):
        agent_id = programme.target.agent_id
        try:
            await context.store.agents.agent(AgentKey(context.tenant_id, agent_id))
        except NotFound:
            raise InvalidRequest(
                f"There is no agent {agent_id}: create it first.", "target.agent_id"
            ) from None


async def write_programme(context: RequestContext, programme: Programme) -> Programme:
    """Store a programme that was checked, and note it for the audit."""
    before: Programme | None = None
    with suppress(NotFound):
        before = await find_stored(context, programme.key)
    created_at = context.dependencies.clock.now()
    after = await context.store.programmes.put_programme(replace(programme, created_at=created_at))
    context.trail.note("programme", programme.id, before=before, after=after)
    return after


async def remove_programme(context: RequestContext, programme: Programme, *, with_days: bool = False) -> None:
    """Delete a stored programme, and note it for the audit; Conflict while it is in use."""
    await context.store.programmes.delete_programme(programme.key, with_days=with_days)
    context.trail.note("programme", programme.id, before=programme)


PROGRAMMES = (put_programme, list_programmes, get_programme, delete_programme)
