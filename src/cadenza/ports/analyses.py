"""What planners live on: the feed of ended runs, briefings, their own notes, and the record of sittings."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol

from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import Json
from cadenza.ports.catalog import FIRST_PAGE, Page


class Fed(NamedTuple):
    """Runs that have ended, without their responses, and the mark to go on from."""

    runs: list[Run]
    mark: str


class NextLook(NamedTuple):
    """An endpoint that a planner wants to look at again, and when; None if it no longer does."""

    key: EndpointKey
    planner: str
    at: datetime | None = None


class DaySpent(NamedTuple):
    """What a planner's recorded sittings about one endpoint came to on one day."""

    day: date
    planner: str
    sittings: int
    tokens: Tokens


class AnalysisStore(Protocol):
    """Sittings, notes, and the feed."""

    async def ended_since(self, mark: str | None, limit: int) -> Fed:
        """Closed runs of all tenants, about in the order of their commits; None begins with those to come.

        Each run comes at least once to whoever goes on from mark to mark, also one
        that was committed late; some may come twice. A mark that is not from this
        store begins with those to come, too.
        """
        ...

    async def neighbours(self, keys: Collection[EndpointKey], most: int) -> list[Endpoint]:
        """These endpoints and, of each one's job, at most so many others; archived ones are left out."""
        ...

    async def recent_runs(
        self, keys: Collection[EndpointKey], *, each: int, most_bytes: int
    ) -> dict[EndpointKey, list[Run]]:
        """The newest closed runs of these endpoints, newest first; those without any are left out.

        Of each endpoint at most so many, and no more than have responses of so many
        bytes together; the newest always comes whole.
        """
        ...

    async def add_analyses(self, analyses: Sequence[Analysis], looks: Sequence[NextLook] = ()) -> None:
        """Record sittings, and looks beside them, in one commit.

        What a planner wants to look at replaces what it wanted before; an analysis
        without `look_again_at` wants nothing. One that was recorded before is not
        recorded twice.
        """
        ...

    async def analyses(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Analysis]:
        """An endpoint's sittings, newest first."""
        ...

    async def spent_by_day(self, key: EndpointKey, since: datetime) -> list[DaySpent]:
        """What planners' sittings about an endpoint came to, by UTC day and planner, newest day first."""
        ...

    async def to_look_at(self, now: datetime, *, again_at: datetime, limit: int) -> list[NextLook]:
        """Whose next look is due, soonest first. It is due again at `again_at`, unless a planner says else.

        So a look that a crash cut short is not lost. Of several callers one gets each.
        """
        ...

    async def take_notes(self, planner: str, notes: Mapping[EndpointKey, Json], now: datetime) -> None:
        """Keep what a planner knows of endpoints, in place of what it knew, in one commit."""
        ...

    async def notes(self, planner: str, keys: Collection[EndpointKey]) -> dict[EndpointKey, Json]:
        """What a planner knows of these endpoints; those it knows nothing of are left out."""
        ...

    async def forget_analyses(self, before: datetime) -> int:
        """Forget sittings that began earlier; how many there were."""
        ...
