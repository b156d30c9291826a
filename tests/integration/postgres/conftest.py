"""The servers of these tests."""

from collections.abc import Iterator

import pytest
from tests.postgres import Cluster, cluster, database_url, databases, newest_databases, wheel_programs

__all__ = ["cluster", "database_url", "databases", "newest_databases"]


@pytest.fixture
def standby(cluster: Cluster) -> Iterator[Cluster]:
    """A standby of the test's server, by streaming replication."""
    standby = Cluster(wheel_programs(), primary=cluster)
    yield standby
    standby.remove()
