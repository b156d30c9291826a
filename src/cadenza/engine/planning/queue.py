"""Endpoints that wait to be thought about: each once, tenants in turns, and never too many."""

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey

STRENGTH = {Trigger.FAILURE: 3, Trigger.RUN: 2, Trigger.SIBLING: 1, Trigger.DUE: 0}
NO_ONE: frozenset[EndpointKey] = frozenset()


class Look(NamedTuple):
    """An endpoint that deserves thought, and why."""

    key: EndpointKey
    trigger: Trigger
    """The strongest reason; if it is `due`, only those who wanted it are to look."""
    page: int = 0
    """The oldest page of the feed that it came with."""
    due: frozenset[str] = frozenset()
    """Planners who wanted to look again by now."""

    @property
    def can_wait(self) -> bool:
        """Is it only for a sibling's sake?"""
        return self.trigger is Trigger.SIBLING and not self.due

    def is_for(self, planner: str) -> bool:
        """Is this planner to look?"""
        return self.trigger is not Trigger.DUE or planner in self.due

    def why(self, planner: str, told: Trigger) -> Trigger:
        """Why this planner is to look, if others are told so."""
        return Trigger.DUE if self.trigger is Trigger.SIBLING and planner in self.due else told

    def and_(self, other: "Look") -> "Look":
        """Both in one."""
        stronger = max(self.trigger, other.trigger, key=STRENGTH.__getitem__)
        return Look(self.key, stronger, min(self.page, other.page), self.due | other.due)


NO_LOOKS: dict[EndpointKey, Look] = {}


class _Line:
    """Looks by tenant, in the order in which they came; the tenants go round."""

    def __init__(self) -> None:
        self.tenants: dict[str, dict[EndpointKey, Look]] = {}

    def put(self, look: Look) -> None:
        self.tenants.setdefault(look.key.tenant_id, {})[look.key] = look

    def get(self, key: EndpointKey) -> Look | None:
        return self.tenants.get(key.tenant_id, NO_LOOKS).get(key)

    def pop(self, key: EndpointKey) -> Look | None:
        own = self.tenants.get(key.tenant_id)
        look = own.pop(key, None) if own is not None else None
        if own is not None and not own:
            del self.tenants[key.tenant_id]
        return look

    def take(self, limit: int, busy: AbstractSet[EndpointKey]) -> list[Look]:
        """One of each tenant, then another of each, until there are enough."""
        taken: list[Look] = []
        idle = 0
        while self.tenants and idle < len(self.tenants) and len(taken) < limit:
            tenant_id = next(iter(self.tenants))
            self.tenants[tenant_id] = self.tenants.pop(tenant_id)
            key = next((key for key in self.tenants[tenant_id] if key not in busy), None)
            look = None if key is None else self.pop(key)
            if look is None:
                idle += 1
                continue
            taken.append(look)
            idle = 0
        return taken

    def drop_one(self) -> None:
        """Turn away the newest look of the tenant that has most."""
        largest = max(self.tenants.values(), key=len)
        self.pop(next(reversed(largest)))


class WaitingRoom:
    """Looks that wait; those for a sibling's sake come after all others, and go first when room is scarce."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._urgent, self._later = _Line(), _Line()
        self.turned_away = 0

    def __len__(self) -> int:
        return self._count

    def put(self, look: Look) -> None:
        """Let it wait; an endpoint that waits already keeps its place, and waits for both reasons."""
        for line in (self._urgent, self._later):
            waiting = line.get(look.key)
            if waiting is not None:
                look = waiting.and_(look)
                if look.can_wait is waiting.can_wait:
                    line.put(look)
                    return
                line.pop(look.key)
                self._count -= 1
        (self._later if look.can_wait else self._urgent).put(look)
        self._count += 1
        if self._count > self._size:
            (self._later if self._later.tenants else self._urgent).drop_one()
            self._count -= 1
            self.turned_away += 1

    def take(self, limit: int, busy: AbstractSet[EndpointKey] = NO_ONE) -> list[Look]:
        """At most so many, of tenants in turns; who is busy goes on waiting."""
        taken = self._urgent.take(limit, busy)
        taken += self._later.take(limit - len(taken), busy)
        self._count -= len(taken)
        return taken

    def oldest_page(self) -> int | None:
        """The oldest page of the feed that somebody waits for."""
        pages = (
            look.page
            for line in (self._urgent, self._later)
            for own in line.tenants.values()
            for look in own.values()
        )
        return min(pages, default=None)
