"""Request parsing: headers, query and JSON body become one mapping of arguments."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from re import compile as pattern
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import certainly_more_values, too_much_json, unreadable_json
from cadenza.operations.operation import AnyOperation
from cadenza.surfaces.http.problems import BAD_REQUEST, TOO_LARGE, WRONG_MEDIA_TYPE, Refusal

LARGEST_BODY = 1 << 20
MOST_VALUES = 10_000
MOST_VALUES_IN_BULK = 100_000
MOST_PARAMETERS = 100
WHOLE = pattern(r"-?[0-9]{1,18}")
JSON = pattern(r"application/json(\s*;\s*charset\s*=\s*\"?utf-?8\"?)?\s*")
A_REQUEST_ID = pattern(rb"[A-Za-z0-9._:-]{1,64}")
FLAGS = {"true": True, "false": False}

Result = TypeVar("Result")
Texts = list[str]
Reading = Callable[[str, Texts], Any]


def single_header(scope: Scope, name: bytes) -> str | None:
    """A header that may be sent once; if it is there twice, readers could disagree about it."""
    found: bytes | None = None
    for key, value in scope["headers"]:
        if key == name:
            if found is not None:
                raise Refusal(BAD_REQUEST, f"The header {name.decode()} is given more than once.")
            found = value
    return None if found is None else found.decode("latin-1")


def request_id_of(scope: Scope) -> str | None:
    """The request id that the caller sent, if it is valid."""
    for key, value in scope["headers"]:
        if key == b"x-request-id":
            return value.decode() if A_REQUEST_ID.fullmatch(value) else None
    return None


async def body_of(scope: Scope, receive: Receive, *, largest: int = LARGEST_BODY) -> bytes:
    """The whole body, up to the size limit."""
    declared = single_header(scope, b"content-length")
    if declared is not None and int(declared) > largest:
        raise _too_large(largest)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise _too_large(largest)
        more = message.get("more_body", False)
    return b"".join(parts)


async def unless_disconnected(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """The result of some work for a request whose body was read; it ends if the client disconnects."""
    working, leaving = asyncio.create_task(work), asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(largest: int) -> Refusal:
    detail = f"The body may have {largest:,} bytes, and has more."
    return Refusal(TOO_LARGE, detail, {"Connection": "close"})


def refuse_body(scope: Scope) -> None:
    """Refuse a body where arguments come from the query."""
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0")):
            raise Refusal(BAD_REQUEST, "This takes no body.", {"Connection": "close"})


def json_arguments(scope: Scope, body: bytes, *, most: int = MOST_VALUES) -> dict[str, Any]:
    """The arguments of a JSON body with at most so many values; without a body there are none."""
    if not body:
        return {}
    media_type = single_header(scope, b"content-type") or ""
    if not JSON.fullmatch(media_type.lower().strip()):
        raise Refusal(WRONG_MEDIA_TYPE, "The body must be application/json in UTF-8, and say so.")
    try:
        words = parsed_body(body, most=most)
    except orjson.JSONDecodeError as problem:
        raise Refusal(
            BAD_REQUEST, f"The body cannot be read: {unreadable_json(problem)}, or not in UTF-8."
        ) from None
    if not isinstance(words, dict):
        raise InvalidRequest("The body must be a JSON object.", "body")
    return words


def parsed_body(body: bytes, *, most: int = MOST_VALUES) -> Any:
    """The value of a JSON body; refused if it has too many values or levels.

    To build, check or describe them would hold up everybody. JSONDecodeError if it is no JSON.
    """
    if certainly_more_values(body, most=most):
        raise _excess(f"{most:,} values")
    words = orjson.loads(body)
    excess = too_much_json(body, words, most=most)
    if excess is not None:
        raise _excess(excess)
    return words


def _excess(excess: str) -> Refusal:
    return Refusal(TOO_LARGE, f"The body may have {excess}, and has more.")


class QueryReader:
    """Parses the query of one operation into the types of its fields."""

    def __init__(self, operation: AnyOperation) -> None:
        self._operation = operation

    @cached_property
    def _readings(self) -> dict[str, Reading]:
        """Parsers by field, built on the first query: schemas are slow, and most are never needed."""
        fields = self._operation.schema.get("properties", {})
        return {name: _reading(field) for name, field in fields.items()}

    def read(self, query: bytes) -> dict[str, Any]:
        """The arguments of a query; unknown ones stay for the command to refuse."""
        if not query:
            return {}
        found: dict[str, Texts] = {}
        for name, text in _pairs(query):
            found.setdefault(name, []).append(text)
        return {name: self._readings.get(name, _one)(name, texts) for name, texts in found.items()}


def refuse_query(scope: Scope) -> None:
    """Refuse a query where arguments come from the body, so that no access log holds them."""
    if scope["query_string"]:
        name = next((name for name, _ in _pairs(scope["query_string"])), "query")
        raise InvalidRequest(f"{name} stands in the query; put it into the body.", name)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except ValueError:
        raise Refusal(BAD_REQUEST, "The query cannot be read: it is too long, or not UTF-8.") from None


def _reading(field: Mapping[str, Any]) -> Reading:
    """The parser of a field, by its schema without null."""
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    return {"integer": _number, "boolean": _flag, "array": _all}.get(kinds[0].get("type", ""), _one)


def _one(name: str, texts: Texts) -> str:
    if len(texts) > 1:
        raise InvalidRequest(f"{name} is given more than once.", name)
    return texts[0]


def _number(name: str, texts: Texts) -> int | str:
    text = _one(name, texts)
    return int(text) if WHOLE.fullmatch(text) else text


def _flag(name: str, texts: Texts) -> bool | str:
    text = _one(name, texts)
    return FLAGS.get(text, text)


def _all(_: str, texts: Texts) -> Texts:
    return texts


def merged(path: Mapping[str, str], words: dict[str, Any]) -> dict[str, Any]:
    """Path and other arguments in one mapping; InvalidRequest if one is given twice."""
    twice = path.keys() & words.keys()
    if twice:
        name = min(twice)
        raise InvalidRequest(f"{name} stands in the path; leave it out of the rest.", name)
    return {**words, **path}
