"""A configuration as the text of a file: applied, tried and exported by operations."""

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, NotAllowed

FILE = """\
version: 1
jobs:
- id: shop
  endpoints:
  - id: traffic
    target: https://example.com/health
    baseline: every 1m
    guard:
      min: 20s
"""


async def test_a_file_is_applied_as_the_configuration_that_it_holds(app: ApplicationFixture) -> None:
    tried = await app.ask("apply_config_file", text=FILE, dry_run=True)
    assert (tried["applied"], tried["counts"]["create"]) == (False, 2)
    assert (await app.ask("list_jobs"))["items"] == []
    applied = await app.ask("apply_config_file", text=FILE)
    assert applied == tried | {"applied": True}
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["guard"]["min_interval_ms"] == 20_000


async def test_an_exported_file_applied_again_changes_nothing(app: ApplicationFixture) -> None:
    await app.ask("apply_config_file", text=FILE)
    exported = await app.ask("export_config_file", holding=frozenset({Scope.READ}))
    assert exported["text"].startswith(FILE)
    again = await app.ask("apply_config_file", text=exported["text"], prune=True)
    assert (again["changes"], again["counts"]["unchanged"]) == ([], 2)


async def test_a_changed_file_shows_the_fields_that_differ(app: ApplicationFixture) -> None:
    await app.ask("apply_config_file", text=FILE)
    tried = await app.ask("apply_config_file", text=FILE.replace("every 1m", "every 5m"), dry_run=True)
    (change,) = tried["changes"]
    assert (change["action"], change["id"]) == ("update", "traffic")
    assert [one["field"] for one in change["fields"]] == ["baseline"]


async def test_a_fault_names_its_line(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("apply_config_file", text=FILE.replace("every 1m", "every so often"))
    (fault,) = refused.value.faults
    assert fault.field == "jobs.0.endpoints.0.baseline"
    assert fault.message.startswith("line 7: ")


async def test_what_is_no_yaml_is_refused_at_the_text(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest, match="Line 1 cannot be read") as refused:
        await app.ask("apply_config_file", text="version: 1: 2")
    assert refused.value.field == "text"


async def test_the_options_of_the_request_count_and_not_those_in_the_text(app: ApplicationFixture) -> None:
    tried = await app.ask("apply_config_file", text=f"{FILE}dry_run: false\n", dry_run=True)
    assert not tried["applied"]
    assert (await app.ask("list_jobs"))["items"] == []


async def test_who_only_steers_applies_no_file(app: ApplicationFixture) -> None:
    with pytest.raises(NotAllowed):
        await app.ask("apply_config_file", holding=frozenset({Scope.STEER}), text=FILE)
