"""A write-back cache of what was learned, in front of the planner's notes in the store."""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.json_values import Json
from cadenza.domain.planning.learning.run_price import RunPrice
from cadenza.domain.planning.learning.serialization import (
    PLANNER,
    model_from_note,
    price_from_note,
    shared_from_note,
    to_note,
)
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.planning import AnalysisStore

VERSION = 1
SHARED_NOTE, RUN_PRICE_NOTE = "*pool", "*purse"
"""Ids of notes that belong to no endpoint; no endpoint has such an id."""
SAVE_EVERY = timedelta(seconds=60)
MOST_CACHED = 20_000


class LearnedState(NamedTuple):
    """What the planner keeps about one endpoint."""

    model: EndpointModel = EndpointModel()
    period_s: float = 0.0
    """The period for which the model was learned."""
    fingerprint: str | None = None
    """The fingerprint of its last response."""
    explained_s: float = 0.0
    """When its reasoning was last recorded."""

    def to_note(self) -> Json:
        """The JSON for the store."""
        return [VERSION, *(to_note(part) for part in self)]

    @classmethod
    def from_note(cls, note: Any) -> "LearnedState":
        """Restore from the store; a note that cannot be read starts from scratch."""
        try:
            # Notes of earlier releases hold more in between.
            version, model, period_s, fingerprint, *_, explained_s = note
            if version != VERSION:
                return cls()
            return cls(model_from_note(model), float(period_s), fingerprint, float(explained_s))
        except (TypeError, ValueError, KeyError, IndexError, AttributeError):
            return cls()


class BudgetScope(NamedTuple):
    """The endpoints of a tenant that share one budget and so one price."""

    tenant_id: str
    group: str


class LearningCache:
    """Holds the states in use, and saves the changed ones once a minute, in one commit.

    A process that is killed loses a minute; most of it is learned again from the recent
    runs that every briefing holds.
    """

    def __init__(self, store: AnalysisStore, *, most: int = MOST_CACHED) -> None:
        self._store = store
        self._most = most
        self._states: OrderedDict[EndpointKey, LearnedState] = OrderedDict()
        self._shared_models: dict[str, SharedModel] = {}
        self._run_prices: dict[BudgetScope, RunPrice] = {}
        self._unsaved: set[EndpointKey] = set()
        self._saved_at: datetime | None = None

    async def load(self, key: EndpointKey, scope: BudgetScope) -> None:
        """Load what is missing about an endpoint."""
        wanted = [
            *([] if key in self._states else [key]),
            *([] if key.tenant_id in self._shared_models else [_shared_key(key.tenant_id)]),
            *([] if scope in self._run_prices else [_run_price_key(scope)]),
        ]
        if not wanted:
            return
        notes = await self._store.notes(PLANNER, wanted)
        # A concurrent analysis may have loaded and changed the same entries meanwhile: they stay.
        self._states.setdefault(key, LearnedState.from_note(notes.get(key)))
        self._shared_models.setdefault(
            key.tenant_id, _restored(shared_from_note, notes.get(_shared_key(key.tenant_id)), SharedModel())
        )
        self._run_prices.setdefault(
            scope, _restored(price_from_note, notes.get(_run_price_key(scope)), RunPrice())
        )

    def has(self, key: EndpointKey) -> bool:
        """Whether an endpoint is cached."""
        return key in self._states

    def get(self, key: EndpointKey) -> LearnedState:
        """The state of an endpoint."""
        return self._states.get(key, LearnedState())

    def put(self, key: EndpointKey, state: LearnedState) -> None:
        """Set the state of an endpoint, to be saved."""
        self._states[key] = state
        self._states.move_to_end(key)
        self._unsaved.add(key)

    def shared(self, scope: BudgetScope) -> SharedModel:
        """The shared model of a tenant, with the price of one budget."""
        return self._shared_models[scope.tenant_id]._replace(run_price=self._run_prices[scope])

    def put_shared(self, scope: BudgetScope, shared: SharedModel) -> None:
        """Set the shared model of a tenant and the price of one budget, to be saved."""
        self._shared_models[scope.tenant_id], self._run_prices[scope] = shared, shared.run_price
        self._unsaved |= {_shared_key(scope.tenant_id), _run_price_key(scope)}

    async def save(self, now: datetime) -> None:
        """Save what changed, at most once a minute; if the store is unavailable, it is saved later."""
        if self._saved_at is not None and timedelta() <= now - self._saved_at < SAVE_EVERY:
            return
        unsaved, self._unsaved, self._saved_at = self._unsaved, set(), now
        try:
            await self._store.save_notes(PLANNER, dict(self._notes(unsaved)), now)
        except Unavailable:
            self._unsaved |= unsaved
            return
        self._evict()

    def _notes(self, keys: Collection[EndpointKey]) -> Iterable[tuple[EndpointKey, Json]]:
        for tenant_id, shared in self._shared_models.items():
            if _shared_key(tenant_id) in keys:
                yield _shared_key(tenant_id), [VERSION, to_note(shared)]
        for scope, run_price in self._run_prices.items():
            if _run_price_key(scope) in keys:
                yield _run_price_key(scope), [VERSION, to_note(run_price)]
        for key in keys:
            if key in self._states:
                yield key, self._states[key].to_note()

    def _evict(self) -> None:
        """Remove the least recently used entries beyond the limit; they are saved."""
        saved = [key for key in self._states if key not in self._unsaved]
        for key in saved[: max(len(self._states) - self._most, 0)]:
            del self._states[key]


def _shared_key(tenant_id: str) -> EndpointKey:
    return EndpointKey(tenant_id, SHARED_NOTE)


def _run_price_key(scope: BudgetScope) -> EndpointKey:
    return EndpointKey(scope.tenant_id, f"{RUN_PRICE_NOTE}:{scope.group}")


def _restored(restore: Any, note: Any, default: Any) -> Any:
    """A restored note; the default if it has another version or shape."""
    try:
        version, value = note
        return restore(value) if version == VERSION else default
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return default
