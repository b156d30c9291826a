"""One request of an exchange, and the request that follows a redirect."""

import json
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from yarl import URL

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.adapters.dispatch.http.secret_references import NO_SECRETS, RevealedSecrets
from cadenza.domain.http_request import HEADER_VALUE
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import HttpTarget

JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain; charset=utf-8"
# Of the characters that a header may hold, all but the full stop and the one that escapes it.
PLAIN = "!#$&'()*+,/:;=?@[]_~-"
PLAIN_NAME = re.compile(r"[\w:.-]*", re.ASCII)


class Hop(NamedTuple):
    """One request, without the headers that all requests share, and without its signature."""

    method: str
    url: URL
    headers: dict[str, str]
    body: bytes | None = None
    trusted: bool = True
    """Whether it goes to the origin that its owner named, and may carry secrets and signatures."""
    secret_headers: frozenset[str] = frozenset()
    secret_body: bool = False


def first_hop(claim: Claim, target: HttpTarget, *, revealed: RevealedSecrets) -> Hop:
    """The request of the target, with its secrets and the ids of slot and run."""
    plain = _unresolved(claim, target)
    if revealed is NO_SECRETS:
        return plain
    secrets = {name: revealed.fill(value) for name, value in target.headers.items() if "${" in value}
    for name, value in secrets.items():
        _check_line(name, value)
    body = revealed.fill_json(target.body)
    return plain._replace(
        headers=plain.headers | secrets,
        body=_encoded(body),
        secret_headers=frozenset(secrets),
        secret_body=body != target.body,
    )


def _unresolved(claim: Claim, target: HttpTarget) -> Hop:
    """The request with unresolved references."""
    headers, body = dict(target.headers), target.body
    if body is not None and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = TEXT_TYPE if isinstance(body, str) else JSON_TYPE
    headers["Idempotency-Key"] = _plain(claim.idempotency_key)
    headers["Cadenza-Run-Id"] = _plain(claim.run_id)
    return Hop(target.method, _cached_url(target.url), headers, _encoded(body))


def message_id(claim: Claim) -> str:
    """The slot as a message id: the same for every attempt, and without full stops."""
    return quote(claim.idempotency_key, safe=PLAIN).replace(".", "%2E")


def read_url(text: str) -> URL:
    """A URL as it will be used, so that what is checked is what is sent."""
    try:
        url = URL(text)
        url.raw_host, url.port  # noqa: B018 - some parts are read only when they are asked for
    except ValueError:
        raise ExchangeFailed(Failure.ADDRESS, "refused: the address cannot be read") from None
    return url


_cached_url = lru_cache(maxsize=1024)(read_url)


def _plain(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else quote(name, safe=PLAIN + "%.")


def _check_line(name: str, value: str) -> None:
    if not HEADER_VALUE.fullmatch(value):
        raise ExchangeFailed(Failure.SECRET, f"the secret in the header {name} is not one line of text")


def _encoded(body: Json) -> bytes | None:
    if body is None:
        return None
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


REDIRECTS = frozenset({301, 302, 303, 307, 308})
SEE_OTHER = 303
MOVED = frozenset({301, 302})
FORWARDED_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "cadenza-run-id",
        "content-encoding",
        "content-language",
        "content-type",
        "idempotency-key",
        "user-agent",
    }
)
"""The only headers that another origin gets: credentials have many names."""


def next_hop(hop: Hop, *, status: int, location: str) -> Hop:
    """The request that a redirect asks for.

    1. 303 becomes a GET without a body, unless it was a HEAD; so does a POST on 301 and 302.
    2. Any other method is kept, with its body.
    3. Another origin gets no headers that could hold a key and no signature, then or later.
    4. A body with a secret in it does not leave its origin at all.
    """
    followed = hop._replace(url=hop.url.join(read_url(location)))
    if (status == SEE_OTHER and hop.method != "HEAD") or (status in MOVED and hop.method == "POST"):
        followed = _without_body(followed)
    if _same_origin(hop.url, followed.url):
        return followed
    if followed.body is not None and hop.secret_body:
        raise ExchangeFailed(Failure.REDIRECT, "refused: a redirect would take a secret to another origin")
    return followed._replace(headers=_forwarded(followed), trusted=False)


def _forwarded(hop: Hop) -> dict[str, str]:
    return {
        name: value
        for name, value in hop.headers.items()
        if name.lower() in FORWARDED_HEADERS and name not in hop.secret_headers
    }


def _without_body(hop: Hop) -> Hop:
    kept = {name: value for name, value in hop.headers.items() if not name.lower().startswith("content-")}
    return hop._replace(method="GET", body=None, headers=kept)


def _same_origin(one: URL, other: URL) -> bool:
    return (one.scheme, one.raw_host, one.port) == (other.scheme, other.raw_host, other.port)
