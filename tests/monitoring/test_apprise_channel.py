"""Apprise, for real: its own json:// scheme to a receiver here, and what the guard keeps it from."""

import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.monitoring.webhook_receiver import Receiver

from cadenza.adapters.dispatch.http.ssrf_guard import AddressRefused, SsrfGuard
from cadenza.adapters.telemetry.apprise_channel import AppriseSender
from cadenza.adapters.telemetry.guarded_thread import watched
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState
from cadenza.testing.clock import NEW_YEAR

HERE = SsrfGuard(allow=("127.0.0.1/32",))
ALERT = Alert(
    key="k", kind=AlertKind.ENDPOINT, state=AlertState.BEGUN, text="Endpoint a is down", raised_at=NEW_YEAR
)


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def address(receiver: Receiver, more: str = "") -> str:
    return f"{receiver.address.replace('http://', 'json://')}{more}"


async def test_a_message_arrives_through_apprise() -> None:
    async with Receiver().open() as receiver:
        assert await AppriseSender(HERE)(address(receiver), ALERT) is None
    (message,) = receiver.messages
    body = message.body
    assert (body["message"], body["type"]) == ("Endpoint a is down", "warning")


async def test_an_answer_that_is_no_success_is_told_by_its_status_alone() -> None:
    async with Receiver(failures=1).open() as receiver:
        assert await AppriseSender(HERE)(address(receiver), ALERT) == "answered 503"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254"])
async def test_an_address_that_the_guard_refuses_is_never_connected_to(host: str) -> None:
    async with Receiver().open() as receiver:
        url = f"json://{host}:{urlsplit(receiver.address).port}/"
        problem = await AppriseSender(SsrfGuard())(url, ALERT)
    assert str(problem).startswith("refused: ")
    assert receiver.messages == []


async def test_mail_is_guarded_like_everything_else() -> None:
    url = "mailto://me:pw@127.0.0.1:2525?from=a@b.example&to=c@d.example&mode=insecure"
    problem = await AppriseSender(SsrfGuard())(url, ALERT)
    assert str(problem).startswith("refused: 127.0.0.1")


@pytest.mark.parametrize("url", ["syslog://", "dbus://", "gnome://", "no-address"])
async def test_what_leads_to_no_service_is_refused(url: str) -> None:
    problem = await AppriseSender(HERE)(url, ALERT)
    assert problem == "refused: it cannot be seen where channels of this scheme lead"


async def test_what_apprise_does_not_know_is_said_without_the_address() -> None:
    problem = await AppriseSender(HERE)("nonsense://secret-token", ALERT)
    assert problem == "Apprise does not know this address, or lacks a library for it"


async def test_where_a_proxy_is_set_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    problem = await AppriseSender(HERE)("json://127.0.0.1/", ALERT)
    assert "proxy" in str(problem)


async def test_a_receiver_that_does_not_answer_costs_no_more_than_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"json://127.0.0.1:{silent.getsockname()[1]}/"
        sender = AppriseSender(HERE, deadline_s=0.2, threads=1)
        assert await sender(url, ALERT) == "no answer within 0.2 s"
        assert await sender(url, ALERT) == "no answer within 0.2 s"


def test_a_watched_thread_opens_no_file_and_starts_no_process_and_others_may(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    with watched(HERE) as watch:
        with pytest.raises(AddressRefused):
            (tmp_path / "secret").read_text()
        with pytest.raises(AddressRefused):
            subprocess.run(["true"], check=False)
        with socket.socket() as one, pytest.raises(AddressRefused):
            one.connect(("10.0.0.1", 80))
    assert watch.refusal == "refused: the channel wants to open a file"
    assert (tmp_path / "secret").read_text() == "x"
