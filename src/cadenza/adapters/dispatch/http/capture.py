"""Reading an answer's body: so much of it and no more, however it is packed."""

import zlib
from typing import NamedTuple

from aiohttp import ClientResponse, StreamReader, hdrs

from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure

PACKED_MARGIN = 65_536
"""How much more may come over the wire than is kept: honest packing makes things smaller."""
ZLIB_HEADER = 0x78


class Body(NamedTuple):
    """What was read of a body."""

    content: bytes
    truncated: bool = False
    packing: str = ""
    """The encoding it is still in, if that is one we do not take off."""


async def read_body(response: ClientResponse, limit: int) -> Body:
    """Read until the end or the limit; what lies beyond is never taken from the connection."""
    packing = response.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower()
    if packing in {"gzip", "x-gzip", "deflate"}:
        return await _unpacked(response.content, limit, gzip="gzip" in packing)
    content, left_packed = bytearray(), "" if packing == "identity" else packing
    while chunk := await response.content.readany():
        content += chunk
        if len(content) > limit:
            return Body(bytes(content[:limit]), truncated=True, packing=left_packed)
    return Body(bytes(content), packing=left_packed)


async def _unpacked(stream: StreamReader, limit: int, *, gzip: bool) -> Body:
    content, arrived, unpack = bytearray(), 0, None
    while chunk := await stream.readany():
        unpack = unpack or _unpacker(chunk, gzip=gzip)
        arrived += len(chunk)
        # With 0 bytes left, zlib would take that for no limit at all.
        content += _decompressed(unpack, chunk, most=limit + 1 - len(content))
        if len(content) > limit or arrived > limit + PACKED_MARGIN or unpack.unused_data:
            return Body(bytes(content[:limit]), truncated=True)
    return Body(bytes(content), truncated=unpack is not None and not unpack.eof)


def _unpacker(first: bytes, *, gzip: bool) -> "zlib._Decompress":
    """Deflate comes with a header, as it should, or without, as some servers send it."""
    if gzip:
        return zlib.decompressobj(zlib.MAX_WBITS + 16)
    wrapped = first[0] & 0x0F == ZLIB_HEADER & 0x0F
    return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)


def _decompressed(unpack: "zlib._Decompress", chunk: bytes, *, most: int) -> bytes:
    try:
        return unpack.decompress(chunk, most)
    except zlib.error:
        raise ExchangeFailed(Failure.PROTOCOL, "the answer is not packed the way it says") from None
