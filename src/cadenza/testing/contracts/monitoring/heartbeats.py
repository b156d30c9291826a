"""Contracts of heartbeats: tokens by their digest, and signals that a slot takes."""

from functools import partial

import pytest

from cadenza.domain.errors import NotFound
from cadenza.domain.monitoring.heartbeat import Signal, SignalKind, receive
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


class HeartbeatContract(Contract):
    """`put_token`, `endpoint_of`, `receive` and `take_signals`."""

    async def test_a_new_token_takes_the_place_of_the_one_before(self, bench: Bench) -> None:
        store, endpoint = bench.store.heartbeats, await self._waiting(bench)
        await store.put_token(endpoint.key, b"one")
        await store.put_token(endpoint.key, b"two")
        assert [await store.endpoint_of(digest) for digest in (b"one", b"two")] == [None, endpoint.key]

    async def test_a_signal_makes_its_endpoint_due_in_the_same_commit(self, bench: Bench) -> None:
        endpoint = await self._waiting(bench)
        assert await self._receive(bench, endpoint)
        claim = await bench.claim_one()
        assert (claim.endpoint.id, claim.source) == (endpoint.id, Source.HEARTBEAT)

    async def test_a_signal_that_is_refused_leaves_nothing(self, bench: Bench) -> None:
        endpoint = await self._waiting(bench)
        assert not await bench.store.heartbeats.receive(endpoint.key, lambda _: None)
        assert await bench.claim() == []
        assert await bench.store.heartbeats.take_signals(endpoint.key, bench.clock.now()) == []

    async def test_a_signal_for_no_endpoint_is_refused(self, bench: Bench) -> None:
        with pytest.raises(NotFound):
            await bench.store.heartbeats.receive(EndpointKey("default", "none"), lambda _: None)

    async def test_a_slot_that_is_run_again_gets_the_same_signals(self, bench: Bench) -> None:
        endpoint, slot = await self._waiting(bench), bench.clock.now()
        await self._receive(bench, endpoint, "b", SignalKind.START)
        bench.pass_ms(1)
        await self._receive(bench, endpoint, "a", body="done")
        first = await bench.store.heartbeats.take_signals(endpoint.key, slot)
        again = await bench.store.heartbeats.take_signals(endpoint.key, slot)
        assert first == again
        assert [(signal.id, signal.kind, signal.body) for signal in first] == [
            ("b", SignalKind.START, None),
            ("a", SignalKind.SUCCESS, "done"),
        ]
        assert first[0].expected_at == bench.ms(10 * MINUTE - 1)

    async def test_another_slot_gets_only_what_came_since(self, bench: Bench) -> None:
        endpoint, slot = await self._waiting(bench), bench.clock.now()
        await self._receive(bench, endpoint, "before")
        await bench.store.heartbeats.take_signals(endpoint.key, slot)
        await self._receive(bench, endpoint, "since")
        bench.pass_ms(MINUTE)
        later = await bench.store.heartbeats.take_signals(endpoint.key, bench.clock.now())
        assert [signal.id for signal in later] == ["since"]
        assert await bench.store.heartbeats.take_signals(endpoint.key, slot) == []

    async def test_signals_of_other_endpoints_and_tenants_stay(self, bench: Bench) -> None:
        mine, theirs = await self._waiting(bench), await self._waiting(bench, tenant_id="theirs")
        await self._receive(bench, theirs)
        assert await bench.store.heartbeats.take_signals(mine.key, bench.clock.now()) == []
        assert len(await bench.store.heartbeats.take_signals(theirs.key, bench.clock.now())) == 1

    async def _waiting(self, bench: Bench, tenant_id: str = "default") -> Endpoint:
        expected = bench.ms(10 * MINUTE)
        return await bench.add(
            "backup",
            tenant_id=tenant_id,
            target=HeartbeatTarget(grace_ms=MINUTE),
            baseline=Every(10 * MINUTE),
            next_run_at=expected + (bench.ms(MINUTE) - bench.ms(0)),
            next_source=Source.BASELINE_INTERVAL,
        )

    async def _receive(
        self,
        bench: Bench,
        endpoint: Endpoint,
        id_: str = "signal",
        kind: SignalKind = SignalKind.SUCCESS,
        body: str | None = None,
    ) -> bool:
        signal = Signal(id_, kind, bench.clock.now(), body)
        return await bench.store.heartbeats.receive(endpoint.key, partial(receive, signal=signal))
