"""Statistics, service levels, alerts and health: what their stores guarantee."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.forecast import UpcomingRun
from cadenza.domain.monitoring.heartbeat import Received, Signal
from cadenza.domain.monitoring.slo import SloState
from cadenza.domain.monitoring.uptime import EndedGroup
from cadenza.domain.planning.analysis import Analysis, Tokens
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run


class ActivityGrouping(StrEnum):
    """How analyses are grouped."""

    ALL = "all"
    DAY = "day"
    ENDPOINT = "endpoint"


class PlannerActivity(NamedTuple):
    """The analyses of one planner in one group."""

    of: str
    """The day in UTC, as `2025-01-31`, or the endpoint's id; empty for `ALL`."""
    planner: str
    analyses: int
    failed: int
    shadow: int
    """Those in shadow mode, whose tools were not applied."""
    tokens: Tokens
    last_at: datetime


class AnalysisCursor(NamedTuple):
    """A position in the list of analyses, newest first: when one began, and its id."""

    began_at: datetime
    id: str


class StatisticsStore(Protocol):
    """Bounded reads by index, for overviews."""

    async def endpoints_by_key(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        """The endpoints with these keys, in the order of their ids; archived ones are left out."""
        ...

    async def upcoming_runs(self, tenant_id: str, *, until: datetime, limit: int) -> list[UpcomingRun]:
        """The next runs of a tenant's endpoints before a moment, soonest first.

        Endpoints that are running, paused or disabled are left out.
        """
        ...

    async def in_flight(self, tenant_id: str, most: int) -> int:
        """How many of a tenant's endpoints are claimed; counted no further than `most`."""
        ...

    async def latest_runs(self, tenant_id: str, *, since: datetime, limit: int) -> list[EndedRun]:
        """How a tenant's newest runs since a moment ended, newest first."""
        ...

    async def latest_runs_of(
        self, keys: Collection[EndpointKey], *, each: int
    ) -> dict[EndpointKey, list[EndedRun]]:
        """How the newest runs of these endpoints ended, newest first; those without any are left out."""
        ...

    async def runs_between(
        self, key: EndpointKey, *, since: datetime, until: datetime, limit: int
    ) -> list[Run]:
        """An endpoint's newest runs that ended in a span, newest first, without their responses."""
        ...

    async def ended_by_bucket(
        self, key: EndpointKey, *, since: datetime, span: timedelta, limit: int
    ) -> list[EndedGroup]:
        """An endpoint's newest runs with a verdict that ended since a moment, at most `limit`, in groups.

        A group has those of one status within one bucket; bucket n begins n spans after the moment.
        """
        ...

    async def failing(self, tenant_id: str, most: int) -> int:
        """How many of a tenant's endpoints are failing, as `EndpointFilter` means it; at most `most`."""
        ...

    async def planner_activity(
        self, tenant_id: str, *, grouping: ActivityGrouping, since: datetime, limit: int, most: int
    ) -> list[PlannerActivity]:
        """A tenant's newest analyses since a moment, at most `limit`, in groups.

        The groups with most tokens, then most analyses, come first; at most `most` of them.
        """
        ...

    async def recent_analyses(self, tenant_id: str, *, before: AnalysisCursor, limit: int) -> list[Analysis]:
        """A tenant's newest analyses before a position, newest first."""
        ...


class SloStatus(NamedTuple):
    """The state of one objective of one scheduler, as one process sees it."""

    process: str
    scheduler: str
    evaluated_at: datetime
    window_minutes: int
    state: SloState


class SloStore(Protocol):
    """The states of all objectives, so that any process can show them."""

    async def put_slos(self, statuses: Sequence[SloStatus]) -> None:
        """Store them; each replaces the last one of the same process, scheduler and objective."""
        ...

    async def slos(self, since: datetime) -> list[SloStatus]:
        """All that were evaluated then or later, by process, scheduler and objective."""
        ...

    async def forget_slos(self, before: datetime) -> None:
        """Delete those that were last evaluated earlier: their process is gone."""
        ...


class AlertStore(Protocol):
    """Raised alerts by their keys."""

    async def raise_alert(self, alert: Alert) -> bool:
        """Store an alert that is to be applied; False if one with its key was raised before.

        Of any number of concurrent callers, one raises it.
        """
        ...

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        """The newest alerts of a tenant and of the system, newest first.

        The alerts of other tenants do not count towards the limit.
        """
        ...

    async def forget_alerts(self, before: datetime) -> None:
        """Delete those that were raised earlier."""
        ...


class AlertSender(Protocol):
    """Sends alerts to a receiver outside."""

    async def send(self, alert: Alert, attempt: int) -> str | None:
        """Send it once, bounded in time; None if it arrived, else the error as a text."""
        ...


class StoreHealth(Protocol):
    """Whether the store works."""

    async def check(self) -> None:
        """Return if changes can be committed; Unavailable with the reason if they are refused."""
        ...


Receive = Callable[[Endpoint], Received | None]


class HeartbeatStore(Protocol):
    """Tokens of the senders of heartbeats, by their digests, and signals that no run has recorded yet."""

    async def put_token(self, key: EndpointKey, digest: bytes) -> None:
        """Give an endpoint this token instead of the one it had."""
        ...

    async def endpoint_of(self, digest: bytes) -> EndpointKey | None:
        """The endpoint that a token belongs to; None if it belongs to none."""
        ...

    async def receive(self, key: EndpointKey, receive: Receive) -> bool:
        """Store a signal and write the fresh endpoint after it, in one commit; False if nothing is stored.

        NotFound if there is no such endpoint. If the next run moved, sleeping workers are woken.
        """
        ...

    async def take_signals(self, key: EndpointKey, slot: datetime) -> list[Signal]:
        """The signals of a slot, in the order of their arrival: all that wait, and all it had before.

        A slot that is run again gets the same signals, and those since. Those of other slots are deleted.
        """
        ...
