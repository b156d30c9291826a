"""Baselines as they are written: their calendars are looked up, and their cadences checked."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from cadenza.domain.scheduling.baseline import Baseline, Cron, DayParts
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.day_part_planning import cadences_by_path, check_day_parts
from cadenza.domain.scheduling.calendars.named_day_parts import NamedDayParts
from cadenza.engine.calendar_rules import calendars_by_id
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part

BASELINE = "baseline"


async def find_calendars(context: RequestContext, ids: Iterable[str]) -> dict[str, Calendar]:
    """The compiled calendars with these ids, as far as the caller's tenant has them."""
    return await calendars_by_id(context.store, context.tenant_id, ids)


async def with_named_calendars(context: RequestContext, parts: dict[str, Any]) -> dict[str, Any]:
    """Parts of an endpoint with calendars in the place of their ids.

    InvalidRequest with the path of each day part whose calendar the tenant does not have.
    """
    baseline = parts.get(BASELINE)
    if not isinstance(baseline, NamedDayParts):
        return parts
    calendars = await find_calendars(context, baseline.calendar_ids)
    return parts | {BASELINE: part(BASELINE, partial(baseline.with_calendars, calendars))}


def check_baseline(baseline: Baseline, context: RequestContext) -> None:
    """InvalidRequest if a cron line cannot be read, or a day part would never run."""
    cron = context.dependencies.cron
    if isinstance(baseline, Cron):
        cron.check(baseline.expression, baseline.timezone)
    if isinstance(baseline, DayParts):
        for path, one in cadences_by_path(baseline).items():
            part(path, partial(check_baseline, one, context))
        check_day_parts(baseline, context.dependencies.clock.now(), cron)
