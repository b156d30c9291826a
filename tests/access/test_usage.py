"""Which runs a tenant is charged for, and in which month."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.access.tenant import Charge, charges
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR

MONTHS = [NEW_YEAR, NEW_YEAR.replace(month=2), NEW_YEAR.replace(year=2026)]


def closed(
    tenant_id: str = "north",
    status: RunStatus = RunStatus.SUCCESS,
    *,
    finished_at: datetime = NEW_YEAR,
    started: bool = True,
) -> SettledRun:
    run = Run(
        id="run",
        tenant_id=tenant_id,
        job_id="job",
        endpoint_id="endpoint",
        slot=NEW_YEAR,
        due_at=NEW_YEAR,
        attempt=1,
        source=Source.FIRST,
        claimed_at=NEW_YEAR,
        started_at=NEW_YEAR if started else None,
        finished_at=finished_at,
        status=status,
    )
    return SettledRun(an_endpoint(), run)


def test_nothing_costs_nothing() -> None:
    assert charges([]) == []


@pytest.mark.parametrize("status", ["success", "failure", "timeout", "abandoned"])
def test_what_was_dispatched_is_charged(status: str) -> None:
    assert charges([closed(status=RunStatus(status))]) == [Charge("north", "2025-01", 1)]


@pytest.mark.parametrize("status", ["cancelled", "skipped"])
def test_what_was_cancelled_or_skipped_costs_nothing(status: str) -> None:
    assert charges([closed(status=RunStatus(status))]) == []


@pytest.mark.parametrize("status", list(RunStatus))
def test_what_never_started_costs_nothing(status: RunStatus) -> None:
    assert charges([closed(status=status, started=False)]) == []


def test_a_run_is_charged_to_the_month_in_which_it_ended() -> None:
    end = NEW_YEAR.replace(month=2)
    runs = [closed(finished_at=end - timedelta(microseconds=1)), closed(finished_at=end)]
    assert charges(runs) == [Charge("north", "2025-01", 1), Charge("north", "2025-02", 1)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(MONTHS))))
def test_every_tenant_and_month_is_charged_once_and_in_order(ended: list[tuple[str, datetime]]) -> None:
    """In order, so that those who count at the same time never wait for each other in a circle."""
    charged = charges(closed(tenant_id, finished_at=moment) for tenant_id, moment in ended)
    places = [(charge.tenant_id, charge.month) for charge in charged]
    assert places == sorted(set(places))
    assert sum(charge.runs for charge in charged) == len(ended)
