"""How many plans the governor makes per second on one core: by intervals, hints, cron lines and calendars."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import process_time

from cadenza import Cron, Endpoint, Every, Guard, IntervalHint, OneShotHint, plan_next_run
from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
LINES = ["* * * * *", "*/5 * * * *", "17 3 * * *", "0 9 * * MON-FRI"]
GOAL = 150_000


def endpoint(number: int, *, hinted: bool, cron: bool) -> Endpoint:
    """One of many, each a little different, with a guard; a hinted one has both hints."""
    return Endpoint(
        id=f"endpoint-{number}",
        name="endpoint",
        baseline=Cron(LINES[number % 4]) if cron else Every(60_000 + number % 7),
        guard=Guard(20_000, 86_400_000),
        interval_hint=IntervalHint(30_000, NOW + timedelta(hours=1), "surge") if hinted else None,
        one_shot_hint=OneShotHint(NOW + timedelta(seconds=5), NOW + timedelta(minutes=9)) if hinted else None,
        last_run_at=NOW - timedelta(seconds=number % 100),
    )


def daily(name: str, *, from_hour: int, hours: int, days: int) -> Calendar:
    """Open for some hours of each day, as many days on."""
    begin = NOW.replace(hour=from_hour, minute=0, second=0) - timedelta(days=1)
    opens = [begin + timedelta(days=day) for day in range(days)]
    return calendar_of(name, "UTC", [(one, one + timedelta(hours=hours)) for one in opens])


def rules(days: int) -> list[CalendarRules]:
    """Open now, closed and skipped, closed until the opening, and kept out of a maintenance at night."""
    by_day = daily("day", from_hour=8, hours=10, days=days)
    by_night = daily("night", from_hour=22, hours=4, days=days)
    return [
        CalendarRules(only_during=by_day),
        CalendarRules(only_during=by_night),
        CalendarRules(only_during=by_night, when_closed=WhenClosed.RUN_AT_END),
        CalendarRules(only_during=by_day, never_during=by_night),
    ]


def in_calendars(number: int, kept: list[CalendarRules], *, every: int = 1) -> Endpoint:
    """One of many, of which one in so many has calendars; some have skipped a slot since these closed."""
    plain = endpoint(number, hinted=False, cron=False)
    kind = number // every % (2 * len(kept))
    skipped = NOW - timedelta(seconds=5) if kind >= len(kept) else None
    chosen = NO_RULES if number % every else kept[kind % len(kept)]
    return replace(plain, calendar_rules=chosen, skipped_at=skipped)


def per_second(endpoints: Sequence[Endpoint], laps: int) -> float:
    """Plans per second of CPU, in the best lap: the one that the machine's other work disturbed least."""
    cron = CronsimCron()
    best = float("inf")
    for _ in range(laps):
        began = process_time()
        for number, one in enumerate(endpoints):
            plan_next_run(NOW + timedelta(0, 0, number % 1_000), one, cron)
        best = min(best, process_time() - began)
    return len(endpoints) / best


def measure(count: int, laps: int) -> dict[str, float]:
    """Plans per second by kind of endpoint; the goal is for `half_hinted` and for `half_in_calendars`.

    What ten years of dates cost beside a week is near one, as a calendar is searched by bisection.
    """
    ten_years, week = rules(3_653), rules(7)
    kinds = {
        "plain": [endpoint(number, hinted=False, cron=False) for number in range(count)],
        "half_hinted": [endpoint(number, hinted=number % 2 == 1, cron=False) for number in range(count)],
        "cron": [endpoint(number, hinted=False, cron=True) for number in range(count)],
        "half_in_calendars": [in_calendars(number, ten_years, every=2) for number in range(count)],
        "in_a_week_of_dates": [in_calendars(number, week) for number in range(count)],
        "in_ten_years_of_dates": [in_calendars(number, ten_years) for number in range(count)],
    }
    results = {kind: round(per_second(endpoints, laps)) for kind, endpoints in kinds.items()}
    ratios = {
        "cron_cost_ratio": round(results["plain"] / results["cron"], 2),
        "ten_years_cost_ratio": round(results["in_a_week_of_dates"] / results["in_ten_years_of_dates"], 2),
    }
    return {**results, "goal": GOAL, **ratios}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    results = measure(options.count, options.laps)
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>22} {value:>12,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
