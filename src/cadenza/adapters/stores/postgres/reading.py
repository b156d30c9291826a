"""Rows of the driver as values."""

from typing import Any

from cadenza.adapters.stores.sql.rows import LEASE, RUN_ID, Row
from cadenza.domain.scheduling.run import Claim


def as_it_is(moment: Any) -> Any:
    """The driver reads moments itself."""
    return moment


def holds(row: Row, claim: Claim) -> bool:
    """Is this claim's lease still the one in the row?"""
    return (row[LEASE], row[RUN_ID]) == (claim.token, claim.run_id)
