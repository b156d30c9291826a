"""Daily programmes as a configuration: what a file wants of them, and what it changes."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.programme import MOST_PROGRAMMES, Programme
from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.operations.config.changes import Action, Decision, Difference
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programme_schemas import ConfigProgramme
from cadenza.operations.daily.programmes import (
    check_programme,
    find_stored,
    remove_programme,
    write_programme,
)
from cadenza.operations.documented_models import part
from cadenza.operations.scheduling.endpoint_parts.baselines import find_calendars
from cadenza.ports.catalog import Page

ALL = Page(MOST_PROGRAMMES + 2)
FindCalendars = Callable[[RequestContext, set[str]], Awaitable[dict[str, Calendar]]]


async def stored_programmes(context: RequestContext) -> list[ConfigProgramme]:
    """The stored programmes of a tenant as a file has them."""
    found = await context.store.programmes.programmes(context.tenant_id, ALL)
    return [ConfigProgramme.of(one) for one in found]


async def programme_differences(
    context: RequestContext,
    entries: Sequence[ConfigProgramme] | None,
    *,
    prune: bool,
    find: FindCalendars = find_calendars,
) -> list[Difference]:
    """What a file changes of the daily programmes; nothing if it has no section of them.

    Those that it does not name stay, unless they are pruned. `find` finds the calendars that they name.
    """
    if entries is None:
        return []
    calendars = await find(context, {id_ for one in entries for id_ in one.calendar_ids})
    wanted = {one.id: ConfigProgramme.of(one) for one in await _checked(context, entries, calendars)}
    before = {one.id: one for one in await stored_programmes(context)}
    found = [_difference(one, before.get(id_)) for id_, one in wanted.items()]
    gone = [one for id_, one in before.items() if prune and id_ not in wanted]
    deleted = [Difference(Action.DELETE, "programme", one.id, one) for one in gone]
    return [one for one in found if one is not None] + deleted


async def _checked(
    context: RequestContext, entries: Sequence[ConfigProgramme], calendars: Mapping[str, Calendar]
) -> list[Programme]:
    """The programmes of a file; InvalidRequest with all faults and their paths."""
    counts, faults, found = Counter(one.id for one in entries), list[Fault](), list[Programme]()
    for place, entry in enumerate(entries):
        path = f"programmes.{place}"
        if counts[entry.id] > 1:
            faults.append(Fault(f"{path}.id", f"This file has the programme {entry.id} more than once."))
        try:
            make = partial(entry.to_domain, context.tenant_id, entry.id, calendars)
            found.append(part(path, make))
            await check_programme(context, found[-1])
        except InvalidRequest as problem:
            field = str(problem.field)
            at = field if field.startswith(path) else f"{path}.{field}"
            faults.append(Fault(at, problem.message))
    if faults:
        raise InvalidRequest(faults[0].sentence, faults[0].field, faults)
    return found


def _difference(wanted: ConfigProgramme, before: ConfigProgramme | None) -> Difference | None:
    if before is None:
        return Difference(Action.CREATE, "programme", wanted.id, None, wanted)
    if wanted.model_dump() == before.model_dump():
        return None
    return Difference(Action.UPDATE, "programme", wanted.id, before, wanted)


def with_programmes(
    decision: Decision, entries: Sequence[ConfigProgramme] | None, changed: list[Difference]
) -> Decision:
    """The decision with the differences of programmes, and those that stay as they are counted."""
    named = sum(one.action is not Action.DELETE for one in changed)
    unchanged = decision.unchanged + len(entries or ()) - named
    return decision._replace(differences=[*decision.differences, *changed], unchanged=unchanged)


async def write_programmes(context: RequestContext, differences: Iterable[Difference]) -> None:
    """Write what differs, in the commit of the caller; Conflict if one that is pruned is in use."""
    for one in differences:
        if isinstance(one.after, ConfigProgramme):
            calendars = await find_calendars(context, one.after.calendar_ids)
            await write_programme(context, one.after.to_domain(context.tenant_id, one.id, calendars))
        elif isinstance(one.before, ConfigProgramme):
            key = ProgrammeKey(context.tenant_id, one.id)
            await remove_programme(context, await find_stored(context, key))
