"""Daily programmes."""

from dataclasses import replace
from itertools import islice

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.daily.keys import DAILY, DailyKey, ProgrammeKey
from cadenza.domain.daily.programme import Programme, refuse_to_delete, refuse_too_many
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryProgrammes:
    """Programmes by their keys."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_programme(self, programme: Programme) -> Programme:
        with self._lock:
            stored = self._tables.programmes
            others = [key for key in stored if key.tenant_id == programme.tenant_id and key != programme.key]
            refuse_too_many(len(others))
            self._tables.refuse_older(programme.tenant_id, programme.calendars)
            if programme.key in stored:
                programme = replace(programme, created_at=stored[programme.key].created_at)
            stored[programme.key] = programme
            return programme

    async def programme(self, key: ProgrammeKey) -> Programme:
        with self._lock:
            if key in self._tables.programmes:
                return self._tables.programmes[key]
        if key.id == DAILY:
            return Programme(tenant_id=key.tenant_id)
        raise not_found("programme", key.id)

    async def programmes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Programme]:
        with self._lock:
            mine = sorted(key for key in self._tables.programmes if key.tenant_id == tenant_id)
            later = (key for key in mine if page.after is None or key.id > page.after)
            return [self._tables.programmes[key] for key in islice(later, page.limit)]

    async def all_programmes(self, *, limit: int, after: ProgrammeKey | None = None) -> list[Programme]:
        with self._lock:
            later = (key for key in sorted(self._tables.programmes) if after is None or key > after)
            return [self._tables.programmes[key] for key in islice(later, limit)]

    async def delete_programme(self, key: ProgrammeKey, *, with_days: bool = False) -> None:
        with self._lock:
            if key not in self._tables.programmes:
                raise not_found("programme", key.id)
            if key.id != DAILY:
                self._empty(key, with_days=with_days)
            del self._tables.programmes[key]

    def _empty(self, key: ProgrammeKey, *, with_days: bool) -> None:
        tables = self._tables
        verdicts = [user for user, days in tables.daily_verdicts.items() if days and user.programme == key]
        gaps = [user for user, days in tables.daily_gaps.items() if days and user.programme == key]
        users: set[DailyKey] = {*verdicts, *gaps}
        has_users = any(user.programme == key for user in tables.daily_users)
        refuse_to_delete(key.id, has_users=has_users, has_days=bool(users) and not with_days)
        for user in users:
            tables.daily_verdicts.pop(user, None)
            tables.daily_gaps.pop(user, None)
