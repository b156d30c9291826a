"""One API for a test, and the PostgreSQL servers."""

import pytest
from tests.postgres import database_url, newest_databases
from tests.surfaces.api_in_process import ApiInProcess

__all__ = ["database_url", "newest_databases"]


@pytest.fixture
def api() -> ApiInProcess:
    return ApiInProcess()
