"""Keys, sessions, tenants, secrets, replies to idempotent requests, and rates."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import NamedTuple
from weakref import WeakValueDictionary

from cadenza.adapters.access.rate_limiter import oldest_kept
from cadenza.adapters.stores.common import already_exists, not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.access.key import ApiKey
from cadenza.domain.access.tenant import MonthlyUsage, QuotaUsage, Tenant, charges, month_of
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.access import Answering, IdempotentReply, Session, StoredKey, UsageOfMonth
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.secrets import SecretEntry, SecretKey

NOTHING = MonthlyUsage()


class MemoryKeys:
    """API keys."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add_key(self, stored: StoredKey) -> None:
        with self._lock:
            if stored.key.id in self._tables.keys:
                raise already_exists("key", stored.key.id)
            if stored.key.user_id is not None:
                if (stored.key.tenant_id, stored.key.user_id) not in self._tables.users:
                    raise not_found("user", stored.key.user_id)
                self._forget_expired(stored.key)
            if stored.key.made_by is not None and stored.key.made_by not in self._tables.keys:
                raise not_found("key", stored.key.made_by)
            self._tables.keys[stored.key.id] = stored

    async def stored_key(self, key_id: str) -> StoredKey | None:
        with self._lock:
            return self._tables.keys.get(key_id)

    async def existing_keys(self, key_ids: Collection[str]) -> list[ApiKey]:
        with self._lock:
            return [self._tables.keys[key_id].key for key_id in set(key_ids) if key_id in self._tables.keys]

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        with self._lock:
            listed = [
                stored.key
                for _, stored in sorted(self._tables.keys.items())
                if stored.key.tenant_id == tenant_id
                and stored.key.user_id is None
                and (page.after is None or stored.key.id > page.after)
            ]
        return listed[: page.limit]

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        with self._lock:
            stored = self._tables.keys.get(key_id)
            if stored is None or stored.key.tenant_id != tenant_id:
                raise not_found("key", key_id)
            self._tables.drop_key(key_id)

    async def removals(self) -> int:
        return self._tables.key_removals

    def _forget_expired(self, new: ApiKey) -> None:
        for key_id, stored in list(self._tables.keys.items()):
            key = stored.key
            if key.tenant_id == new.tenant_id and key.user_id is not None and not key.valid(new.created_at):
                self._tables.drop_key(key_id)


class MemorySessions:
    """Sessions by the digests of their secrets."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def open_session(self, session: Session) -> None:
        over = [one.digest for one in self._tables.sessions.values() if one.expires_at <= session.created_at]
        for digest in over:
            del self._tables.sessions[digest]
        if session.key_id is not None and session.key_id not in self._tables.keys:
            raise not_found("key", session.key_id)
        self._tables.sessions[session.digest] = session

    async def session(self, digest: bytes) -> Session | None:
        return self._tables.sessions.get(digest)

    async def end_session(self, digest: bytes) -> Session | None:
        return self._tables.sessions.pop(digest, None)


class MemoryTenants:
    """Owners, and what they have spent."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_tenant(self, tenant: Tenant) -> None:
        with self._lock:
            self._tables.tenants[tenant.id] = tenant

    async def tenant(self, tenant_id: str) -> Tenant:
        with self._lock:
            return self._tables.tenants.get(tenant_id) or Tenant(id=tenant_id, name=tenant_id)

    async def quota_usage(self, tenant_ids: Collection[str], month: str) -> Mapping[str, QuotaUsage]:
        with self._lock:
            return {tenant_id: self._standing(tenant_id, month) for tenant_id in tenant_ids}

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        with self._lock:
            _spend(self._tables, tenant_id, month_of(now), tokens=tokens)

    async def usage_by_month(self, tenant_id: str, months: int) -> list[UsageOfMonth]:
        with self._lock:
            spent = [
                UsageOfMonth(month, spent)
                for (owner, month), spent in sorted(self._tables.spent.items(), reverse=True)
                if owner == tenant_id and any(spent)
            ]
        return spent[:months]

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        with self._lock:
            endpoints = (one for one in self._tables.endpoints.values() if one.tenant_id == tenant_id)
            return len(list(islice((one for one in endpoints if one.live), most)))

    def _standing(self, tenant_id: str, month: str) -> QuotaUsage:
        spent = self._tables.spent.get((tenant_id, month), NOTHING)
        tenant = self._tables.tenants.get(tenant_id)
        return QuotaUsage(spent=spent) if tenant is None else QuotaUsage(tenant.limits, spent)


class MemoryReplies:
    """Replies by tenant and idempotency key."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock
        self._answering: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def find_reply(self, tenant_id: str, key: str) -> IdempotentReply | None:
        with self._lock:
            return self._tables.replies.get((tenant_id, key))

    async def keep_reply(
        self, tenant_id: str, key: str, begun: IdempotentReply, *, answer: Answering, stale_before: datetime
    ) -> IdempotentReply | None:
        """Nothing outlives a crash here, so what was written needs no common commit with its reply."""
        place = (tenant_id, key)
        async with self._answering.setdefault(place, asyncio.Lock()):
            there = self._taken(place, stale_before)
            if there not in (None, begun):
                return there
            reply = await answer()
            with self._lock:
                self._tables.replies[place] = reply
            return None

    async def begin_reply(
        self, tenant_id: str, key: str, reply: IdempotentReply, *, stale_before: datetime
    ) -> IdempotentReply | None:
        with self._lock:
            if (there := self._taken((tenant_id, key), stale_before)) is not None:
                return there
            self._tables.replies[tenant_id, key] = reply
            return None

    async def drop_reply(self, tenant_id: str, key: str, reply: IdempotentReply) -> None:
        with self._lock:
            if self._tables.replies.get((tenant_id, key)) == reply:
                del self._tables.replies[tenant_id, key]

    async def forget_replies(self, before: datetime) -> int:
        with self._lock:
            old = [place for place, reply in self._tables.replies.items() if reply.began_at < before]
            for place in old:
                del self._tables.replies[place]
            return len(old)

    def _taken(self, place: tuple[str, str], stale_before: datetime) -> IdempotentReply | None:
        """The reply that has the key, unless a crash left it."""
        there = self._tables.replies.get(place)
        return None if there is None or there.left_by_crash(stale_before) else there


class MemoryRates:
    """Counters of requests, by window of time."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        with self._lock:
            if window not in self._tables.rates:
                self._tables.rates[window] = defaultdict(int)
                for old in [one for one in self._tables.rates if one < oldest_kept(window)]:
                    del self._tables.rates[old]
            self._tables.rates[window][subject] += amount
            return self._tables.rates[window][subject]


def charge_runs(tables: MemoryTables, settled: Iterable[SettledRun]) -> None:
    """Charge runs to their tenants; with the lock held."""
    for tenant_id, month, runs in charges(settled):
        _spend(tables, tenant_id, month, runs=runs)


def _spend(tables: MemoryTables, tenant_id: str, month: str, *, runs: int = 0, tokens: int = 0) -> None:
    before = tables.spent.get((tenant_id, month), NOTHING)
    tables.spent[tenant_id, month] = MonthlyUsage(before.runs + runs, before.planner_tokens + tokens)


class _StoredSecret(NamedTuple):
    sealed: str
    created_at: datetime
    updated_at: datetime


class MemorySealed:
    """Keeps sealed values as long as the process lives."""

    def __init__(self) -> None:
        self._secrets: dict[SecretKey, _StoredSecret] = {}

    async def put(self, key: SecretKey, sealed: str, *, now: datetime) -> None:
        before = self._secrets.get(key)
        self._secrets[key] = _StoredSecret(sealed, now if before is None else before.created_at, now)

    async def replace(self, key: SecretKey, sealed: str, *, instead_of: str) -> bool:
        before = self._secrets.get(key)
        if before is None or before.sealed != instead_of:
            return False
        self._secrets[key] = before._replace(sealed=sealed)
        return True

    async def find(self, keys: Collection[SecretKey]) -> dict[SecretKey, str]:
        return {key: self._secrets[key].sealed for key in keys if key in self._secrets}

    async def delete(self, key: SecretKey) -> bool:
        return self._secrets.pop(key, None) is not None

    async def names(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[SecretEntry]:
        listed = sorted(
            SecretEntry(key.name, stored.created_at, stored.updated_at)
            for key, stored in self._secrets.items()
            if key.tenant_id == tenant_id and (page.after is None or key.name > page.after)
        )
        return listed[: page.limit]

    async def keys(self, *, limit: int, after: SecretKey | None = None) -> list[SecretKey]:
        return sorted(key for key in self._secrets if after is None or key > after)[:limit]
