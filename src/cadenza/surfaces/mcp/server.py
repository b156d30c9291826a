"""The MCP server: tools and resources, whatever carries the words."""

from collections.abc import Callable
from traceback import format_exc
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import ValidationError

from cadenza.surfaces.mcp import resources, tools
from cadenza.surfaces.mcp.caller import Visit
from cadenza.surfaces.mcp.texts import INSTRUCTIONS

Asked = ServerRequestContext[Any, Any]
Visitor = Callable[[Asked], Visit]
"""Who asks, told from what the transport knows of a request."""
Warn = Callable[..., None]
"""Writes a warning into the log, with facts as fields."""
Paging = PaginatedRequestParams | None


class Host:
    """Answers whoever asks."""

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor

    async def list_tools(self, asked: Asked, _: Paging) -> ListToolsResult:
        """Only what the caller may use."""
        return ListToolsResult(tools=tools.tools_for(self._visitor(asked)))

    async def call_tool(self, asked: Asked, params: CallToolRequestParams) -> CallToolResult:
        """Use a tool."""
        return await tools.call(self._visitor(asked), params)

    async def list_resources(self, _asked: Asked, _: Paging) -> ListResourcesResult:
        """What has a URI of its own."""
        return ListResourcesResult(resources=resources.resources())

    async def list_templates(self, _asked: Asked, _: Paging) -> ListResourceTemplatesResult:
        """What has a URI for each endpoint."""
        return ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read(self, asked: Asked, params: ReadResourceRequestParams) -> ReadResourceResult:
        """What is found under a URI."""
        return await resources.read(self._visitor(asked), params.uri)


def mcp_server(visitor: Visitor, *, version: str, warn: Warn) -> Server[Any]:
    """A server that any transport can carry."""
    tools.prepare()
    host = Host(visitor)
    server: Server[Any] = Server(
        "cadenza",
        version=version,
        title="Cadenza",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=tools.input_schema,
        on_list_tools=host.list_tools,
        on_call_tool=host.call_tool,
        on_list_resources=host.list_resources,
        on_list_resource_templates=host.list_templates,
        on_read_resource=host.read,
    )
    server.middleware.append(_net(warn))
    return server


def _net(warn: Warn) -> Any:
    """Catches bugs. Left to itself, the older protocol would tell the caller their very words."""

    async def caught(asked: Asked, call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(asked)
        except (MCPError, ValidationError):
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not reach the caller
            warn(
                "an agent's request failed unexpectedly",
                method=asked.method,
                error=type(problem).__name__,
                trace=format_exc(),
            )
            raise MCPError(
                INTERNAL_ERROR, "Something went wrong here; the server's log tells what."
            ) from None

    return caught


EXTRA = "MCP needs the extra: install cadenza[mcp]."


def missing_extra(problem: Exception) -> bool:
    """Is it the library itself that is not there?"""
    return isinstance(problem, ModuleNotFoundError) and (problem.name or "").partition(".")[0] == "mcp"
