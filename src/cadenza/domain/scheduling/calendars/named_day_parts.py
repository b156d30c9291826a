"""Day parts as their owner writes them: with the ids of calendars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.baseline import Cadence, DayPart, DayParts
from cadenza.domain.scheduling.calendars.calendar import Calendar, no_calendar

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class NamedDayParts:
    """Cadences by the ids of calendars; no endpoint has it, since nobody can plan with ids alone."""

    parts: tuple[tuple[str, Cadence], ...]
    otherwise: Cadence

    @property
    def calendar_ids(self) -> frozenset[str]:
        """The calendars that its parts name."""
        return frozenset(id_ for id_, _ in self.parts)

    def with_calendars(self, calendars: Mapping[str, Calendar]) -> DayParts:
        """The day parts with these calendars; InvalidRequest names each that is not there."""
        faults = [
            Fault(
                f"parts.{place}.calendar",
                no_calendar(id_),
            )
            for place, (id_, _) in enumerate(self.parts)
            if id_ not in calendars
        ]
        if faults:
            raise InvalidRequest(faults[0].message, faults[0].field, faults)
        parts = tuple(DayPart(calendars[id_], cadence) for id_, cadence in self.parts)
        return DayParts(parts, self.otherwise)


def with_calendars_of(part: Part | NamedDayParts, calendars: Mapping[str, Calendar]) -> Part | DayParts:
    """A part of an endpoint, day parts with these calendars; InvalidRequest names each that is not there."""
    return part.with_calendars(calendars) if isinstance(part, NamedDayParts) else part
