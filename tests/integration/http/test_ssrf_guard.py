"""No request reaches a private address, whatever its URL, its redirects or its names say."""

from pathlib import Path

import pytest
from tests.integration.http.loopback_server import (
    HERE,
    FakeNames,
    FakeSecrets,
    Server,
    a_claim,
    a_dispatcher,
    a_server,
    says,
)

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.testing import FakeLog

OUTSIDE = "127.0.0.2"
"""Plays the internet: on loopback like everything here, but opened by the operator."""


def assert_refused(outcome: Outcome, server: Server, *said: str) -> None:
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error is not None
    assert outcome.error.startswith("refused: ")
    assert all(word in outcome.error for word in said), outcome.error
    assert isinstance(outcome.response, dict)
    assert outcome.response["failure"] == "address"
    assert server.connections == 0


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "LocalHost.",
        "app.localhost",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "0.0.0.0",
        "0",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "[fe80::1%25lo]",
        "[::1%25lo]",
        "169.254.169.254",
        "[fd00:ec2::254]",
    ],
)
async def test_an_address_is_refused_in_every_spelling(host: str) -> None:
    async with a_server() as server, a_dispatcher(allow=("192.0.2.1",)) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(f"http://{host}:{server.port}/")))
    assert_refused(outcome, server)


async def test_a_name_that_leads_to_a_private_address_is_refused() -> None:
    names = FakeNames(inside_example=[[HERE]])
    async with a_server() as server, a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(server.url(host="inside.example"))))
    assert_refused(outcome, server)
    assert names.asked == ["inside.example"]


@pytest.mark.parametrize("addresses", [[HERE], ["10.1.2.3"], ["fd00::7", "169.254.169.254"], ["192.0.2.9"]])
async def test_a_refusal_does_not_tell_what_the_name_resolves_to(addresses: list[str]) -> None:
    names, log = FakeNames(inside_example=[addresses]), FakeLog()
    async with HttpDispatcher(
        secrets=FakeSecrets(), clock=SystemClock(), resolver=names, log=log
    ) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget("http://inside.example/")))
    assert outcome.error == "refused: the name leads to an address that no request may go to"
    assert outcome.response == {"failure": "address"}
    [line] = [line for line in log.lines if line.event == "target refused"]
    assert str(line.facts["reason"]).split(" is ")[0] in addresses


@pytest.mark.parametrize("address", ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1%lo", "localhost", ""])
async def test_a_name_that_leads_there_in_disguise_is_refused(address: str) -> None:
    names = FakeNames(inside_example=[[address]])
    async with a_server() as server, a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(server.url(host="inside.example"))))
    assert_refused(outcome, server)


async def test_a_name_with_several_private_addresses_is_refused() -> None:
    names = FakeNames(inside_example=[[HERE, "10.0.0.1", "::1"]])
    async with a_server() as server, a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget(server.url(host="inside.example"))))
    assert_refused(outcome, server)


async def test_of_a_mixed_answer_only_the_public_address_is_reached() -> None:
    names = FakeNames(mixed_example=[[HERE, OUTSIDE]])
    async with (
        a_server(host=OUTSIDE) as outside,
        a_server(port=outside.port) as inside,
        a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher,
    ):
        outcome = await dispatcher.execute(a_claim(HttpTarget(outside.url(host="mixed.example"))))
    assert outcome.status is RunStatus.SUCCESS
    assert (inside.connections, outside.connections) == (0, 1)


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:{port}/", "http://inside.example:{port}/", "//[::1]:{port}/"]
)
async def test_a_redirect_to_a_private_address_is_refused(location: str) -> None:
    names = FakeNames(public_example=[[OUTSIDE]], inside_example=[[HERE]])
    async with a_server() as inside:
        reply = says("", 302, location=location.format(port=inside.port))
        async with (
            a_server(reply, host=OUTSIDE) as outside,
            a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher,
        ):
            target = HttpTarget(outside.url(host="public.example"), max_redirects=5)
            outcome = await dispatcher.execute(a_claim(target))
    assert outside.connections == 1
    assert_refused(outcome, inside)


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://x/", "unix:///run/x", "http://u:p@127.0.0.2/"]
)
async def test_a_redirect_that_leads_out_of_the_web_is_refused(location: str) -> None:
    async with (
        a_server(says("", 302, location=location), host=OUTSIDE) as outside,
        a_dispatcher(allow=(OUTSIDE,)) as dispatcher,
    ):
        outcome = await dispatcher.execute(a_claim(HttpTarget(outside.url(), max_redirects=1)))
    assert outcome.error is not None
    assert outcome.error.startswith("refused: ")


async def test_a_changing_answer_is_caught_when_it_changes() -> None:
    """The name first leads outside, and to this machine the next time it is asked for."""
    names = FakeNames(rebinding_example=[[OUTSIDE], [HERE]])
    async with (
        a_server(says("", connection="close"), host=OUTSIDE) as outside,
        a_server(port=outside.port) as inside,
        a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher,
    ):
        claim = a_claim(HttpTarget(outside.url(host="rebinding.example")))
        first, second = await dispatcher.execute(claim), await dispatcher.execute(claim)
    assert names.asked == ["rebinding.example", "rebinding.example"]
    assert first.status is RunStatus.SUCCESS
    assert outside.connections == 1
    assert_refused(second, inside)


async def test_a_changing_answer_is_caught_on_the_way_of_a_redirect() -> None:
    names = FakeNames(rebinding_example=[[OUTSIDE], [HERE]])
    reply = says("", 307, location="/again", connection="close")
    async with (
        a_server(reply, host=OUTSIDE) as outside,
        a_server(port=outside.port) as inside,
        a_dispatcher(names=names, allow=(OUTSIDE,)) as dispatcher,
    ):
        target = HttpTarget(outside.url(host="rebinding.example"), max_redirects=2)
        outcome = await dispatcher.execute(a_claim(target))
    assert outside.connections == 1
    assert_refused(outcome, inside)


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with a_server() as proxy, a_server() as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        async with a_dispatcher(allow=(HERE,)) as dispatcher:
            await dispatcher.execute(a_claim(HttpTarget(server.url())))
    assert (proxy.connections, server.connections) == (0, 1)
    assert "authorization" not in server.last.headers


async def test_an_operator_may_allow_all_that_is_private() -> None:
    async with a_server() as server, a_dispatcher(allow_private=True) as dispatcher:
        for host in (HERE, "localhost"):
            outcome = await dispatcher.execute(a_claim(HttpTarget(server.url(host=host))))
            assert outcome.status is RunStatus.SUCCESS
        metadata = await dispatcher.execute(a_claim(HttpTarget("http://169.254.169.254/")))
    assert metadata.error == "refused: 169.254.169.254 is a link-local address"


async def test_an_operator_may_allow_one_port_of_one_address() -> None:
    async with (
        a_server() as world,
        a_server() as other,
        a_dispatcher(allow=(f"{HERE}:{world.port}",)) as demo,
    ):
        allowed = await demo.execute(a_claim(HttpTarget(world.url())))
        refused = await demo.execute(a_claim(HttpTarget(other.url())))
    assert allowed.status is RunStatus.SUCCESS
    assert_refused(refused, other)


async def test_a_name_that_is_allowed_opens_its_address_to_no_other_name() -> None:
    names = FakeNames(intranet_example=[[HERE]], hostile_example=[[HERE]])
    async with a_server() as server:
        allow = (f"intranet.example:{server.port}",)
        async with a_dispatcher(names=names, allow=allow) as dispatcher:
            allowed = await dispatcher.execute(a_claim(HttpTarget(server.url(host="intranet.example"))))
            server.connections = 0
            refused = await dispatcher.execute(a_claim(HttpTarget(server.url(host="hostile.example"))))
    assert allowed.status is RunStatus.SUCCESS
    assert_refused(refused, server)
