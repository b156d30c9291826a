"""What the checks of a simulation see of its database."""

import asyncio

import pytest
from tests.simulation.whole_system.databases import DATABASES

from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.testing.builders import an_endpoint
from cadenza.testing.fakes import FakeIds


@pytest.mark.parametrize("kind", DATABASES)
def test_the_checks_read_what_another_store_has_just_committed(kind: str) -> None:
    database = DATABASES[kind](ids := FakeIds())
    endpoint = an_endpoint()
    checks, process = database.connect_checks(ids), database.connect(ids)

    async def read_and_change() -> list[str]:
        await process.endpoints.add(endpoint)
        before = await checks.endpoints.get(endpoint.key)
        await process.endpoints.amend(endpoint.key, lambda row: ChangedEndpoint(evolve(row, name="changed")))
        return [before.name, (await checks.endpoints.get(endpoint.key)).name]

    assert asyncio.run(read_and_change()) == [endpoint.name, "changed"]
    database.close()
