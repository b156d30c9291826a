"""What users see is what the stored snapshots say; `collect.py` tells how to write them anew."""

import pytest
from tests.postgres import Databases
from tests.public_surface.collect import POSTGRESQL, SNAPSHOTS, collect, collect_from, differences, stored

STORED = stored(SNAPSHOTS)
REMEDY = "\nIf this is meant: python -m tests.public_surface.collect --write"


@pytest.fixture(scope="module")
def collected() -> dict[str, str]:
    return collect()


def compare(name: str, now: str) -> None:
    found = list(differences({name: STORED[name]}, {name: now}))
    assert STORED[name] == now, "\n".join(found[:200]) + REMEDY


@pytest.mark.parametrize("name", sorted(STORED.keys() - {POSTGRESQL}))
def test_what_users_see_has_not_changed(name: str, collected: dict[str, str]) -> None:
    assert name in collected, f"{name} is no longer collected.{REMEDY}"
    compare(name, collected[name])


def test_the_tables_of_postgresql_have_not_changed(newest_databases: Databases) -> None:
    compare(POSTGRESQL, collect_from(newest_databases))


def test_everything_that_is_collected_is_stored(collected: dict[str, str]) -> None:
    assert {*collected, POSTGRESQL} == STORED.keys()
