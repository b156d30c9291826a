"""The event bus, and a handler that wakes the planners when a run has ended."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple

from cadenza.adapters.stores.wakeup import EventWakeup
from cadenza.ports.telemetry import JOB, Logger, Measurements, Metadata, Telemetry


class _Attached(NamedTuple):
    name: str
    handler: Telemetry
    events: frozenset[str] | None
    """None for all of them."""


class EventBus:
    """Passes events to handlers, in the order in which they were attached.

    A handler that raises is detached and logged, once; neither the other handlers nor
    the emitter notice.
    """

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._attached: tuple[_Attached, ...] = ()
        self._by_event: dict[str, tuple[_Attached, ...]] = {}

    @property
    def attached(self) -> Mapping[str, Telemetry]:
        """The handlers by their names."""
        return MappingProxyType({one.name: one.handler for one in self._attached})

    def attach(self, name: str, handler: Telemetry, events: Collection[str] | None = None) -> None:
        """Pass events to a handler from now on, all or those named; one of the same name is replaced."""
        wanted = None if events is None else frozenset(events)
        self._set((*self._without(name), _Attached(name, handler, wanted)))

    def detach(self, name: str) -> None:
        """Pass no more events to a handler; nothing happens if it is not attached."""
        self._set(self._without(name))

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Pass an event to all handlers; never raise, never wait."""
        interested = self._by_event.get(event)
        if interested is None:
            interested = self._interested(event)
        for name, handler, _ in interested:
            try:
                handler.emit(event, measurements, metadata)
            except Exception as problem:  # noqa: BLE001 - a handler must not disturb the emitter
                self._failed(name, event, problem)

    def _interested(self, event: str) -> tuple[_Attached, ...]:
        found = tuple(one for one in self._attached if one.events is None or event in one.events)
        self._by_event[event] = found
        return found

    def _failed(self, name: str, event: str, problem: Exception) -> None:
        if name not in self.attached:  # It emitted again while it failed.
            return
        self.detach(name)
        self._log.warning(
            "a telemetry handler failed and is detached",
            handler=name,
            emitted=event,
            problem=f"{type(problem).__name__}: {problem}",
        )

    def _without(self, name: str) -> tuple[_Attached, ...]:
        return tuple(one for one in self._attached if one.name != name)

    def _set(self, attached: tuple[_Attached, ...]) -> None:
        self._attached, self._by_event = attached, {}


class RunEndedWakeup(EventWakeup):
    """A wake-up that is notified when a run has ended and is settled."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002 - It takes all that its port hands over.
        """Notify, if the event is the end of a run."""
        if event == JOB:
            self.notify()
