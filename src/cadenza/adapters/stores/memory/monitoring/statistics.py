"""Statistics, counted when they are asked for."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from operator import attrgetter

from cadenza.adapters.stores.common import is_failing
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.daily.keys import DAILY
from cadenza.domain.daily.user import DailyUser, DayCounts, DayStatus, Verdict
from cadenza.domain.daily.window import minute_of_day
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.monitoring.statistics import (
    BEFORE_FIRST_MISS,
    DayTotal,
    DueMinuteCounts,
    GapCounts,
    LocalCutoff,
    MissCursor,
    UndecidedUsers,
    add_gaps,
)
from cadenza.domain.monitoring.uptime import EndedGroup
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.monitoring import ActivityGrouping, AnalysisCursor, PlannerActivity

KEY_OF: Mapping[ActivityGrouping, Callable[[Analysis], str]] = {
    ActivityGrouping.ALL: lambda _: "",
    ActivityGrouping.DAY: lambda one: one.began_at.date().isoformat(),
    ActivityGrouping.ENDPOINT: attrgetter("endpoint_id"),
}


class MemoryStatistics:
    """Counts of what is due, claimed and done."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def endpoints_by_key(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        with self._lock:
            found = [
                self._tables.endpoints[key] for key in sorted(set(keys)) if key in self._tables.endpoints
            ]
        return [one for one in found if not one.archived]

    async def upcoming_runs(self, tenant_id: str, *, until: datetime, limit: int) -> list[UpcomingRun]:
        with self._lock:
            due = [(claimable_at(one), one) for one in self._tables.endpoints_of(tenant_id)]
        found = sorted(
            ((at, one) for at, one in due if at is not None and at < until), key=lambda pair: pair[0]
        )
        return [
            UpcomingRun(one.next_run_at or at, one.baseline, one.interval_hint, one.calendar_rules)
            for at, one in found[:limit]
        ]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        with self._lock:
            return len(list(islice((one for one in self._tables.endpoints_of(tenant_id) if one.lease), most)))

    async def latest_runs(self, tenant_id: str, *, since: datetime, limit: int) -> list[EndedRun]:
        with self._lock:
            ended = [
                run
                for key, runs in self._tables.runs.items()
                if key.tenant_id == tenant_id
                for run in _closed(runs.values())
            ]
        newest = sorted(ended, key=lambda run: run.id, reverse=True)[:limit]
        return [one for one in map(_ended, newest) if one.finished_at >= since]

    async def latest_runs_of(
        self, keys: Collection[EndpointKey], *, each: int
    ) -> dict[EndpointKey, list[EndedRun]]:
        with self._lock:
            found = {
                key: _closed(self._tables.runs[key].values()) for key in keys if key in self._tables.runs
            }
        return {key: [_ended(run) for run in runs[: -each - 1 : -1]] for key, runs in found.items() if runs}

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        with self._lock:
            closed = _closed(self._tables.runs[key].values()) if key in self._tables.runs else []
        inside = [run for run in closed if run.finished_at is not None and since <= run.finished_at < until]
        return [run._replace(response=None) for run in inside[: -limit - 1 : -1]]

    async def ended_by_bucket(
        self, key: EndpointKey, *, since: datetime, span: timedelta, limit: int
    ) -> list[EndedGroup]:
        with self._lock:
            closed = _closed(self._tables.runs[key].values()) if key in self._tables.runs else []
        newest = [_ended(run) for run in closed if run.verdict][: -limit - 1 : -1]
        groups: dict[tuple[int, RunStatus], list[int]] = {}
        for one in newest:
            if one.finished_at >= since:
                groups.setdefault(((one.finished_at - since) // span, one.status), []).append(one.duration_ms)
        return [EndedGroup(bucket, status, took) for (bucket, status), took in groups.items()]

    async def failing(self, tenant_id: str, most: int) -> int:
        with self._lock:
            return len(list(islice(filter(is_failing, self._tables.endpoints_of(tenant_id)), most)))

    async def planner_activity(
        self, tenant_id: str, *, grouping: ActivityGrouping, since: datetime, limit: int, most: int
    ) -> list[PlannerActivity]:
        with self._lock:
            every = [one for of_endpoint in self._tables.analyses.values() for one in of_endpoint.values()]
        lately = [one for one in every if one.tenant_id == tenant_id and one.began_at >= since]
        groups: dict[tuple[str, str], list[Analysis]] = {}
        for one in sorted(lately, key=lambda one: one.began_at, reverse=True)[:limit]:
            groups.setdefault((KEY_OF[grouping](one), one.planner), []).append(one)
        return sorted((_activity(*key, ones) for key, ones in groups.items()), key=_by_cost)[:most]

    async def recent_analyses(self, tenant_id: str, *, before: AnalysisCursor, limit: int) -> list[Analysis]:
        with self._lock:
            every = [one for of_endpoint in self._tables.analyses.values() for one in of_endpoint.values()]
        older = [one for one in every if one.tenant_id == tenant_id and (one.began_at, one.id) < before]
        return sorted(older, key=lambda one: (one.began_at, one.id), reverse=True)[:limit]


def _closed(runs: Iterable[Run]) -> list[Run]:
    return sorted((run for run in runs if run.status is not None), key=lambda run: run.id)


def _activity(of: str, planner: str, ones: list[Analysis]) -> PlannerActivity:
    return PlannerActivity(
        of,
        planner,
        analyses=len(ones),
        failed=sum(one.error is not None for one in ones),
        shadow=sum(one.shadow for one in ones),
        tokens=Tokens(sum(one.tokens.input for one in ones), sum(one.tokens.output for one in ones)),
        last_at=max(one.began_at for one in ones),
    )


def _by_cost(activity: PlannerActivity) -> tuple[int, int, str, str]:
    return -activity.tokens.total, -activity.analyses, activity.of, activity.planner


def _ended(run: Run) -> EndedRun:
    assert run.finished_at is not None, "it is closed"
    assert run.status is not None, "it is closed"
    return EndedRun(run.finished_at, run.status, run.duration_ms, run.late_ms)


class MemoryDailyStatistics:
    """Counts of daily verdicts."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def tallies(self, tenant_id: str, day: date, *, programme_id: str = DAILY) -> list[DueMinuteCounts]:
        with self._lock:
            of_day = [one for one in self._verdicts_in(tenant_id, programme_id) if one.service_date == day]
        dues = sorted({one.due_bucket for one in of_day})
        return [DueMinuteCounts(due, _counts(one for one in of_day if one.due_bucket == due)) for due in dues]

    async def day_totals(
        self, tenant_id: str, *, since: date, until: date, programme_id: str = DAILY
    ) -> list[DayTotal]:
        days = defaultdict(list)
        with self._lock:
            for one in self._verdicts_in(tenant_id, programme_id):
                if since <= one.service_date <= until:
                    days[one.service_date].append(one)
            gaps = [
                GapCounts(gap.from_date, gap.to_date, users=1)
                for key, of_user in self._tables.daily_gaps.items()
                for gap in of_user.values()
                if key[:2] == (tenant_id, programme_id)
            ]
        verdicts = {day: _counts(of_day) for day, of_day in days.items()}
        return add_gaps(verdicts, gaps, since=since, until=until)

    async def waiting(
        self, tenant_id: str, day: date, *, each: int, programme_id: str = DAILY
    ) -> UndecidedUsers:
        users: Counter[LocalCutoff] = Counter()
        ends = []
        with self._lock:
            for opening in self._tables.daily_openings:
                of_day = (
                    user for _, key in opening if (user := self._tables.daily_users[key]).next_date == day
                )
                read = sorted(of_day, key=lambda user: user.next_cutoff)[:each]
                users.update(_cutoff_of(user) for user in read if user.key[:2] == (tenant_id, programme_id))
                if len(read) == each:
                    ends.append(read[-1].next_cutoff)
        known_before = min(ends, default=None)
        known = {
            one: count for one, count in users.items() if known_before is None or one.cutoff < known_before
        }
        return UndecidedUsers(known, known_before)

    async def misses(
        self,
        tenant_id: str,
        day: date,
        *,
        limit: int,
        after: MissCursor = BEFORE_FIRST_MISS,
        programme_id: str = DAILY,
    ) -> list[Verdict]:
        with self._lock:
            missed = [
                one
                for one in self._verdicts_in(tenant_id, programme_id)
                if one.service_date == day and one.status is not DayStatus.SUCCESS and _place(one) > after
            ]
        return sorted(missed, key=_place)[:limit]

    def _verdicts_in(self, tenant_id: str, programme_id: str) -> Iterator[Verdict]:
        stored = self._tables.daily_verdicts.items()
        mine = (days for key, days in stored if key[:2] == (tenant_id, programme_id))
        return (one for days in mine for one in days.values())


def _cutoff_of(user: DailyUser) -> LocalCutoff:
    return LocalCutoff(minute_of_day(user.due), user.next_cutoff)


def _place(verdict: Verdict) -> MissCursor:
    return MissCursor(verdict.due_bucket, verdict.user_id)


def _counts(verdicts: Iterable[Verdict]) -> DayCounts:
    return DayCounts.of((one.status, one.late, 1) for one in verdicts)
