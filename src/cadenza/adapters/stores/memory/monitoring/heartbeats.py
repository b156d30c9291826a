"""Tokens of the senders of heartbeats, and their signals."""

from datetime import datetime

from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.monitoring.heartbeat import Signal
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.monitoring import Receive


class MemoryHeartbeats:
    """Tokens and signals of heartbeats."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def put_token(self, key: EndpointKey, digest: bytes) -> None:
        with self._lock:
            self._tables.heartbeat_tokens[key] = digest

    async def endpoint_of(self, digest: bytes) -> EndpointKey | None:
        with self._lock:
            return next((key for key, one in self._tables.heartbeat_tokens.items() if one == digest), None)

    async def receive(self, key: EndpointKey, receive: Receive) -> bool:
        with self._lock:
            before = self._tables.endpoint(key)
            received = receive(before)
            if received is None:
                return False
            self._tables.heartbeat_signals[key].append((None, received.signal))
            if received.endpoint != before:
                self._tables.amend_endpoint(ChangedEndpoint(received.endpoint))
            return True

    async def take_signals(self, key: EndpointKey, slot: datetime) -> list[Signal]:
        with self._lock:
            waiting = self._tables.heartbeat_signals[key]
            signals = [signal for taken_by, signal in waiting if taken_by in (None, slot)]
            self._tables.heartbeat_signals[key] = [(slot, signal) for signal in signals]
            return sorted(signals, key=lambda signal: (signal.at, signal.id))
