"""The servers of these tests, and an empty database of each kind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import Databases, databases, newest_databases

__all__ = ["databases", "newest_databases"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'cadenza.db'}"
        return
    newest: Databases = request.getfixturevalue("newest_databases")
    url = newest.empty()
    yield url
    newest.drop(url)
