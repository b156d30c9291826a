"""Where calendars are stored, with all that names them."""

from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition
from cadenza.domain.scheduling.steer import EndpointChange
from cadenza.ports.catalog import FIRST_PAGE, Page

UseKind = Literal["endpoint", "job", "programme"]


class CalendarUse(NamedTuple):
    """Something that names a calendar."""

    kind: UseKind
    id: str

    @property
    def position(self) -> str:
        """Where it is in the order of uses: the `after` of the page behind it."""
        return f"{self.kind}/{self.id}"


class CalendarStore(Protocol):
    """Calendars of tenants.

    Whatever names a calendar holds its compiled spans: from the commit that writes the calendar, or that
    names it. To write an endpoint, a job or a programme with an older version of a calendar is a Conflict.
    """

    async def put_calendar(
        self,
        compiled: CompiledCalendar,
        follow: EndpointChange,
        *,
        instead_of: CalendarDefinition | None = None,
    ) -> CalendarDefinition | None:
        """Add a calendar or replace it, and let all that names it follow; the definition before, if any.

        `follow` is applied to each endpoint that names it, its job's calendars included; a job takes the new
        version. Workers are woken for what moved. LimitReached if the tenant has as many calendars as it may
        have. Conflict if `instead_of` is given and is not what is stored.
        """
        ...

    async def calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        """One calendar; NotFound if the tenant has none with this id."""
        ...

    async def calendars(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[CompiledCalendar]:
        """A tenant's calendars, in the order of their ids."""
        ...

    async def delete_calendar(self, tenant_id: str, calendar_id: str) -> CompiledCalendar:
        """Delete a calendar and return it; NotFound if there is none.

        Conflict, which says by what, while anything uses it; endpoints that were deleted do not. A job or a
        programme is said before endpoints, which name the calendars of their jobs as well.
        """
        ...

    async def uses(self, tenant_id: str, calendar_id: str, page: Page = FIRST_PAGE) -> list[CalendarUse]:
        """What names a calendar, by kind and id; not endpoints that were deleted."""
        ...

    async def compiled_until(self, until: datetime, limit: int) -> list[CompiledCalendar]:
        """Calendars of all tenants that are compiled until a moment before this one, soonest first."""
        ...
