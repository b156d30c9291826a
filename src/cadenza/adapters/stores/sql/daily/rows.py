"""Users with a daily window, their verdicts and gaps as rows, and back."""

from datetime import date
from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.daily.rules import shard_of
from cadenza.domain.daily.user import Cause, DailyGap, DailyUser, DayStatus, DueChange, Verdict
from cadenza.domain.daily.window import due_at_minute, minute_of_day

USER = (
    "tenant_id",
    "user_id",
    "next_cutoff",
    "changes",
    "last_date",
    "status",
    "last_run_at",
    "added_at",
    "shard",
)
CHANGED = USER[2:7]
"""What a verdict or another due time changes."""
VERDICT = ("tenant_id", "user_id", "service_date", "status", "due", "decided_at", "late", "cause")
GAP = ("tenant_id", "user_id", "from_date", "to_date", "noticed_at", "cause")
STATUSES = {status.value: status for status in DayStatus}


def write_user(user: DailyUser) -> tuple[Any, ...]:
    """The columns `USER`."""
    return (
        *user.key,
        user.next_cutoff,
        _write_changes(user.changes),
        None if user.last_date is None else user.last_date.isoformat(),
        user.status,
        user.last_run_at,
        user.added_at,
        shard_of(user.key),
    )


def read_user(row: Row, read: Read) -> DailyUser:
    """The user of a row selected as `USER`."""
    tenant_id, user_id, next_cutoff, changes, last_date, status, last_run_at, added_at, _ = row
    return DailyUser(
        tenant_id=tenant_id,
        user_id=user_id,
        next_cutoff=read(next_cutoff),
        changes=_read_changes(changes),
        last_date=None if last_date is None else date.fromisoformat(last_date),
        status=None if status is None else STATUSES[status],
        last_run_at=read(last_run_at),
        added_at=read(added_at),
    )


def write_verdict(verdict: Verdict) -> tuple[Any, ...]:
    """The columns `VERDICT`."""
    tenant_id, user_id, day, status, due, decided_at, late, cause = verdict
    return (tenant_id, user_id, day.isoformat(), status, minute_of_day(due), decided_at, late, cause)


def read_verdict(row: Row, read: Read) -> Verdict:
    """The verdict of a row selected as `VERDICT`."""
    tenant_id, user_id, day, status, due, decided_at, late, cause = row
    return Verdict(
        tenant_id,
        user_id,
        date.fromisoformat(day),
        STATUSES[status],
        due_at_minute(due),
        read(decided_at),
        bool(late),
        None if cause is None else Cause(cause),
    )


def write_gap(gap: DailyGap) -> tuple[Any, ...]:
    """The columns `GAP`."""
    tenant_id, user_id, from_date, to_date, noticed_at, cause = gap
    return (tenant_id, user_id, from_date.isoformat(), to_date.isoformat(), noticed_at, cause)


def read_gap(row: Row, read: Read) -> DailyGap:
    """The gap of a row selected as `GAP`."""
    tenant_id, user_id, from_date, to_date, noticed_at, cause = row
    span = (date.fromisoformat(from_date), date.fromisoformat(to_date))
    return DailyGap(tenant_id, user_id, *span, read(noticed_at), Cause(cause))


def _write_changes(changes: tuple[DueChange, ...]) -> str | None:
    if not changes:
        return None
    written = [(change.from_date.isoformat(), minute_of_day(change.due)) for change in changes]
    return orjson.dumps(written).decode()


def _read_changes(changes: str | None) -> tuple[DueChange, ...]:
    if changes is None:
        return ()
    read = orjson.loads(changes)
    return tuple(DueChange(date.fromisoformat(day), due_at_minute(minute)) for day, minute in read)
