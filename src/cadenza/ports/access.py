"""Keys, sessions, tenants, quotas, replies, rates and audit records: what their stores guarantee."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from cadenza.domain.access.audit import EVERY_RECORD, AuditFilter, AuditRecord
from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.access.tenant import MonthlyUsage, QuotaUsage, Tenant
from cadenza.ports.catalog import FIRST_PAGE, Page


class StoredKey(NamedTuple):
    """A key with the digest of its secret; the secret itself is not stored."""

    key: ApiKey
    digest: bytes
    moved_to: str | None = None
    """Where its tenant was moved to, "" if that is not known; None if the tenant is here."""


class KeyStore(Protocol):
    """Keys by their ids, which are not secret."""

    async def add_key(self, stored: StoredKey) -> None:
        """Store a new key; Conflict if its id is taken.

        With a key of a user, expired keys of the tenant's users are deleted. NotFound if the key that
        made it was deleted.
        """
        ...

    async def stored_key(self, key_id: str) -> StoredKey | None:
        """A key of any tenant by its id: the caller is not known yet.

        A key that any process has deleted is not found any more, as soon as this process can know it.
        """
        ...

    async def existing_keys(self, key_ids: Collection[str]) -> list[ApiKey]:
        """Those of these keys, of any tenant, that were not deleted; with one query."""
        ...

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        """A tenant's keys, in the order of their ids; those of its users are left out."""
        ...

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        """Delete a key, and the tokens of users that were made with it; NotFound if there is none."""
        ...

    async def removals(self) -> int:
        """A number that changes when a key was deleted by any process, also one of a deleted user.

        It may change at other times, too. To ask for it takes microseconds.
        """
        ...


class TokenGenerator(Protocol):
    """The only source of new tokens."""

    def secret(self) -> str:
        """A new random token of letters and digits."""
        ...


class SessionKind(StrEnum):
    """What a session's secret is for."""

    LINK = "link"
    """A login link, which opens one session, once."""
    SESSION = "session"


class Session(NamedTuple):
    """A login session or login link, stored under the digest of its secret, which is not stored."""

    digest: bytes
    kind: SessionKind
    tenant_id: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime
    key_id: str | None = None
    """The key of the login: the session ends when that key is deleted or expires."""


class SessionStore(Protocol):
    """Sessions by the digests of their secrets."""

    async def open_session(self, session: Session) -> None:
        """Store a session, and delete those that had expired when it was made."""
        ...

    async def session(self, digest: bytes) -> Session | None:
        """The session of a secret's digest, even if it has expired."""
        ...

    async def end_session(self, digest: bytes) -> Session | None:
        """Delete a session and return it: of any number of concurrent callers, one gets it."""
        ...


class UsageOfMonth(NamedTuple):
    """What a tenant used in a month."""

    month: str
    spent: MonthlyUsage


class TenantStore(Protocol):
    """Tenants and their monthly counters. Runs are counted by `finalize`, in the commit that closes them."""

    async def put_tenant(self, tenant: Tenant) -> None:
        """Store a tenant, new or changed."""
        ...

    async def tenant(self, tenant_id: str) -> Tenant:
        """The tenant; one that was never stored has the default limits."""
        ...

    async def quota_usage(self, tenant_ids: Collection[str], month: str) -> Mapping[str, QuotaUsage]:
        """Limits and usage of several tenants in one month, in one round trip."""
        ...

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        """Count the tokens that a planner used."""
        ...

    async def usage_by_month(self, tenant_id: str, months: int) -> list[UsageOfMonth]:
        """The months with any usage, newest first."""
        ...

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        """The number of live endpoints of a tenant, counted no further than `most`."""
        ...


class QuotaKind(StrEnum):
    """The kinds of quota."""

    AI = "ai"
    ENDPOINT = "endpoint"


class QuotaRequest(NamedTuple):
    """A tenant's request to use some of its quota."""

    kind: QuotaKind
    tenant_id: str
    cost: int = 1


class QuotaAnswer(NamedTuple):
    """Allowed, or the moment from which it will be."""

    opens_at: datetime | None = None

    @property
    def allowed(self) -> bool:
        """Whether it may be used now."""
        return self.opens_at is None


class Quota(Protocol):
    """Checked outside the governor, before an analysis and before an endpoint runs."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer all requests, in their order, in one round trip; what is allowed counts as used."""
        ...


class IdempotentReply(NamedTuple):
    """The reply to a request with an idempotency key; without a status while the request is in progress."""

    fingerprint: str
    """A digest of the request: the same key with another request is an error."""
    began_at: datetime
    status: int | None = None
    body: bytes = b""

    def left_by_crash(self, stale_before: datetime) -> bool:
        """Whether it began so early, and has no status, that a crash must have left it."""
        return self.status is None and self.began_at < stale_before


Answering = Callable[[], Awaitable[IdempotentReply]]
"""Carries out a request that has begun; its reply, with a status."""


def user_reply_key(user_id: str, key: str) -> str:
    """The stored key of a request about one user: unlike any other, and deleted with the user."""
    return f"{user_reply_prefix(user_id)}{key}"


def user_reply_prefix(user_id: str) -> str:
    """The prefix of a user's stored keys; a key that a client sends has no space."""
    return f"user {user_id} "


class IdempotencyStore(Protocol):
    """Replies by tenant and idempotency key; those about a user are deleted with the user."""

    async def find_reply(self, tenant_id: str, key: str) -> IdempotentReply | None:
        """The reply that has the key, also of a request in progress."""
        ...

    async def keep_reply(
        self, tenant_id: str, key: str, begun: IdempotentReply, *, answer: Answering, stale_before: datetime
    ) -> IdempotentReply | None:
        """Carry out a request, and store its reply in the same commit: None, or the reply that has the key.

        All that `answer` writes in this store is in that commit: after a crash both are there, or neither.
        Of any number of concurrent callers, what one of them has written remains, and the others get its
        reply. If `answer` raises, the key stays free. It waits for nothing but this store. A key that
        this request has reserved by `begin_reply` is its own.
        """
        ...

    async def begin_reply(
        self, tenant_id: str, key: str, reply: IdempotentReply, *, stale_before: datetime
    ) -> IdempotentReply | None:
        """Reserve the key for a request that cannot be one commit: None, or the reply that has it already.

        Of any number of concurrent callers, one reserves it. A reply that began before
        `stale_before` and has no status was left by a crash, and is replaced.
        """
        ...

    async def drop_reply(self, tenant_id: str, key: str, reply: IdempotentReply) -> None:
        """Release the key if this request still has it: nothing was done."""
        ...

    async def forget_replies(self, before: datetime) -> int:
        """Delete the replies that began earlier; how many there were."""
        ...


class RateStore(Protocol):
    """Counters that all processes on one database share."""

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        """Add to what a subject has drawn in a rate window; the new total. Old windows are deleted."""
        ...


Done = TypeVar("Done")
AuditedWork = Callable[[], Awaitable[tuple[Done, Sequence[AuditRecord]]]]
"""Carries out a change; what it answers, and the records of what it did."""


class AuditStore(Protocol):
    """Audit records by tenant; none is ever changed."""

    async def change_with_records(self, work: AuditedWork[Done]) -> Done:
        """Carry out a change and add its records, in one commit: after a crash both are there, or neither.

        If the work raises, nothing of it remains. It waits for nothing but this store.
        """
        ...

    async def add_records(self, records: Sequence[AuditRecord]) -> None:
        """Add records of what cannot be one commit."""
        ...

    async def records(
        self, tenant_id: str, *, wanted: AuditFilter = EVERY_RECORD, page: Page = FIRST_PAGE
    ) -> list[AuditRecord]:
        """A tenant's records, newest first; a page begins behind the record of an id."""
        ...

    async def record(self, tenant_id: str, record_id: str) -> AuditRecord:
        """One record; NotFound if the tenant has none with this id."""
        ...

    async def forget_records(self, before: datetime) -> int:
        """Delete records that are older; how many there were."""
        ...
