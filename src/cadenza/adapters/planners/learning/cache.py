"""What the learning planner remembers: at hand for those that run, in the store for all."""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.planning.learning.run_price import Purse
from cadenza.domain.planning.learning.serialization import known_of, pool_of, purse_of, written
from cadenza.domain.planning.learning.state import Known, Pool
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.target import Json
from cadenza.ports.planning import AnalysisStore

NOTES_OF = "learned"
VERSION = 1
POOL, PURSE = "*pool", "*purse"
"""Notes that are not of one endpoint; no endpoint has such an id."""
WRITTEN_EVERY = timedelta(seconds=60)
MOST_AT_HAND = 20_000


class Hand(NamedTuple):
    """Whose hint it is cannot be seen on it; this is enough to know it again."""

    interval_ms: int
    expires_s: float

    @classmethod
    def of(cls, hint: IntervalHint) -> "Hand":
        """What to know a hint by."""
        return cls(hint.interval_ms, hint.expires_at.timestamp())


class Memory(NamedTuple):
    """What is remembered of one endpoint."""

    known: Known = Known()
    beat_s: float = 0.0
    """The beat in which it was learned."""
    shown: str | None = None
    """What it showed last."""
    mine: Hand | None = None
    """The planner's own hint."""
    theirs: Hand | None = None
    """Somebody else's, whose origin was looked up."""
    told_s: float = 0.0
    """When its thoughts were last told."""

    def note(self) -> Json:
        """For the store."""
        return [VERSION, *(written(part) for part in self)]

    @classmethod
    def of(cls, note: Any) -> "Memory":
        """From the store; what cannot be read is learned anew."""
        try:
            version, known, beat_s, shown, *hands, told_s = note
            if version != VERSION:
                return cls()
            mine, theirs = (None if hand is None else Hand(int(hand[0]), float(hand[1])) for hand in hands)
            return cls(known_of(known), float(beat_s), shown, mine, theirs, float(told_s))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError):
            return cls()


class Scope(NamedTuple):
    """Who spends from one purse."""

    tenant_id: str
    of: str


class LearnedMemory:
    """Keeps what is in use at hand, and writes what is new once a minute, in one commit.

    Who is killed loses a minute; the endpoint's recent runs, which every briefing holds,
    tell most of it again.
    """

    def __init__(self, store: AnalysisStore, *, most: int = MOST_AT_HAND) -> None:
        self._store = store
        self._most = most
        self._memories: OrderedDict[EndpointKey, Memory] = OrderedDict()
        self._pools: dict[str, Pool] = {}
        self._purses: dict[Scope, Purse] = {}
        self._new: set[EndpointKey] = set()
        self._written_at: datetime | None = None

    async def recall(self, key: EndpointKey, scope: Scope) -> None:
        """Have everything at hand about an endpoint."""
        wanted = [
            *([] if key in self._memories else [key]),
            *([] if key.tenant_id in self._pools else [_pool_key(key.tenant_id)]),
            *([] if scope in self._purses else [_purse_key(scope)]),
        ]
        if not wanted:
            return
        notes = await self._store.notes(NOTES_OF, wanted)
        # Another sitting may have read the same meanwhile, and gone on: what is at hand stays.
        self._memories.setdefault(key, Memory.of(notes.get(key)))
        self._pools.setdefault(key.tenant_id, _restored(pool_of, notes.get(_pool_key(key.tenant_id)), Pool()))
        self._purses.setdefault(scope, _restored(purse_of, notes.get(_purse_key(scope)), Purse()))

    def has(self, key: EndpointKey) -> bool:
        """Is it at hand?"""
        return key in self._memories

    def of(self, key: EndpointKey) -> Memory:
        """What is remembered of an endpoint."""
        return self._memories.get(key, Memory())

    def keep(self, key: EndpointKey, memory: Memory) -> None:
        """Remember an endpoint so."""
        self._memories[key] = memory
        self._memories.move_to_end(key)
        self._new.add(key)

    def pool(self, scope: Scope) -> Pool:
        """What the endpoints of a tenant know together, with the purse of a scope."""
        return self._pools[scope.tenant_id]._replace(purse=self._purses[scope])

    def keep_pool(self, scope: Scope, pool: Pool) -> None:
        """Remember that so."""
        self._pools[scope.tenant_id], self._purses[scope] = pool, pool.purse
        self._new |= {_pool_key(scope.tenant_id), _purse_key(scope)}

    async def write(self, now: datetime) -> None:
        """Write down what is new, if that was a while ago; what cannot be written now is written later."""
        if self._written_at is not None and timedelta() <= now - self._written_at < WRITTEN_EVERY:
            return
        new, self._new, self._written_at = self._new, set(), now
        try:
            await self._store.save_notes(NOTES_OF, dict(self._notes(new)), now)
        except Unavailable:
            self._new |= new
            return
        self._forget()

    def _notes(self, keys: Collection[EndpointKey]) -> Iterable[tuple[EndpointKey, Json]]:
        for tenant_id, pool in self._pools.items():
            if _pool_key(tenant_id) in keys:
                yield _pool_key(tenant_id), [VERSION, written(pool)]
        for scope, purse in self._purses.items():
            if _purse_key(scope) in keys:
                yield _purse_key(scope), [VERSION, written(purse)]
        for key in keys:
            if key in self._memories:
                yield key, self._memories[key].note()

    def _forget(self) -> None:
        """Let go of those that have not run for longest, if there are too many; the store knows them."""
        written_down = [key for key in self._memories if key not in self._new]
        for key in written_down[: max(len(self._memories) - self._most, 0)]:
            del self._memories[key]


def _pool_key(tenant_id: str) -> EndpointKey:
    return EndpointKey(tenant_id, POOL)


def _purse_key(scope: Scope) -> EndpointKey:
    return EndpointKey(scope.tenant_id, f"{PURSE}:{scope.of}")


def _restored(restore: Any, note: Any, otherwise: Any) -> Any:
    """A note read back; of another version or shape, it is as if there were none."""
    try:
        version, value = note
        return restore(value) if version == VERSION else otherwise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return otherwise
