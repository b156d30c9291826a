"""The OpenAPI document, built from the table of operations."""

from collections.abc import Mapping, Sequence
from typing import Any

from cadenza.domain.access.key import Scope
from cadenza.domain.text_patterns import AN_IDEMPOTENCY_KEY
from cadenza.operations.operation import NO_CONTENT, RANK_HEADER, RANKS, AnyOperation, Route
from cadenza.surfaces.http import idempotency, problems
from cadenza.surfaces.http.documents.components import Components, Schema

TITLE = "Cadenza"
ABOUT = (
    "A scheduler that keeps time and knows when to improvise: a baseline that its owner chose, "
    "short-lived hints, and a governor that explains every next run. "
    "Moments are ISO 8601 in UTC; spans are milliseconds in names that end in `_ms`. "
    "Lists page with `cursor`. Errors are problems as in RFC 9457."
)
SECURITY = "key"
REQUEST_ID = {"description": "What to name when asking the operator.", "schema": {"type": "string"}}
KEY_HEADER = {
    "name": idempotency.HEADER,
    "in": "header",
    "required": False,
    "description": "Sent twice with the same key, a request is carried out once and answered twice the same.",
    "schema": {"type": "string", "pattern": AN_IDEMPOTENCY_KEY},
}


RANK_PARAMETER = {
    "name": RANK_HEADER,
    "in": "header",
    "required": False,
    "description": "Lets what is steered count less than a person's word, so that others may replace it.",
    "schema": {"type": "string", "enum": RANKS},
}


def document(operations: Sequence[AnyOperation], version: str) -> Schema:
    """The whole document."""
    components = Components(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        if operation.route is not None:
            place = paths.setdefault(operation.route.path, {})
            place[operation.route.method.lower()] = _operation(operation, operation.route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": version, "description": ABOUT, "license": {"name": "MIT"}},
        "servers": [{"url": "/"}],
        "security": [{SECURITY: []}],
        "paths": paths,
        "components": {
            "schemas": components.schemas | {"Problem": problem_schema()},
            "responses": {_camel(kind.name): _problem(kind) for kind in problems.KINDS},
            "headers": {"RequestId": REQUEST_ID},
            "parameters": {"IdempotencyKey": KEY_HEADER, "Rank": RANK_PARAMETER},
            "securitySchemes": {
                SECURITY: {"type": "http", "scheme": "bearer", "description": "A key: `cad_…`."}
            },
        },
    }


def _operation(operation: AnyOperation, route: Route, components: Components) -> Schema:
    summary, _, _ = operation.description.partition("\n")
    scope = f"Needs a key with the scope `{operation.scope}`."
    path, fields = components.split(operation, route)
    described: Schema = {
        "operationId": operation.name,
        "tags": [route.path.split("/")[2]],
        "summary": summary.split(". ")[0].rstrip("."),
        "description": f"{operation.description}\n\n{scope}",
        "parameters": [_parameter(name, schema, "path") for name, schema in path.items()],
        "responses": _responses(operation, route, components),
    }
    if operation.writes:
        described["parameters"].append({"$ref": "#/components/parameters/IdempotencyKey"})
    if operation.ranked:
        described["parameters"].append({"$ref": "#/components/parameters/Rank"})
    if not route.has_body:
        described["parameters"] += [_parameter(name, schema, "query") for name, schema in fields.items()]
    elif fields:
        body = components.body(operation, fields)
        required = bool(body["required"])
        described["requestBody"] = {"required": required, "content": _json(body["ref"])}
    return described


def _parameter(name: str, schema: Schema, where: str) -> Schema:
    words = {key: value for key, value in schema.items() if key not in ("title", "description")}
    parameter: Schema = {"name": name, "in": where, "required": where == "path", "schema": words}
    if "description" in schema:
        parameter["description"] = schema["description"]
    return parameter


def _responses(operation: AnyOperation, route: Route, components: Components) -> Schema:
    done: Schema = {
        "description": components.title(operation.view),
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
    }
    if route.status != NO_CONTENT:
        done["content"] = _json(components.view(operation.view))
    kinds = sorted(refusals(operation, route))
    return {str(route.status): done} | {
        str(kind.status): {"$ref": f"#/components/responses/{_camel(kind.name)}"} for kind in kinds
    }


def refusals(operation: AnyOperation, route: Route) -> set[problems.Kind]:
    """The problems that an operation may answer with."""
    kinds = {
        problems.BAD_REQUEST,
        problems.UNAUTHORIZED,
        problems.INVALID_REQUEST,
        problems.TOO_MANY,
        problems.UNEXPECTED,
        problems.UNAVAILABLE,
    }
    if "{" in route.path or _names_others(operation):
        kinds.add(problems.NOT_FOUND)
    if operation.scope is not Scope.READ:
        kinds.add(problems.NOT_ALLOWED)
    if operation.writes:
        kinds.add(problems.CONFLICT)
    if route.has_body:
        kinds |= {problems.TOO_LARGE, problems.WRONG_MEDIA_TYPE}
    return kinds


def _names_others(operation: AnyOperation) -> bool:
    """Can the operation answer 404?"""
    return any(name.endswith("_id") for name in operation.schema.get("properties", {}))


def _problem(kind: problems.Kind) -> Schema:
    response: Schema = {
        "description": f"{kind.title}.",
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
        "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if kind is problems.TOO_MANY:
        seconds = {"description": "In how many seconds to come back.", "schema": {"type": "string"}}
        response["headers"]["Retry-After"] = seconds
    return response


def problem_schema() -> Schema:
    """The schema of problems."""
    fault = {
        "type": "object",
        "required": ["field", "message"],
        "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
    }
    return {
        "type": "object",
        "description": "What went wrong, as RFC 9457 tells it.",
        "required": ["type", "title", "status", "detail", "errors", "request_id"],
        "properties": {
            "type": {"type": "string", "enum": [kind.type for kind in problems.KINDS]},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "One sentence that says what to do."},
            "errors": {"type": "array", "items": fault, "description": "The fields at fault."},
            "request_id": {"type": "string"},
        },
    }


def _json(reference: Mapping[str, Any]) -> Schema:
    return {"application/json": {"schema": dict(reference)}}


def _camel(name: str) -> str:
    return "".join(word.title() for word in name.split("-"))
