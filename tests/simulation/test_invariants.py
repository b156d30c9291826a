"""What the product promises, held against the recorded histories of both scenarios and of made-up sales."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.sim.catalogue import CATALOGUE, run_product
from cadenza.sim.checks import minimum_interval_kept, one_verdict_per_slot, runs_on_time
from cadenza.sim.flash_sale.policies import Sale
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.recording import Recording
from cadenza.sim.scenario import Scenario
from cadenza.sim.world import Phase, World

SCENARIOS = [entry.corrected() for entry in CATALOGUE.values()]


def pauses(recording: Recording, name: str) -> list[tuple[datetime, datetime]]:
    """The spans in which the gate was closed by a tool, from the history of hints."""
    closed: list[tuple[datetime, datetime]] = []
    for record in reversed(recording.history.hints[name]):
        if record.kind in {HintKind.PAUSE, HintKind.RESUME} and closed and closed[-1][1] > record.written_at:
            closed[-1] = (closed[-1][0], record.written_at)
        if record.kind is HintKind.PAUSE:
            assert record.expires_at is not None
            closed.append((record.written_at, record.expires_at))
    return closed


def within_its_guard(recording: Recording) -> bool:
    """No gap is longer than the maximum, except across a pause."""
    for endpoint in recording.scenario.endpoints:
        spans = pauses(recording, endpoint.name)
        starts = [run.at for run in recording.runs if run.endpoint == endpoint.name]
        for before, after in pairwise(starts):
            paused = any(since < after and until > before for since, until in spans)
            most = timedelta(seconds=(endpoint.max_s or 10**6) + 10)
            if after - before > most and not paused:
                return False
    return True


@pytest.fixture(params=SCENARIOS, ids=lambda scenario: scenario.name)
async def recording(request: pytest.FixtureRequest) -> Recording:
    scenario: Scenario[Any] = request.param
    return await run_product(scenario)


def test_no_run_starts_during_a_pause(recording: Recording) -> None:
    for run in recording.runs:
        spans = pauses(recording, run.endpoint)
        assert not any(since < run.at < until for since, until in spans)


def test_the_guard_holds(recording: Recording) -> None:
    assert minimum_interval_kept(recording).passed
    assert within_its_guard(recording)


def test_a_one_shot_fires_once(recording: Recording) -> None:
    for name, records in recording.history.hints.items():
        asked = sum(record.kind is HintKind.ONE_SHOT for record in records)
        fired = sum(run.endpoint == name and run.cause is Source.AI_ONESHOT for run in recording.runs)
        assert fired <= asked


def test_every_row_is_closed_and_every_run_has_its_row(recording: Recording) -> None:
    rows = recording.history.rows
    assert all(row.finished_at is not None and row.verdict for row in rows)
    ran = Counter((row.endpoint_id, row.started_at) for row in rows if row.status is RunStatus.SUCCESS)
    assert ran == Counter((run.endpoint, run.at) for run in recording.runs)


def test_what_did_not_run_says_why(recording: Recording) -> None:
    others = [row for row in recording.history.rows if row.status is not RunStatus.SUCCESS]
    assert all(row.status is RunStatus.SKIPPED and row.reason for row in others)


def test_no_lease_is_left(recording: Recording) -> None:
    assert all(endpoint.lease is None for endpoint in recording.history.endpoints.values())


@st.composite
def sales(draw: st.DrawFn) -> Scenario[Sale]:
    """The flash sale in a world of other phases, with values at the edges of the policies' rules."""
    samples = st.builds(
        Sale,
        traffic=st.sampled_from([0, 1999, 2000, 3999, 4000, 4999, 5000, 5500, 5999, 6000]),
        orders=st.sampled_from([0, 124, 125, 129, 130, 149, 150]),
        page_load_ms=st.sampled_from([0, 1499, 1500, 2000, 2001, 2999, 3000, 3001, 4000]),
        inventory_lag_ms=st.sampled_from([0, 199, 200, 399, 400, 600]),
        db_query_ms=st.sampled_from([0, 299, 300, 499, 500]),
    )
    starts = sorted(draw(st.sets(st.integers(1, 39), max_size=6)) | {0})
    phases = (Phase(f"from {start}", start, draw(samples)) for start in starts)
    return replace(flash_sale(), world=World(tuple(phases)))


@given(sale=sales(), step_s=st.sampled_from([1, 5, 10]))
@settings(max_examples=25)
async def test_the_promises_hold_in_any_sale(sale: Scenario[Sale], step_s: int) -> None:
    recording = await run_product(sale, step_s=step_s)
    for check in (minimum_interval_kept, one_verdict_per_slot, runs_on_time):
        assert check(recording).passed, check(recording).detail
    assert within_its_guard(recording)
