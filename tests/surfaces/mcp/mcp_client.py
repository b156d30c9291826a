"""The API on a real loopback socket, and agents that speak to it with the official client."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, Literal

import aiohttp
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, TextResourceContents
from tests.surfaces.api_in_process import Answered, ApiInProcess

from cadenza.domain.access.key import Scope
from cadenza.roots.api import ApiServer, address_of, listening_socket
from cadenza.roots.settings import Settings

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "auto")
"""The protocol with a handshake, and the one without."""
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@asynccontextmanager
async def serving(api: ApiInProcess) -> AsyncIterator[str]:
    """The HTTP application behind uvicorn; its address."""
    with listening_socket("127.0.0.1", 0) as listening:
        server = ApiServer(Settings(grace_ms=1_000), api.app)
        task = asyncio.create_task(server.serve([listening]))
        try:
            yield address_of(listening)
        finally:
            server.stop()
            await task


@asynccontextmanager
async def client_at(
    address: str, key: str, *, mode: Mode = "auto", path: str = "/mcp"
) -> AsyncIterator[Client]:
    """An agent with a key."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{address}{path}", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def open_client(
    api: ApiInProcess, *, tenant: str = "north", scope: Scope = Scope.ADMIN, mode: Mode = "auto"
) -> AsyncIterator[Client]:
    """An MCP client of a tenant; the API is served as long."""
    key = await api.key(tenant, scope)
    async with serving(api) as address, client_at(address, key, mode=mode) as client:
        yield client


async def post(address: str, body: Any = None, *, path: str = "/mcp", **headers: str) -> Answered:
    """A request as it is; header names are written with underscores."""
    given = ACCEPTED | {name.replace("_", "-"): value for name, value in headers.items()}
    sent = BytesIO(json.dumps(PING if body is None else body).encode())
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{address}{path}", data=sent, headers=given, allow_redirects=False) as answer,
    ):
        assert len(answer.headers) == len(set(answer.headers)), "no header stands there twice"
        known = {name.lower(): value for name, value in answer.headers.items()}
        return Answered(answer.status, known, await answer.read())


async def call(client: Client, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What a tool answers, the same in both forms."""
    result = await client.call_tool(tool, dict(arguments or {}))
    assert not result.is_error, text_of(result)
    assert result.structured_content == json.loads(text_of(result))
    return result.structured_content


async def refused(client: Client, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
    """The words with which a tool refuses."""
    result = await client.call_tool(tool, dict(arguments or {}))
    assert result.is_error, result.structured_content
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def read(client: Client, uri: str) -> str:
    """The text of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.uri == uri
    return contents.text


async def names(client: Client) -> set[str]:
    """The tools that an agent sees."""
    return {tool.name for tool in (await client.list_tools()).tools}
