"""What the parts of the memory store share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import RLock

from cadenza.adapters.stores.common import following
from cadenza.adapters.stores.memory.due_index import Agenda
from cadenza.adapters.stores.memory.wakeup import Belfry
from cadenza.domain.planning.rules.rule import Rule
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job
from cadenza.domain.scheduling.run import Run, SkippedSlot
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord


class Shelves(ABC):
    """The dictionaries, and the ways to write in them; who uses these holds the lock."""

    _lock: RLock
    _belfry: Belfry
    _endpoints: dict[EndpointKey, Endpoint]
    _rank: dict[EndpointKey, int]
    _runs: dict[EndpointKey, dict[str, Run]]
    _hints: dict[EndpointKey, list[HintRecord]]
    _jobs: dict[tuple[str, str], Job]
    _rules: dict[tuple[str, str], Rule]
    _due: Agenda
    _sweeps: Agenda

    @abstractmethod
    def _put(self, endpoint: Endpoint, passed: Sequence[SkippedSlot] = ()) -> None:
        """Keep an endpoint as it stands, and the runs of slots that passed."""

    def _keep(self, endpoint: Endpoint) -> None:
        """Keep a new endpoint; it follows its job from the start."""
        self._rank[endpoint.key] = len(self._rank)
        self._put(following(endpoint, self._job_of(endpoint)))
        self._belfry.ring()

    def _write(self, amended: ChangedEndpoint) -> ChangedEndpoint:
        """Keep a changed endpoint with all that its change records, and ring if its next run has moved."""
        after = following(amended.endpoint, self._job_of(amended.endpoint))
        moved = after.next_run_at != self._endpoints[after.key].next_run_at
        self._put(after, amended.skipped)
        if amended.record is not None:
            self._hints[after.key].append(amended.record)
        if moved:
            self._belfry.ring()
        return amended._replace(endpoint=after)

    def _job_of(self, endpoint: Endpoint) -> Job | None:
        return self._jobs.get((endpoint.tenant_id, endpoint.job_id))

    def _of_tenant(self, tenant_id: str) -> list[Endpoint]:
        """A tenant's endpoints, in the order of their ids."""
        found = [one for one in list(self._endpoints.values()) if one.tenant_id == tenant_id]
        return sorted(found, key=lambda endpoint: endpoint.id)
