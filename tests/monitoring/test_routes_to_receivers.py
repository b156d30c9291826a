"""Routes to real receivers: webhooks, Slack and Apprise on loopback sockets, with secrets in addresses."""

from dataclasses import replace

from tests.monitoring.alert_fixtures import FAILURES, AlertFixture
from tests.monitoring.test_alert_pipeline import add, deliver, run_all
from tests.monitoring.webhook_receiver import Receiver

from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard
from cadenza.adapters.telemetry.apprise_channel import AppriseSender
from cadenza.adapters.telemetry.channels import GuardedChannels
from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.errors import NotFound
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.testing import FakeClock

HERE = "127.0.0.1/32"


class Secrets:
    """Secrets of the tenant default alone."""

    def __init__(self, **values: str) -> None:
        self._values = values

    async def reveal(self, tenant_id: str, reference: str) -> str:
        name = reference.removeprefix("secret:")
        if tenant_id != "default" or name not in self._values:
            raise NotFound(f"Secret {reference} not found.")
        return self._values[name]


def a_route(kind: str, url: str, tenant_id: str = "default") -> AlertRoute:
    return AlertRoute(id=kind, name=kind, tenant_id=tenant_id, channel=Channel(ChannelType(kind), url))


def channels(http: HttpDispatcher, secrets: Secrets, allow: str = HERE) -> GuardedChannels:
    guard = SsrfGuard(allow=(allow,))
    return GuardedChannels(
        dispatcher=http, secrets=secrets, clock=FakeClock(), send_by_apprise=AppriseSender(guard)
    )


async def test_a_receiver_that_was_down_gets_one_grouped_message_through_each_channel() -> None:
    async with Receiver(failures=6).open() as receiver:
        secrets = Secrets(URL=receiver.address, APPRISE=receiver.address.replace("http://", "json://"))
        http = HttpDispatcher(secrets=secrets, clock=FakeClock(), settings=HttpSettings(allow=(HERE,)))
        async with http:
            fixture = AlertFixture()
            fixture.delivery._channels = channels(http, secrets)
            for kind, name in (("webhook", "URL"), ("slack", "URL"), ("apprise", "APPRISE")):
                route = a_route(kind, f"${{secret:{name}}}")
                await fixture.store.alert_routes.add_route(route, most=9)
            names = [f"e{number}" for number in range(5)]
            await add(fixture, *names)
            await run_all(fixture, *names, times=FAILURES)
            for _ in range(6):
                await deliver(fixture)
                fixture.clock.jump(600_000)
    texts = [
        one.body.get("message") or one.body.get("text") or one.body["data"]["text"]
        for one in receiver.messages
    ]
    assert len(receiver.refused) == 6
    assert len(texts) == 3
    assert all("5 endpoints of job default are failing" in text for text in texts)


async def test_a_secret_of_another_tenant_is_not_put_in() -> None:
    async with Receiver().open() as receiver:
        secrets = Secrets(URL=receiver.address)
        http = HttpDispatcher(secrets=secrets, clock=FakeClock(), settings=HttpSettings(allow=(HERE,)))
        async with http:
            sending = channels(http, secrets)
            fixture = AlertFixture()
            fixture.delivery._channels = sending
            foreign = a_route("webhook", "${secret:URL}", "north")
            await fixture.store.alert_routes.add_route(foreign, most=9)
            await add(fixture, "a", tenant_id="north")
            await run_all(fixture, "a", times=FAILURES)
            await deliver(fixture)
    assert receiver.messages == []
    assert [line.facts["problem"] for line in fixture.log.lines if "alert" in line.event] == [
        "Secret secret:URL not found."
    ]


async def test_neither_the_address_nor_a_secret_is_in_what_is_logged() -> None:
    secrets = Secrets(TOKEN="t0psecret")
    http = HttpDispatcher(secrets=secrets, clock=FakeClock())
    async with http:
        fixture = AlertFixture()
        fixture.delivery._channels = channels(http, secrets)
        for kind, scheme in (("webhook", "http"), ("apprise", "json")):
            route = a_route(kind, f"{scheme}://10.9.8.7/pathsecret/${{secret:TOKEN}}")
            await fixture.store.alert_routes.add_route(replace(route, id=kind), most=9)
        await add(fixture, "a")
        await run_all(fixture, "a", times=FAILURES)
        await deliver(fixture)
    logged = repr(fixture.log.lines)
    assert logged.count("refused: ") == 2
    assert "t0psecret" not in logged
    assert "pathsecret" not in logged
