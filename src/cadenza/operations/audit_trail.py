"""What one request has changed, as its handler notes it for the audit."""

from typing import Any, NamedTuple

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange


class NotedChange(NamedTuple):
    """A thing that was changed: its kind, its id if it is one thing, and its value before and after."""

    kind: str
    id: str | None
    before: Any = None
    """None if there was none before."""
    after: Any = None
    """None if it was deleted."""


class AuditTrail:
    """Collects what a request changes; of a thing that is noted twice, as after a retry, the last counts.

    Where a handler notes nothing, the command says what was done.
    """

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str | None], NotedChange] = {}
        self.is_complete = False
        """Whether there is nothing to record beside what was noted, even if that is nothing."""
        self.reason: str | None = None
        self.tenant_id: str | None = None
        """Whose things are meant, if not the caller's."""

    @property
    def changes(self) -> list[NotedChange]:
        """All that was noted, in the order of time."""
        return list(self._changes.values())

    def note(self, kind: str, id_: str | None, *, before: Any = None, after: Any = None) -> None:
        """Note that a thing was changed."""
        self._changes[kind, id_] = NotedChange(kind, id_, before, after)

    def noting(self, change: EndpointChange) -> EndpointChange:
        """A change of an endpoint that is noted with exactly what it saw and made."""

        def noted(before: Endpoint) -> ChangedEndpoint:
            changed = change(before)
            self.note_endpoint(before, changed.endpoint)
            return changed

        return noted

    def note_endpoint(self, before: Endpoint | None, after: Endpoint) -> None:
        """Note a changed endpoint; a deleted one is none."""
        earlier, later = (None if one is None or one.archived else one for one in (before, after))
        self.note("endpoint", after.id, before=earlier, after=later)
