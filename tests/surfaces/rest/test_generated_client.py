"""A client that `openapi-python-client` makes of the document is complete, and works."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType
from openapi_python_client.parser.errors import GeneratorError
from tests.surfaces.api_in_process import AN_ENDPOINT
from tests.surfaces.operation_requests import SERVED
from tests.surfaces.server_process import UP, running

from cadenza.operations.table import OPERATIONS
from cadenza.surfaces.http.documents import openapi

PACKAGE = "cadenza_client"
AN_APPLIED_JOB = {
    "id": "shop",
    "endpoints": [
        {"id": "cart", "target": "https://example.com/cart", "baseline": "every 5m", "guard": {"min": "20s"}}
    ],
    "rules": [
        {
            "id": "slow",
            "when": "response.latency_ms > 900",
            "then": {"tool": "propose_interval", "interval": "30s", "ttl": "10m"},
        }
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


@pytest.fixture(scope="module")
def warnings(folder: Path) -> list[GeneratorError]:
    """What the generator has to say about the document; the client is in the folder."""
    document = folder / "openapi.json"
    document.write_text(json.dumps(openapi.document(OPERATIONS, "1.2.3")), encoding="utf-8")
    config = Config.from_sources(
        ConfigFile(post_hooks=[]),
        MetaType.NONE,
        document_source=document,
        file_encoding="utf-8",
        overwrite=False,
        output_path=folder / PACKAGE,
    )
    return list(generate(config=config))


@pytest.fixture(scope="module")
def client(folder: Path, warnings: list[GeneratorError]) -> Iterator[ModuleType]:
    """The package of the client."""
    assert warnings == []
    sys.path.insert(0, str(folder))
    invalidate_caches()
    yield import_module(PACKAGE)
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def test_the_generator_warns_of_nothing(warnings: list[GeneratorError]) -> None:
    assert [(one.header, one.detail) for one in warnings] == []


@pytest.mark.usefixtures("client")
def test_the_client_has_every_operation() -> None:
    for operation, route in SERVED:
        module = _operation(route.path.split("/")[2], operation.name)
        assert callable(module.sync_detailed)


def test_the_client_talks_to_a_server(client: ModuleType, folder: Path) -> None:
    models = import_module(f"{PACKAGE}.models")
    with (
        running(folder, UP) as program,
        client.AuthenticatedClient(program.address, program.key, raise_on_unexpected_status=True) as session,
    ):

        def ask(tag: str, name: str, *path: str, **given: Any) -> Any:
            return _operation(tag, name).sync(*path, client=session, **given)

        job = ask("jobs", "create_job", body=models.CreateJob(name="web", id="web"))
        assert (job.id, job.active) == ("web", True)
        made = ask("jobs", "create_endpoint", "web", body=models.CreateEndpoint.from_dict(AN_ENDPOINT))
        assert (made.baseline.kind, made.baseline.interval_ms) == ("every", 60_000)
        config = models.ApplyConfig.from_dict({"version": 1, "jobs": [AN_APPLIED_JOB]})
        applied = ask("apply", "apply_config", body=config)
        assert {(one.action, one.id) for one in applied.changes} == {
            ("create", "shop"),
            ("create", "cart"),
            ("create", "slow"),
        }
        pace = models.ProposeIntervalCommand(interval_ms=30_000)
        assert ask("endpoints", "propose_interval", "cart", body=pace).source == "ai-interval"
        assert {one.id for one in ask("endpoints", "list_endpoints", limit=10).items} == {"traffic", "cart"}
        assert ask("endpoints", "get_planner_cost", "cart").days == []
        refused = ask("endpoints", "get_endpoint", "nothing")
        assert isinstance(refused, models.Problem)
        assert refused.status == 404


def _operation(tag: str, name: str) -> ModuleType:
    return import_module(f"{PACKAGE}.api.{tag.replace('-', '_')}.{name}")
