"""Which functions processes have declared."""

from collections.abc import Collection
from datetime import datetime
from itertools import islice

from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.scheduling.abandon import function_of
from cadenza.domain.scheduling.due import claimable_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.domain.scheduling.target import requirement


class MemoryFunctions:
    """Functions and when they were last declared."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def declare(
        self, names: Collection[str], *, now: datetime, bring_back: EndpointChange
    ) -> list[ChangedEndpoint]:
        with self._lock:
            self._tables.functions.update(dict.fromkeys(names, now))
            retired = [
                one for one in self._tables.endpoints.values() if one.retired and _function(one) in names
            ]
            return [self._tables.amend_endpoint(bring_back(endpoint)) for endpoint in retired]

    async def retire(
        self, *, now: datetime, undeclared_since: datetime, limit: int, retire: EndpointChange
    ) -> list[ChangedEndpoint]:
        with self._lock:
            waiting = [one for one in self._tables.endpoints.values() if claimable_at(one) is not None]
            undeclared = [one for one in waiting if self._is_undeclared(one, now, undeclared_since)]
            return [self._tables.amend_endpoint(retire(endpoint)) for endpoint in islice(undeclared, limit)]

    async def declared_at(self, name: str) -> datetime | None:
        with self._lock:
            return self._tables.functions.get(name)

    def _is_undeclared(self, endpoint: Endpoint, now: datetime, since: datetime) -> bool:
        name = _function(endpoint)
        return name is not None and self._tables.functions.setdefault(name, now) < since


def _function(endpoint: Endpoint) -> str | None:
    return function_of(requirement(endpoint.target))
