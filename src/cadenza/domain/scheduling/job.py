"""A named group of endpoints."""

from dataclasses import dataclass
from datetime import datetime

from cadenza.domain.validation import in_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Endpoints that belong together; none of them is due while their job is not active."""

    id: str
    name: str
    tenant_id: str = "default"
    active: bool = True
    description: str | None = None
    applied: bool = False
    """Whether it was written by a configuration file, which may then also remove it."""
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        in_utc(self, "created_at")
