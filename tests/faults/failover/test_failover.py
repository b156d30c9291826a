"""The database fails over under load: nothing confirmed is lost, and all parts come back by themselves."""

import asyncio
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from tests.faults.failover.failover_load import FailoverLoad
from tests.faults.failover.patroni_cluster import PatroniCluster
from tests.faults.failover.replica_pair import ReplicaPair
from tests.faults.scheduling.history_checks import History, report, violations

from cadenza.adapters.stores.sql.migrate import migrate

SOAK = bool(os.environ.get("CADENZA_SOAK"))
ROUNDS = 3 if SOAK else 1
BACK_WITHIN_S = 10
"""How long after the promotion every part works again, on a busy machine."""
WOKEN_WITHIN_S = 2
"""How long an idle worker may take to a nudge: by itself it looks once a minute."""
Fault = Callable[[], float]
"""Makes another server the primary, and returns the seconds until it takes changes."""


async def back_after(fault: Fault, load: FailoverLoad, name: str) -> None:
    """Bring a fault about, wait until every part works again, and print how long that took."""
    terms = load.terms
    began = time.monotonic()
    took_s = await asyncio.to_thread(fault)
    promoted = began + took_s
    before = max(one.at for one in load.receiver.arrivals if one.at < promoted)
    arrival = await load.receiver.first_after(promoted)
    nudge_s = await load.nudged()
    listening_s = time.monotonic() - promoted + await load.idle_worker_nudged()
    woken_s = await load.idle_worker_nudged()  # The first may have been found because it listens anew.
    await load.leader_is_there()
    await load.lanes_are_complete()
    assert load.terms == terms + 1, "the leader changed more than once"
    sys.stdout.write(
        f"{name}: promoted after {took_s:.1f} s, last run before to first run after"
        f" {arrival.at - before:.1f} s, runs again {arrival.at - promoted:.1f} s after the promotion,"
        f" nudge to run {1_000 * nudge_s:.0f} ms, by an idle worker {1_000 * woken_s:.0f} ms\n"
    )
    assert arrival.at - promoted < BACK_WITHIN_S, "no runs"
    assert listening_s < BACK_WITHIN_S, "the idle worker did not listen again"
    assert woken_s < WOKEN_WITHIN_S, "the idle worker was not woken"


def check(load: FailoverLoad, history: History) -> None:
    assert list(violations(history, load.dispatched())) == []
    assert [name for name in load.confirmed if name not in history] == [], "confirmed, and gone"
    assert [name for name, (endpoint, _) in history.items() if endpoint.pause_reason] == []
    assert load.most_leaders == 1
    assert load.doubled_lanes == set()


async def test_a_synchronous_standby_takes_over_and_nothing_is_lost(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with ReplicaPair(synchronous=True) as pair:
            await migrate(pair.url)
            load = FailoverLoad(pair.url, folder)
            async with load.running():
                await load.lanes_are_complete()
                await back_after(pair.fail_over, load, "kill -9 of the primary, standby promoted")
                history = await load.ended()
            report(history, failovers=1)
            check(load, history)


async def test_what_an_asynchronous_standby_lacks_is_counted_and_run_again_by_the_same_key(
    tmp_path: Path,
) -> None:
    async with ReplicaPair(synchronous=False) as pair:
        await migrate(pair.url)
        load = FailoverLoad(pair.url, tmp_path)
        async with load.running():
            await load.lanes_are_complete()
            await pair.fall_behind()
            await load.receiver.first_after(time.monotonic() + 2)
            await back_after(pair.fail_over, load, "the standby was seconds behind")
            history = await load.ended()
    recorded = {run.id for _, runs in history.values() for run in runs}
    gone = [name for name in load.confirmed if name not in history]
    lost = [one for one in load.receiver.arrivals if one.run_id not in recorded]
    by_key: dict[str, list[str]] = defaultdict(list)
    for one in load.receiver.arrivals:
        by_key[one.key].append(one.run_id)
    again = {key: runs for key, runs in by_key.items() if len(runs) > 1}
    report(history, **{"confirmed changes gone": len(gone), "runs without a record": len(lost)})
    sys.stdout.write(f"{len(again)} slots were run again with the same idempotency key\n")
    assert gone, "nothing was lost, so nothing was tried"
    assert lost, "nothing was lost, so nothing was tried"
    assert again, "whatever was under way when the standby fell behind must be run again"
    assert [key for key, runs in again.items() if runs[-1] not in recorded] == []
    assert set(load.dispatched().values()) == {1}, "a run was dispatched twice"
    # Whether a run had started may be lost, so that it is not compared with what targets saw.
    assert list(violations(history, Counter())) == []


async def loses_nothing(folder: Path) -> None:
    async with AsyncExitStack() as stack:
        cluster = PatroniCluster(synchronous=True)
        await asyncio.to_thread(cluster.__enter__)
        stack.callback(cluster.__exit__)
        await migrate(cluster.url)
        load = FailoverLoad(cluster.url, folder)
        async with load.running():
            await load.lanes_are_complete()
            faults: dict[str, Fault] = {
                "switchover": cluster.switch_over,
                "kill -9 of the primary's server": lambda: cluster.fail_over(whole_node=False),
                "kill -9 of the primary's whole node": cluster.fail_over,
            }
            for name, fault in faults.items():
                await back_after(fault, load, name)
                await asyncio.to_thread(cluster.restart_dead_nodes)
            history = await load.ended()
        report(history, failovers=len(faults))
        check(load, history)


if SOAK:  # It takes two minutes, and programs that scripts/test --soak installs.

    async def test_a_cluster_of_three_with_patroni_loses_nothing(tmp_path: Path) -> None:
        await loses_nothing(tmp_path)
