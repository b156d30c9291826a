"""Builders: say only what a test is about."""

from typing import Any

from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.testing.clock import NEW_YEAR


def an_endpoint(name: str = "endpoint", **fields: Any) -> Endpoint:
    """An endpoint that runs every minute and is due at the fake clock's start."""
    given: dict[str, Any] = {
        "id": name,
        "name": name,
        "baseline": Every(60_000),
        "next_run_at": NEW_YEAR,
        "next_source": Source.FIRST,
    }
    return Endpoint(**(given | fields))
