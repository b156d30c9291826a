"""When a schedule with calendars fires, and the refusal of one that never would."""

from datetime import datetime

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, cadence_at
from cadenza.domain.scheduling.calendars.day_part_planning import INSTANT
from cadenza.domain.scheduling.calendars.gate import first_open
from cadenza.domain.scheduling.calendars.rules import WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.validation import milliseconds

MOST_CLOSURES = 5_000
"""So many times in a row a slot may fall where its calendars are closed: more often than in twelve years."""


def open_fire(slot: datetime, endpoint: Endpoint, cron: CronClock) -> datetime | None:
    """The first moment from a slot on at which it really fires; None if its calendars let it fire no more.

    1. A slot at which they are open stays as it is.
    2. While they are closed, what runs at the end fires when they open.
    3. Anything else is skipped up to the first slot at or after the opening.
    """
    rules = endpoint.calendar_rules
    for _ in range(MOST_CLOSURES):
        opening = first_open(rules, slot)
        if opening is None or opening == slot or rules.when_closed is WhenClosed.RUN_AT_END:
            return opening
        following = _first_slot(opening, slot, endpoint, cron)
        if following is None:
            return None
        slot = following
    return None


def _first_slot(opening: datetime, slot: datetime, endpoint: Endpoint, cron: CronClock) -> datetime | None:
    """The first slot at or after an opening; None for what fires once."""
    cadence = cadence_at(endpoint.baseline, opening)
    if cadence is None:
        return None
    if isinstance(cadence, Cron):
        return cron.next(cadence.expression, opening - INSTANT, cadence.timezone)
    step = milliseconds(cadence.interval_ms)
    return slot - (slot - opening) // step * step


def check_calendars(schedule: Endpoint, now: datetime, cron: CronClock) -> None:
    """InvalidRequest if the calendars of a schedule, its start and its end never let it fire."""
    rules = schedule.calendar_rules
    if not rules.calendars and rules.starts_at is None and rules.ends_at is None:
        return
    free = evolve(schedule, paused_until=None, interval_hint=None, one_shot_hint=None)
    slot = plan_next_run(now, free, cron).next_run_at
    if slot is not None and rules.opens_after(now) and open_fire(slot, free, cron) is not None:
        return
    names = " and ".join(one.id for one in rules.calendars)
    let = "lets" if len(rules.calendars) == 1 else "let"
    closed = f"{names} never {let} it" if names else "its start and end leave no time for it"
    raise InvalidRequest(
        f"This schedule would never fire, since {closed}: choose other times or other calendars, or have it"
        " fire when they open, with when_closed run-at-end.",
        "calendar",
    )
