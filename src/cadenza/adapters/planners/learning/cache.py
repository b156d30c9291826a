"""A write-back cache of what was learned, in front of the planner's notes in the store."""

from collections import OrderedDict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.domain.json_values import Json
from cadenza.domain.planning.learning.recent_rate import JobRate
from cadenza.domain.planning.learning.run_price import RunPrice
from cadenza.domain.planning.learning.serialization import (
    PLANNER,
    job_from_note,
    model_from_note,
    price_from_note,
    shared_from_note,
    to_note,
)
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.planning import AnalysisStore

VERSION = 1
SHARED_NOTE, RUN_PRICE_NOTE, JOB_NOTE = "*pool", "*purse", "*job"
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


class LearningScope(NamedTuple):
    """With whom an endpoint learns: all of its tenant, those of its budget, and those of its job."""

    tenant_id: str
    budget: str
    """The endpoints that share one budget and so one price."""
    job_id: str

    @property
    def shared_key(self) -> EndpointKey:
        """The key of what all endpoints of the tenant have learned."""
        return EndpointKey(self.tenant_id, SHARED_NOTE)

    @property
    def run_price_key(self) -> EndpointKey:
        """The key of the budget's price."""
        return EndpointKey(self.tenant_id, f"{RUN_PRICE_NOTE}:{self.budget}")

    @property
    def job_key(self) -> EndpointKey:
        """The key of the job's rate."""
        return EndpointKey(self.tenant_id, f"{JOB_NOTE}:{self.job_id}")


class LearningCache:
    """Holds the states in use, and saves the changed ones once a minute, in one commit.

    A process that is killed loses a minute; most of it is learned again from the recent
    runs that every briefing holds.
    """

    def __init__(self, store: AnalysisStore, *, most: int = MOST_CACHED) -> None:
        self._store = store
        self._most = most
        self._states: OrderedDict[EndpointKey, LearnedState] = OrderedDict()
        self._shared_models: dict[EndpointKey, SharedModel] = {}
        self._run_prices: dict[EndpointKey, RunPrice] = {}
        self._job_rates: OrderedDict[EndpointKey, JobRate] = OrderedDict()
        self._unsaved: set[EndpointKey] = set()
        self._saved_at: datetime | None = None

    async def load(self, key: EndpointKey, scope: LearningScope) -> None:
        """Load what is missing about an endpoint."""
        shared_key, run_price_key, job_key = scope.shared_key, scope.run_price_key, scope.job_key
        wanted = [
            *([] if key in self._states else [key]),
            *([] if shared_key in self._shared_models else [shared_key]),
            *([] if run_price_key in self._run_prices else [run_price_key]),
            *([] if job_key in self._job_rates else [job_key]),
        ]
        if not wanted:
            return
        notes = await self._store.notes(PLANNER, wanted)
        # A concurrent analysis may have loaded and changed the same entries meanwhile: they stay.
        self._states.setdefault(key, LearnedState.from_note(notes.get(key)))
        self._shared_models.setdefault(
            shared_key, _restored(shared_from_note, notes.get(shared_key), SharedModel())
        )
        self._run_prices.setdefault(
            run_price_key, _restored(price_from_note, notes.get(run_price_key), RunPrice())
        )
        self._job_rates.setdefault(job_key, _restored(job_from_note, notes.get(job_key), JobRate()))

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

    def shared(self, scope: LearningScope) -> SharedModel:
        """The shared model of a tenant, with the price of one budget and the rate of one job."""
        return self._shared_models[scope.shared_key]._replace(
            run_price=self._run_prices[scope.run_price_key],
            job=self._job_rates.get(scope.job_key, JobRate()),
        )

    def put_shared(self, scope: LearningScope, shared: SharedModel) -> None:
        """Set the shared model of a tenant, the price of one budget and the rate of one job, to be saved."""
        self._shared_models[scope.shared_key] = shared
        self._run_prices[scope.run_price_key] = shared.run_price
        self._job_rates[scope.job_key] = shared.job
        self._job_rates.move_to_end(scope.job_key)
        self._unsaved |= {scope.shared_key, scope.run_price_key, scope.job_key}

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
        for key in keys:
            for models in (self._shared_models, self._run_prices, self._job_rates):
                if key in models:
                    yield key, [VERSION, to_note(models[key])]
            if key in self._states:
                yield key, self._states[key].to_note()

    def _evict(self) -> None:
        """Remove the least recently used entries beyond the limit; they are saved."""
        for cached in (self._states, self._job_rates):
            saved = [key for key in cached if key not in self._unsaved]
            for key in saved[: max(len(cached) - self._most, 0)]:
                del cached[key]


def _restored(restore: Any, note: Any, default: Any) -> Any:
    """A restored note; the default if it has another version or shape."""
    try:
        version, value = note
        return restore(value) if version == VERSION else default
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return default
