"""What servers tell: the OpenAPI document, other pages, MCP, and the frames of sockets."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mcp import Client
from starlette.routing import BaseRoute
from tests.public_surface.internals import (
    CanvasCommand,
    Delivery,
    Missed,
    Scope,
    Subtitle,
    Unavailable,
    connection,
    frames,
)
from tests.public_surface.naming import type_name
from tests.public_surface.snapshot import Snapshot
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.mcp.mcp_client import open_client, read

MOMENT = datetime(2030, 1, 31, 12, tzinfo=UTC)


async def collect_servers(into: Snapshot) -> None:
    api = ApiInProcess()
    into.both("openapi", (await api.ask("GET /openapi.json", by=None)).json())
    into.text("sentences/llms.txt", (await api.ask("GET /llms.txt", by=None)).body.decode())
    into.shape("routes", sorted(_routes(api.app.routes)))
    into.both("websocket", _frames())
    await _collect_mcp(into, api)


def _routes(routes: list[BaseRoute]) -> Iterator[str]:
    """Everything beside the operations, which have a file of their own."""
    for one in routes:
        path = getattr(one, "path", None)
        methods = ",".join(sorted(getattr(one, "methods", None) or ())) or type(one).__name__
        if path is not None:
            yield f"{path} {methods}"
        yield from _routes(getattr(one, "routes", None) or [])


async def _collect_mcp(into: Snapshot, api: ApiInProcess) -> None:
    async with open_client(api) as client:
        listed = await _listed(client)
        into.sentences("mcp_titles", _take_titles(listed))
        into.both("mcp", listed)
        texts = [one["uri"] for one in listed["resources"].values() if one["mimeType"] == "text/markdown"]
        into.sentences("mcp_texts", {uri: await read(client, uri) for uri in texts})
        into.text("sentences/mcp_instructions.txt", client.instructions or "")
    into.shape("mcp_tools_by_scope", {str(scope): await _tools(api, scope) for scope in Scope})


async def _listed(client: Client) -> dict[str, Any]:
    offered = client.server_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    prompts = (await client.list_prompts()).prompts if "prompts" in offered else []
    return {
        "capabilities": offered,
        "tools": _by_name((await client.list_tools()).tools),
        "resources": _by_name((await client.list_resources()).resources),
        "templates": _by_name((await client.list_resource_templates()).resource_templates),
        "prompts": _by_name(prompts),
    }


def _by_name(listed: Any) -> dict[str, Any]:
    return {one.name: one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listed}


def _take_titles(listed: dict[str, Any]) -> dict[str, Any]:
    """Take the titles out of lists, by the places where they stood; those of schemas are names, and stay."""
    lists = {name: one for name, one in listed.items() if name != "capabilities"}
    return {f"{name}/{key}": one.pop("title", None) for name, of in lists.items() for key, one in of.items()}


async def _tools(api: ApiInProcess, scope: Scope) -> list[str]:
    async with open_client(api, scope=scope) as client:
        return sorted(one.name for one in (await client.list_tools()).tools)


def _frames() -> dict[str, Any]:
    return {
        "from clients": {name: _untitled(kind.model_json_schema()) for name, kind in frames.KINDS.items()},
        "from the server": {kind["type"]: _fields(kind) for kind in map(json.loads, _sent())},
        "close codes": sorted(
            value for name, value in vars(connection).items() if name.isupper() and isinstance(value, int)
        ),
    }


def _untitled(schema: Any) -> Any:
    """A schema without the names of classes, which no client of a socket sees."""
    if isinstance(schema, dict):
        return {
            key: _untitled(one) for key, one in schema.items() if key != "title" or not isinstance(one, str)
        }
    return [_untitled(one) for one in schema] if isinstance(schema, list) else schema


def _sent() -> Iterator[str]:
    """One frame of every kind."""
    yield frames.welcome("ada", 1)
    yield frames.notification("Something happened.", Missed(firings=1, expired=1))
    yield frames.answered("key", 1)
    yield frames.error(Unavailable("Not now."), request_id="1", about="m1")
    for message in (Subtitle("words"), CanvasCommand({"draw": "a line"})):
        yield frames.delivered(Delivery("d", "default", "ada", 1, "helper", message, MOMENT, "s"))


def _fields(value: Any) -> Any:
    """The fields of a frame with their types."""
    return (
        {name: _fields(one) for name, one in value.items()}
        if isinstance(value, dict)
        else type_name(type(value))
    )
