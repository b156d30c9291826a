"""Users with a daily window, their verdicts and gaps as rows, and back."""

from datetime import date, time
from functools import lru_cache
from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.daily.rules import shard_of
from cadenza.domain.daily.user import Cause, DailyGap, DailyUser, DayStatus, DueChange, Verdict
from cadenza.domain.daily.window import due_at_minute, minute_of_day
from cadenza.domain.daily.zones import UTC_NAME

USER = (
    "tenant_id",
    "programme_id",
    "user_id",
    "next_date",
    "due",
    "timezone",
    "next_cutoff",
    "opens_at",
    "previous_cutoff",
    "changes",
    "last_date",
    "status",
    "last_run_at",
    "added_at",
    "shard",
)
KEY = USER[:3]
CHANGED = USER[3:13]
"""What a verdict or another due time changes."""
VERDICT = (*KEY, "service_date", "status", "due", "decided_at", "late", "cause")
GAP = (*KEY, "from_date", "to_date", "noticed_at", "cause")
STATUSES = {status.value: status for status in DayStatus}


@lru_cache(maxsize=16_384)
def read_date(written: str) -> date:
    """A date; most rows have one of few."""
    return date.fromisoformat(written)


@lru_cache(maxsize=1_440)
def read_due(minute: int) -> time:
    """A due time."""
    return due_at_minute(minute)


def write_user(user: DailyUser) -> tuple[Any, ...]:
    """The columns `USER`."""
    return (
        *user.key,
        user.next_date.isoformat(),
        minute_of_day(user.due),
        user.timezone,
        user.next_cutoff,
        user.opens_at,
        user.previous_cutoff,
        _write_changes(user.changes),
        None if user.last_date is None else user.last_date.isoformat(),
        user.status,
        user.last_run_at,
        user.added_at,
        shard_of(user.key.user),
    )


def read_user(row: Row, read: Read) -> DailyUser:
    """The user of a row selected as `USER`."""
    tenant_id, programme_id, user_id, next_date, due, timezone, *moments, changes, last_date = row[:11]
    status, last_run_at, added_at, _ = row[11:]
    next_cutoff, opens_at, previous_cutoff = moments
    return DailyUser(
        tenant_id=tenant_id,
        programme_id=programme_id,
        user_id=user_id,
        next_date=read_date(next_date),
        due=read_due(due),
        timezone=timezone,
        next_cutoff=read(next_cutoff),
        opens_at=read(opens_at),
        previous_cutoff=read(previous_cutoff),
        changes=_read_changes(changes),
        last_date=None if last_date is None else read_date(last_date),
        status=None if status is None else STATUSES[status],
        last_run_at=read(last_run_at),
        added_at=read(added_at),
    )


def write_verdict(verdict: Verdict) -> tuple[Any, ...]:
    """The columns `VERDICT`."""
    *key, day, status, due, decided_at, late, cause = verdict
    return (*key, day.isoformat(), status, minute_of_day(due), decided_at, late, cause)


def read_verdict(row: Row, read: Read) -> Verdict:
    """The verdict of a row selected as `VERDICT`."""
    tenant_id, programme_id, user_id, day, status, due, decided_at, late, cause = row
    return Verdict(
        tenant_id,
        programme_id,
        user_id,
        read_date(day),
        STATUSES[status],
        read_due(due),
        read(decided_at),
        bool(late),
        None if cause is None else Cause(cause),
    )


def write_gap(gap: DailyGap) -> tuple[Any, ...]:
    """The columns `GAP`."""
    *key, from_date, to_date, noticed_at, cause = gap
    return (*key, from_date.isoformat(), to_date.isoformat(), noticed_at, cause)


def read_gap(row: Row, read: Read) -> DailyGap:
    """The gap of a row selected as `GAP`."""
    tenant_id, programme_id, user_id, from_date, to_date, noticed_at, cause = row
    span = (read_date(from_date), read_date(to_date))
    return DailyGap(tenant_id, programme_id, user_id, *span, read(noticed_at), Cause(cause))


def _write_changes(changes: tuple[DueChange, ...]) -> str | None:
    if not changes:
        return None
    written = [
        (change.from_date.isoformat(), minute_of_day(change.due), *_zone(change)) for change in changes
    ]
    return orjson.dumps(written).decode()


def _zone(change: DueChange) -> tuple[str, ...]:
    """Nothing for UTC, as documents that were written before there were zones have it."""
    return () if change.timezone == UTC_NAME else (change.timezone,)


def _read_changes(changes: str | None) -> tuple[DueChange, ...]:
    if changes is None:
        return ()
    read = orjson.loads(changes)
    return tuple(DueChange(read_date(day), read_due(minute), *zone) for day, minute, *zone in read)
