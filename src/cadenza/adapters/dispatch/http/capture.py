"""Reads a response body up to a limit, and decompresses it."""

import zlib
from typing import NamedTuple

from aiohttp import ClientResponse, StreamReader, hdrs

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure

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
