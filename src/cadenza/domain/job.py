"""A named group of endpoints."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Endpoints that belong together; none of them is due while their job is not active."""

    id: str
    name: str
    tenant_id: str = "default"
    active: bool = True
