"""Keys that let callers in."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.access.tenant import Spent, Standing, Tenant
from cadenza.ports.catalog import FIRST_PAGE, Page


class KeptKey(NamedTuple):
    """A key with the digest of its secret; the secret itself is nowhere."""

    key: ApiKey
    digest: bytes


class KeyStore(Protocol):
    """Keys by their ids, which are no secret."""

    async def add_key(self, kept: KeptKey) -> None:
        """Keep a new key; Conflict if its id is taken.

        With a key of a user, those of the tenant's users that have run out are forgotten.
        """
        ...

    async def kept_key(self, key_id: str) -> KeptKey | None:
        """A key of any tenant: who knocks has not said yet who they are."""
        ...

    async def still_kept(self, key_ids: Collection[str]) -> list[ApiKey]:
        """Those of these keys, of any tenant, that nobody has taken back; asked for with one question."""
        ...

    async def keys(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[ApiKey]:
        """A tenant's keys, in the order of their ids; those of its users are left out."""
        ...

    async def remove_key(self, tenant_id: str, key_id: str) -> None:
        """Let nobody in with it any more; NotFound if the tenant has none under this id."""
        ...


class Mint(Protocol):
    """The only source of new secrets."""

    def secret(self) -> str:
        """A word of letters and digits that nobody can guess, never given before."""
        ...


class Pass(StrEnum):
    """What a secret is good for."""

    LINK = "link"
    """Opening one session, once."""
    SESSION = "session"


class Session(NamedTuple):
    """What a secret opens, kept under its digest; the secret itself is nowhere."""

    digest: bytes
    kind: Pass
    tenant_id: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime
    key_id: str | None = None
    """The key that it was opened with: it ends with that key."""


class SessionStore(Protocol):
    """Sessions by the digests of their secrets."""

    async def open_session(self, session: Session) -> None:
        """Keep a session, and forget those that had run out when it was made."""
        ...

    async def session(self, digest: bytes) -> Session | None:
        """What a secret opens, also if it has run out."""
        ...

    async def end_session(self, digest: bytes) -> Session | None:
        """Forget what a secret opens, and tell what it was: of any number of callers, one is told."""
        ...


class MonthSpent(NamedTuple):
    """What a tenant spent in a month."""

    month: str
    spent: Spent


class TenantStore(Protocol):
    """Tenants and their counters. Runs are counted by `finalize`, in the commit that closes them."""

    async def put_tenant(self, tenant: Tenant) -> None:
        """Keep a tenant, new or changed."""
        ...

    async def tenant(self, tenant_id: str) -> Tenant:
        """The tenant; one that nobody has put is itself without limits."""
        ...

    async def standings(self, tenant_ids: Collection[str], month: str) -> Mapping[str, Standing]:
        """Limits and spending of several tenants in one month, in one round trip."""
        ...

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        """Count what a planner used."""
        ...

    async def spending(self, tenant_id: str, months: int) -> list[MonthSpent]:
        """The months in which something was spent, newest first."""
        ...

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        """How many live endpoints a tenant has; counted no further than `most`."""
        ...


class Spending(StrEnum):
    """What a quota is for."""

    AI = "ai"
    ENDPOINT = "endpoint"


class QuotaRequest(NamedTuple):
    """The wish of a tenant to spend."""

    kind: Spending
    tenant_id: str
    cost: int = 1


class QuotaAnswer(NamedTuple):
    """Allowed, or the moment from which it will be."""

    opens_at: datetime | None = None

    @property
    def allowed(self) -> bool:
        """May it be spent now?"""
        return self.opens_at is None


class Quota(Protocol):
    """Gates spending outside the governor, before a planner thinks and before an endpoint runs."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer all requests, in their order, in one round trip; what is allowed counts as spent."""
        ...


class Reply(NamedTuple):
    """The answer to a request that carried an idempotency key; no status while it is being worked on."""

    fingerprint: str
    """What the request asked for: the same key with another request is a mistake."""
    began_at: datetime
    status: int | None = None
    body: bytes = b""


def own_key(user_id: str, key: str) -> str:
    """The key of a request that is about one user: nobody else's is like it, and its reply goes with them."""
    return f"{own_keys(user_id)}{key}"


def own_keys(user_id: str) -> str:
    """What the keys of a user's own begin with; no key that is sent has a space in it."""
    return f"user {user_id} "


class ReplyStore(Protocol):
    """Replies by tenant and idempotency key; those of a user's own are forgotten with the user."""

    async def begin_reply(
        self, tenant_id: str, key: str, reply: Reply, *, stale_before: datetime
    ) -> Reply | None:
        """Take the key for this request: None, or the reply that has it already.

        Of any number of callers one takes it. One that began before `stale_before`
        and has no status was left behind by a crash, and is taken over.
        """
        ...

    async def end_reply(self, tenant_id: str, key: str, reply: Reply) -> None:
        """Keep the answer."""
        ...

    async def drop_reply(self, tenant_id: str, key: str) -> None:
        """Give the key back: nothing was done."""
        ...

    async def forget_replies(self, before: datetime) -> int:
        """Forget the replies that began earlier; how many there were."""
        ...


class RateStore(Protocol):
    """Counters that all processes on one database share."""

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        """Add to what a subject has drawn in a window; how much that is now. Old windows go."""
        ...


class RateLimiter(Protocol):
    """Keeps one caller from taking the place of all others."""

    async def take(self, subject: str) -> float | None:
        """Let a subject in: None, or in how many seconds to come back."""
        ...
