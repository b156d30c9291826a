"""A file with rows in every table, and databases to move it to."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.moves.filled_databases import fill, run_async
from tests.postgres import Databases, newest_databases

__all__ = ["newest_databases"]

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a key for what is written to PostgreSQL."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADENZA_SECRET_KEY", KEY)
    return tmp_path


@pytest.fixture
def server(newest_databases: Databases) -> Iterator[str]:
    """An empty database, without tables."""
    url = newest_databases.empty()
    yield url
    newest_databases.drop(url)


@pytest.fixture
def filled(folder: Path, newest_databases: Databases) -> str:
    """A file with rows in every table."""
    url = "sqlite:///cadenza.db"
    run_async(fill(url, newest_databases.clean()))
    return url
