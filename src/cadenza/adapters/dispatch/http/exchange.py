"""One exchange: the request, its redirects, the response, and what is recorded of it."""

import asyncio
from datetime import datetime

from aiohttp import ClientResponse, hdrs

from cadenza.adapters.dispatch.http.connections import ConnectionPools
from cadenza.adapters.dispatch.http.content import Body, Document, read_body, read_document, recorded
from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.adapters.dispatch.http.hop import REDIRECTS, Hop, first_hop, message_id, next_hop
from cadenza.adapters.dispatch.http.secret_references import NO_SECRETS, reveal
from cadenza.adapters.dispatch.http.signing import signature_headers
from cadenza.domain.json_values import Json, follow_path
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import MOST_CAPTURED_BYTES, HttpTarget
from cadenza.ports.secrets import SecretResolver


def check_success(target: HttpTarget, *, status: int, document: Document | None) -> None:
    """Raise ExchangeFailed unless status and body are what the target counts as a success."""
    if not target.succeeds(status):
        raise ExchangeFailed(Failure.STATUS, f"answered {status}")
    if target.success_path is None:
        return
    if document is None:
        raise ExchangeFailed(Failure.CONTENT, "the answer is not JSON, or too long to be read whole")
    found = follow_path(target.success_path, document.value)
    if found is None:
        raise ExchangeFailed(Failure.CONTENT, f"the answer has nothing at {target.success_path}")
    if target.success_values and not any(same(found.value, value) for value in target.success_values):
        raise ExchangeFailed(Failure.CONTENT, f"the answer has another value at {target.success_path}")


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, but 1.0 is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return isinstance(one, bool) == isinstance(other, bool) and one == other


LONG = 16_384
LONGEST_CAPTURED_HEADER = 1_024


class Exchange:
    """A request and its answer, with all redirects between them.

    `response` is what has been recorded so far, also when the exchange fails half-way;
    `revealed` masks secrets in error texts.
    """

    def __init__(self, claim: Claim, target: HttpTarget) -> None:
        self._claim = claim
        self._target = target
        self._redirects = 0
        self.revealed = NO_SECRETS
        self.response: dict[str, Json] = {}

    async def run(self, pools: ConnectionPools, *, secrets: SecretResolver, now: datetime) -> None:
        """Send, follow redirects, record and check; ExchangeFailed or TimeoutError if it is no success."""
        time = asyncio.get_running_loop().time
        ends = time() + self._claim.endpoint.policy.timeout_ms / 1_000
        if references := self._target.references():
            async with asyncio.timeout_at(ends):
                self.revealed = await reveal(
                    references, secrets=secrets, tenant_id=self._claim.endpoint.tenant_id
                )
        hop: Hop | None = first_hop(self._claim, self._target, revealed=self.revealed)
        while hop is not None:
            pools.guard.check(hop.url)
            response = await pools.send(hop, headers=self._headers(hop, now), left_s=ends - time())
            try:
                hop = await self._process(hop, response)
            finally:
                # Keeps the connection if the body was read to its end, and closes it otherwise.
                response.release()

    async def _process(self, hop: Hop, response: ClientResponse) -> Hop | None:
        """The request that a redirect asks for; None if this answer is the last."""
        self.response = self._head(response)
        redirected = self._target.max_redirects and response.status in REDIRECTS
        location = response.headers.get(hdrs.LOCATION) if redirected else None
        if location is None:
            await self._record_body(response)
            return None
        if self._redirects == self._target.max_redirects:
            raise ExchangeFailed(Failure.REDIRECT, f"more than {self._redirects} redirects")
        self._redirects += 1
        return next_hop(hop, status=response.status, location=location)

    async def _record_body(self, response: ClientResponse) -> None:
        """Record the body, then check it: a success path is followed in the whole body."""
        limit = self._target.capture_bytes
        body = await read_body(response, MOST_CAPTURED_BYTES if self._target.success_path else limit)
        content_type = response.headers.get(hdrs.CONTENT_TYPE, "")
        if len(body.content) > LONG:  # To look for secrets in it takes a while, in which other runs go on.
            document, record = await asyncio.to_thread(self._read, body, content_type, limit)
        else:
            document, record = self._read(body, content_type, limit)
        self.response |= record
        check_success(self._target, status=response.status, document=document)

    def _read(self, body: Body, content_type: str, limit: int) -> tuple[Document | None, dict[str, Json]]:
        """The document of a body, and what is recorded of it."""
        document = read_document(body, content_type)
        if len(body.content) <= limit:
            return document, recorded(body, content_type, document=document, revealed=self.revealed)
        cut = Body(body.content[:limit], truncated=True, encoding=body.encoding)
        return document, recorded(cut, content_type, document=None, revealed=self.revealed)

    def _head(self, response: ClientResponse) -> dict[str, Json]:
        headers: dict[str, Json] = {}
        for name in self._target.capture_headers:
            if values := response.headers.getall(name, None):
                headers[name] = self._storable(", ".join(values))
        head: dict[str, Json] = {"status": response.status, "headers": headers}
        if self._redirects:
            head |= {"redirects": self._redirects, "url": self._storable(str(response.url))}
        return head

    def _storable(self, text: str) -> str:
        """A text as it may be stored: valid Unicode, without secrets, of bounded length."""
        clean = text.encode(errors="replace").decode().replace("\0", "?")
        cut = len(clean) > LONGEST_CAPTURED_HEADER
        return self.revealed.mask(clean[:LONGEST_CAPTURED_HEADER], cut=cut)

    def _headers(self, hop: Hop, now: datetime) -> dict[str, str]:
        """The headers of one request; the signature is over the body that it really has."""
        if not self._target.signing or not hop.trusted:
            return hop.headers
        keys = [self.revealed.fill(reference) for reference in self._target.signing]
        message = message_id(self._claim)
        return hop.headers | signature_headers(keys, message=message, now=now, body=hop.body or b"")
