"""The move of a tenant dies between any two steps, and goes on or is taken back: one end alone works."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, cast

import pytest
from tests.integration.moves.conftest import KEY
from tests.integration.moves.filled_databases import content_of, run_async
from tests.integration.moves.test_interruptions import DyingEnd, ProcessDied
from tests.integration.moves.test_tenants import TENANT, Cells, asked, cells, move

from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.moves.tenant_end import TenantEnd
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.errors import Unavailable
from cadenza.engine.moves import copying
from cadenza.engine.moves.tenant import TenantMove

__all__ = ["cells"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
STEP, STEP_BACK = (1, 1) if SOAK else (41, 9)
CLAIMABLE = "SELECT count(*) FROM endpoint_states WHERE tenant_id = 'tenant-1' AND requirement = 'http'"

FENCED = "SELECT FROM moves WHERE phase = 'fenced'"


class DyingTenantEnd(DyingEnd):
    """The same for an end whose statements count as places, too: a process dies between any two of them."""

    def __init__(self, end: Any, dies_at: Any) -> None:
        super().__init__(end, dies_at)
        fetch, execute = end._rows, end._all

        async def rows(*arguments: Any) -> Any:
            if dies_at():
                raise ProcessDied
            return await fetch(*arguments)

        async def every(statements: Any) -> None:
            if dies_at():
                raise ProcessDied
            await execute(statements)

        end._rows, end._all = rows, every

    def take_part(self, **part: int) -> None:
        self._end.take_part(**part)


async def move_until(
    death: int, cells: Cells, *, cancel: bool = False, add: Callable[..., Any] | None = None
) -> int:
    """Move, or take it back, in a process that dies at the n-th place; how many places it came by."""
    passed = 0

    def dies() -> bool:
        nonlocal passed
        passed += 1
        return passed == death

    secrets = TravellingSecrets(ConfiguredKeys(KEY))
    ends = [TenantEnd(PostgresPool(url), secrets, TENANT) for url in cells]
    if add is not None:
        ends[1].add = partial(add, ends[1].add)  # type: ignore[method-assign]
    here, there = (DyingTenantEnd(end, dies) for end in ends)
    one = TenantMove(
        cast("Any", here),
        cast("Any", there),
        TENANT,
        ids=TimeOrderedIds(),
        clock=SystemClock(),
        report=lambda _: None,
        drain=timedelta(seconds=1),
        address="https://two.example",
    )
    try:
        await (one.cancel() if cancel else one.run())
    except ProcessDied:
        pass
    finally:
        for end in ends:
            await end.close()
    return passed


def work_at(cells: Cells) -> tuple[bool, bool]:
    """At which ends workers can claim something of the tenant."""
    return bool(asked(cells.one, CLAIMABLE)[0][0]), bool(asked(cells.two, CLAIMABLE)[0][0])


def test_a_move_goes_on_from_wherever_it_died(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH", 2)
    before = run_async(content_of(cells.one, TENANT)) | {"sessions": []}
    death = 1
    while run_async(move_until(death, cells)) >= death:
        assert work_at(cells) != (True, True)
        death += STEP
    assert death > 400
    assert work_at(cells) == (False, True)
    assert run_async(content_of(cells.two, TENANT)) == before


@pytest.mark.parametrize("death", [200, 350, 500] if SOAK else [500])
def test_a_move_that_died_is_taken_back_also_by_a_process_that_dies(
    cells: Cells, death: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "BATCH", 2)
    before = run_async(content_of(cells.one, TENANT))
    assert run_async(move_until(death, cells)) == death
    place = 1
    while run_async(move_until(place, cells, cancel=True)) >= place:
        assert not work_at(cells)[1]
        assert not (work_at(cells)[0] and asked(cells.one, FENCED))
        place += STEP_BACK
    assert work_at(cells) == (True, False)
    assert run_async(content_of(cells.one, TENANT)) == before
    assert not any(run_async(content_of(cells.two, TENANT)).values())
    assert move(*cells) == 0
    assert run_async(content_of(cells.two, TENANT)) == before | {"sessions": []}


NEVER = -1
RUN_AFTER_ALL = (
    "UPDATE runs SET txid = 1 << 60 WHERE id = (SELECT min(id) FROM runs WHERE tenant_id = 'tenant-1')"
)
SPOIL = "UPDATE runs SET error = 'spoiled' WHERE tenant_id = 'tenant-1' AND txid IS NULL"


def spoiling(batch: int) -> Callable[..., Any]:
    """Adds rows to the target; in this batch of runs one arrives changed."""
    batches = 0

    async def add(original: Any, table: Any, rows: Any) -> None:
        nonlocal batches
        batches += table.name == "runs"
        if table.name == "runs" and batches == batch:
            place = table.columns.index("error")
            rows = [(*rows[0][:place], "spoiled", *rows[0][place + 1 :]), *rows[1:]]
        await original(table, rows)

    return add


@pytest.mark.parametrize("batch", [1, 2], ids=["while the tenant works", "after it was stopped"])
def test_a_run_that_arrives_changed_is_found(cells: Cells, batch: int) -> None:
    asked(cells.one, RUN_AFTER_ALL)
    with pytest.raises(Unavailable, match="runs was not copied correctly"):
        run_async(move_until(NEVER, cells, add=spoiling(batch)))
    assert not work_at(cells)[1]


def test_a_move_that_goes_on_after_the_tenant_was_stopped_compares_all_runs(cells: Cells) -> None:
    death = 1
    while not asked(cells.one, FENCED):
        assert run_async(move_until(death, cells)) == death
        death += STEP
    asked(cells.two, SPOIL)
    with pytest.raises(Unavailable, match="runs was not copied correctly"):
        run_async(move_until(NEVER, cells))
    assert not work_at(cells)[1]
