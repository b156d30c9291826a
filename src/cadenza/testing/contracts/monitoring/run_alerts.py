"""A run and the alert that it gives cause for are one commit, or nothing."""

from functools import partial
from typing import Any

from cadenza.adapters.null import NoLog
from cadenza.domain.scheduling.abandon import DEATHS_ALONE
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.worker.settle import EndpointAlerts, SettleRule
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract
from cadenza.testing.contracts.monitoring.slo_alerts import applied

FAILURE = Outcome(RunStatus.FAILURE, error="no")
SUCCESS = Outcome(RunStatus.SUCCESS)


class AlertingBench:
    """Settles and sweeps runs with alerts on: after so many failures in a row, and after recovery."""

    def __init__(self, bench: Bench, *, failures: int = 1) -> None:
        self._bench = bench
        alerts = EndpointAlerts(clock=bench.clock, failures=failures)
        self._around: dict[str, Any] = {"clock": bench.clock, "cron": bench.cron, "log": NoLog()}
        self._around["alerts"] = alerts

    async def end(self, *claims: Claim, outcome: Outcome = FAILURE) -> list[SettledRun | None]:
        """Settle claims with one and the same outcome."""
        now = self._bench.clock.now()
        ended = [Completion(claim, outcome, now) for claim in claims]
        return await self._bench.store.endpoints.finalize(ended, SettleRule(**self._around))

    async def sweep(self) -> None:
        """End the runs whose leases have expired."""
        await Sweeper(store=self._bench.store.endpoints, **self._around).sweep()

    async def shown(self) -> list[str]:
        """The texts of the alerts, newest first."""
        return [alert.text for alert in await self._bench.store.alerts.newest_alerts("default", 100)]


class RunAlertContract(Contract):
    """`finalize` and `sweep`, with runs that give cause for alerts."""

    async def test_a_failure_leaves_its_alert_and_a_recovery_too(self, bench: Bench) -> None:
        watched = AlertingBench(bench, failures=2)
        await bench.add()
        for outcome in (FAILURE, FAILURE, FAILURE, SUCCESS, SUCCESS):
            await watched.end(await bench.claim_one(), outcome=outcome)
            bench.pass_ms(MINUTE)
        failed, well = (
            "Endpoint endpoint has 2 consecutive failures: no",
            "Endpoint endpoint recovered after 3 consecutive failures.",
        )
        assert await watched.shown() == [well, failed]
        assert [alert.text for alert in await applied(bench.store)] == [failed, well]

    async def test_a_lost_lease_leaves_no_alert(self, bench: Bench) -> None:
        watched = AlertingBench(bench)
        await bench.add()
        lost = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert await watched.end(lost) == [None]
        assert await watched.shown() == []

    async def test_in_a_batch_each_alert_follows_its_own_lease_and_fresh_row(self, bench: Bench) -> None:
        watched = AlertingBench(bench, failures=2)
        for name in ("steady", "forgiven", "late", "lost"):
            await bench.add(name, failure_count=0 if name == "late" else 1)
        claims = {claim.endpoint.id: claim for claim in await bench.claim()}
        await bench.end(claims["lost"])
        for name, failures in (("forgiven", 0), ("late", 1)):
            await bench.store.endpoints.amend(claims[name].key, partial(_has_failed, failures))
        answers = await watched.end(*claims.values())
        assert [answer is None for answer in answers] == [name == "lost" for name in claims]
        assert sorted(await watched.shown()) == [
            f"Endpoint {name} has 2 consecutive failures: no" for name in ("late", "steady")
        ]

    async def test_what_was_abandoned_leaves_its_alert(self, bench: Bench) -> None:
        watched = AlertingBench(bench)
        await bench.add()
        await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await watched.sweep()
        (text,) = await watched.shown()
        assert text.startswith("Endpoint endpoint has 1 consecutive failure: ")

    async def test_a_pause_for_good_leaves_an_alert_that_names_the_way_back(self, bench: Bench) -> None:
        watched = AlertingBench(bench, failures=100)
        await bench.add()
        for _ in range(DEATHS_ALONE):
            assert await watched.shown() == []
            await bench.claim_one()
            bench.pass_ms(LEASE_MS)
            await watched.sweep()
        (text,) = await watched.shown()
        assert text.startswith("Endpoint endpoint is paused until resumed: its process died 3 times")
        assert text.endswith("resume it when that is fixed")

    async def test_words_that_no_database_takes_cost_neither_the_run_nor_the_alert(
        self, bench: Bench
    ) -> None:
        watched = AlertingBench(bench)
        endpoint = await bench.add()
        hostile = Outcome(RunStatus.FAILURE, error="a \0 and a \ud800")
        (settled,) = await watched.end(await bench.claim_one(), outcome=hostile)
        assert settled is not None
        assert (await bench.fresh(endpoint)).failure_count == 1
        assert len(await watched.shown()) == 1
        assert len(await applied(bench.store)) == 1


def _has_failed(times: int, endpoint: Endpoint) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, failure_count=times))
