"""A DNS server on loopback that answers some names, denies some, and is silent about the others."""

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import cast

TYPE_A, CLASS_IN, NAME_OF_QUESTION = 1, 1, b"\xc0\x0c"
ANSWERED, NO_SUCH_NAME = 0x8180, 0x8183


@dataclass(frozen=True, slots=True)
class Record:
    """The address of a name, and for how many seconds it may be kept."""

    address: str
    ttl: int = 60


class DnsServer(asyncio.DatagramProtocol):
    """Answers A queries by `records`; names under `silent.test` are never answered, others do not exist."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self.records = dict(records)
        self.asked = Counter[str]()
        self.waiting = set[str]()
        """The names that were asked for and not answered."""

    @property
    def address(self) -> str:
        host, port = self._transport.get_extra_info("sockname")
        return f"{host}:{port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, kind, question = _read_question(data)
        if kind == TYPE_A:
            self.asked[name] += 1
        if name.endswith(".silent.test"):
            self.waiting.add(name)
            return
        record = self.records.get(name)
        answer = b"" if record is None or kind != TYPE_A else _write_answer(record)
        head = struct.pack(">HHHHH", ANSWERED if record else NO_SUCH_NAME, 1, bool(answer), 0, 0)
        self._transport.sendto(data[:2] + head + question + answer, addr)


@asynccontextmanager
async def a_dns_server(**addresses: Record) -> AsyncIterator[DnsServer]:
    """A server for these names, whose dots are written as underscores."""
    records = {name.replace("_", "."): record for name, record in addresses.items()}
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: DnsServer(records), local_addr=("127.0.0.1", 0)
    )
    try:
        yield server
    finally:
        transport.close()


def _read_question(data: bytes) -> tuple[str, int, bytes]:
    labels, at = [], 12
    while length := data[at]:
        labels.append(data[at + 1 : at + 1 + length].decode())
        at += length + 1
    return ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])[0], data[12 : at + 5]


def _write_answer(record: Record) -> bytes:
    packed = ip_address(record.address).packed
    return NAME_OF_QUESTION + struct.pack(">HHIH", TYPE_A, CLASS_IN, record.ttl, len(packed)) + packed
