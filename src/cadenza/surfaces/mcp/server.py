"""The MCP server with its tools and resources, for any transport."""

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
from cadenza.surfaces.mcp.caller import McpCaller
from cadenza.surfaces.mcp.texts import INSTRUCTIONS

McpRequest = ServerRequestContext[Any, Any]
FindCaller = Callable[[McpRequest], McpCaller]
"""Finds the caller of a request of the transport."""
Warn = Callable[..., None]
"""Writes a warning into the log, with facts as fields."""
Paging = PaginatedRequestParams | None


class Handlers:
    """The handlers of MCP requests."""

    def __init__(self, find_caller: FindCaller) -> None:
        self._find_caller = find_caller

    async def list_tools(self, request: McpRequest, _: Paging) -> ListToolsResult:
        """List the tools that the caller may use."""
        return ListToolsResult(tools=tools.tools_for(self._find_caller(request)))

    async def call_tool(self, request: McpRequest, params: CallToolRequestParams) -> CallToolResult:
        """Call a tool."""
        return await tools.call(self._find_caller(request), params)

    async def list_resources(self, _asked: McpRequest, _: Paging) -> ListResourcesResult:
        """List the resources."""
        return ListResourcesResult(resources=resources.resources())

    async def list_templates(self, _asked: McpRequest, _: Paging) -> ListResourceTemplatesResult:
        """List the resource templates."""
        return ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read(self, request: McpRequest, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read a resource."""
        return await resources.read(self._find_caller(request), params.uri)


def mcp_server(find_caller: FindCaller, *, version: str, warn: Warn) -> Server[Any]:
    """The server, for any transport."""
    tools.prepare()
    handlers = Handlers(find_caller)
    server: Server[Any] = Server(
        "cadenza",
        version=version,
        title="Cadenza",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=tools.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read,
    )
    server.middleware.append(_catch_bugs(warn))
    return server


def _catch_bugs(warn: Warn) -> Any:
    """A middleware that logs unexpected errors and hides them from the caller."""

    async def caught(request: McpRequest, call_next: CallNext) -> HandlerResult:
        try:
            return await call_next(request)
        except (MCPError, ValidationError):
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not reach the caller
            warn(
                "an agent's request failed unexpectedly",
                method=request.method,
                error=type(problem).__name__,
                trace=format_exc(),
            )
            raise MCPError(INTERNAL_ERROR, "Internal error: the server's log has its traceback.") from None

    return caught
