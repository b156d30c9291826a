"""The queue of endpoints to analyze: each at most once, fair between tenants, and bounded."""

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey

PRIORITY = {Trigger.FAILURE: 3, Trigger.RUN: 2, Trigger.SIBLING: 1, Trigger.DUE: 0}
NO_KEYS: frozenset[EndpointKey] = frozenset()


class AnalysisRequest(NamedTuple):
    """A request to analyze an endpoint, and why."""

    key: EndpointKey
    trigger: Trigger
    """The strongest trigger; if it is `due`, only the due planners analyze."""
    page: int = 0
    """The oldest page of the feed that caused it."""
    due_planners: frozenset[str] = frozenset()
    """Planners that had asked to analyze again by now."""

    @property
    def is_low_priority(self) -> bool:
        """Whether a sibling's change is its only reason."""
        return self.trigger is Trigger.SIBLING and not self.due_planners

    def is_for(self, planner: str) -> bool:
        """Whether this planner is to analyze."""
        return self.trigger is not Trigger.DUE or planner in self.due_planners

    def trigger_for(self, planner: str, default: Trigger) -> Trigger:
        """The trigger for this planner; `default` is the one in the briefing."""
        return Trigger.DUE if self.trigger is Trigger.SIBLING and planner in self.due_planners else default

    def merged_with(self, other: "AnalysisRequest") -> "AnalysisRequest":
        """One request with the reasons of both."""
        stronger = max(self.trigger, other.trigger, key=PRIORITY.__getitem__)
        return AnalysisRequest(
            self.key, stronger, min(self.page, other.page), self.due_planners | other.due_planners
        )


NO_REQUESTS: dict[EndpointKey, AnalysisRequest] = {}


class _TenantQueue:
    """Requests by tenant, in order of arrival; tenants are served round-robin."""

    def __init__(self) -> None:
        self.tenants: dict[str, dict[EndpointKey, AnalysisRequest]] = {}

    def put(self, request: AnalysisRequest) -> None:
        self.tenants.setdefault(request.key.tenant_id, {})[request.key] = request

    def get(self, key: EndpointKey) -> AnalysisRequest | None:
        return self.tenants.get(key.tenant_id, NO_REQUESTS).get(key)

    def pop(self, key: EndpointKey) -> AnalysisRequest | None:
        own = self.tenants.get(key.tenant_id)
        request = own.pop(key, None) if own is not None else None
        if own is not None and not own:
            del self.tenants[key.tenant_id]
        return request

    def take(self, limit: int, busy: AbstractSet[EndpointKey]) -> list[AnalysisRequest]:
        """Up to `limit` requests, one of each tenant per round; endpoints in `busy` are left in the queue."""
        taken: list[AnalysisRequest] = []
        idle = 0
        while self.tenants and idle < len(self.tenants) and len(taken) < limit:
            tenant_id = next(iter(self.tenants))
            self.tenants[tenant_id] = self.tenants.pop(tenant_id)
            key = next((key for key in self.tenants[tenant_id] if key not in busy), None)
            request = None if key is None else self.pop(key)
            if request is None:
                idle += 1
                continue
            taken.append(request)
            idle = 0
        return taken

    def drop_one(self) -> None:
        """Drop the newest request of the tenant that has most."""
        largest = max(self.tenants.values(), key=len)
        self.pop(next(reversed(largest)))


class AnalysisQueue:
    """A bounded queue; requests caused only by a sibling come last, and are dropped first when it is full."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._urgent, self._low_priority = _TenantQueue(), _TenantQueue()
        self.dropped = 0

    def __len__(self) -> int:
        return self._count

    def put(self, request: AnalysisRequest) -> None:
        """Queue a request; an endpoint that is queued already keeps its position, with both reasons."""
        for queue in (self._urgent, self._low_priority):
            waiting = queue.get(request.key)
            if waiting is not None:
                request = waiting.merged_with(request)
                if request.is_low_priority is waiting.is_low_priority:
                    queue.put(request)
                    return
                queue.pop(request.key)
                self._count -= 1
        (self._low_priority if request.is_low_priority else self._urgent).put(request)
        self._count += 1
        if self._count > self._size:
            (self._low_priority if self._low_priority.tenants else self._urgent).drop_one()
            self._count -= 1
            self.dropped += 1

    def take(self, limit: int, busy: AbstractSet[EndpointKey] = NO_KEYS) -> list[AnalysisRequest]:
        """Up to `limit` requests, round-robin over tenants; endpoints in `busy` stay queued."""
        taken = self._urgent.take(limit, busy)
        taken += self._low_priority.take(limit - len(taken), busy)
        self._count -= len(taken)
        return taken

    def oldest_page(self) -> int | None:
        """The oldest page of the feed with a queued request."""
        pages = (
            request.page
            for queue in (self._urgent, self._low_priority)
            for own in queue.tenants.values()
            for request in own.values()
        )
        return min(pages, default=None)
