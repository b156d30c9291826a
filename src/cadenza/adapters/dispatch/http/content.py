"""A response body: read up to a limit, and recorded as JSON, text, or its size and digest."""

import codecs
import re
import zlib
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import orjson
from aiohttp import ClientResponse, StreamReader, hdrs

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.adapters.dispatch.http.secret_references import RevealedSecrets
from cadenza.domain.json_values import DEEPEST_JSON, Json

COMPRESSED_MARGIN = 65_536
"""How many more compressed bytes than the limit are read: compression normally makes bodies smaller."""
ZLIB_HEADER = 0x78


class Body(NamedTuple):
    """What was read of a body."""

    content: bytes
    truncated: bool = False
    encoding: str = ""
    """The content encoding it still has, if it is one that is not decompressed."""


async def read_body(response: ClientResponse, limit: int) -> Body:
    """Read until the end or the limit; the rest is never read from the connection."""
    encoding = response.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower()
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return await _decompressed_body(response.content, limit, gzip="gzip" in encoding)
    content, remaining = bytearray(), "" if encoding == "identity" else encoding
    while chunk := await response.content.readany():
        content += chunk
        if len(content) > limit:
            return Body(bytes(content[:limit]), truncated=True, encoding=remaining)
    return Body(bytes(content), encoding=remaining)


async def _decompressed_body(stream: StreamReader, limit: int, *, gzip: bool) -> Body:
    content, arrived, decompressor = bytearray(), 0, None
    while chunk := await stream.readany():
        decompressor = decompressor or _decompressor(chunk, gzip=gzip)
        arrived += len(chunk)
        # With 0 bytes left, zlib would take that for no limit at all.
        content += _decompressed(decompressor, chunk, most=limit + 1 - len(content))
        if len(content) > limit or arrived > limit + COMPRESSED_MARGIN or decompressor.unused_data:
            return Body(bytes(content[:limit]), truncated=True)
    return Body(bytes(content), truncated=decompressor is not None and not decompressor.eof)


def _decompressor(first: bytes, *, gzip: bool) -> "zlib._Decompress":
    """Deflate comes with a zlib header, as it should, or without one, as some servers send it."""
    if gzip:
        return zlib.decompressobj(zlib.MAX_WBITS + 16)
    wrapped = first[0] & 0x0F == ZLIB_HEADER & 0x0F
    return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


def _decompressed(decompressor: "zlib._Decompress", chunk: bytes, *, most: int) -> bytes:
    try:
        return decompressor.decompress(chunk, most)
    except zlib.error:
        raise ExchangeFailed(Failure.PROTOCOL, "the answer is not packed the way it says") from None


JSON_TYPES = re.compile(r"(application|text)/([^/]+\+)?json")
TEXT_TYPES = re.compile(
    r"text/.*|application/([^/]+\+)?(json|xml|yaml)|application/(x-)?(ndjson|yaml|javascript|graphql)"
    r"|application/x-www-form-urlencoded"
)
# Not every codec of Python is a charset: some decompress, and some take quadratic time.
CHARSETS = re.compile(
    r"utf-?(8|16|16[bl]e|32)|(us-)?ascii|iso-?8859-\d+|latin-?1|windows-\d+|cp\d+|koi8-[ru]"
    r"|shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gb(k|2312|18030)|big5"
)
CHARSET_PARAMETER = re.compile(r""";\s*charset\s*=\s*["']?([\w-]+)""")
BYTE_ORDER_MARK = codecs.BOM_UTF8
# PostgreSQL takes no NUL in a text, and one response must not fail the batch it is written with.
NUL, REPLACEMENT = "\0", "\N{REPLACEMENT CHARACTER}"


class Document(NamedTuple):
    """A parsed JSON body; its value may be null."""

    value: Json


def read_document(body: Body, content_type: str) -> Document | None:
    """The parsed body, if its content type is JSON and it is complete."""
    if body.truncated or body.encoding or not _is_json(content_type):
        return None
    try:
        value: Json = orjson.loads(body.content.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return None
    if body.content.count(b"[") + body.content.count(b"{") > DEEPEST_JSON and not _shallow(value):
        return None
    return Document(_without_nul(value) if b"\\u0000" in body.content else value)


def recorded(
    body: Body, content_type: str, *, document: Document | None, revealed: RevealedSecrets
) -> dict[str, Json]:
    """A body as it is recorded in a run, without secrets."""
    facts: dict[str, Json] = {"size": len(body.content), "truncated": body.truncated}
    if document is not None:
        return facts | {"body": revealed.mask_json(document.value)}
    text = _text(body, content_type)
    if text is not None:
        return facts | {"text": revealed.mask(text, cut=body.truncated)} if text else facts
    if revealed.finds_any(body.content.decode(errors="replace")):
        return facts
    return facts | {"sha256": sha256(body.content).hexdigest()}


def _text(body: Body, content_type: str) -> str | None:
    media_type = _media_type(content_type)
    if not body.content:
        return ""
    if body.encoding or (media_type and not TEXT_TYPES.fullmatch(media_type)):
        return None
    charset = CHARSET_PARAMETER.search(content_type.lower())
    name = charset[1] if charset and CHARSETS.fullmatch(charset[1]) else "utf-8"
    text = _decoded(body, name)
    unmarked = not media_type and (NUL in text or REPLACEMENT in text)
    return None if unmarked else text.replace(NUL, REPLACEMENT)


def _decoded(body: Body, charset: str) -> str:
    """The text, with replacement characters for invalid bytes; a character cut at the end is left out."""
    try:
        decoder = codecs.getincrementaldecoder(charset)
    except LookupError:
        decoder = codecs.getincrementaldecoder("utf-8")
    return decoder(errors="replace").decode(body.content, final=not body.truncated)


@lru_cache(maxsize=256)
def _is_json(content_type: str) -> bool:
    return JSON_TYPES.fullmatch(_media_type(content_type)) is not None


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _shallow(value: Json, depth: int = DEEPEST_JSON) -> bool:
    if not isinstance(value, list | dict):
        return True
    parts = value.values() if isinstance(value, dict) else value
    return depth > 0 and all(_shallow(part, depth - 1) for part in parts)


def _without_nul(value: Json) -> Json:
    if isinstance(value, str):
        return value.replace(NUL, REPLACEMENT)
    if isinstance(value, list):
        return [_without_nul(part) for part in value]
    if isinstance(value, dict):
        return {name.replace(NUL, REPLACEMENT): _without_nul(part) for name, part in value.items()}
    return value
