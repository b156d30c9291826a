"""Writes docs/reference/rest.md from the table of operations; run it with `python -m`."""

import sys
from collections.abc import Iterable

from cadenza.domain.json_values import DEEPEST_DOCUMENT
from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.http.auth import MOST_FAILURES
from cadenza.surfaces.http.idempotency import HEADER
from cadenza.surfaces.http.pages import fields_of
from cadenza.surfaces.http.problems import KINDS, MEDIA_TYPE
from cadenza.surfaces.http.request import LARGEST_BODY, MOST_VALUES, MOST_VALUES_IN_BULK

HEAD = f"""# REST API

Written from the table of operations; `/openapi.json` says the same to machines, with every field, and \
`/docs` shows it in a browser.

- **Keys.** `Authorization: Bearer cad_…`. A key belongs to a tenant and has scopes: `read`, `steer`, \
`write`, `admin`, each with those before it. What another tenant has is not found.
- **Arguments.** `GET` and `DELETE` take a query, the others a JSON object of at most {LARGEST_BODY:,} \
bytes, {MOST_VALUES:,} values ({MOST_VALUES_IN_BULK:,} where many things are sent at once) and \
{DEEPEST_DOCUMENT} levels. What an operation does not know is refused. In the tables, a question mark stands \
behind what may be left out.
- **Values.** Moments are ISO 8601 with an offset, and come back with `Z`; spans are milliseconds in names \
that end in `_ms`.
- **Lists** answer `items` and `next_cursor`; pass the latter as `cursor` until it is null. \
A page ends after 256 KiB of what may be long, such as bodies and responses: it may hold less than `limit` \
and yet not be the last.
- **Writes** take the header `{HEADER}`: sent again with the same one, a request is carried out once \
and answered the same, with `Idempotency-Replayed: true`, for a day. The same one on another request is \
refused with 422; while the first is being carried out, the second waits for it. The answer is kept in the \
commit of what was done, so this holds after a crash of the server, too: what it interrupted was not done, \
and is done when it is sent again. A failure of the server (5xx) does nothing, and is not kept. An answer \
that holds a secret is not kept: sent again, such a request is told that it was done. Where a request is \
about a user, the key is that user's own, and what is kept of it goes with the user. Two kinds of \
operations call somebody else before they are done. A message to an agent that a crash interrupts before \
its answer is stored is answered when it is sent again, at most 15 seconds later. While a trial of a target \
goes on, the same request is answered with 409 and `Retry-After`, and after a crash for two minutes.
- **Rates.** `CADENZA_RATE_PER_MINUTE` requests with one key or user's token, and \
`CADENZA_TENANT_RATE_PER_MINUTE` with all of a tenant, counted over all processes in windows of ten \
seconds; above that, 429 with `Retry-After`. Wrong keys get the same after {MOST_FAILURES} of them from one \
address in a minute; a right key is answered from any address at any time. Behind a proxy, addresses are \
told apart only if `CADENZA_TRUSTED_PROXIES` names it.
- **Errors** are `{MEDIA_TYPE}` as in RFC 9457: `type`, `title`, `status`, `detail` (one \
sentence that says what to do), `errors` (the fields at fault, each with `field` and `message`) and \
`request_id`, which is also in the header `X-Request-Id` of every answer. Send that header, and the request \
keeps your id.

## Public

`/healthz` (the process lives), `/readyz` (its store answers and takes changes), `/metrics` \
(Prometheus), `/openapi.json`, `/docs`, `/llms.txt`.
"""
PROBLEMS = """
## Problems

| status | type | |
|---|---|---|
"""


def text(operations: Iterable[AnyOperation] = OPERATIONS) -> str:
    """The whole document."""
    groups: dict[str, list[str]] = {}
    for operation in operations:
        if operation.route is not None:
            group = operation.route.path.split("/")[2]
            groups.setdefault(group, []).append(_row(operation, operation.route))
    tables = "".join(_table(group, rows) for group, rows in groups.items())
    problems = "".join(f"| {kind.status} | `{kind.type}` | {kind.title} |\n" for kind in KINDS)
    return f"{HEAD}{tables}{PROBLEMS}{problems}"


def _table(group: str, rows: list[str]) -> str:
    return f"\n## {group.capitalize()}\n\n| request | scope | takes | |\n|---|---|---|---|\n{''.join(rows)}"


def _row(operation: AnyOperation, route: Route) -> str:
    fields = ", ".join(f"`{field}`" for field in fields_of(operation, route))
    words = " ".join(operation.description.split()).replace("|", "\\|")
    return f"| `{route.method} {route.path}` | {operation.scope} | {fields} | {words} |\n"


if __name__ == "__main__":
    sys.stdout.write(text())
