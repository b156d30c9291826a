"""A tenant is moved while it works, and the process that moves it is killed: no slot is lost or run twice."""

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.faults.access.tenant_moves import (
    NEIGHBOUR,
    TENANT,
    TwoCells,
    longest_gap_s,
    populate,
    two_cells,
    wait_for_lines,
    works_at,
)
from tests.faults.scheduling import worker_pool
from tests.postgres import Databases, newest_databases

__all__ = ["newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
ENDPOINTS = 300 if SOAK else 30
KILLS = 60 if SOAK else 3
LONGEST_PAUSE_S = 10
"""What "some seconds" of pause may be on a busy machine."""


@pytest.fixture
def urls(newest_databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Two installations whose workers lose no lease, however busy the machine is."""
    monkeypatch.setitem(worker_pool.SETTINGS, "CADENZA_LEASE_MS", "60000")
    made = newest_databases.new(), newest_databases.new()
    yield made
    for url in made:
        newest_databases.drop(url)


async def move_and_check(cells: TwoCells) -> None:
    """Move the tenant to the end: it works at the target alone, and nothing was lost or doubled."""
    mover = cells.mover()
    _, told = await asyncio.to_thread(mover.communicate)
    assert mover.returncode == 0, told
    assert await works_at(cells) == (False, True)
    await cells.served_at_target(ENDPOINTS)
    for pool in cells.pools:
        assert pool.stop() == [0]
    assert await cells.faults() == []


async def test_a_tenant_moves_while_it_works(urls: tuple[str, str], tmp_path: Path) -> None:
    await populate(urls[0], ENDPOINTS)
    with two_cells(*urls, tmp_path) as cells:
        await move_and_check(cells)
    gaps = [await longest_gap_s(urls[1], TENANT), await longest_gap_s(urls[0], NEIGHBOUR)]
    ran = [sum(pool.dispatched_runs().values()) for pool in cells.pools]
    sys.stdout.write(
        f"{ran[0]} runs before, {ran[1]} after; paused {gaps[0]:.2f} s, others {gaps[1]:.2f} s\n"
    )
    assert min(ran) >= ENDPOINTS
    assert gaps[0] < LONGEST_PAUSE_S


async def test_a_killed_move_goes_on_and_nothing_runs_at_both_ends(
    urls: tuple[str, str], tmp_path: Path
) -> None:
    await populate(urls[0], ENDPOINTS)
    chance = Random(1)
    with two_cells(*urls, tmp_path) as cells:
        for kill in range(KILLS):
            mover = cells.mover()
            await asyncio.to_thread(wait_for_lines, mover, 1 + kill * 7 % 17)
            await asyncio.sleep(chance.uniform(0, 0.1))
            mover.kill()
            await asyncio.to_thread(mover.communicate)
            assert await works_at(cells) != (True, True)
        await move_and_check(cells)
