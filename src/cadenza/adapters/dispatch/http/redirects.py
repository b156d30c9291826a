"""The request that follows a redirect, and which headers it may carry."""

from yarl import URL

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.adapters.dispatch.http.hop import Hop, read_url

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
