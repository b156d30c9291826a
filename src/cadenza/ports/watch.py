"""What watches over the schedulers: where promises stand, and alerts that are to reach people."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.monitoring.alert import Alert
from cadenza.domain.monitoring.slo import SloState


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
