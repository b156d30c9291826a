"""Audit records, as long as the process lives."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.access.audit import EVERY_RECORD, AuditFilter, AuditRecord
from cadenza.ports.access import AuditedWork
from cadenza.ports.catalog import FIRST_PAGE, Page

Done = TypeVar("Done")


class MemoryAudit:
    """Audit records by tenant."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def change_with_records(self, work: AuditedWork[Done]) -> Done:
        """Nothing outlives a crash here, so what was written needs no common commit with its records."""
        done, records = await work()
        await self.add_records(records)
        return done

    async def add_records(self, records: Sequence[AuditRecord]) -> None:
        with self._lock:
            self._tables.audit.update({(one.tenant_id, one.id): one for one in records})

    async def records(
        self, tenant_id: str, *, wanted: AuditFilter = EVERY_RECORD, page: Page = FIRST_PAGE
    ) -> list[AuditRecord]:
        with self._lock:
            last = None if page.after is None else self._tables.audit.get((tenant_id, page.after))
            found = [
                one
                for one in self._tables.audit.values()
                if one.tenant_id == tenant_id
                and wanted.matches(one)
                and (last is None or (one.at, one.id) < (last.at, last.id))
            ]
        if page.after is not None and last is None:
            return []
        return sorted(found, key=lambda one: (one.at, one.id), reverse=True)[: page.limit]

    async def record(self, tenant_id: str, record_id: str) -> AuditRecord:
        with self._lock:
            found = self._tables.audit.get((tenant_id, record_id))
        if found is None:
            raise not_found("audit record", record_id)
        return found

    async def forget_records(self, before: datetime) -> int:
        with self._lock:
            old = [place for place, one in self._tables.audit.items() if one.at < before]
            for place in old:
                del self._tables.audit[place]
            return len(old)
