"""Resources over HTTP: texts, endpoints, plans."""

import json

import pytest
from mcp import MCPError
from tests.surfaces.api_in_process import AN_ENDPOINT, ApiInProcess
from tests.surfaces.mcp.mcp_client import MODES, Mode, call, open_client, read

from cadenza.domain.access.key import Scope


@pytest.fixture
def api() -> ApiInProcess:
    return ApiInProcess()


@pytest.mark.parametrize("mode", MODES)
async def test_every_resource_that_is_listed_can_be_read(api: ApiInProcess, mode: Mode) -> None:
    async with open_client(api, scope=Scope.READ, mode=mode) as client:
        listed = (await client.list_resources()).resources
        assert {one.uri for one in listed} == {
            "cadenza://endpoints",
            "cadenza://docs/about",
            "cadenza://docs/steering",
            "cadenza://docs/glossary",
            "cadenza://docs/tools",
        }
        for one in listed:
            text = await read(client, one.uri)
            assert text.startswith("# " if one.mime_type == "text/markdown" else "{"), one.uri


@pytest.mark.parametrize("mode", MODES)
async def test_templates_lead_to_an_endpoint_and_its_plan(api: ApiInProcess, mode: Mode) -> None:
    await api.create_endpoint()
    async with open_client(api, scope=Scope.READ, mode=mode) as client:
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        endpoint, plan = sorted(uri.format(endpoint_id="traffic") for uri in templates)
        asked = {"endpoint_id": "traffic"}
        assert json.loads(await read(client, endpoint)) == await call(client, "get_endpoint", asked)
        assert json.loads(await read(client, plan)) == await call(client, "explain_endpoint", asked)


async def test_the_first_page_says_where_it_ends(api: ApiInProcess) -> None:
    await api.create_endpoint()
    for number in range(100):
        made = AN_ENDPOINT | {"id": f"e{number:03}"}
        assert (await api.ask("POST /v1/jobs/job/endpoints", made)).status == 201
    async with open_client(api, scope=Scope.READ) as client:
        page = json.loads(await read(client, "cadenza://endpoints"))
    assert len(page["items"]) == 100
    assert page["next_cursor"] is not None


async def test_an_id_is_read_as_it_is_escaped(api: ApiInProcess) -> None:
    await api.create_endpoint()
    made = AN_ENDPOINT | {"id": "shop:eu-1.web"}
    assert (await api.ask("POST /v1/jobs/job/endpoints", made)).status == 201
    async with open_client(api, scope=Scope.READ) as client:
        for written in ("shop:eu-1.web", "shop%3Aeu-1.web"):
            assert json.loads(await read(client, f"cadenza://endpoints/{written}"))["id"] == "shop:eu-1.web"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("cadenza://endpoints/traffic", "Endpoint traffic not found."),
        ("cadenza://endpoints/traffic/plan", "Endpoint traffic not found."),
        ("cadenza://endpoints/%2e%2e%2fjobs", "endpoint_id must be 1 to 128 letters"),
        ("cadenza://endpoints/", "endpoint_id must be 1 to 128 letters"),
        ("cadenza://endpoints/traffic/runs", "not found"),
        ("cadenza://docs/nowhere", "not found"),
        ("cadenza://docs/../secrets", "not found"),
        ("file:///etc/passwd", "not found"),
    ],
)
async def test_what_is_not_there_or_belongs_to_others_is_refused(
    api: ApiInProcess, uri: str, sentence: str, mode: Mode
) -> None:
    await api.create_endpoint("north")
    async with open_client(api, tenant="south", mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.code == -32602
    assert sentence in caught.value.message
