"""Makes daily fixtures, and stops what runs in them after the test."""

from collections.abc import AsyncIterator

import pytest
from tests.daily.daily_fixtures import DailyFixture, MakeDaily
from tests.operation_fixtures import app

__all__ = ["app"]


@pytest.fixture
async def make_daily() -> AsyncIterator[MakeDaily]:
    """Makes worlds, and ends what runs in them."""
    made: list[DailyFixture] = []

    def make(*given: object, **settings: object) -> DailyFixture:
        made.append(DailyFixture(*given, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for daily in made:
        await daily.crash()
