"""Headers: read from requests, and the ones that every answer carries."""

from re import compile as pattern

from starlette.types import Scope

from cadenza.surfaces.http.problems import BAD_REQUEST, Refusal

Raw = list[tuple[bytes, bytes]]

A_REQUEST_ID = pattern(rb"[A-Za-z0-9._:-]{1,64}")
NOTHING_ELSE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What no page here does."""
FOR_DATA = f"default-src 'none'; {NOTHING_ELSE}"
FOR_PAGES = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    f"connect-src 'self'; {NOTHING_ELSE}"
)
ALWAYS: Raw = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
DATA: Raw = [
    *ALWAYS,
    (b"content-security-policy", FOR_DATA.encode()),
    (b"cache-control", b"no-store"),
]
PAGES: Raw = [*ALWAYS, (b"content-security-policy", FOR_PAGES.encode())]


def protection(path: str) -> Raw:
    """What keeps browsers from doing harm with an answer."""
    return DATA if path.startswith(("/v1", "/mcp")) else PAGES


def given(scope: Scope, name: bytes) -> str | None:
    """A header that may stand there once: two of them would be read differently by different readers."""
    found = [value for key, value in scope["headers"] if key == name]
    if len(found) > 1:
        raise Refusal(BAD_REQUEST, f"The header {name.decode()} is given more than once.")
    return found[0].decode("latin-1") if found else None


def wanted_request_id(scope: Scope) -> str | None:
    """The request id that a caller gave, if it is one."""
    for key, value in scope["headers"]:
        if key == b"x-request-id":
            return value.decode() if A_REQUEST_ID.fullmatch(value) else None
    return None
