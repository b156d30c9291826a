"""A bug that is put into the product on purpose."""

from collections.abc import Callable
from typing import NamedTuple

from pytest import MonkeyPatch  # noqa: PT013 - the only name of it
from tests.simulation.whole_system.scenario import Scenario

Needs = Callable[[Scenario], bool]


def _any(_: Scenario) -> bool:
    return True


class SeededBug(NamedTuple):
    """A bug, how it is put in, and which scenarios can show it at all."""

    name: str
    put_in: Callable[[MonkeyPatch], None]
    needs: Needs = _any
    in_every_store: bool = False
    """Whether it is in what all stores share, so that it is looked for on SQLite, too."""
    rare: bool = False
    """Whether it takes a meeting of faults that few seeds have, so that more of them are played."""
    seed: int = 0
    """With which seed to begin, where the first ones do not find it; after the last, the others follow."""
