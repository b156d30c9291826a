"""Figures for people who look: what is ahead, in flight and behind, each read within bounds."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.slo import SloState
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.baseline import Baseline
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.run import Run


class Ahead(NamedTuple):
    """When an endpoint comes due next, and what it goes by."""

    at: datetime
    baseline: Baseline
    interval_hint: IntervalHint | None


class Together(StrEnum):
    """How sittings of a planner are taken together."""

    ALL = "all"
    DAY = "day"
    ENDPOINT = "endpoint"


class Sat(NamedTuple):
    """Sittings of one planner, taken together."""

    of: str
    """The day in UTC, as `2025-01-31`, or the endpoint's id; nothing, if they are all together."""
    planner: str
    sittings: int
    failed: int
    shadow: int
    """Those that only thought."""
    tokens: Tokens
    last_at: datetime


class Mark(NamedTuple):
    """A place among sittings, newest first: when one began, and its id among those that began then."""

    began_at: datetime
    id: str


class FigureStore(Protocol):
    """Reads by index, of so many rows and no more."""

    async def these(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        """The endpoints with these keys, in the order of their ids; archived ones are left out."""
        ...

    async def ahead(self, tenant_id: str, *, until: datetime, limit: int) -> list[Ahead]:
        """What a tenant's endpoints may be claimed for before a moment, soonest first.

        What is running, paused or switched off is not among them.
        """
        ...

    async def in_flight(self, tenant_id: str, most: int) -> int:
        """How many of a tenant's endpoints are claimed; counted no further than `most`."""
        ...

    async def latest(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        """How a tenant's newest runs ended, newest first, unless they ended before a moment."""
        ...

    async def latest_of(self, keys: Collection[EndpointKey], *, each: int) -> dict[EndpointKey, list[Ended]]:
        """How the newest runs of these endpoints ended, newest first; those without any are left out."""
        ...

    async def stretch(self, key: EndpointKey, *, since: datetime, until: datetime, limit: int) -> list[Run]:
        """An endpoint's newest runs that ended in a span, newest first, without their responses."""
        ...

    async def sat(
        self, tenant_id: str, *, together: Together, since: datetime, limit: int, most: int
    ) -> list[Sat]:
        """So many of a tenant's newest sittings since a moment, taken together.

        What cost most tokens, then most sittings, is first; of that, so many at most.
        """
        ...

    async def sittings(self, tenant_id: str, *, before: Mark, limit: int) -> list[Analysis]:
        """A tenant's newest sittings before a mark, newest first."""
        ...


class SloStanding(NamedTuple):
    """Where one promise of one scheduler stands, as one process sees it."""

    process: str
    scheduler: str
    evaluated_at: datetime
    window_minutes: int
    state: SloState


class SloStore(Protocol):
    """Where promises stand, for whoever asks any process."""

    async def put_slos(self, standings: Sequence[SloStanding]) -> None:
        """Keep where they stand; each takes the place of what its process said of it before."""
        ...

    async def slos(self, since: datetime) -> list[SloStanding]:
        """All that were evaluated then or later, by process, scheduler and promise."""
        ...

    async def forget_slos(self, before: datetime) -> None:
        """Forget what was last evaluated earlier: its process is gone."""
        ...


class OwedAlert(NamedTuple):
    """An alert that is to be sent, and how often that was tried, this time included."""

    alert: Alert
    attempt: int


class AlertStore(Protocol):
    """Alerts that were raised, each under its own key, and whether they were sent."""

    async def raise_alert(self, alert: Alert, *, owed: bool = True) -> bool:
        """Keep an alert; False, and nothing changes, if one of its key was raised before.

        If it is owed, it is to be sent. Of any number of callers, one raises it.
        """
        ...

    async def take_alerts(self, *, now: datetime, until: datetime, limit: int) -> list[OwedAlert]:
        """Those that are to be sent now, oldest first. Nobody else gets them before `until`."""
        ...

    async def settle_alert(self, key: str, again_at: datetime | None) -> None:
        """Try it again then; None if it was sent, or is given up."""
        ...

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        """Those of a tenant, and those of nobody, that were raised last, sent or not, newest first.

        However many the others have, theirs take no place of it.
        """
        ...

    async def forget_alerts(self, before: datetime) -> None:
        """Forget those that were raised earlier, sent or not."""
        ...


class WatchStore(SloStore, AlertStore, Protocol):
    """Both."""


class AlertSender(Protocol):
    """Hands alerts over to whoever passes them on to people."""

    async def send(self, alert: Alert, attempt: int) -> str | None:
        """Send it once, bounded in time; None if it arrived, else what went wrong, in words."""
        ...
