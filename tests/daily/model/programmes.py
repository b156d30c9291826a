"""Programmes and calendars of the model as the product stores them."""

from datetime import datetime, time
from functools import cache

from tests.daily.model.reference_model import Programme
from tests.daily.model.wall_clocks import DAY, Hours, first_showing

from cadenza.domain.daily import programme
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of


def stored(name: str, wanted: Programme) -> programme.Programme:
    """The same, for the product."""
    return programme.Programme(
        id=name,
        window_minutes=wanted.window_minutes,
        retry_delay_minutes=wanted.retry_delay_minutes,
        weekdays=tuple(day + 1 for day in sorted(wanted.weekdays)),
        only_during=wanted.only and calendar(wanted.only),
        never_during=wanted.never and calendar(wanted.never),
        share_percent=wanted.share_percent,
    )


@cache
def calendar(hours: Hours) -> Calendar:
    """Compiled: each date's span in UTC."""
    spans = [
        (
            first_showing(datetime.combine(day, hours.since), hours.zone),
            first_showing(
                datetime.combine(day, hours.until) if hours.until else datetime.combine(day + DAY, time()),
                hours.zone,
            ),
        )
        for day in hours.dates
    ]
    return calendar_of("hours", hours.zone, spans)
