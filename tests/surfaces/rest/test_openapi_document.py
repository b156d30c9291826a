"""What is public: the OpenAPI document, the pages, the figures."""

import json
from collections import Counter
from typing import Any

import pytest
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.operation_requests import NAMES, SERVED

from cadenza.domain.errors import Unavailable
from cadenza.operations.documented_models import Documented
from cadenza.operations.operation import AnyOperation, Operation, Route
from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.http.documents import openapi
from cadenza.surfaces.http.pages import fields_of

DOCUMENT = openapi.document(OPERATIONS, "1.2.3")
everyone = pytest.mark.parametrize(("operation", "route"), SERVED, ids=NAMES)


def resolved(reference: str) -> Any:
    place: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        place = place[part]
    return place


def references(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [found for value in part.values() for found in references(value)]
    return [found for value in part for found in references(value)] if isinstance(part, list) else []


def subclasses(kind: type[Any]) -> set[type[Any]]:
    """The product's own classes below a class."""
    own: set[type[Any]] = {one for one in kind.__subclasses__() if one.__module__.startswith("cadenza.")}
    return own.union(*map(subclasses, own))


async def test_the_document_is_served_to_everybody(api: ApiInProcess) -> None:
    answer = await api.ask("GET /openapi.json", by=None)
    assert answer.status == 200
    assert answer.json() == json.loads(json.dumps(DOCUMENT))
    assert answer.json()["openapi"] == "3.1.0"


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        assert resolved(reference) is not None


def test_nothing_is_left_over() -> None:
    used = {reference.rsplit("/", 1)[1] for reference in references(DOCUMENT)}
    assert set(DOCUMENT["components"]["schemas"]) <= used


def test_no_two_classes_are_one_schema() -> None:
    names = Counter(one.__name__ for one in subclasses(Documented))
    assert {name for name, count in names.items() if count > 1} == set()


def test_a_schema_is_titled_by_its_name() -> None:
    """Generators of clients name their classes by titles."""
    schemas = DOCUMENT["components"]["schemas"]
    assert {name for name, schema in schemas.items() if schema.get("title", name) != name} == set()


@everyone
def test_every_operation_is_described(operation: AnyOperation, route: Route) -> None:
    described = DOCUMENT["paths"][route.path][route.method.lower()]
    assert described["operationId"] == operation.name
    assert described["summary"]
    assert operation.description in described["description"]
    assert f"`{operation.scope}`" in described["description"]
    assert str(route.status) in described["responses"]
    assert {"401", "422", "429", "503"} < described["responses"].keys()
    for status, response in described["responses"].items():
        if status[0] in "45":
            content = resolved(response["$ref"])["content"]
            assert content["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    named = [one.get("name") or resolved(one["$ref"])["name"] for one in described["parameters"]]
    assert ("Idempotency-Key" in named) == operation.writes


@everyone
def test_what_a_command_takes_is_what_the_document_says(operation: AnyOperation, route: Route) -> None:
    described = DOCUMENT["paths"][route.path][route.method.lower()]
    fields = {one["name"] for one in described["parameters"] if "name" in one}
    if "requestBody" in described:
        schema = resolved(described["requestBody"]["content"]["application/json"]["schema"]["$ref"])
        fields |= schema["properties"].keys()
        assert schema["additionalProperties"] is False
        required = set(operation.schema.get("required", []))
        assert set(schema["required"]) == {name for name in required if f"{{{name}}}" not in route.path}
    assert fields == operation.schema.get("properties", {}).keys()


def test_shapes_that_commands_share_are_said_once() -> None:
    for operation, _ in SERVED:
        for name, schema in operation.schema.get("$defs", {}).items():
            here = json.dumps(DOCUMENT["components"]["schemas"][name]).replace(
                "/components/schemas/", "/$defs/"
            )
            assert json.loads(here) == schema


async def test_the_words_for_models_name_every_operation(api: ApiInProcess) -> None:
    answer = await api.ask("GET /llms.txt", by=None)
    assert answer.headers["content-type"].startswith("text/plain")
    for operation, route in SERVED:
        (line,) = [
            line for line in answer.body.decode().splitlines() if f"`{route.method} {route.path}`" in line
        ]
        assert all(f"`{field}`" in line for field in fields_of(operation, route))


def test_a_server_starts_before_its_schemas_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_early(_: object) -> None:
        raise AssertionError("they take longer than all else that is done at the start")

    monkeypatch.setattr(Operation, "schema", property(too_early))
    ApiInProcess()


async def test_the_documentation_needs_no_other_server(api: ApiInProcess) -> None:
    page = await api.ask("GET /docs", by=None)
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    html = page.body.decode()
    assert "<script>" not in html
    assert "style=" not in html
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "start.js", "favicon-32x32.png"):
        assert f'"/docs/{name}"' in html
        asset = await api.ask(f"GET /docs/{name}", by=None)
        assert asset.status == 200
        assert asset.headers["x-content-type-options"] == "nosniff"
    assert b"SwaggerUIBundle" in (await api.ask("GET /docs/swagger-ui-bundle.js", by=None)).body


@pytest.mark.parametrize("name", ["index.html", "__init__.py", "..%2Fmain.py", "%2e%2e", ""])
async def test_nothing_else_of_the_wheel_is_served(api: ApiInProcess, name: str) -> None:
    assert (await api.ask(f"GET /docs/{name}", by=None)).status == 404


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/healthz", "/metrics"])
async def test_pages_are_only_read(api: ApiInProcess, path: str) -> None:
    answer = await api.ask(f"POST {path}", by=None)
    assert (answer.status, answer.problem) == (405, "method-not-allowed")
    assert "GET" in answer.headers["allow"]


async def test_figures_are_told_without_names_of_tenants(api: ApiInProcess) -> None:
    await api.create_endpoint("north")
    await api.ask("GET /v1/endpoints/traffic")
    await api.ask("GET /v1/endpoints/none")
    await api.ask("GET /nowhere", by=None)
    answer = await api.ask("GET /metrics", by=None)
    text = answer.body.decode()
    assert 'cadenza_requests_total{operation="get_endpoint",status="200"} 1.0' in text
    assert 'cadenza_requests_total{operation="get_endpoint",status="404"} 1.0' in text
    assert 'cadenza_requests_total{operation="page",status="404"} 1.0' in text
    assert 'cadenza_request_seconds_count{operation="get_endpoint"} 2.0' in text
    assert "process_resident_memory_bytes" in text
    assert "north" not in text
    assert "traffic" not in text


async def test_health_asks_the_process_and_readiness_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    alive = [True]
    api = ApiInProcess(alive=lambda: alive[0])
    assert (await api.ask("GET /healthz", by=None)).json() == {"status": "ok", "now": "2025-01-01T00:00:00Z"}
    assert (await api.ask("GET /readyz", by=None)).json() == {"status": "ok"}

    async def away() -> None:
        raise Unavailable("The database does not answer.")

    monkeypatch.setattr(api.store.health, "check", away)
    api.clock.jump(999)
    assert (await api.ask("GET /readyz", by=None)).status == 200
    api.clock.jump(1)
    answer = await api.ask("GET /readyz", by=None)
    assert (answer.status, answer.json()["status"]) == (503, "The database does not answer.")
    assert (await api.ask("GET /healthz", by=None)).status == 200
    alive[0] = False
    for path in ("/healthz", "/readyz"):
        assert (await api.ask(f"GET {path}", by=None)).status == 503
