"""How alerts reach people."""

from typing import Protocol

from cadenza.domain.monitoring.alert import Alert


class AlertSender(Protocol):
    """Hands alerts over to whoever passes them on to people."""

    async def send(self, alert: Alert, attempt: int) -> str | None:
        """Send it once, bounded in time; None if it arrived, else what went wrong, in words."""
        ...
