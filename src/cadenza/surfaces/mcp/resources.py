"""MCP resources: documentation texts, endpoints and their plans."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from cadenza.domain.errors import CadenzaError, Unavailable
from cadenza.domain.validation import quoted
from cadenza.operations.table import BY_NAME
from cadenza.surfaces.mcp.caller import McpCaller
from cadenza.surfaces.mcp.texts import TEXTS
from cadenza.surfaces.mcp.tools import error_text

MARKDOWN, JSON = "text/markdown", "application/json"
DOCS = "cadenza://docs/"


class OperationResource(NamedTuple):
    """A resource or resource template, and the operation that reads it."""

    uri: str
    name: str
    description: str
    operation: str


FIRST_PAGE = OperationResource(
    "cadenza://endpoints",
    "endpoints",
    "The first page of endpoints, as list_endpoints answers; that tool finds the others.",
    "list_endpoints",
)
TEMPLATES = (
    OperationResource(
        "cadenza://endpoints/{endpoint_id}",
        "endpoint",
        "One endpoint: what its owner wrote, and where it stands.",
        "get_endpoint",
    ),
    OperationResource(
        "cadenza://endpoints/{endpoint_id}/plan",
        "plan",
        "Why an endpoint's next run is when it is; `answer` tells all of it in words.",
        "explain_endpoint",
    ),
)
PATTERNS = [(UriTemplate.parse(one.uri), one) for one in (FIRST_PAGE, *TEMPLATES)]


def resources() -> list[Resource]:
    """All resources with a fixed URI."""
    texts = [
        Resource(uri=f"{DOCS}{name}", name=name, title=text.title, description=text.about, mime_type=MARKDOWN)
        for name, text in TEXTS.items()
    ]
    page = Resource(
        uri=FIRST_PAGE.uri, name=FIRST_PAGE.name, description=FIRST_PAGE.description, mime_type=JSON
    )
    return [*texts, page]


def templates() -> list[ResourceTemplate]:
    """All resource templates."""
    return [
        ResourceTemplate(uri_template=one.uri, name=one.name, description=one.description, mime_type=JSON)
        for one in TEMPLATES
    ]


async def read(mcp_caller: McpCaller, uri: str) -> ReadResourceResult:
    """Read the resource of a URI."""
    text = TEXTS.get(uri.removeprefix(DOCS)) if uri.startswith(DOCS) else None
    if text is not None:
        return _contents(uri, MARKDOWN, text.body)
    resource, arguments = _found(uri)
    try:
        view = await mcp_caller.perform(BY_NAME[resource.operation], arguments)
    except CadenzaError as problem:
        code = INTERNAL_ERROR if isinstance(problem, Unavailable) else INVALID_PARAMS
        raise MCPError(code, error_text(problem), {"uri": uri}) from None
    return _contents(uri, JSON, orjson.dumps(view).decode())


def _found(uri: str) -> tuple[OperationResource, Mapping[str, Any]]:
    for pattern, resource in PATTERNS:
        arguments = pattern.match(uri)
        if arguments is not None:
            return resource, arguments
    raise MCPError(INVALID_PARAMS, f"Resource {quoted(uri)} not found.", {"uri": uri})


def _contents(uri: str, mime_type: str, text: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=mime_type, text=text)])
