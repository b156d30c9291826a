"""A quota that a test opens and closes."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.ports.access import QuotaAnswer, QuotaRequest, Spending


class FakeQuota:
    """Open for everyone until it is closed for a tenant."""

    def __init__(self) -> None:
        self.asked: list[QuotaRequest] = []
        self._closed: dict[tuple[Spending, str], datetime] = {}

    def close(
        self, opens_at: datetime, *, tenant_id: str = "default", kind: Spending = Spending.ENDPOINT
    ) -> None:
        """Refuse this tenant until it is opened again, and promise this moment."""
        self._closed[kind, tenant_id] = opens_at

    def open(self, *, tenant_id: str = "default", kind: Spending = Spending.ENDPOINT) -> None:
        """Allow this tenant again."""
        self._closed.pop((kind, tenant_id), None)

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer by what was closed."""
        self.asked.extend(requests)
        return [QuotaAnswer(self._closed.get((request.kind, request.tenant_id))) for request in requests]
