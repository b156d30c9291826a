"""Worlds that are left tidy."""

from collections.abc import AsyncIterator

import pytest
from tests.daily.daily_fixtures import AWorld, World
from tests.operation_fixtures import front

__all__ = ["front"]


@pytest.fixture
async def a_world() -> AsyncIterator[AWorld]:
    """Makes worlds, and ends what runs in them."""
    worlds: list[World] = []

    def make(*given: object, **settings: object) -> World:
        worlds.append(World(*given, **settings))  # type: ignore[arg-type]
        return worlds[-1]

    yield make
    for world in worlds:
        await world.crash()
