"""Who may spend how much."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol


class Spending(StrEnum):
    """What a quota is for."""

    AI = "ai"
    ENDPOINT = "endpoint"


class QuotaRequest(NamedTuple):
    """The wish of a tenant to spend."""

    kind: Spending
    tenant_id: str
    cost: int = 1


class QuotaAnswer(NamedTuple):
    """Allowed, or the moment from which it will be."""

    opens_at: datetime | None = None

    @property
    def allowed(self) -> bool:
        """May it be spent now?"""
        return self.opens_at is None


class Quota(Protocol):
    """Gates spending outside the governor, before a planner thinks and before an endpoint runs."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer all requests, in their order, in one round trip; what is allowed counts as spent."""
        ...
