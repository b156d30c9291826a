"""What goes wrong out there is an outcome: a short sentence, and a word to sort by."""

import asyncio
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, create_default_context

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.integration.http.loopback_server import (
    HERE,
    FakeNames,
    FakeSecrets,
    Request,
    a_claim,
    a_dispatcher,
    a_server,
    run,
)

from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import HttpTarget


def writes(content: bytes) -> Callable[[Request, asyncio.StreamWriter], None]:
    """A server that says this and hangs up."""

    def reply(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        writer.close()

    return reply


def failure(response: object) -> object:
    assert isinstance(response, dict)
    return response["failure"]


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind((HERE, 0))
        outcome = await run(f"http://{HERE}:{taken.getsockname()[1]}/")
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error == "connection refused"
    assert outcome.response == {"failure": "connect"}


async def test_a_name_that_nobody_knows() -> None:
    async with a_dispatcher(names=FakeNames()) as dispatcher:
        outcome = await dispatcher.execute(a_claim(HttpTarget("http://nowhere.example/")))
    assert outcome.error == "name does not resolve"
    assert outcome.response == {"failure": "name"}


async def test_what_is_no_name_does_not_resolve() -> None:
    outcome = await run(f"http://{'a' * 64}.example/")
    assert outcome.error == "name does not resolve"


@pytest.mark.parametrize(
    ("content", "error", "kind"),
    [
        (b"", "connection closed before an answer came", "disconnect"),
        (
            b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nabc",
            "connection closed in the middle of the answer",
            None,
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP", "protocol"),
        (b"HTTP/1.1 999999 X\r\n\r\n", "the answer is not HTTP", "protocol"),
    ],
)
async def test_a_server_that_does_not_speak_properly(content: bytes, error: str, kind: str | None) -> None:
    async with a_server(writes(content)) as server:
        outcome = await run(server.url())
    assert (outcome.status, outcome.error) == (RunStatus.FAILURE, error)
    assert failure(outcome.response) == (kind or "disconnect")


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
async def test_a_request_is_sent_once_also_when_the_connection_breaks(method: str) -> None:
    async with a_server(writes(b"")) as server:
        await run(server.url(), method)
    assert len(server.requests) == 1


async def test_a_secret_that_is_not_there_sends_nothing() -> None:
    async with a_server() as server:
        outcome = await run(server.url(), headers={"X-Key": "${secret:KEY}"}, secrets=FakeSecrets())
    assert outcome.error == "${secret:KEY} could not be revealed: Secret secret:KEY not found."
    assert outcome.response == {"failure": "secret"}
    assert not server.requests


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed but itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HERE)])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HERE))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        built.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def serving(certificate: Path) -> SSLContext:
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_certificate_that_nobody_trusts(certificate: Path) -> None:
    async with a_server(tls=serving(certificate)) as server:
        outcome = await run(f"https://{HERE}:{server.port}/")
    assert outcome.error == "TLS: self-signed certificate"
    assert outcome.response == {"failure": "tls"}
    assert not server.requests


async def test_a_certificate_that_is_trusted(certificate: Path) -> None:
    trusting = create_default_context(cafile=str(certificate))
    async with (
        a_server(tls=serving(certificate)) as server,
        a_dispatcher(allow=(HERE,), tls=trusting) as dispatcher,
    ):
        outcome = await dispatcher.execute(a_claim(HttpTarget(f"https://{HERE}:{server.port}/")))
    assert outcome.status is RunStatus.SUCCESS


async def test_a_server_without_tls() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 X\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, HERE, 0) as server:
        outcome = await run(f"https://{HERE}:{server.sockets[0].getsockname()[1]}/")
    assert outcome.error == "TLS: wrong version number"
    assert outcome.response == {"failure": "tls"}
