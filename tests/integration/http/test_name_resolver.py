"""Names are looked up within bounds of their tenant, whatever the name servers do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from tests.integration.http.loopback_dns import DnsServer, Record, a_dns_server
from tests.integration.http.loopback_server import HERE, a_claim, a_dispatcher, a_server, until

from cadenza.adapters.dispatch.http import name_resolver
from cadenza.adapters.dispatch.http.name_resolver import LOOKUPS_OF_A_TENANT, NameResolver, NameUnanswered
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.target import HttpTarget


def a_claim_of(tenant_id: str, url: str, *, timeout_ms: int = 20_000) -> Claim:
    claim = a_claim(HttpTarget(url), timeout_ms=timeout_ms)
    return claim._replace(endpoint=evolve(claim.endpoint, tenant_id=tenant_id))


@asynccontextmanager
async def a_resolver(dns: DnsServer) -> AsyncIterator[NameResolver]:
    resolver = NameResolver([dns.address])
    try:
        yield resolver
    finally:
        await resolver.close()


async def addresses(resolver: NameResolver, name: str) -> set[str]:
    return {found["host"] for found in await resolver.resolve(name)}


async def test_names_that_are_never_answered_cost_another_tenant_nothing() -> None:
    names = {f"neighbour{number}_test": Record(HERE) for number in range(20)}
    async with (
        a_server() as server,
        a_dns_server(**names) as dns,
        a_dispatcher(names=NameResolver([dns.address]), allow=(HERE,)) as dispatcher,
    ):
        urls = [server.url(host=f"host{number}.silent.test") for number in range(64)]
        hanging = [asyncio.create_task(dispatcher.execute(a_claim_of("hostile", url))) for url in urls]
        await until(lambda: len(dns.waiting) == LOOKUPS_OF_A_TENANT)
        outcomes = [
            await dispatcher.execute(a_claim_of("neighbour", server.url(host=f"neighbour{number}.test")))
            for number in range(20)
        ]
        assert len(dns.waiting) == LOOKUPS_OF_A_TENANT
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    assert {outcome.status for outcome in outcomes} == {RunStatus.SUCCESS}


async def test_a_lookup_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_resolver, "DEADLINE_S", 0.05)
    async with (
        a_dns_server() as dns,
        a_dispatcher(names=NameResolver([dns.address]), allow=(HERE,)) as dispatcher,
    ):
        outcome = await dispatcher.execute(a_claim_of("one", "http://host.silent.test/", timeout_ms=60_000))
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error == "no name server answered in time"
    assert outcome.response == {"failure": "name"}


async def test_a_run_that_gives_up_does_not_free_the_place_of_its_lookup() -> None:
    async with a_dns_server() as dns, a_resolver(dns) as resolver:
        for number in range(LOOKUPS_OF_A_TENANT * 2):
            with suppress(TimeoutError):
                await asyncio.wait_for(resolver.resolve(f"host{number}.silent.test"), 0.001)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(resolver.resolve("last.silent.test"), 0.05)
        assert len(dns.waiting) == LOOKUPS_OF_A_TENANT


async def test_those_who_need_the_same_name_wait_for_one_lookup() -> None:
    async with a_dns_server(shop_test=Record("192.0.2.1")) as dns, a_resolver(dns) as resolver:
        found = await asyncio.gather(*(addresses(resolver, "shop.test") for _ in range(50)))
        assert found == [{"192.0.2.1"}] * 50
        assert dns.asked["shop.test"] == 1


async def test_an_answer_is_kept_within_its_ttl_and_asked_for_again_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(name_resolver, "monotonic", lambda: now)
    async with a_dns_server(shop_test=Record("192.0.2.1", ttl=0)) as dns, a_resolver(dns) as resolver:
        await resolver.resolve("shop.test")
        dns.records["shop.test"] = Record("192.0.2.2", ttl=0)
        assert await addresses(resolver, "shop.test") == {"192.0.2.1"}
        now += 1.01
        assert await addresses(resolver, "shop.test") == {"192.0.2.2"}
        assert dns.asked["shop.test"] == 2


async def test_a_name_that_does_not_exist_is_not_asked_for_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(name_resolver, "monotonic", lambda: now)
    async with a_dns_server() as dns, a_resolver(dns) as resolver:
        for _ in range(3):
            with pytest.raises(OSError, match=r"nowhere\.test"):
                await resolver.resolve("nowhere.test")
        assert dns.asked["nowhere.test"] == 1
        now += name_resolver.FAILURE_S + 0.01
        dns.records["nowhere.test"] = Record("192.0.2.1")
        assert await addresses(resolver, "nowhere.test") == {"192.0.2.1"}


async def test_the_hosts_file_and_localhost_need_no_server() -> None:
    async with a_dns_server() as dns, a_resolver(dns) as resolver:
        assert HERE in await addresses(resolver, "localhost")
        assert not dns.asked


async def test_a_server_that_is_not_there_is_an_answer_that_did_not_come() -> None:
    async with a_dns_server() as dns:
        address = dns.address
    resolver = NameResolver([address])
    with pytest.raises(NameUnanswered):
        await resolver.resolve("shop.test")
    await resolver.close()


async def test_the_cache_forgets_the_oldest_name_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_resolver, "MOST_CACHED", 2)
    names = {f"shop{number}_test": Record("192.0.2.1", ttl=0) for number in range(3)}
    async with a_dns_server(**names) as dns, a_resolver(dns) as resolver:
        for number in (0, 1, 2, 2, 1, 0):
            await resolver.resolve(f"shop{number}.test")
        assert dict(dns.asked) == {"shop0.test": 2, "shop1.test": 1, "shop2.test": 1}
