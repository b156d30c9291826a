"""What a request of a target may hold: each check says what is wrong with a field, and how it is written."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import JSON_PATH, Json, json_size, texts
from cadenza.domain.validation import check_text

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LONGEST_URL = 2_048
MOST_HEADERS = 64
LONGEST_HEADER = 8_192
LONGEST_BODY = 262_144
MOST_LISTED = 32
MOST_KEYS = 4
MANAGED_HEADERS = re.compile(
    r"(?i)host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect"
    r"|idempotency-key|(webhook|cadenza|proxy)-.*"
)
REFERENCE = re.compile(r"\$\{((?:env|secret):[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})\}")
LIKE_A_REFERENCE = re.compile(r"\$\{(?:env|secret):")
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]*")
"""No control character but the tab. It says what is refused: a set of all that is allowed compiles slowly."""
URL_TEXT = re.compile(r"[^\x00-\x20\\\x7f-\xa0\ud800-\udfff]+")
STATUSES = re.compile(r"([1-5])[xX]{2}|([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")


@lru_cache(maxsize=1024)
def check_url(url: str) -> None:
    """InvalidRequest unless it is an address over HTTP, without a password or a secret."""
    if not URL_TEXT.fullmatch(url):
        raise InvalidRequest("url must have no spaces, backslashes or control characters.", "url")
    if LIKE_A_REFERENCE.search(url):
        raise InvalidRequest("url cannot hold a secret: addresses are shown. Put it in a header.", "url")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidRequest("url is not a valid URL.", "url") from None
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise InvalidRequest("url must be http:// or https:// with a host, and no port 0.", "url")
    if "@" in parts.netloc:
        raise InvalidRequest("url must hold no password; use an Authorization header.", "url")


def checked_method(method: Any) -> str:
    """A method, in capitals; InvalidRequest if there is no such method."""
    upper = check_text("method", method, longest=16).upper()
    if upper not in METHODS:
        raise InvalidRequest(f"method must be one of {', '.join(METHODS)}.", "method")
    return upper


def checked_headers(headers: Any) -> dict[str, str]:
    """Headers, each named once; InvalidRequest for one that Cadenza sets itself or that breaks a line."""
    if not isinstance(headers, Mapping) or len(headers) > MOST_HEADERS:
        raise InvalidRequest(f"headers must be at most {MOST_HEADERS} names with their values.", "headers")
    for name, value in headers.items():
        _check_header(check_text("headers", name), check_text("headers", value, longest=LONGEST_HEADER))
    if len({name.lower() for name in headers}) < len(headers):
        raise InvalidRequest("headers must name each header once.", "headers")
    return dict(headers)


def _check_header(name: str, value: str) -> None:
    if not TOKEN.fullmatch(name):
        raise InvalidRequest(f"{name!r} is not the name of a header.", "headers")
    if MANAGED_HEADERS.fullmatch(name):
        raise InvalidRequest(f"The header {name} is set by Cadenza itself.", "headers")
    if not HEADER_VALUE.fullmatch(value):
        raise InvalidRequest(f"The header {name} must be one line without control characters.", "headers")
    _check_references("headers", value)


def _check_references(field: str, text: str) -> None:
    if len(LIKE_A_REFERENCE.findall(text)) != len(REFERENCE.findall(text)):
        raise InvalidRequest(f"{field} has a reference that is not ${{env:NAME}} or ${{secret:NAME}}.", field)


def check_body(body: Any) -> None:
    """InvalidRequest if a body is too long, or refers to secrets in a wrong way."""
    if (size := json_size("body", body)) > LONGEST_BODY:
        raise InvalidRequest(f"body has {size:,} bytes; the maximum is {LONGEST_BODY:,}.", "body")
    for text in texts(body):
        _check_references("body", text)


def _listed(field: str, values: Any, *, most: int) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple) or len(values) > most:
        raise InvalidRequest(f"{field} must be a list of at most {most}.", field)
    return tuple(values)


@lru_cache(maxsize=1024)
def status_range(statuses: str) -> range:
    """The statuses that `204`, `200-204` or `2xx` stand for."""
    found = STATUSES.fullmatch(statuses)
    if found is None:
        raise InvalidRequest(f"{statuses!r} is not a status: 204, 200-204 and 2xx are.", "success_statuses")
    hundred, first, last = found.groups()
    if hundred:
        return range(int(hundred) * 100, int(hundred) * 100 + 100)
    return range(int(first), int(last or first) + 1)


def checked_statuses(values: Any) -> tuple[str, ...]:
    """Statuses that are a success; InvalidRequest unless each is one."""
    listed = tuple(map(str, _listed("success_statuses", values, most=MOST_LISTED)))
    if not listed or not all(map(status_range, listed)):
        raise InvalidRequest("success_statuses must name at least one status.", "success_statuses")
    return listed


def check_path(path: Any) -> None:
    """InvalidRequest unless it is a JSON path, or none."""
    if path is not None and not JSON_PATH.fullmatch(check_text("success_path", path)):
        raise InvalidRequest("success_path must be $, followed by .name, ['name'] or [0].", "success_path")


def checked_success_values(values: Any, path: str | None) -> tuple[Json, ...]:
    """Values of bounded size, with the path that leads to them."""
    listed = _listed("success_values", values, most=MOST_LISTED)
    if listed and path is None:
        raise InvalidRequest("success_values need a success_path that leads to them.", "success_values")
    if json_size("success_values", list(listed)) > LONGEST_HEADER:
        raise InvalidRequest(f"success_values may have {LONGEST_HEADER:,} bytes.", "success_values")
    return listed


def checked_capture_headers(values: Any) -> tuple[str, ...]:
    """Names of headers in small letters, never `set-cookie`."""
    listed = tuple(str(name).lower() for name in _listed("capture_headers", values, most=MOST_LISTED))
    if not all(map(TOKEN.fullmatch, listed)) or "set-cookie" in listed:
        raise InvalidRequest("capture_headers must name headers, never set-cookie.", "capture_headers")
    return listed


def checked_signing(values: Any) -> tuple[str, ...]:
    """References to signing keys, and nothing else."""
    listed = _listed("signing", values, most=MOST_KEYS)
    if not all(isinstance(reference, str) and REFERENCE.fullmatch(reference) for reference in listed):
        raise InvalidRequest("signing must list references such as ${secret:NAME}.", "signing")
    return listed
