"""Why an exchange failed: a category, and a text without anything that was sent."""

import errno
from enum import StrEnum

import aiohttp

from cadenza.adapters.dispatch.http.name_resolver import NameUnanswered
from cadenza.adapters.dispatch.http.ssrf_guard import AddressRefused
from cadenza.domain.job_failure import ErrorClass


class Failure(StrEnum):
    """The category of a failure, recorded under `failure` in the response."""

    ADDRESS = "address"
    """The SSRF guard refused the address."""
    NAME = "name"
    CONNECT = "connect"
    TLS = "tls"
    DISCONNECT = "disconnect"
    PROTOCOL = "protocol"
    """What came back is not HTTP, or not in the encoding it claims."""
    REDIRECT = "redirect"
    SECRET = "secret"  # noqa: S105 - the name of a failure
    STATUS = "status"
    CONTENT = "content"
    TIMEOUT = "timeout"

    @property
    def error_class(self) -> ErrorClass:
        """The error class of telemetry."""
        return ErrorClass.PARSE if self in (Failure.CONTENT, Failure.PROTOCOL) else ErrorClass.REQ


class ExchangeFailed(Exception):
    """Raised when an exchange fails. The sentence is for the tenant, the detail for the operator's log."""

    def __init__(self, failure: Failure, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.failure = failure
        self.sentence = sentence
        self.detail = detail


CONNECT_SENTENCES = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.EHOSTUNREACH: "host is unreachable",
    errno.ENETUNREACH: "network is unreachable",
    errno.ETIMEDOUT: "connection timed out",
    errno.EMFILE: "this worker has no sockets left",
    errno.ENFILE: "this machine has no sockets left",
}


PLAIN_CASES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], Failure, str], ...] = (
    (aiohttp.ClientConnectorDNSError, Failure.NAME, "name does not resolve"),
    (aiohttp.ClientPayloadError, Failure.DISCONNECT, "connection closed in the middle of the answer"),
    (aiohttp.InvalidURL, Failure.ADDRESS, "refused: the address cannot be read"),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientConnectionError, OSError),
        Failure.DISCONNECT,
        "connection closed before an answer came",
    ),
    (Exception, Failure.PROTOCOL, "the answer is not HTTP"),
)


def as_exchange_failure(problem: Exception) -> ExchangeFailed:
    """The failure behind an exception of aiohttp; its own text may repeat what was sent, and is left out."""
    cause = getattr(problem, "os_error", problem)
    if isinstance(cause, AddressRefused):
        return ExchangeFailed(Failure.ADDRESS, str(cause), cause.detail)
    if isinstance(cause, NameUnanswered):
        return ExchangeFailed(Failure.NAME, "no name server answered in time")
    if isinstance(problem, aiohttp.ClientSSLError):
        return ExchangeFailed(Failure.TLS, f"TLS: {_tls_reason(problem)}")
    if type(problem) is aiohttp.ClientConnectorError:
        return ExchangeFailed(Failure.CONNECT, _connect_sentence(problem.os_error))
    return next(
        ExchangeFailed(failure, sentence)
        for kinds, failure, sentence in PLAIN_CASES
        if isinstance(problem, kinds)
    )


def _connect_sentence(problem: OSError) -> str:
    return CONNECT_SENTENCES.get(problem.errno or 0, "connection failed")


def _tls_reason(problem: aiohttp.ClientSSLError) -> str:
    error = problem.os_error
    reason = getattr(error, "verify_message", None) or getattr(error, "reason", None) or "handshake failed"
    return str(reason).replace("_", " ").lower()
